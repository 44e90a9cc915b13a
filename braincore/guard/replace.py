"""One text replaced by another in a file, as the clients' edit tools do it."""

import re
from dataclasses import dataclass

from braincore.errors import InvalidInput

__all__ = ["Refused", "Replacement", "replaced"]

_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What to replace. `loose`: lines may differ in the white space around them; `indents`: the
    new lines then take the indentation of the first old one."""

    old: str
    new: str
    every: bool = False
    expected: int = 1
    loose: bool = False
    indents: bool = False


class Refused(InvalidInput):
    """The client will refuse the edit; with a `reason`, it may yet find a way to do it."""

    def __init__(self, reason: str = "") -> None:
        super().__init__("the client refuses this edit", "Read the file again.")
        self.reason = reason


def replaced(text: str | None, wanted: Replacement) -> str:
    """The file's text after the replacement; None is a file that isn't there.

    Models are shown LF text: in a CRLF file the old and the new text are taken to mean CRLF.
    """
    if wanted.old == "":
        if text:
            raise Refused
        return wanted.new
    if text is None or wanted.old == wanted.new:
        raise Refused
    old, new = wanted.old, wanted.new
    if "\r\n" in text:
        old, new = _crlf(old), _crlf(new)
        if old not in text:
            old, new = wanted.old, wanted.new
    count = text.count(old)
    if not count:
        return _unlike(text, wanted)
    if count != 1 and not wanted.every and count != wanted.expected:
        raise Refused
    return text.replace(old, new)


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _unlike(text: str, wanted: Replacement) -> str:
    """The text after the replacement of something that isn't there to the letter."""
    plain, old = text.translate(_QUOTES), wanted.old.translate(_QUOTES)
    if plain.count(old) == 1 or (wanted.every and old in plain):
        # Claude Code takes typographic quotes for plain ones; both are one character.
        parts: list[str] = []
        end = 0
        for found in re.finditer(re.escape(old), plain):
            parts += [text[end : found.start()], wanted.new]
            end = found.end()
        return "".join(parts) + text[end:]
    if not wanted.loose:
        raise Refused
    result = _by_lines(text, wanted)
    if result is None:
        raise Refused("the text to replace isn't in the file as it is given")
    return result


def _by_lines(text: str, wanted: Replacement) -> str | None:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    sought = [line.strip() for line in wanted.old.split("\n")]
    stripped = [line.strip() for line in lines]
    places: list[int] = []
    at = 0
    while at <= len(lines) - len(sought):
        if stripped[at] == sought[0] and stripped[at : at + len(sought)] == sought:
            places.append(at)
            at += len(sought)
        else:
            at += 1
    if not places or not (wanted.every or len(places) == wanted.expected):
        return None
    for at in reversed(places):
        first, last = lines[at], lines[at + len(sought) - 1]
        indent = first[: len(first) - len(first.lstrip(" \t"))] if wanted.indents else ""
        end = "\r\n" if last.endswith("\r\n") else "\n"
        block = end.join(indent + line for line in wanted.new.split("\n"))
        lines[at : at + len(sought)] = [block + (end if last.endswith("\n") else "")]
    return "".join(lines)
