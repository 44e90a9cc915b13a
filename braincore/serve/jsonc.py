"""A settings text of JSON with comments and trailing commas: where everything stands, and edits.

Edits insert and cut text, they don't write the document anew: the user's comments, byte order
mark, line ends and indentation stay as they are. A text that can't be read raises InvalidInput.
"""

import json
import re
from dataclasses import dataclass, field
from typing import NoReturn

from braincore.errors import InvalidInput

__all__ = [
    "Document",
    "Edit",
    "Item",
    "Node",
    "applied",
    "cut",
    "insert",
    "is_blank",
    "only_braces",
]

MAX_DEPTH = 100

_BLANK = " \t\r\n"
_TRIVIA = re.compile(r"[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_WORD = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)\b")
_NEWLINE = re.compile(r"[\r\n]")
_LINE_ENDS = re.compile(r"[ \t]*,?[ \t]*(?:[\r\n]|\Z)")

Edit = tuple[int, int, str]


@dataclass(slots=True)
class Node:
    """A value and its place in the text; `kind` is `{`, `[` or empty for a scalar."""

    kind: str
    start: int
    end: int = 0
    scalar: object = None
    items: list["Item"] = field(default_factory=list)

    def member(self, key: str) -> "Item | None":
        """The last member under `key`, which is the one that JSON readers keep."""
        return next((item for item in reversed(self.items) if item.key == key), None)


@dataclass(slots=True)
class Item:
    """A member or element: its start, its key if it has one, and the comma after it, if any."""

    start: int
    key: str | None
    value: Node
    comma: int | None = None


def is_blank(text: str) -> bool:
    """Whether there is nothing but blanks and a byte order mark."""
    return not text.strip("\ufeff" + _BLANK)


def only_braces(text: str) -> bool:
    """Whether there is nothing but an empty object."""
    return text.strip("\ufeff" + _BLANK) == "{}"


def applied(text: str, edits: list[Edit]) -> str:
    """The text after edits whose places are those before all of them."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


class Document:
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

    def _value(self, depth: int) -> Node:
        kind = self._peek()
        node = Node(kind if kind in ("{", "[") else "", self.position)
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

    def _items(self, node: Node, depth: int) -> None:
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
            item = Item(start, key, self._value(depth + 1))
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


def insert(document: Document, container: Node, key: str | None, value: object) -> list[Edit]:
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


def cut(document: Document, container: Node, item: Item) -> list[Edit]:
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
