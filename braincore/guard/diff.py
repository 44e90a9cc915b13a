"""Unified diffs: git's, with renames and quoted names, and plain `---`/`+++` ones."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from braincore.guard.overlay import Overlay, Read, ToolEdits

__all__ = ["apply_unified", "unified_diff_edits"]

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPE = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_NULL = "/dev/null"
_BINARY = ("GIT binary patch", "Binary files ")


@dataclass(slots=True)
class _Hunk:
    start: int
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of ' ', '-' or '+' and the line with its line end."""


@dataclass(slots=True)
class _File:
    git: bool
    old: str | None = None
    new: str | None = None
    keeps_old: bool = True
    copied: bool = False
    hunks: list[_Hunk] = field(default_factory=list)
    problem: str | None = None


def unified_diff_edits(text: str, *, root: str, cwd: str, read: Read, strip: int = 1) -> ToolEdits:
    """What applying this diff in `cwd` would change.

    `strip` leading folders are dropped from names (git's `a/`, `b/`), except from a plain diff's
    names that have no such prefix. A hunk that doesn't apply leaves its file out, with a reason.
    """
    overlay = Overlay(root, read)
    apply_unified(text, overlay, cwd, strip=strip)
    return overlay.result()


def apply_unified(
    text: str,
    overlay: Overlay,
    cwd: str,
    *,
    git_cwd: str | None = None,
    strip: int = 1,
    reverse: bool = False,
    fuzz: int = 0,
    only: str | None = None,
) -> bool:
    """Apply a unified diff to the overlay; True if all of it went in.

    `git_cwd`: the folder that names after a `diff --git` line are relative to (`git apply` takes
    them from the repository's root wherever it runs). `reverse` undoes the diff, `fuzz` context
    lines may differ at each end of a hunk (`patch`), `only` is the one file to change, whatever
    the names say.
    """
    whole = True
    found = False
    for file in _files(text):
        found = True
        if reverse:
            _turn_round(file)
        base = git_cwd if file.git and git_cwd is not None else cwd
        problem = _apply(file, overlay, base, strip, fuzz, only)
        if problem is not None:
            overlay.note(f"{only or file.new or file.old or 'a diff'}: {problem}")
            whole = False
    if not found:
        overlay.note("a diff names no file")
    return whole and found


def _files(text: str) -> Iterator[_File]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    file: _File | None = None
    at = 0
    while at < len(lines):
        line = lines[at].removesuffix("\r")
        if line.startswith("diff --git "):
            if file is not None:
                yield file
            file = _File(True)
            file.old, file.new = _header_names(line.removeprefix("diff --git "))
        elif line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1][:4] == "+++ ":
            if file is None or not file.git or file.hunks:
                if file is not None:
                    yield file
                file = _File(False)
            file.old = _name(line[4:])
            file.new = _name(lines[at + 1].removesuffix("\r")[4:])
            at += 1
        elif line.startswith("@@ ") and file is not None:
            at = _take_hunk(lines, at, file)
            continue
        elif file is not None and file.git:
            _take_header(file, line)
        at += 1
    if file is not None:
        yield file


def _take_header(file: _File, line: str) -> None:
    """One of git's extended header lines."""
    word, _, rest = line.partition(" from ") if " from " in line else line.partition(" to ")
    if word in ("rename", "copy"):
        prefix = "a/" if " from " in line else "b/"
        name = prefix + _unquoted(rest)
        file.copied = word == "copy"
        file.keeps_old = file.copied
        if prefix == "a/":
            file.old = name
        else:
            file.new = name
    elif line.startswith("new file mode"):
        file.old = _NULL
    elif line.startswith("deleted file mode"):
        file.new = _NULL
    elif line.startswith(_BINARY):
        file.problem = "a binary diff is not judged"


def _take_hunk(lines: Sequence[str], at: int, file: _File) -> int:
    """Read the hunk that begins at line `at`; the index of the first line after it."""
    head = _HUNK.match(lines[at])
    if head is None:
        file.problem = "a hunk has no usable line numbers"
        return at + 1
    hunk = _Hunk(int(head[1]))
    old, new = (1 if count is None else int(count) for count in (head[2], head[4]))
    if old == 0:
        hunk.start += 1
    at += 1
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith("\\")):
        line = lines[at]
        kind, body = (line[0], line[1:]) if line and line != "\r" else (" ", line)
        if kind == "\\":
            if hunk.lines:
                last, text = hunk.lines[-1]
                hunk.lines[-1] = (last, text.removesuffix("\n"))
        elif kind in " -+":
            hunk.lines.append((kind, body + "\n"))
            old -= kind != "+"
            new -= kind != "-"
        else:
            break
        at += 1
    if old or new:
        file.problem = "a hunk is not as long as its header says"
    file.hunks.append(hunk)
    return at


def _unquoted(name: str) -> str:
    """A name as git writes it: C-quoted with octal bytes when it isn't plain ASCII."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = bytearray()
    end = 0
    for escape in _ESCAPE.finditer(name, 1, len(name) - 1):
        raw += name[max(end, 1) : escape.start()].encode("utf-8", "surrogatepass")
        code = escape[1]
        raw.append(int(code, 8) & 255 if len(code) == 3 else _ESCAPES[code])
        end = escape.end()
    raw += name[max(end, 1) : -1].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "surrogateescape")


def _name(text: str) -> str:
    """The name on a `---` or `+++` line, without the time that may follow it."""
    if text.startswith('"'):
        return _unquoted(text[: text.rindex('"') + 1])
    return text.split("\t", 1)[0].rstrip(" ")


def _header_names(rest: str) -> tuple[str | None, str | None]:
    """Both names of a `diff --git` line; they are needed only where no other line has them."""
    quoted = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', rest)
    if quoted:
        return _unquoted(quoted[1]), _unquoted(quoted[2])
    # Names with spaces are not quoted; without a rename both halves are the same name.
    half = len(rest) // 2
    return (rest[:half], rest[half + 1 :]) if rest[half : half + 1] == " " else (None, None)


def _turn_round(file: _File) -> None:
    swap = {"-": "+", "+": "-", " ": " "}
    file.old, file.new = file.new, file.old
    shift = 0
    for hunk in file.hunks:
        grown = sum((kind == "+") - (kind == "-") for kind, _ in hunk.lines)
        hunk.start += shift
        shift += grown
        hunk.lines = [(swap[kind], text) for kind, text in hunk.lines]


def _stripped(name: str | None, strip: int, git: bool) -> str | None:
    """The name without its first `strip` folders; None for no file."""
    if name is None or name == _NULL:
        return None
    if not git and strip == 1 and not name.startswith(("a/", "b/")):
        return name
    parts = [part for part in name.split("/") if part] if strip else [name]
    return "/".join(parts[strip:]) if len(parts) > strip else name


def _apply(
    file: _File, overlay: Overlay, cwd: str, strip: int, fuzz: int, only: str | None
) -> str | None:
    """Apply one file's part; the problem, if there is one."""
    if file.problem is not None:
        return file.problem
    if file.old is None and file.new is None:
        return "the diff's header has no usable name"
    old = None if file.old == _NULL else only or _stripped(file.old, strip, file.git)
    new = None if file.new == _NULL else only or _stripped(file.new, strip, file.git)
    if not file.git and old is not None and new is not None and old != new:
        # A plain diff of `x.orig` against `x` changes the one that is there.
        here = overlay.absolute(new, cwd)
        old = old if here is not None and overlay.read(here) is None else new
        new = old
    source = None if old is None else overlay.absolute(old, cwd)
    target = None if new is None else overlay.absolute(new, cwd)
    before = "" if source is None else overlay.read(source)
    if source is None and target is not None and isinstance(overlay.read(target), str):
        return "the diff creates a file that already exists"
    if not isinstance(before, str):
        return "the diff changes a file that isn't there"
    after = _patched(before, file.hunks, fuzz)
    if after is None:
        return "a hunk of the diff doesn't apply to the file"
    if target is None:
        if after and file.hunks:
            return "the diff deletes a file that has more in it"
        if source is not None:
            overlay.write(source, None)
        return None
    if source is not None and source != target and not file.keeps_old:
        overlay.write(source, None)
    overlay.write(target, after)
    return None


def _patched(before: str, hunks: Sequence[_Hunk], fuzz: int) -> str | None:
    """The text after the hunks; None if one of them is nowhere after the one before it."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", before)
    crlf = "\r\n" in before
    result: list[str] = []
    done = 0
    drift = 0
    for hunk in hunks:
        for loose in range(fuzz + 1):
            body, cut = _loosened(hunk.lines, loose)
            wanted = [text for kind, text in body if kind != "+"]
            at = _locate(lines, wanted, hunk.start - 1 + drift + cut, done)
            if at is not None:
                break
        else:
            return None
        drift = at - (hunk.start - 1 + cut)
        result += lines[done:at]
        done = at
        for kind, text in body:
            if kind == "+":
                add_cr = crlf and text.endswith("\n") and not text.endswith("\r\n")
                result.append(text[:-1] + "\r\n" if add_cr else text)
            else:
                if kind == " ":
                    result.append(lines[done])
                done += 1
    return "".join(result + lines[done:])


def _loosened(lines: list[tuple[str, str]], loose: int) -> tuple[list[tuple[str, str]], int]:
    """The hunk without its `loose` outermost context lines, and how many went from the top."""
    first, last = 0, len(lines)
    while first < min(loose, last) and lines[first][0] == " ":
        first += 1
    while last > max(first, len(lines) - loose) and lines[last - 1][0] == " ":
        last -= 1
    return lines[first:last], first


def _locate(lines: Sequence[str], wanted: Sequence[str], guess: int, done: int) -> int | None:
    """The place nearest to `guess`, not before `done`, where the wanted lines are."""
    last = len(lines) - len(wanted)
    if last < done:
        return None
    guess = min(max(guess, done), last)
    for away in range(max(guess - done, last - guess) + 1):
        for at in (guess + away, guess - away):
            if done <= at <= last and _same(lines, wanted, at):
                return at
    return None


def _same(lines: Sequence[str], wanted: Sequence[str], at: int) -> bool:
    for offset, text in enumerate(wanted):
        line = lines[at + offset]
        if line != text and line.replace("\r\n", "\n") != text.replace("\r\n", "\n"):
            return False
    return True
