"""Merge braincore's hooks into a client's JSON settings text and take them out again.

Pure functions from text to text. The user's comments, byte order mark, line ends, indentation
and hooks stay as they are: a merge inserts text, it doesn't write the document anew. Read and
write the file with `newline=""`, so that CRLF survives. The dialect is JSON with comments and
trailing commas. A text that can't be used raises InvalidInput and nothing has happened yet.
"""

import json
import os.path
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from braincore.errors import InvalidInput

__all__ = [
    "HookEntry",
    "hook_command",
    "is_ours",
    "merge_hooks",
    "our_commands",
    "remove_hooks",
    "uninstall_text",
]

MAX_DEPTH = 100
MARK = re.compile(r"/braincore/serve/hook_client\.py(?![\w.-])")
LOADER = (
    'import sys;sys.path.append(sys.argv[1].rpartition("/")[0]);'
    "import hook_client;hook_client.run()"
)

_BLANK = " \t\r\n"
_TRIVIA = re.compile(r"[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_WORD = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)\b")
_NEWLINE = re.compile(r"[\r\n]")
_LINE_ENDS = re.compile(r"[ \t]*,?[ \t]*(?:[\r\n]|\Z)")

Edit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One hook of ours: the tools it matches (None: no matcher), its command, seconds allowed."""

    matcher: str | None
    command: str
    timeout: int


@dataclass(slots=True)
class _Node:
    """A value and its place in the text; `kind` is `{`, `[` or empty for a scalar."""

    kind: str
    start: int
    end: int = 0
    scalar: object = None
    items: list["_Item"] = field(default_factory=list)

    def member(self, key: str) -> "_Item | None":
        """The last member under `key`, which is the one that JSON readers keep."""
        return next((item for item in reversed(self.items) if item.key == key), None)


@dataclass(slots=True)
class _Item:
    """A member or element: its start, its key if it has one, and the comma after it, if any."""

    start: int
    key: str | None
    value: _Node
    comma: int | None = None


Path = tuple[tuple[_Node, _Item], ...]


def hook_command(python: str, client_file: str, client: str) -> str:
    """The shell command of one hook; `python` and `client_file` are absolute paths.

    The file is imported by its folder, not run: its compiled form is used, and when it has gone
    Python exits 1, which lets the edit through (running a missing file exits 2, which blocks it).
    """
    for path in (python, client_file):
        if not os.path.isabs(path):
            raise InvalidInput(f"The hook's path {path!r} is relative", "Give an absolute path.")
    if not is_ours(client_file):
        raise InvalidInput(f"{client_file!r} isn't the hook client", "Give hook_client.py's path.")
    return shlex.join([python, "-S", "-E", "-I", "-c", LOADER, client_file, client])


def is_ours(command: str) -> bool:
    """Whether a hook's command runs braincore's hook client, wherever that is installed."""
    return MARK.search(command.replace("\\", "/")) is not None


def merge_hooks(
    text: str | None, entries: Mapping[str, Sequence[HookEntry]], original: str | None = None
) -> str:
    """`text` with exactly `entries` (by event) as our hooks; None stands for a missing file.

    What is right already stays untouched, so merging twice changes nothing more. An older entry
    of ours for the same event and matcher gets the new command and timeout in place; one that is
    no longer wanted goes as `remove_hooks` with `original` would take it.
    """
    for entry in (entry for group in entries.values() for entry in group):
        if not is_ours(entry.command):
            raise InvalidInput(f"{entry.command!r} isn't a hook of ours", "Use hook_command.")
    if text is None:
        text = "{}\n"
    elif _is_blank(text):
        text = text[: text.startswith("\ufeff")] + "{}\n"
    _check_shape(_Document(text), entries)
    return _converge(text, entries, original)


def remove_hooks(text: str, original: str | None = None) -> str | None:
    """`text` without our hooks; None when nothing but what we created would be left.

    Containers that this empties go too, except those that hold comments or that `original`,
    the text before we came, has as well. Everything else stays.
    """
    if _is_blank(text):
        return text
    result = _converge(text, {}, original)
    if result == text or result.strip("\ufeff" + _BLANK) != "{}":
        return result
    return original if original is None or _is_blank(original) else result


def our_commands(text: str, event: str) -> list[str]:
    """The commands of our hooks for an event; none of a text that can't be read."""
    try:
        paths = list(_ours(_Document(text)))
    except InvalidInput:
        return []
    found = [(p[1][1].key, p[4][1].value.member("command")) for p in paths]
    return [str(c.value.scalar) for key, c in found if key == event and c is not None]


def uninstall_text(current: str, original: str | None, installed: str) -> str | None:
    """What to write at uninstall; None: delete the file, which `original` None says was not there.

    Byte for byte `original` when `current` is still the `installed` text that was made from it,
    else a removal that keeps the user's later edits. To install again over edited settings,
    take `uninstall_text(current, original, installed)` as the new original first.
    """
    return original if current == installed else remove_hooks(current, original)


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff" + _BLANK)


class _Document:
    """A parsed settings text: the tree with places, and the comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[tuple[int, int]] = []
        self.position = int(text.startswith("\ufeff"))
        self.root = self._value(0)
        self._skip()
        if self.position < len(text):
            self._fail("nothing more was expected")
        if self.root.kind != "{":
            raise InvalidInput("The settings are no JSON object", "Put them in { }.")

    def _fail(self, problem: str) -> NoReturn:
        lines = re.split(r"\r\n|\r|\n", self.text[: self.position].removeprefix("\ufeff"))
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
        raise InvalidInput(
            f"The settings can't be read at {place}: {problem}",
            "Mend that place; the file was left as it is.",
        )

    def _skip(self) -> None:
        while match := _TRIVIA.match(self.text, self.position):
            if self.text[self.position] == "/":
                self.comments.append(match.span())
            self.position = match.end()

    def _peek(self) -> str:
        self._skip()
        return self.text[self.position : self.position + 1]

    def _string(self) -> str:
        match = _STRING.match(self.text, self.position)
        if match is None:
            self._fail("a string in double quotes was expected")
        self.position = match.end()
        return str(json.loads(match.group()))

    def _value(self, depth: int) -> _Node:
        kind = self._peek()
        node = _Node(kind if kind in ("{", "[") else "", self.position)
        if depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH}")
        if node.kind:
            self._items(node, depth)
        elif kind == '"':
            node.scalar = self._string()
        elif match := _WORD.match(self.text, self.position):
            word = match.group()
            node.scalar = json.loads(word) if len(word) < 20 else word
            self.position = match.end()
        else:
            self._fail("a value was expected")
        node.end = self.position
        return node

    def _items(self, node: _Node, depth: int) -> None:
        close = "}" if node.kind == "{" else "]"
        self.position += 1
        while self._peek() != close:
            if node.items and node.items[-1].comma is None:
                self._fail(f"a comma or {close} was expected")
            start, key = self.position, None
            if node.kind == "{":
                key = self._string()
                if self._peek() != ":":
                    self._fail("a colon was expected")
                self.position += 1
            item = _Item(start, key, self._value(depth + 1))
            node.items.append(item)
            if self._peek() == ",":
                item.comma = self.position
                self.position += 1
        self.position += 1

    def solid_end(self, position: int) -> tuple[int, bool]:
        """Where the last thing before `position` that isn't blank ends; is it a line comment?"""
        end = len(self.text[:position].rstrip(_BLANK))
        for start, stop in self.comments:
            if start < end <= stop and self.text.startswith("//", start):
                return stop, True
        return end, False

    def commented(self, start: int, end: int, but: tuple[int, int] = (0, 0)) -> bool:
        """Whether a comment begins in the span, outside the span `but`."""
        return any(start <= at < end and not but[0] <= at < but[1] for at, _ in self.comments)

    def margin(self, position: int) -> str:
        """The blanks that the line of `position` begins with."""
        line = re.split(r"[\r\n]", self.text[:position])[-1].removeprefix("\ufeff")
        return line[: len(line) - len(line.lstrip(" \t"))]


def _check_shape(document: _Document, entries: Mapping[str, Sequence[HookEntry]]) -> None:
    hint = "Mend it; the file was left as it is."
    if sum(item.key == "hooks" for item in document.root.items) > 1:
        raise InvalidInput('The settings have the key "hooks" twice', hint)
    hooks = document.root.member("hooks")
    if hooks is None:
        return
    if hooks.value.kind != "{":
        raise InvalidInput('"hooks" in the settings is no object', hint)
    keys = [item.key for item in hooks.value.items]
    for item in hooks.value.items:
        if keys.count(item.key) > 1:
            raise InvalidInput(f'"hooks" in the settings has the key "{item.key}" twice', hint)
        if item.key in entries and item.value.kind != "[":
            raise InvalidInput(f'"{item.key}" under "hooks" in the settings is no array', hint)


def _ours(document: _Document) -> Iterator[Path]:
    """The way from the root to each handler of ours: hooks, event, group, its hooks, handler."""
    root = document.root
    for hooks in (item for item in root.items if item.key == "hooks"):
        for event in hooks.value.items if hooks.value.kind == "{" else ():
            for group in event.value.items if event.value.kind == "[" else ():
                for inner in (item for item in group.value.items if item.key == "hooks"):
                    for handler in inner.value.items if inner.value.kind == "[" else ():
                        command = handler.value.member("command")
                        if command and is_ours(str(command.value.scalar)):
                            yield (
                                (root, hooks),
                                (hooks.value, event),
                                (event.value, group),
                                (group.value, inner),
                                (inner.value, handler),
                            )


def _converge(text: str, wanted: Mapping[str, Sequence[HookEntry]], original: str | None) -> str:
    """Edit step by step until our hooks are the wanted ones."""
    before = None if original is None or _is_blank(original) else _Document(original)
    while edits := _next_edits(_Document(text), wanted, before):
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
    return text


def _next_edits(
    document: _Document, wanted: Mapping[str, Sequence[HookEntry]], before: _Document | None
) -> list[Edit]:
    found = list(_ours(document))
    for event, entries in wanted.items():
        for entry in entries:
            same = [path for path in found if _serves(path, event, entry.matcher)]
            if not same:
                return _add(document, event, entry)
            found.remove(same[0])
            if edits := _update(document, same[0][4][1].value, entry):
                return edits
    return _remove(document, found[0], before) if found else []


def _serves(path: Path, event: str, matcher: str | None) -> bool:
    member = path[2][1].value.member("matcher")
    return path[1][1].key == event and (member.value.scalar if member else None) == matcher


def _update(document: _Document, handler: _Node, entry: HookEntry) -> list[Edit]:
    values: dict[str, object] = {"command": entry.command, "timeout": entry.timeout}
    for key, value in values.items():
        member = handler.member(key)
        if member is None:
            return _insert(document, handler, key, value)
        if member.value.kind or member.value.scalar != value:
            return [(member.value.start, member.value.end, json.dumps(value, ensure_ascii=False))]
    return []


def _add(document: _Document, event: str, entry: HookEntry) -> list[Edit]:
    handler = {"type": "command", "command": entry.command, "timeout": entry.timeout}
    group: dict[str, object] = {} if entry.matcher is None else {"matcher": entry.matcher}
    group["hooks"] = [handler]
    hooks = document.root.member("hooks")
    if hooks is None:
        return _insert(document, document.root, "hooks", {event: [group]})
    present = hooks.value.member(event)
    if present is None:
        return _insert(document, hooks.value, event, [group])
    return _insert(document, present.value, None, group)


def _insert(document: _Document, container: _Node, key: str | None, value: object) -> list[Edit]:
    """Append to a container in the manner of what stands in it, else of the whole document."""
    text, items, root = document.text, container.items, document.root
    pattern = container if items else root
    first = pattern.items[0].start if pattern.items else None
    many_lines = first is None or bool(_NEWLINE.search(text, pattern.start, first))
    tight = not many_lines and text[first or 0 : root.end].count('": ') == 0
    unit = document.margin(root.items[0].start) if root.items else ""
    unit = unit.removeprefix(document.margin(root.start)) or "  "
    base = document.margin(container.start)
    margin = document.margin(items[0].start) if items else base + unit

    new = json.dumps(
        value if key is None else {key: value},
        ensure_ascii=False,
        indent=unit if many_lines else None,
        separators=(",", ":") if tight else None,
    )
    if key is not None:
        new = new[1:-1].strip().replace("\n" + unit, "\n") if many_lines else new[1:-1]
    newline = "\r\n" if "\r\n" in text else "\n"
    new = new.replace("\n", newline + margin)
    place, in_line_comment = document.solid_end(container.end - 1)
    if many_lines or in_line_comment:
        new = newline + margin + new
        after = "" if _NEWLINE.search(text, place, container.end - 1) else newline + base
    else:
        new, after = new if not items or tight else " " + new, ""
    if not items:
        return [(place, place, new + after)]
    if items[-1].comma is not None:
        return [(place, place, new + "," + after)]
    if place == (end := items[-1].value.end):
        return [(place, place, "," + new + after)]
    return [(end, end, ","), (place, place, new + after)]


def _remove(document: _Document, path: Path, before: _Document | None) -> list[Edit]:
    """Cut one handler of ours with the containers that it leaves empty and that were ours."""
    hooks_before = before.root.member("hooks") if before else None
    events_before = {item.key for item in hooks_before.value.items} if hooks_before else set()
    group = path[2][1].value
    handlers, events, hooks = (path[level][0].items for level in (4, 2, 1))
    steps = (
        (2, len(handlers) == 1 and {item.key for item in group.items} <= {"matcher", "hooks"}),
        (1, len(events) == 1 and path[1][1].key not in events_before),
        (0, len(hooks) == 1 and hooks_before is None),
    )
    level = 4
    for above, empty in steps:
        inner, outer = path[level][1], path[above][1]
        span = (inner.start, inner.value.end)
        if not empty or document.commented(outer.start, outer.value.end, span):
            break
        level = above
    return _cut(document, *path[level])


def _cut(document: _Document, container: _Node, item: _Item) -> list[Edit]:
    """Take an item out with its comma and the blanks before it, leaving all comments."""
    start, end = item.start, item.value.end
    inside = (container.start + 1, container.end - 1)
    if len(container.items) == 1 and not document.commented(*inside, (start, end)):
        return [(*inside, "")]
    solid, in_line_comment = document.solid_end(start)
    commas = [other.comma for other in container.items if other.start < start]
    comma = commas[-1] if item.comma is None and commas else item.comma
    joins_comment = in_line_comment and not _LINE_ENDS.match(document.text, end)
    edits = [(start if joins_comment else solid, end, "")]
    if comma is not None:
        after = comma + 1
        while solid == start and comma >= end and document.text[after] in " \t":
            after += 1
        edits.append((comma, after, ""))
    return edits
