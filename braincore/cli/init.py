"""`braincore init`: set a repository up."""

import argparse
from typing import Any

from braincore.cli.output import index_line, show
from braincore.cli.prepare import prepare
from braincore.cli.progress import progress
from braincore.client import ask
from braincore.locate import find

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore init --client claude"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `init`."""
    parser.add_argument("where", nargs="?", default="", metavar="PATH", help="the repository")
    parser.add_argument(
        "--client", default="", help="also set up this client: claude, codex or gemini"
    )


def run(given: argparse.Namespace) -> int:
    """Run `init`; the exit code."""
    place = find(given.where or given.path)
    made = prepare(place)
    with progress(given, "indexing"):
        answer = ask(place, "init", {})
    assert answer is not None
    answer.body["created"] = made
    answer.body["client"] = None
    if given.client:
        from braincore.serve.clients import CLIENTS
        from braincore.serve.install import install

        done = install(place, given.client)
        answer.body["client"] = {
            "name": given.client,
            "settings": done[0].path,
            "mcp": done[-1].path,
            "changed": any(one.changed for one in done),
            "todo": CLIENTS[given.client].todo,
        }
    return show(given, answer, _text)


def _text(body: dict[str, Any]) -> str:
    lines = [f"{body['root']} has a brain: {body['rules']} rules, {index_line(body)}"]
    lines.append(f"    store {body['store']}")
    for problem in body["rule_errors"]:
        lines.append(f"    rule not loaded: {problem}")
    for path in body["restored"]:
        lines.append(f"    brought back: .braincore/{path}")
    if body["client"]:
        client = body["client"]
        lines.append(f"    hooks of {client['name']} in {client['settings']}")
        lines.append(f"    MCP server `braincore` in {client['mcp']}")
        lines += [f"    {client['todo']}"] if client["todo"] else []
    else:
        lines.append(
            "    hooks: `braincore init --client claude` (or codex, gemini) puts the guard "
            "before each edit"
        )
    return "\n".join(lines)
