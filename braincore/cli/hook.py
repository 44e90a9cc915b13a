"""`braincore hook CLIENT`: what a client's hook runs."""

import argparse
import os
import sys

from braincore.errors import InvalidInput

__all__ = ["EXAMPLE", "arguments", "run"]

CLIENTS = ("claude", "codex", "gemini")
EXAMPLE = "braincore hook claude < event.json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `hook`."""
    parser.add_argument("client", help="claude, codex or gemini")


def run(given: argparse.Namespace) -> int:
    """Run `hook`; the exit code."""
    if given.client not in CLIENTS:
        raise InvalidInput(f"client {given.client!r} is unknown", f"Use {', '.join(CLIENTS)}.")
    if given.path:
        try:
            os.chdir(given.path)
        except OSError as error:
            raise InvalidInput(f"{given.path}: {error.strerror}", "Check the path.") from None
    script = os.path.join(os.path.dirname(os.path.dirname(__file__)), "serve", "hook_client.py")
    os.execv(sys.executable, [sys.executable, "-S", "-E", "-I", script, given.client])
