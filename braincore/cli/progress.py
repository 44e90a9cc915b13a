"""A sign of life on stderr for what takes longer than a second; nothing when nobody looks."""

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Iterator

__all__ = ["progress"]


@contextlib.contextmanager
def progress(given: argparse.Namespace, what: str) -> Iterator[None]:
    """Show that something goes on, with the seconds, until the block ends."""
    if given.json or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def show() -> None:
        if done.wait(1.0):
            return
        from rich.console import Console

        began = time.monotonic() - 1
        with Console(stderr=True).status(f"{what} …") as line:
            while not done.wait(0.5):
                line.update(f"{what} … {time.monotonic() - began:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
