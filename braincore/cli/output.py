"""How answers are printed: the same body as JSON or as text for people."""

import argparse
import json
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from braincore.cli.client import Answer, ask
from braincore.locate import find_initialised

__all__ = ["fold", "index_line", "request", "show", "stored_line"]


def request(
    given: argparse.Namespace,
    verb: str,
    body: dict[str, Any],
    text: Callable[[dict[str, Any]], str],
) -> int:
    """Ask the owner and print; the exit code."""
    answer = ask(find_initialised(given.path), verb, body)
    assert answer is not None
    return show(given, answer, text)


def show(given: argparse.Namespace, answer: Answer, text: Callable[[dict[str, Any]], str]) -> int:
    """Print an answer; the exit code."""
    if given.json:
        out = json.dumps(answer.body, indent=None, ensure_ascii=True)
    else:
        out = text(answer.body)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(out.encode(encoding, "backslashreplace").decode(encoding))
    if out:
        sys.stdout.write("\n")
    sys.stdout.flush()
    return answer.exit_code


def fold(text: str, indent: str = "    ") -> str:
    """A text folded at 96 columns."""
    lines = [
        textwrap.fill(line, 96, initial_indent=indent, subsequent_indent=indent)
        for line in text.splitlines()
    ]
    return "\n".join(lines)


def stored_line(body: dict[str, Any]) -> str:
    """What was stored, in a line or two."""
    again = "known already, strengthened" if body["duplicate"] else "stored"
    known = f"{body['truth_status']}, trust {body['trust']:.2f}, {body['source_ref']}"
    line = f"{again}: {body['id']} ({known})"
    return "\n".join([line, *(f"    {note}" for note in body["notes"])])


def index_line(body: dict[str, Any]) -> str:
    """What the index holds, in a line."""
    line = f"{body['files']} files, {body['symbols']} symbols"
    if body["syntax_errors"]:
        line += f", {body['syntax_errors']} files with syntax errors"
    if body["skipped"]:
        line += f", {len(body['skipped'])} passed over (e.g. {body['skipped'][0]['path']}: "
        line += f"{body['skipped'][0]['reason']})"
    return f"{line}, {body['seconds']} s"
