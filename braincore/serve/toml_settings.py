"""Merge braincore's MCP entry into a client's TOML settings text and take it out again.

Pure functions from text to text. The entry is a table of its own at the end; no other line is
touched. Every result is read back and must differ from what was there by our entry alone: a text
in which that can't be done raises InvalidInput, and nothing has happened yet.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from braincore.errors import InvalidInput
from braincore.serve.settings import SERVER, SERVER_MODULE

__all__ = ["merge_toml_server", "remove_toml_server"]

TABLE = "mcp_servers"
_NAME = f"{TABLE}.{SERVER}"
_HEADER = re.compile(r"[ \t]*\[\[?([^\[\]=#]+)\]\]?[ \t]*(?:#.*)?")
_QUOTES = ("{0}", '"{0}"', "'{0}'")
_DOT = r"[ \t]*\.[ \t]*"
_PATH = (f"(?:{'|'.join(q.format(key) for q in _QUOTES)})" for key in (TABLE, SERVER))
_OURS = re.compile(rf"[ \t]*{_DOT.join(_PATH)}[ \t]*(\..*)?")
_REPLACED = re.compile(r"[ \t]*(?:command|args)[ \t]*=")
_BLANK = "\ufeff \t\r\n"


def merge_toml_server(text: str | None, command: Sequence[str]) -> str:
    """`text` with our MCP server; None stands for a missing file.

    An older entry of ours gets the new command and arguments and keeps its other keys.
    """
    text = text or ""
    before = _parsed(text)
    wanted = {"command": command[0], "args": list(command[1:])}
    entry = _entry(before)
    if entry is not None and not _is_ours(entry):
        raise InvalidInput(
            f"The settings have another MCP server named {_NAME}",
            "Rename or remove it; the file was left as it is.",
        )
    if entry is not None and {**entry, **wanted} == entry:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    # A JSON string or list of strings is one of TOML too.
    new = [f"{k} = {json.dumps(v, ensure_ascii=False)}{newline}" for k, v in wanted.items()]
    if entry is not None:
        mark = text[: text.startswith("\ufeff")]
        lines = text.removeprefix(mark).splitlines(keepends=True)
        merged = mark + "".join(_updated(lines, new))
    else:
        end = "" if not text.strip("\ufeff") or text.endswith("\n") else newline
        gap = newline if text.strip(_BLANK) else ""
        merged = f"{text}{end}{gap}[{_NAME}]{newline}{''.join(new)}"
    servers = before.get(TABLE)
    others = servers if isinstance(servers, dict) else {}
    return _checked(merged, {**before, TABLE: {**others, SERVER: {**(entry or {}), **wanted}}})


def remove_toml_server(text: str, original: str | None = None) -> str | None:
    """`text` without our MCP server and the tables under it; None when nothing would be left and
    `original` None says that the file was not there before us."""
    before = _parsed(text)
    entry = _entry(before)
    if entry is None or not _is_ours(entry):
        return text
    mark = text[: text.startswith("\ufeff")]
    lines = text.removeprefix(mark).splitlines(keepends=True)
    kept = [mark]
    for start, end, name in _tables(lines):
        if not _OURS.fullmatch(name):
            kept += lines[start:end]
            continue
        if len(kept) > 1 and not kept[-1].strip():
            kept.pop()
        # What stands behind the last value, a comment say, speaks of what comes next.
        values = (i for i in range(start, end) if lines[i].strip())
        last = max(i for i in values if not lines[i].lstrip().startswith("#"))
        kept += lines[last + 1 : end]
    servers = {key: value for key, value in before[TABLE].items() if key != SERVER}
    after = {key: value for key, value in before.items() if key != TABLE}
    result = "".join(kept)
    if not result.strip(_BLANK) and original is None:
        return None
    # An empty [mcp_servers] of the user's own stays.
    return _checked(result, {**after, TABLE: servers}, *([] if servers else [after]))


def _parsed(text: str) -> dict[str, Any]:
    try:
        # Numbers stay text, since one that is no number wouldn't equal itself.
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"The settings can't be read: {error}", "Mend that place; the file was left as it is."
        ) from None


def _entry(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    servers = settings.get(TABLE)
    entry = servers.get(SERVER) if isinstance(servers, dict) else None
    return entry if entry is None or isinstance(entry, dict) else {}


def _is_ours(entry: Mapping[str, Any]) -> bool:
    arguments = entry.get("args")
    return isinstance(arguments, list) and SERVER_MODULE in arguments


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Where each table begins and ends, and its name; the first is what stands before any."""
    start, name = 0, ""
    for number, line in enumerate(lines):
        if match := _HEADER.fullmatch(line.rstrip("\r\n")):
            yield start, number, name
            start, name = number, match[1].strip()
    yield start, len(lines), name


def _updated(lines: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for start, end, name in _tables(lines):
        found = _OURS.fullmatch(name)
        if found is None or found[1]:
            yield from lines[start:end]
            continue
        yield lines[start]
        yield from new
        yield from (line for line in lines[start + 1 : end] if not _REPLACED.match(line))


def _checked(text: str, *wanted: Mapping[str, Any]) -> str:
    try:
        found: object = tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)
    except tomllib.TOMLDecodeError:
        found = None
    if found in wanted:
        return text
    raise InvalidInput(
        f"[{_NAME}] can't be written or removed in the settings as they are",
        "Write the servers as tables of their own, or change that entry by hand; "
        "the file was left as it is.",
    )
