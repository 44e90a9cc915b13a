"""`braincore why`: the chain of decisions behind a target or symbol."""

import argparse
from typing import Any

from braincore.cli.output import fold, request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore why graph_db"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `why`."""
    parser.add_argument("name", metavar="TARGET|SYMBOL", help="an entity, a path or path::symbol")


def run(given: argparse.Namespace) -> int:
    """Run `why`; the exit code."""
    return request(given, "why", {"name": given.name}, _text)


def _text(body: dict[str, Any]) -> str:
    if not body["chains"]:
        return f"abstain: {body['reason']}. {body['next']}"
    lines = []
    for chain in body["chains"]:
        for one in chain:
            state = "in force" if one["in_force"] else f"superseded by {one['superseded_by'][0]}"
            lines.append(f"{one['title']}  [{state}, {one['truth_status']}]")
            lines.append(f"    {one['id']} · {one['source_ref']} · {one['created_at'][:10]}")
            lines.append(fold(f"problem: {one['problem']}"))
            for other in one["alternatives"]:
                lines.append(fold(f"rejected: {other['option']} — {other['rejected_because']}"))
            lines.append(fold(f"decision: {one['decision']}"))
            lines.append(fold(f"because: {one['reasoning']}"))
            if one["outcome"]:
                lines.append(fold(f"outcome: {one['outcome']}"))
            for edge in one["edges"]:
                if edge["type"] == "GOVERNS":
                    gone = "  (not there any more)" if edge["to"] in one["stale"] else ""
                    lines.append(f"    governs {edge['to']}{gone}")
        lines.append("")
    return "\n".join(lines[:-1])
