"""`braincore outcome`: add what became of a decision."""

import argparse

from braincore.cli.output import request, stored_line

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore outcome decision-01J… 'Migration took two days; queries are 4x faster'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `outcome`."""
    parser.add_argument("id", help="the decision")
    parser.add_argument("text", help="what became of it")


def run(given: argparse.Namespace) -> int:
    """Run `outcome`; the exit code."""
    return request(given, "outcome", {"id": given.id, "text": given.text}, stored_line)
