"""`braincore related`: what is known about a symbol or path."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore related src/app.py::load"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `related`."""
    parser.add_argument("name", metavar="PATH|SYMBOL", help="a path, or path::qualified.name")


def run(given: argparse.Namespace) -> int:
    """Run `related`; the exit code."""
    return request(given, "related", {"name": given.name}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = [body["ref"]]
    for one in body["records"]:
        gone = f"  (speaks of code that is gone: {', '.join(one['stale'])})" if one["stale"] else ""
        lines.append(f"  {one['kind']}: {one.get('title') or one['text']}{gone}")
        lines.append(f"    {one['id']} · {one['source_ref']} · {', '.join(one['edges'])}")
    for one in body["code"]:
        arrow = "→" if one["direction"] == "out" else "←"
        lines.append(f"  {one['relation']} {arrow} {one['ref']}")
    if body["dependents"]:
        lines.append("  depends on it, within two hops:")
        lines += [f"    {ref}" for ref in body["dependents"]]
    return "\n".join(lines)
