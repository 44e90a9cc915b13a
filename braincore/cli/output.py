"""How answers are printed: the same body as JSON or as text for people."""

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable
from typing import Any, TextIO

from braincore.client import Answer, ask
from braincore.errors import InvalidInput
from braincore.locate import find_initialised

__all__ = [
    "fold",
    "from_here",
    "index_line",
    "printable",
    "request",
    "show",
    "stored_line",
    "to_nowhere",
]


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
    try:
        sys.stdout.write(printable(out, sys.stdout))
        if out:
            sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        to_nowhere()
        why = f"the answer can't be printed: {error.strerror}"
        raise InvalidInput(why, "It was carried out; mend where the output goes.") from None
    return answer.exit_code


def to_nowhere() -> None:
    """Drop what is still to be printed, so that Python doesn't complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def printable(text: str, stream: TextIO) -> str:
    """A text with what the stream's encoding lacks written as escapes."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def from_here(path: str, start: str) -> str:
    """A path that exists as seen from the working directory or from -C means that file, as an
    absolute path; any other is left to mean one from the root."""
    for folder in ("", start):
        joined = os.path.join(folder, path)
        if path and os.path.exists(joined):
            return os.path.abspath(joined)
    return path


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
