"""`braincore import`: store what a file of JSON lines says.

The file goes to the owner in parts, so that its size doesn't matter and other clients are served
in between. What was taken stays when a later part fails; importing the file again adds the rest.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from braincore.cli.output import show
from braincore.cli.progress import progress
from braincore.client import Answer, ask
from braincore.errors import BraincoreError, InvalidInput
from braincore.locate import find_initialised

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore import notes.jsonl"

PART_LINES = 2000
PART_BYTES = 4 << 20
LINE_BYTES = 2 << 20
"""A record is a sentence: a longer line is none."""
SHOWN = 20
BOM = b"\xef\xbb\xbf"


class Part(NamedTuple):
    """Some lines of a file on their way; those that can't be sent are empty and rejected here."""

    first: int
    content: str
    rejected: list[dict[str, Any]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `import`."""
    parser.add_argument("file", help="JSON lines, one record each; `-` reads standard input")


def run(given: argparse.Namespace) -> int:
    """Run `import`; the exit code: 1 when a line was rejected."""
    place = find_initialised(given.path)
    name = "stdin" if given.file == "-" else Path(given.file).name
    total: dict[str, Any] = {
        "outcome": "imported",
        "stored": 0,
        "duplicates": 0,
        "rejected": [],
        "seconds": 0.0,
    }
    began = time.monotonic()
    with _opened(given) as file, progress(given, f"importing {name}"):
        for part in _parts(file, name):
            total["rejected"] += part.rejected
            if not part.content.strip():
                continue
            body = {"name": name, "content": part.content, "first_line": part.first}
            try:
                answer = ask(place, "import", body)
            except BraincoreError as error:
                raise _stopped(error, part.first, total) from None
            assert answer is not None
            total["stored"] += answer.body["stored"]
            total["duplicates"] += answer.body["duplicates"]
            total["rejected"] += answer.body["rejected"]
    total["rejected"].sort(key=lambda one: one["line"])
    total["seconds"] = round(time.monotonic() - began, 3)
    return show(given, Answer(total, 1 if total["rejected"] else 0), _text)


def _opened(given: argparse.Namespace) -> BinaryIO:
    if given.file == "-":
        return sys.stdin.buffer
    # A relative path is one from where the command runs, also with -C.
    path = Path(given.file)
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{given.file} can't be read: {why}", "Name a file, or `-`.") from None


def _parts(file: BinaryIO, name: str) -> Iterator[Part]:
    """The file in parts that fit a request. Lines end with a line feed, CR before it or not."""
    lines: list[str] = []
    rejected: list[dict[str, Any]] = []
    first, size = 1, 0
    for number, raw in enumerate(_lines(file, name), 1):
        text, problem = _decoded(raw.removeprefix(BOM) if number == 1 else raw)
        if problem:
            rejected.append({"line": number, "reason": problem})
        lines.append(text)
        size += len(raw)
        if len(lines) >= PART_LINES or size >= PART_BYTES:
            yield Part(first, "\n".join(lines), rejected)
            lines, rejected, first, size = [], [], number + 1, 0
    yield Part(first, "\n".join(lines), rejected)


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Lines without their ends; of one that is too long, only as much as shows it."""
    try:
        while raw := file.readline(LINE_BYTES + 2):
            rest = raw
            while not rest.endswith(b"\n") and (rest := file.readline(LINE_BYTES)):
                pass
            yield raw.removesuffix(b"\n").removesuffix(b"\r")
    except OSError as error:
        raise InvalidInput(
            f"{name} can't be read on: {error.strerror}",
            "What was read is stored; import it again when it can be read.",
        ) from None


def _decoded(raw: bytes) -> tuple[str, str]:
    """The text of a line, or what is wrong with it."""
    if len(raw) > LINE_BYTES:
        return "", f"it is longer than {LINE_BYTES >> 20} MB. A record is a sentence."
    try:
        return raw.decode(), ""
    except UnicodeDecodeError as error:
        return "", f"byte {error.start + 1} is not UTF-8. Save the file as UTF-8."


def _stopped(error: BraincoreError, line: int, total: dict[str, Any]) -> BraincoreError:
    if line == 1:
        return error
    return BraincoreError(
        f"stopped at line {line}, after {total['stored']} records were stored: {error} "
        "Import the file again to go on: what is stored is not stored twice."
    )


def _text(body: dict[str, Any]) -> str:
    line = f"{body['stored']} stored, {body['duplicates']} on record already"
    rejected = body["rejected"]
    line += f", {len(rejected)} rejected, {body['seconds']:.1f} s"
    shown = [f"    line {one['line']}: {one['reason']}" for one in rejected[:SHOWN]]
    if len(rejected) > SHOWN:
        shown.append(f"    … and {len(rejected) - SHOWN} more: --json lists them all")
    return "\n".join([line, *shown])
