"""`braincore review`: what waits for a person."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore review"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `review`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `review`; the exit code."""
    return request(given, "review", {}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = []
    for one in body["reviews"]:
        lines.append(f"{one['id']}: {one['reason']} — {one['subject']}")
        lines += [f"    {c['ref']}  {c['score']:.2f}" for c in one["candidates"]]
    return "\n".join(lines) or "nothing waits for review"
