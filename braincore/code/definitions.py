"""The definitions in a tree: kind, name, range and nodes of what a query captured."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

__all__ = ["Captures", "Definition", "definitions", "nest"]

Captures = dict[str, list[Node]]

_CONSTANT = re.compile(rb"_*[A-Z][A-Z0-9_]*")
_DOTTED = re.compile(rb"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_FUNCTION_VALUES = frozenset(("arrow_function", "function_expression", "generator_function"))
_CONTAINERS = frozenset(("class", "interface"))
_GETTERS = frozenset((b"property", b"cached_property", b"abstractproperty"))


@dataclass(slots=True, eq=False)
class Definition:
    """A definition before it is hashed.

    `start`..`end` are the bytes people mean by it, decorators included; `node` is the definition
    itself, `value` the node that holds parameters and body (a variable's function, else `node`).
    `qualified_name` and `outer` are set by `nest`.
    """

    kind: str
    name: str
    start: int
    end: int
    node: Node
    value: Node
    decorators: tuple[bytes, ...] = ()
    qualified_name: str = ""
    outer: "Definition | None" = field(default=None, repr=False)


def definitions(captures: Captures, source: bytes, language: str) -> list[Definition]:
    """Every definition captured, in source order and nested (see `nest`)."""
    found = _python(captures, source) if language == "python" else _ecma(captures, source)
    return nest(list(found))


def nest(found: list[Definition]) -> list[Definition]:
    """`found` by position, each with its container and its dotted name inside the file.

    What stands in a function hangs from it like a member: `outer.inner`. A function directly in a
    class or interface is a method; a Python constant or an assignment inside a definition is none.
    """
    found.sort(key=lambda one: (one.start, -one.end))
    kept: list[Definition] = []
    stack: list[Definition] = []
    for one in found:
        while stack and stack[-1].end <= one.start:
            stack.pop()
        one.outer = stack[-1] if stack else None
        if one.outer and (one.kind == "constant" or one.node.type == "assignment_expression"):
            continue
        if one.outer is None:
            one.qualified_name = one.name
        else:
            one.qualified_name = f"{one.outer.qualified_name}.{one.name}"
            if one.kind == "function" and one.outer.kind in _CONTAINERS:
                one.kind = "method"
        kept.append(one)
        stack.append(one)
    return kept


def _text(node: Node | None, source: bytes) -> bytes:
    return source[node.start_byte : node.end_byte] if node else b""


def _named(kind: str, node: Node, source: bytes, value: Node | None = None) -> Iterator[Definition]:
    """The definition `node`, if it has a name (an erroneous tree may lack it)."""
    name = _text(node.child_by_field_name("name"), source)
    if name:
        yield Definition(kind, _decoded(name), node.start_byte, node.end_byte, node, value or node)


def _decoded(name: bytes) -> str:
    if name[0] in b"'\"" and len(name) > 2:
        return name[1:-1].decode("utf-8", "surrogatepass")
    return b"".join(name.split()).decode("utf-8", "surrogatepass")


def _python(captures: Captures, source: bytes) -> Iterator[Definition]:
    outers: dict[int, Node] = {}
    for node in captures.get("decorated", ()):
        inner = node.child_by_field_name("definition")
        if inner:
            outers[inner.start_byte] = node
    for kind in ("function", "class"):
        for node in captures.get(kind, ()):
            for one in _named(kind, node, source):
                outer = outers.get(node.start_byte)
                if outer:
                    one.start = outer.start_byte
                    one.decorators = _decorators(outer, source)
                    if kind == "function":
                        one.kind = _accessor(one.decorators)
                yield one
    for node in captures.get("type", ()):
        left = node.child_by_field_name("left")
        name = _DOTTED.match(_text(left, source))
        if name:
            yield Definition("type", name[0].decode(), node.start_byte, node.end_byte, node, node)
    for node in captures.get("constant", ()):
        name_ = _text(node.child_by_field_name("left"), source)
        if _CONSTANT.fullmatch(name_) and node.child_by_field_name("right"):
            yield Definition("constant", name_.decode(), node.start_byte, node.end_byte, node, node)


def _decorators(outer: Node, source: bytes) -> tuple[bytes, ...]:
    """The dotted names of the decorators, without `@` and arguments."""
    texts = (_text(node, source) for node in outer.children if node.type == "decorator")
    return tuple(text[1:].partition(b"(")[0].strip() for text in texts)


def _accessor(decorators: tuple[bytes, ...]) -> str:
    for decorator in decorators:
        last = decorator.rpartition(b".")[2]
        if last in _GETTERS or (last == b"getter" and b"." in decorator):
            return "getter"
        if last == b"setter" and b"." in decorator:
            return "setter"
    return "function"


def _ecma(captures: Captures, source: bytes) -> Iterator[Definition]:
    for kind in ("function", "class", "interface", "type", "enum", "namespace"):
        for node in captures.get(kind, ()):
            yield from _named(kind, node, source)
    for node in captures.get("method", ()):
        accessors = {child.type for child in node.children} & {"get", "set"}
        kind = f"{accessors.pop()}ter" if accessors else "method"
        yield from _named(kind, node, source)
    for kind in ("function", "class"):
        for node in captures.get(f"{kind}.variable", ()):
            yield from _named(kind, node, source, node.child_by_field_name("value"))
        for node in captures.get(f"{kind}.default", ()):
            yield Definition(kind, "default", node.start_byte, node.end_byte, node, node)
    for node in captures.get("field", ()):
        name = node.child_by_field_name("name") or node.child_by_field_name("property")
        value = node.child_by_field_name("value")
        if name and value:
            named = _decoded(_text(name, source))
            yield Definition("method", named, node.start_byte, node.end_byte, node, value)
    for node in captures.get("constant", ()):
        value = node.child_by_field_name("value")
        if value is None or not (
            value.type in _FUNCTION_VALUES or value.type == "class" or _requires(value, source)
        ):
            yield from _named("constant", node, source, value)
    for node in captures.get("function.assigned", ()):
        left = _text(node.child_by_field_name("left"), source)
        if _DOTTED.fullmatch(left) and not left.startswith(b"this."):
            kind, target = _assigned(left.decode())
            value = node.child_by_field_name("right")
            yield Definition(kind, target, node.start_byte, node.end_byte, node, value or node)


def _requires(value: Node, source: bytes) -> bool:
    """Whether a value is a whole module: such a constant is an import."""
    called = value.named_children[0] if value.type == "await_expression" else value
    return _text(called.child_by_field_name("function"), source) in (b"require", b"import")


def _assigned(left: str) -> tuple[str, str]:
    """Kind and name of a function assigned to `left`: CommonJS exports and prototypes."""
    if left in ("module.exports", "exports.default"):
        return "function", "default"
    left = left.removeprefix("module.").removeprefix("exports.")
    holder, prototype, name = left.partition(".prototype.")
    return ("method", f"{holder}.{name}") if prototype else ("function", left)
