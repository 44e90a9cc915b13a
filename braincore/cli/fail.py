"""`braincore fail`: store a failure, so that it can't come back unseen."""

import argparse
import os
import re

from braincore.cli.output import from_here, request, stored_line

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = (
    "braincore fail --title 'Naive times' --broke 'offsets were lost' --why 'naive datetime' "
    "--fix 'aware UTC' --evidence commit:HEAD --fragment clock.py:10-12"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `fail`."""
    parser.add_argument("--title", required=True, help="what it is called")
    parser.add_argument("--broke", required=True, help="what broke")
    parser.add_argument("--why", required=True, help="why it broke")
    parser.add_argument("--fix", required=True, help="how it was fixed")
    parser.add_argument(
        "--evidence", required=True, metavar="commit:SHA|test:ID", help="must exist"
    )
    parser.add_argument(
        "--fragment", default="", metavar="FILE[:L1-L2]", help="the code that broke"
    )
    parser.add_argument("--target", default="", help="what it is about")
    parser.add_argument("--source", default="", help="who or what says so, as for remember")
    parser.add_argument("--scope", default="local", help="local, system or infra")
    parser.add_argument("--namespace", default="main", help="a room of its own for records")


def run(given: argparse.Namespace) -> int:
    """Run `fail`; the exit code."""
    body = {
        "title": given.title,
        "broke": given.broke,
        "why": given.why,
        "fix": given.fix,
        "evidence": given.evidence,
        "fragment": _absolute(given.fragment, given.path),
        "target": given.target,
        "source": given.source,
        "scope": given.scope,
        "namespace": given.namespace,
    }
    return request(given, "fail", body, stored_line)


def _absolute(fragment: str, start: str) -> str:
    """The file as seen from here, its range kept."""
    if not fragment or os.path.exists(fragment):
        return from_here(fragment, start)
    named = re.fullmatch(r"(.+?)([#:]L?\d.*)", fragment)
    return from_here(named[1], start) + named[2] if named else fragment
