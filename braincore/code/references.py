"""Uses of names in a tree: calls, imports and inheritance, resolved against the file's imports."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from braincore.code.definitions import Captures, Definition
from braincore.code.text import line_at, line_ends
from braincore.model.symbols import Reference

__all__ = ["references"]

_PLAIN = re.compile(rb"[\w$\x80-\xff#]+(?:\.[\w$\x80-\xff#]+)*")
_SPACE = re.compile(rb"\s+|\\\r?\n")
_LONGEST = 300
_MEMBER = re.compile(rb"\.\s*([\w$\x80-\xff#]+)\Z")


@dataclass(frozen=True, slots=True)
class _Import:
    """One imported name: `target` of `module`, known as `local` ("" when it binds nothing).

    `prefix` replaces `local` in the names written with it; `*` stands for the whole module.
    """

    target: str
    module: str
    local: str
    prefix: str


@dataclass(frozen=True, slots=True)
class _Use:
    start: int
    type: str
    target: str
    imported: _Import | None = None


def references(
    captures: Captures, source: bytes, language: str, found: Sequence[Definition]
) -> tuple[Reference, ...]:
    """All references in source order; each hangs from the innermost of `found` around it.

    The target of a call or base is dotted as written, `?.` and `!.` as `.`; what is called on an
    expression keeps only its last name, after a dot: `f().g()` → `.g`, but `super().g` →
    `super.g`. If its first name was imported in the same or an outer definition, the target is
    spelt from the imported name and `module` is filled: after `from .x import y as z`, `z.q()` →
    `y.q` of `.x`; after `import a.b as c`, `c.f()` → `a.b.f` of `a.b`. In JavaScript a whole
    module (`import * as`, `require`) is the target `*` and drops from the names written with it;
    a default import is `default`; an import for its effect has its own specifier as target.
    """
    uses = sorted(_uses(captures, source, language), key=lambda use: use.start)
    ends = line_ends(source)
    sources = list(_enclosing(uses, found))
    bound: dict[str, list[tuple[str, _Import]]] = {}
    for use, inside in zip(uses, sources, strict=True):
        if use.imported and use.imported.local:
            bound.setdefault(use.imported.local, []).append((inside, use.imported))
    result: list[Reference] = []
    for use, inside in zip(uses, sources, strict=True):
        target, module = use.target, ""
        if use.imported:
            module = use.imported.module
        else:
            candidates = bound.get(target.partition(".")[0])
            if candidates:
                target, module = _resolved(target, inside, candidates)
        result.append(Reference(use.type, inside, target, module, line_at(ends, use.start)))
    return tuple(result)


def _enclosing(uses: Iterable[_Use], found: Sequence[Definition]) -> Iterator[str]:
    """For each of the sorted uses the qualified name of the innermost definition, or ""."""
    stack: list[Definition] = []
    following = 0
    for use in uses:
        while following < len(found) and found[following].start <= use.start:
            while stack and stack[-1].end <= found[following].start:
                stack.pop()
            stack.append(found[following])
            following += 1
        while stack and stack[-1].end <= use.start:
            stack.pop()
        yield stack[-1].qualified_name if stack else ""


def _resolved(
    target: str, inside: str, candidates: Sequence[tuple[str, _Import]]
) -> tuple[str, str]:
    """Target and module of a name, by the innermost import seen from `inside`."""
    best: tuple[int, int, _Import] | None = None
    for scope, imported in candidates:
        if scope and inside != scope and not inside.startswith(scope + "."):
            continue
        # `import os` and `import os.path` bind one name: the longest module written wins.
        rank = (len(scope), len(imported.module) if _within(target, imported.module) else 0)
        if best is None or rank >= best[:2]:
            best = (*rank, imported)
    if best is None:
        return target, ""
    imported = best[2]
    rest = target[len(imported.local) :]
    if imported.prefix == "*":
        return rest[1:] or "*", imported.module
    if imported.prefix != imported.target and not _within(target, imported.module):
        return target, imported.prefix  # `import a.b` binds `a`, and this isn't in `a.b`
    return imported.prefix + rest, imported.module


def _within(target: str, module: str) -> bool:
    return target == module or target.startswith(module + ".")


def _uses(captures: Captures, source: bytes, language: str) -> Iterator[_Use]:
    for name, kind in (("call", "CALLS"), ("inherit", "INHERITS"), ("element", "CALLS")):
        for node in captures.get(name, ()):
            start, end = node.start_byte, node.end_byte
            # Of a long chain of calls only the last name counts; reading it all is quadratic.
            long = end - start > _LONGEST
            target = _dotted(b"()" + source[end - _LONGEST : end] if long else source[start:end])
            if name == "element" and target.islower() and "." not in target:
                continue
            if target and target not in ("require", "import"):
                yield _Use(start, kind, target)
    for node in captures.get("import", ()):
        imports = _python_imports if language == "python" else _ecma_imports
        for start, imported in imports(node, source):
            yield _Use(start, "IMPORTS", imported.target, imported)
    for node in captures.get("import.call", ()):
        for imported in _import_call(node, source):
            yield _Use(node.start_byte, "IMPORTS", imported.target, imported)


def _dotted(text: bytes) -> str:
    """A callee's name as a target; "" if it has none."""
    if not _PLAIN.fullmatch(text):
        text = _SPACE.sub(b"", text).replace(b"?.", b".").replace(b"!.", b".")
        if text.startswith(b"super()."):
            text = b"super" + text[7:]
        if not _PLAIN.fullmatch(text):
            member = _MEMBER.search(text)
            text = b"." + member[1] if member else b""
    return text.decode("utf-8", "surrogatepass")


def _written(node: Node | None, source: bytes) -> str:
    """The text of a name, without white space; of a string, its inside."""
    if node is None:
        return ""
    text = source[node.start_byte : node.end_byte]
    if node.type == "string":
        return text[1:-1].decode("utf-8", "surrogatepass")
    return _SPACE.sub(b"", text).decode("utf-8", "surrogatepass")


def _python_imports(node: Node, source: bytes) -> Iterator[tuple[int, _Import]]:
    future = node.type == "future_import_statement"
    module = "__future__" if future else _written(node.child_by_field_name("module_name"), source)
    for child in node.named_children:
        if child.type == "wildcard_import":
            yield child.start_byte, _Import("*", module, "", "")
    for child in node.children_by_field_name("name"):
        aliased = child.type == "aliased_import"
        name = _written(child.child_by_field_name("name") if aliased else child, source)
        alias = _written(child.child_by_field_name("alias"), source) if aliased else ""
        if not name:
            continue
        if module:
            yield child.start_byte, _Import(name, module, alias or name, name)
        elif alias:
            yield child.start_byte, _Import(name, name, alias, name)
        else:
            package = name.partition(".")[0]
            yield child.start_byte, _Import(name, name, package, package)


def _ecma_imports(node: Node, source: bytes) -> Iterator[tuple[int, _Import]]:
    """Imports of an `import` or `export … from` statement; an export binds nothing here."""
    exported = node.type == "export_statement"
    module = _written(node.child_by_field_name("source"), source)
    bound = False
    for clause in node.named_children:
        if clause.type in ("import_clause", "export_clause"):
            for start, imported in _clause(clause, source, module, exported):
                bound = True
                yield start, imported
        elif clause.type == "import_require_clause":
            bound = True
            module = _written(clause.child_by_field_name("source"), source)
            local = _written(clause.named_children[0], source)
            yield node.start_byte, _Import("*", module, local, "*")
    if not bound and module:
        # `export * from`, or an import for its effect.
        target = "*" if exported else module
        yield node.start_byte, _Import(target, module, "", "")


def _clause(
    clause: Node, source: bytes, module: str, exported: bool
) -> Iterator[tuple[int, _Import]]:
    for child in clause.named_children:
        if child.type == "identifier":
            yield child.start_byte, _Import("default", module, _written(child, source), "default")
        elif child.type == "namespace_import":
            local = _written(child.named_children[-1], source)
            yield child.start_byte, _Import("*", module, local, "*")
        elif child.type == "named_imports":
            yield from _clause(child, source, module, exported)
        elif child.type in ("import_specifier", "export_specifier"):
            name = _written(child.child_by_field_name("name"), source)
            alias = _written(child.child_by_field_name("alias"), source) or name
            yield child.start_byte, _Import(name, module, "" if exported else alias, name)


def _import_call(node: Node, source: bytes) -> Iterator[_Import]:
    """Imports of `require("m")` and `import("m")`, with the names a declaration gives them."""
    called = _written(node.child_by_field_name("function"), source)
    arguments = node.child_by_field_name("arguments")
    if called not in ("require", "import") or arguments is None:
        return
    module = _written(arguments.named_children[0], source)
    declared = node.parent
    if declared is not None and declared.type == "await_expression":
        declared = declared.parent
    if declared is None or declared.type != "variable_declarator":
        yield _Import("*", module, "", "")
        return
    name = declared.child_by_field_name("name")
    if name is None or name.type != "object_pattern":
        yield _Import("*", module, _written(name, source), "*")
        return
    for child in name.named_children:
        if child.type == "shorthand_property_identifier_pattern":
            local = _written(child, source)
            yield _Import(local, module, local, local)
        elif child.type == "pair_pattern":
            key = _written(child.child_by_field_name("key"), source)
            yield _Import(key, module, _written(child.child_by_field_name("value"), source), key)
