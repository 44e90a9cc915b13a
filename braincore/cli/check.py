"""`braincore check`: judge an edit before it is written."""

import argparse
import sys
from pathlib import Path
from typing import Any

from braincore.cli.output import fold, from_here, request
from braincore.errors import InvalidInput

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "git diff | braincore check --diff -"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `check`."""
    parser.add_argument(
        "--file", dest="file", default="", metavar="PATH", help="the file the content is for"
    )
    parser.add_argument(
        "--content", default="", metavar="FILE", help="the new content; - for stdin"
    )
    parser.add_argument("--diff", default="", metavar="FILE", help="a unified diff; - for stdin")


def run(given: argparse.Namespace) -> int:
    """Run `check`; the exit code."""
    if bool(given.diff) == bool(given.file or given.content):
        raise InvalidInput("nothing to check", "Give --file PATH --content FILE, or --diff FILE.")
    body = (
        {"diff": _read(given.diff)}
        if given.diff
        else {"path": from_here(given.file, given.path), "content": _read(given.content)}
    )
    return request(given, "check", body, _text)


def _read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{name}: {error.strerror}", "Name a readable file, or -.") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _text(body: dict[str, Any]) -> str:
    lines = [body["verdict"]]
    for one in body["findings"]:
        source = one.get("rule") or one.get("record")
        lines.append(
            f"  {one['path']}:{one['line']}: {one['severity']}: {one['message']} [{source}]"
        )
        lines.append(fold(one["why"]))
    if body["repair_plan"]:
        lines.append("repair plan:")
        for number, step in enumerate(body["repair_plan"], 1):
            lines.append(f"  {number}. {step['path']}:{step['line']}: {step['change']}")
            lines.append(fold(f"evidence: {step['evidence']}"))
    lines += [f"  note: {note}" for note in body["notes"]]
    return "\n".join(lines)
