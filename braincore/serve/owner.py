"""The owner process: lock, listen, and only then load what serves.

    python -m braincore.serve.owner --store STORE --root ROOT [--foreground] [--http [HOST:]PORT]

The lock comes before the socket, the socket before the brain: a client that connects waits for the
record table, and not for graph and indexes. Exit code 0 also when another owner already serves.
Until lock and socket are had, this imports the standard library only: of many owners started at
once, all but one leave before they cost anything.
"""

import argparse
import importlib
import json
import logging
import logging.handlers
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

from braincore import locate
from braincore.errors import BraincoreError, OwnerBusy, StoreError
from braincore.serve import tcp
from braincore.serve.claim import Claim

__all__ = ["main"]

log = logging.getLogger("braincore")


class _Redacted(logging.Formatter):
    """Messages and tracebacks may quote what was said: no secret goes to the log."""

    def format(self, record: logging.LogRecord) -> str:
        from braincore.brain import redact

        return redact(super().format(record))


def _log_to(store: Path, foreground: bool) -> None:
    handler: logging.Handler
    if foreground:
        handler = logging.StreamHandler()
    else:
        try:
            handler = logging.handlers.RotatingFileHandler(
                store / "log", maxBytes=1_000_000, backupCount=2, encoding="utf-8"
            )
        except OSError as error:
            raise StoreError(str(store), str(error)) from None
    handler.setFormatter(_Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.raiseExceptions = False  # a full disk must not stop what still works
    threading.excepthook = _log_thread
    sys.excepthook = _log_end


def _log_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        name = failed.thread.name if failed.thread is not None else "?"
        log.error("thread %s ended", name, exc_info=failed.exc_value)


def _log_end(kind: type[BaseException], problem: BaseException, trace: Any) -> None:
    log.critical("the owner ended", exc_info=(kind, problem, trace))


def main(arguments: list[str] | None = None) -> int:
    """Serve one store until idle, asked to stop, or replaced."""
    parser = argparse.ArgumentParser(prog="braincore-owner", description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--foreground", action="store_true")
    parser.add_argument("--http", default="", metavar="[HOST:]PORT")
    parser.add_argument("--json", action="store_true", help="announce the address as JSON")
    given = parser.parse_args(arguments)
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        del os.environ[name]
    os.umask(0o077)
    try:
        place = locate.find(given.root)
        os.chdir(place.common_dir)  # not the worktree: that may be deleted while we run
        http = tcp.bind(tcp.parse_address(given.http)) if given.http else None
        claim = _claim(place)
    except OwnerBusy as error:
        sys.stderr.write(f"{error}\n")
        return 1 if given.foreground else 0
    except BraincoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _log_to(place.store, given.foreground)
    serving = importlib.import_module("braincore.serve.process")
    if not given.foreground:
        _detach_output()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    serving.Process(place, claim).serve(http, partial(_announce, given.json))
    return 0


def _announce(as_json: bool, found: tcp.Listening) -> None:
    body = {"outcome": "serving", "http": found.url, "token_file": str(found.token_file)}
    line = json.dumps(body) if as_json else f"{found.url} (token in {found.token_file})"
    try:
        print(line, flush=True)
    except OSError as error:
        log.warning("%s can't be announced: %s", found.url, error)


def _claim(place: locate.Place) -> Claim:
    try:
        place.store.mkdir(parents=True, exist_ok=True, mode=0o700)
        claim = Claim(place)
        claim.write()
    except OSError as error:
        raise StoreError(str(place.store), str(error)) from None
    return claim


def _detach_output() -> None:
    """Nobody reads our output any more once we serve."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
