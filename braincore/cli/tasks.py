"""`braincore tasks`: what the brain needs to know to answer."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore tasks"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tasks`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `tasks`; the exit code."""
    return request(given, "tasks", {}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = []
    for one in body["tasks"]:
        lines.append(f"{one['query']}  (asked {one['asked']}×)")
        lines.append(f"    {one['id']} · {one['why']}; needs {one['needs']}")
    return "\n".join(lines) or "no open tasks"
