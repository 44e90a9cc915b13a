"""`braincore index`: bring the code index to the working tree."""

import argparse

from braincore.cli.output import index_line, request
from braincore.cli.progress import progress

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `index`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `index`; the exit code."""
    with progress(given, "indexing"):
        return request(given, "index", {}, index_line)
