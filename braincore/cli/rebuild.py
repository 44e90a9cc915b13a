"""`braincore rebuild`: fill graph and indexes anew from the journal."""

import argparse
from typing import Any

from braincore.cli.output import request
from braincore.cli.progress import progress

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore rebuild"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `rebuild`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `rebuild`; the exit code."""
    with progress(given, "rebuilding"):
        return request(given, "rebuild", {}, _text)


def _text(body: dict[str, Any]) -> str:
    same = "equal to what it was" if body["equal"] else "different from what it was: it was damaged"
    return f"rebuilt {body['records']} records in {body['seconds']} s; the graph is {same}"
