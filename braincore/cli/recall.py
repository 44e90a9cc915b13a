"""`braincore recall`: answer from what is verified, or abstain and say why."""

import argparse
from typing import Any

from braincore.cli.output import fold, request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = 'braincore recall "which port does staging use?" --target staging_port'


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `recall`."""
    parser.add_argument("query", help="the question")
    parser.add_argument("--target", default="", help="only what is about this")
    parser.add_argument(
        "--symbol", action="append", default=[], help="only what is about path::symbol"
    )
    parser.add_argument("--limit", type=int, default=5, help="records on a page")
    parser.add_argument("--offset", type=int, default=0, help="records to pass over")
    parser.add_argument("--as-of", default="", metavar="TIME", help="what we believed then")
    parser.add_argument("--valid-at", default="", metavar="TIME", help="what held then")
    parser.add_argument(
        "--allow-uncertainty", action="store_true", help="let rejects through, marked"
    )
    parser.add_argument("--explain", action="store_true", help="every term of every score")
    parser.add_argument("--namespace", default="main", help="a room of its own for records")


def run(given: argparse.Namespace) -> int:
    """Run `recall`; the exit code."""
    body = {
        "query": given.query,
        "target": given.target,
        "symbols": given.symbol,
        "limit": given.limit,
        "offset": given.offset,
        "as_of": given.as_of,
        "valid_at": given.valid_at,
        "allow_uncertainty": given.allow_uncertainty,
        "explain": given.explain,
        "namespace": given.namespace,
    }
    return request(given, "recall", body, _text)


def _text(body: dict[str, Any]) -> str:
    lines = []
    for fact in body["facts"]:
        flags = f"  [{', '.join(fact['flags'])}]" if fact["flags"] else ""
        lines.append(f"{fact['text']}{flags}")
        lines.append(f"    {fact['id']} · {fact['source_ref']} · score {fact['score']:.3f}")
        if "reasoning" in fact:
            lines.append(fold(f"because {fact['reasoning']}"))
            for one in fact["alternatives"]:
                lines.append(fold(f"not {one['option']}: {one['rejected_because']}"))
        if "explain" in fact:
            terms = ", ".join(f"{k} {v}" for k, v in fact["explain"].items())
            lines.append(fold(terms))
    if body["outcome"] == "abstain":
        lines.append(f"abstain: {body['reason']}. {body['next']}")
        if body["task"]:
            lines.append(f"    task {body['task']}: see `braincore tasks`")
    for one in body["rejected"]:
        lines.append(f"    withheld {one['id']}: {one['reason']}")
    return "\n".join(lines)
