"""`braincore log`: the journal."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

SHOWN = 5
"""Records of one commit that are named; an import has a thousand."""

EXAMPLE = "braincore log -n 5"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `log`."""
    parser.add_argument("-n", dest="limit", type=int, default=20, help="how many")


def run(given: argparse.Namespace) -> int:
    """Run `log`; the exit code."""
    return request(given, "log", {"limit": given.limit}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = []
    for one in body["log"]:
        lines.append(f"{one['commit'][:10]} {one['at'][:19]} {one['verb']}: {one['subject']}")
        ids = " ".join(one["records"][:SHOWN])
        more = len(one["records"]) - SHOWN
        rest = f" … and {more} more" if more > 0 else ""
        lines.append(f"    {one['who']} ({one['channel']}) {ids}{rest}".rstrip())
    return "\n".join(lines)
