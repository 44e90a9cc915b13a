"""`braincore hook CLIENT`: what a client's hook runs."""

import argparse
import os
import sys

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore hook claude < event.json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `hook`."""
    parser.add_argument("client", help="claude")


def run(given: argparse.Namespace) -> int:
    """Run `hook`; the exit code."""
    os.chdir(given.path)
    script = os.path.join(os.path.dirname(os.path.dirname(__file__)), "serve", "hook_client.py")
    os.execv(sys.executable, [sys.executable, "-S", "-E", "-I", script, given.client])
