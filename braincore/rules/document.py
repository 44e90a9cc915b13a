"""YAML as nodes with positions, so that every complaint can point at its line.

Stricter than YAML where leniency hides a mistake or costs without bound: no duplicate keys, no
anchors, no tags, one document, bounded size and depth.
"""

import difflib
import re
from collections.abc import Collection

import yaml

from braincore.errors import BraincoreError
from braincore.rules.schema import RuleError

try:
    from yaml import CSafeLoader
except ImportError as error:
    raise BraincoreError(
        "PyYAML was built without libyaml. Reinstall it from a binary wheel: "
        "`pip install --force-reinstall --only-binary=:all: PyYAML`."
    ) from error

__all__ = ["Document", "nearest", "place", "plain"]

MAX_CHARS = 64_000
MAX_DEPTH = 40

_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[+-]?\d{1,18}")


def nearest(name: str, known: Collection[str], otherwise: str) -> str:
    """The hint for an unknown name: the nearest known one, else `otherwise`."""
    near = difflib.get_close_matches(name.lower(), sorted(known), 1, 0.6)
    return f"Did you mean `{near[0]}`?" if near else otherwise


class Document:
    """One YAML file: its root mapping (None when it has none) and the errors found so far."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.errors: list[RuleError] = []
        self.root: yaml.MappingNode | None = None
        if self._readable(text) and self._bounded(text):
            self._compose(text)

    def report(self, node: yaml.Node | None, message: str, hint: str) -> None:
        """Add an error at `node`; None: at the start of the file."""
        line, column = place(node)
        self.errors.append(RuleError(self.path, line, column, message, hint))

    def fields(self, node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Key → (key node, value node)."""
        return {key.value: (key, value) for key, value in node.value}

    def string(self, node: yaml.Node, what: str) -> str | None:
        """The non-empty text of a scalar; None, reported, when it is something else."""
        if not isinstance(node, yaml.ScalarNode):
            self.report(node, f"{what} must be text, not {_kind(node)}", "Write one string.")
            return None
        if node.tag in (f"{_TAG}bool", f"{_TAG}int", f"{_TAG}float", f"{_TAG}null") and node.value:
            kind = node.tag.removeprefix(_TAG)
            self.report(
                node,
                f"{what} must be text, but YAML reads `{node.value}` as {kind}",
                "Put it in quotes.",
            )
            return None
        if not node.value.strip():
            self.report(node, f"{what} is empty", "Write it, or leave the key out.")
            return None
        return str(node.value)

    def strings(self, node: yaml.Node, what: str) -> list[tuple[str, yaml.Node]] | None:
        """The texts of a list with their nodes; None, reported, when it is no list."""
        if not isinstance(node, yaml.SequenceNode):
            self.report(
                node,
                f"{what} must be a list, not {_kind(node)}",
                "Write it as a list: `[one, two]`.",
            )
            return None
        found = [(self.string(item, f"an entry of {what}"), item) for item in node.value]
        return [(text, item) for text, item in found if text is not None]

    def mapping(self, node: yaml.Node, what: str) -> yaml.MappingNode | None:
        """`node` if it is a mapping; None, reported, when it isn't."""
        if isinstance(node, yaml.MappingNode):
            return node
        self.report(
            node, f"{what} must be a mapping, not {_kind(node)}", "Write `key: value` lines."
        )
        return None

    def known(self, node: yaml.MappingNode, known: Collection[str], where: str) -> bool:
        """Report every key of `node` that isn't `known`; True when there is none."""
        strangers = [key for key, _ in node.value if key.value not in known]
        for key in strangers:
            self.report(
                key,
                f"unknown key `{key.value}` in {where}",
                nearest(key.value, known, f"Known keys: {', '.join(known)}."),
            )
        return not strangers

    def _readable(self, text: str) -> bool:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self._at(text, error.start, "the file is not valid UTF-8")
            return False
        if len(text) > MAX_CHARS:
            self.report(
                None, f"the file is longer than {MAX_CHARS} characters", "A rule is one page."
            )
            return False
        return True

    def _at(self, text: str, offset: int, problem: str) -> None:
        line = text.count("\n", 0, offset) + 1
        column = offset - text.rfind("\n", 0, offset)
        hint = "Save the file as UTF-8 text without control characters."
        self.errors.append(RuleError(self.path, line, column, problem, hint))

    def _bounded(self, text: str) -> bool:
        """Syntax, depth, anchors and number of documents, from events: no recursion yet."""
        depth = documents = 0
        try:
            for event in yaml.parse(text, Loader=CSafeLoader):
                if isinstance(event, yaml.AliasEvent):
                    problem = "aliases are not supported", "Write the value out instead of `*name`."
                elif isinstance(event, yaml.CollectionStartEvent) and depth == MAX_DEPTH:
                    problem = f"nested deeper than {MAX_DEPTH} levels", "Use `utils` to flatten it."
                elif isinstance(event, yaml.DocumentStartEvent) and documents:
                    problem = "a second document begins here", "One rule a file: split it."
                else:
                    documents += isinstance(event, yaml.DocumentStartEvent)
                    depth += isinstance(event, yaml.CollectionStartEvent)
                    depth -= isinstance(event, yaml.CollectionEndEvent)
                    continue
                line, column = place(event)
                self.errors.append(RuleError(self.path, line, column, *problem))
                return False
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark or error.context_mark
            line, column = (at.line + 1, at.column + 1) if at else (1, 1)
            context = f" {error.context}" if error.context else ""
            self.errors.append(
                RuleError(
                    self.path,
                    line,
                    column,
                    f"not valid YAML: {error.problem}{context}",
                    "Check indentation and quotes; put code in a `|` block or in quotes.",
                )
            )
            return False
        except yaml.reader.ReaderError as error:
            offset = min(int(error.position), len(text))
            self._at(text, offset, f"not valid YAML: {error.reason}")
            return False
        return True

    def _compose(self, text: str) -> None:
        node = yaml.compose(text, Loader=CSafeLoader)
        if node is None:
            self.report(None, "the file is empty", "Write a rule, or delete the file.")
        elif not isinstance(node, yaml.MappingNode):
            self.report(
                node, f"the file must be a mapping, not {_kind(node)}", "Write `id: …` lines."
            )
        else:
            before = len(self.errors)
            self._sane(node)
            self.root = node if len(self.errors) == before else None

    def _sane(self, node: yaml.Node) -> None:
        """Report tags, keys that aren't text and keys written twice, at any depth."""
        if not node.tag.startswith(_TAG) or node.tag.startswith(f"{_TAG}python"):
            self.report(node, f"the tag {node.tag} is not supported", "Leave the tag out.")
        if isinstance(node, yaml.MappingNode):
            seen: dict[str, yaml.Node] = {}
            for key, value in node.value:
                self._key(key, seen)
                self._sane(value)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                self._sane(item)

    def _key(self, key: yaml.Node, seen: dict[str, yaml.Node]) -> None:
        if not isinstance(key, yaml.ScalarNode) or key.tag != f"{_TAG}str":
            self.report(key, "a key must be plain text", "Put it in quotes if it is meant.")
        elif key.value in seen:
            first, _ = place(seen[key.value])
            self.report(
                key, f"the key `{key.value}` is written twice", f"It is already on line {first}."
            )
        else:
            seen[key.value] = key


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else "text"


def place(node: yaml.Node | yaml.Event | None) -> tuple[int, int]:
    """Line and column of a node, from 1; without a node those of the file's start."""
    mark = node.start_mark if node is not None else None
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def plain(node: yaml.Node) -> object:
    """The value of a node: dict, list, bool, int or text (what else YAML reads stays text)."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    if node.tag == f"{_TAG}bool":
        return str(node.value).lower() in ("yes", "true", "on")
    if node.tag == f"{_TAG}int" and _DECIMAL.fullmatch(node.value):
        return int(node.value)
    return str(node.value)
