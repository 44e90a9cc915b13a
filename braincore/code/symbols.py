"""A file's bytes as its symbols and references."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tree_sitter import Node, QueryCursor

from braincore.code import lexer
from braincore.code.definitions import Definition, definitions
from braincore.code.fingerprint import fingerprint, node_id
from braincore.code.grammars import parser_for, symbol_query
from braincore.code.lexer import Lexed
from braincore.code.recovery import recovered
from braincore.code.references import references
from braincore.code.signature import body_hash, signature_hash, signature_text, text_hash
from braincore.code.text import decode, line_at, line_ends
from braincore.model.symbols import FileSymbols, Symbol

__all__ = ["extract"]

MAX_BARE = 10_000


def extract(path: str, data: bytes, language: str, *, project_id: str = "") -> FileSymbols:
    """The symbols and references of one file, in source order; raises GrammarMissing.

    Kinds: class, function, method, getter, setter, interface, type, enum, constant and, in
    TypeScript, namespace. Names are dotted inside the file: `Outer.method`, `outer.inner`. Bytes
    and lines are those of `decode(data)` in UTF-8, so of `data` itself unless it has a byte order
    mark or another encoding. A syntax error sets `has_error` and costs the definition it is in.
    """
    source = decode(data).encode("utf-8", "surrogatepass")
    root = parser_for(language).parse(source).root_node
    if root.has_error and _is_litter(root):
        return FileSymbols(path, language, (), (), has_error=True)
    captures = QueryCursor(symbol_query(language)).captures(root)
    if root.has_error:
        captures = recovered(source, language, captures)
    lexed = lexer.lex(source, language, lexer.spans_of(captures))
    found = definitions(captures, source, language)
    ends = line_ends(source)
    symbols = [_symbol(one, path, language, project_id, lexed, ends) for one in found]
    return FileSymbols(
        path=path,
        language=language,
        symbols=tuple(_numbered(symbols)),
        references=references(captures, source, language, found),
        has_error=root.has_error,
    )


def _is_litter(root: Node) -> bool:
    """Whether thousands of bare tokens stand side by side, as in a file of open brackets: a query
    would look from each of them to the end of the row, with the interpreter's lock held."""
    large = [root]
    while large:
        row = 0
        node = large.pop()
        for child in node.children:
            row = 0 if child.is_named else row + 1
            if row > MAX_BARE:
                return True
            if child.descendant_count > MAX_BARE:
                large.append(child)
    return False


def _symbol(
    one: Definition, path: str, language: str, project_id: str, lexed: Lexed, ends: Sequence[int]
) -> Symbol:
    signature = signature_text(one, lexed, language)
    hashed = signature_hash(one, lexed, language)
    return Symbol(
        path=path,
        language=language,
        kind=one.kind,
        name=one.name,
        qualified_name=one.qualified_name,
        signature=signature,
        signature_hash=hashed,
        text_hash=text_hash(signature),
        body_hash=body_hash(one, lexed),
        first_line=line_at(ends, one.start),
        last_line=line_at(ends, one.end - 1),
        start_byte=one.start,
        end_byte=one.end,
        node_id=node_id(path, one.qualified_name, one.kind, hashed),
        fingerprint=fingerprint(
            project_id, path, one.qualified_name, one.kind, signature, language
        ),
    )


def _numbered(symbols: Sequence[Symbol]) -> Iterable[Symbol]:
    """`symbols` with twins told apart: numbered by what they hold, then by where they stand."""
    twins: dict[str, list[int]] = {}
    for index, symbol in enumerate(symbols):
        twins.setdefault(symbol.node_id, []).append(index)
    result = list(symbols)
    for indices in twins.values():
        if len(indices) == 1:
            continue
        indices.sort(key=lambda index: (symbols[index].text_hash, symbols[index].body_hash, index))
        for ordinal, index in enumerate(indices):
            one = symbols[index]
            identity = node_id(one.path, one.qualified_name, one.kind, one.signature_hash, ordinal)
            result[index] = replace(one, node_id=identity)
    return result
