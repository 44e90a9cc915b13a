"""Patches in the `*** Begin Patch` envelope that Codex and others speak.

    *** Begin Patch
    *** Add File: path          then `+` lines
    *** Delete File: path
    *** Update File: path       optionally `*** Move to: path`, then chunks:
    @@ a line above the chunk   or a bare `@@`
     context, `-` old, `+` new  optionally `*** End of File`
    *** End Patch

Chunks carry no line numbers: they are found by their text, exactly, then forgiving white space,
then forgiving typographic dashes, quotes and spaces, as Codex does. Unified diffs are in `diff`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from braincore.guard.diff import apply_unified, unified_diff_edits
from braincore.guard.overlay import Overlay, Read, ToolEdits

__all__ = [
    "apply_envelope",
    "apply_patch_edits",
    "apply_unified",
    "is_envelope",
    "unified_diff_edits",
]

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_HEADERS = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_SINGLE, _DOUBLE = "\u2018\u2019\u201a\u201b", "\u201c\u201d\u201e\u201f"
_SPACES = "\u00a0\u202f\u205f\u3000" + "".join(map(chr, range(0x2002, 0x200B)))
_PLAIN = str.maketrans(
    _DASHES + _SINGLE + _DOUBLE + _SPACES,
    "-" * len(_DASHES) + "'" * len(_SINGLE) + '"' * len(_DOUBLE) + " " * len(_SPACES),
)
_LIKENESS: tuple[Callable[[str], str], ...] = (
    str,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_PLAIN),
)


@dataclass(slots=True)
class _Chunk:
    context: str | None = None
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    at_end: bool = False

    @property
    def empty(self) -> bool:
        return not self.old and not self.new


@dataclass(slots=True)
class _File:
    kind: str
    path: str
    move: str | None = None
    added: list[str] = field(default_factory=list)
    chunks: list[_Chunk] = field(default_factory=list)
    stray: str | None = None


def is_envelope(text: str) -> bool:
    """Does the text hold a patch in this envelope?"""
    return _BEGIN in text


def apply_patch_edits(text: str, *, root: str, cwd: str, read: Read) -> ToolEdits:
    """What an `apply_patch` call with this text would change; paths are relative to `cwd`.

    A chunk that isn't found leaves its file out, with a reason; the other files are still judged.
    """
    overlay = Overlay(root, read)
    apply_envelope(text, overlay, cwd)
    return overlay.result()


def apply_envelope(text: str, overlay: Overlay, cwd: str) -> bool:
    """Apply the patch to the overlay; True if all of it went in."""
    if not is_envelope(text):
        overlay.note("a patch has no `*** Begin Patch` line")
        return False
    whole = True
    for file in _files(text):
        problem = _apply(file, overlay, cwd)
        if problem is not None:
            overlay.note(f"{file.path}: {problem}")
            whole = False
    return whole


def _files(text: str) -> Iterator[_File]:
    """The patch's files. A missing `*** End Patch` is forgiven: better judged than missed."""
    inside = text[text.index(_BEGIN) + len(_BEGIN) :]
    file: _File | None = None
    for line in inside.split("\n")[1:]:
        line = line.removesuffix("\r")
        if line.strip() == _END:
            break
        header = next((h for h in _HEADERS if line.strip().startswith(h.strip())), None)
        if header is not None and not line.startswith((" ", "+", "-")):
            if file is not None:
                yield file
            file = _File(_HEADERS[header], line.strip()[len(header.strip()) :].strip())
        elif file is not None:
            _take(file, line)
    if file is not None:
        yield file


def _take(file: _File, line: str) -> None:
    """Add one line of the patch to the file it belongs to."""
    if file.kind == "add" and line.startswith("+"):
        file.added.append(line[1:])
    elif file.kind != "update":
        if line.strip():
            file.stray = file.stray or line
    elif line.startswith(_MOVE.rstrip()) and not file.chunks:
        file.move = line[len(_MOVE.rstrip()) :].strip()
    elif line.rstrip() == "@@" or line.startswith("@@ "):
        file.chunks.append(_Chunk(context=line[3:] or None))
    elif line.rstrip() == _END_OF_FILE:
        if file.chunks:
            file.chunks[-1].at_end = True
    else:
        if not file.chunks or file.chunks[-1].at_end:
            if not line.strip():
                return
            file.chunks.append(_Chunk())
        chunk = file.chunks[-1]
        if line.startswith("-"):
            chunk.old.append(line[1:])
        elif line.startswith("+"):
            chunk.new.append(line[1:])
        elif line.startswith(" ") or not line:
            chunk.old.append(line[1:])
            chunk.new.append(line[1:])
        else:
            file.stray = file.stray or line


def _apply(file: _File, overlay: Overlay, cwd: str) -> str | None:
    """Apply one file's part; the problem, if there is one."""
    path = overlay.absolute(file.path, cwd)
    target = path if file.move is None else overlay.absolute(file.move, cwd)
    if path is None or target is None:
        return "its path in the patch is not usable"
    if file.stray is not None:
        return f"the patch has a line that belongs to nothing: {file.stray[:80]!r}"
    if file.kind == "add":
        overlay.write(path, "".join(f"{line}\n" for line in file.added))
        return None
    before = overlay.read(path)
    if not isinstance(before, str):
        return "the patch changes a file that isn't there"
    if file.kind == "delete":
        overlay.write(path, None)
        return None
    after = _updated(before, file.chunks)
    if after is None:
        return "the patch's context isn't in the file"
    if target != path:
        overlay.write(path, None)
    overlay.write(target, after)
    return None


def _updated(before: str, chunks: Sequence[_Chunk]) -> str | None:
    """The text after the chunks, or None if one of them isn't found after the one before it."""
    lines = before.split("\n")
    if lines[-1] == "":
        lines.pop()
    index = _Index(lines)
    replacements: list[tuple[int, int, list[str]]] = []
    cursor = 0
    for chunk in chunks:
        if chunk.context is not None:
            found = index.seek([chunk.context], cursor, False)
            if found is None:
                return None
            cursor = found + 1
        if chunk.empty:
            continue
        old, new = chunk.old, chunk.new
        if not old:
            replacements.append((len(lines), 0, new))
            continue
        found = index.seek(old, cursor, chunk.at_end)
        if found is None and old[-1] == "":
            old = old[:-1]
            new = new[:-1] if new and new[-1] == "" else new
            found = index.seek(old, cursor, chunk.at_end)
        if found is None:
            return None
        replacements.append((found, len(old), new))
        cursor = found + len(old)
    # A model is shown LF text, so what it adds to a CRLF file takes the file's line ends.
    end = "\r" if "\r\n" in before else ""
    for start, length, new in sorted(replacements, key=lambda item: item[0], reverse=True):
        lines[start : start + length] = [line + end for line in new]
    return "".join(f"{line}\n" for line in lines)


class _Index:
    """A file's lines, to be searched many times."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._alike: list[tuple[list[str], dict[str, list[int]]]] = []

    def seek(self, wanted: Sequence[str], start: int, at_end: bool) -> int | None:
        """Where the wanted lines begin, from `start` on, by the strictest likeness there is."""
        last = len(self._lines) - len(wanted)
        if at_end:
            start = max(last, 0)
        if not wanted:
            return start
        for level, like in enumerate(_LIKENESS):
            lines, places = self._level(level)
            heads = [like(line) for line in wanted]
            found = places.get(heads[0], [])
            for at in found[bisect_left(found, start) :]:
                if at <= last and lines[at : at + len(heads)] == heads:
                    return at
        return None

    def _level(self, level: int) -> tuple[list[str], dict[str, list[int]]]:
        while len(self._alike) <= level:
            lines = [_LIKENESS[len(self._alike)](line) for line in self._lines]
            places: dict[str, list[int]] = {}
            for at, line in enumerate(lines):
                places.setdefault(line, []).append(at)
            self._alike.append((lines, places))
        return self._alike[level]
