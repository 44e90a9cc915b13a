"""`braincore status`: the brain in numbers."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore status --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `status`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `status`; the exit code."""
    return request(given, "status", {}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = []
    for key, value in body.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v}" for k, v in value.items()) or "none"
        elif isinstance(value, list):
            value = "; ".join(map(str, value))
        if value not in ("", None):
            lines.append(f"{key.replace('_', ' '):26}{value}")
    return "\n".join(lines)
