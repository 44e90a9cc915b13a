"""`braincore log`: the journal."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

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
        lines.append(f"    {one['who']} ({one['channel']}) {' '.join(one['records'])}".rstrip())
    return "\n".join(lines)
