"""`braincore doctor`: run the whole loop and say what is wrong."""

import argparse
from typing import Any

from braincore.cli.output import request
from braincore.cli.progress import progress

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore doctor"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `doctor`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `doctor`; the exit code."""
    with progress(given, "checking"):
        return request(given, "doctor", {}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = []
    for one in body["checks"]:
        lines.append(f"{'ok  ' if one['ok'] else 'FAIL'} {one['check']}: {one['detail']}")
    lines.append("all is well" if body["ok"] else "something is wrong: see the lines that say FAIL")
    return "\n".join(lines)
