"""`braincore decide`: store a decision with its alternatives and reasons."""

import argparse
from typing import Any

from braincore.cli.output import request, stored_line

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = (
    "braincore decide --title 'Kùzu as graph' --problem 'Which graph database?' "
    "--alternative 'Neo4j: needs a server' --decision 'Use Kùzu' --reasoning 'embedded' "
    "--target graph_db"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `decide`."""
    parser.add_argument("--title", required=True, help="what it is called")
    parser.add_argument("--problem", required=True, help="the question it answers")
    parser.add_argument(
        "--alternative",
        action="append",
        default=[],
        metavar="'OPTION: WHY NOT'",
        help="what was rejected and why",
    )
    parser.add_argument("--decision", required=True, help="what was chosen")
    parser.add_argument("--reasoning", required=True, help="why")
    parser.add_argument("--source", default="", help="who or what says so, as for remember")
    parser.add_argument("--target", default="", help="what it is about")
    parser.add_argument(
        "--governs", action="append", default=[], metavar="SYMBOL|PATH", help="the code it is about"
    )
    parser.add_argument("--supersedes", default="", metavar="ID", help="the decision it replaces")
    parser.add_argument(
        "--coexists", action="store_true", help="it stands beside the ones it conflicts with"
    )
    parser.add_argument("--scope", default="local", help="local, system or infra")
    parser.add_argument("--namespace", default="main", help="a room of its own for records")


def run(given: argparse.Namespace) -> int:
    """Run `decide`; the exit code."""
    body = {
        "title": given.title,
        "problem": given.problem,
        "alternatives": given.alternative,
        "decision": given.decision,
        "reasoning": given.reasoning,
        "source": given.source,
        "target": given.target,
        "governs": given.governs,
        "supersedes": given.supersedes,
        "coexists": given.coexists,
        "scope": given.scope,
        "namespace": given.namespace,
    }
    return request(given, "decide", body, _text)


def _text(body: dict[str, Any]) -> str:
    if body["outcome"] == "stored":
        return stored_line(body)
    lines = [f"conflict: not stored; {body['reason']}:"]
    for one in body["conflicts"]:
        lines.append(f"    {one['id']}: {one['title']} — {one['text']}")
    first = body["conflicts"][0]["id"]
    lines.append(f"say which holds: --supersedes {first}, or --coexists")
    return "\n".join(lines)
