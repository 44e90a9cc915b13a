"""`braincore remember`: store a fact with its source."""

import argparse

from braincore.cli.output import request, stored_line

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = (
    'braincore remember "Staging listens on port 8443" --source user:ana --target staging_port'
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `remember`."""
    parser.add_argument("text", help="one sentence a person can read")
    parser.add_argument(
        "--source", default="", help="user:NAME, commit:SHA, test:ID, file:PATH#L1-L9, url:…"
    )
    parser.add_argument(
        "--kind", default="", help="fact (default), relation, entity, hypothesis, learning"
    )
    parser.add_argument("--target", default="", help="what it is about: an entity or path::symbol")
    parser.add_argument("--symbol", action="append", default=[], help="a symbol it speaks of")
    parser.add_argument("--subject", default="", help="of the claim, if it is one")
    parser.add_argument("--predicate", default="", help="of the claim, e.g. uses")
    parser.add_argument("--object", default="", help="of the claim")
    parser.add_argument("--valid-from", default="", metavar="DATE", help="since when it holds")
    parser.add_argument("--valid-until", default="", metavar="DATE", help="until when it held")
    parser.add_argument("--confidence", type=float, default=None, help="0 to 1")
    parser.add_argument("--scope", default="local", help="local, system or infra")
    parser.add_argument("--namespace", default="main", help="a room of its own for records")
    parser.add_argument("--tag", action="append", default=[], help="a word to find it by")


def run(given: argparse.Namespace) -> int:
    """Run `remember`; the exit code."""
    body = {
        "text": given.text,
        "source": given.source,
        "kind": given.kind,
        "target": given.target,
        "symbols": given.symbol,
        "subject": given.subject,
        "predicate": given.predicate,
        "object": given.object,
        "valid_from": given.valid_from,
        "valid_until": given.valid_until,
        "confidence": given.confidence,
        "scope": given.scope,
        "namespace": given.namespace,
        "tags": given.tag,
    }
    return request(given, "remember", body, stored_line)
