"""A file with a syntax error, read so that the error costs one definition and not the rest.

A parser that meets an unclosed bracket may swallow everything after it. But a person's layout
still shows where definitions start and end, so the file is cut there, each innermost piece parsed
alone, and those that are wrong by themselves are blanked out before the whole is parsed again.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tree_sitter import Node, Parser, QueryCursor, Range

from braincore.code.definitions import Captures, definitions
from braincore.code.grammars import parser_for, symbol_query
from braincore.code.lexer import BRACKETS, lex
from braincore.code.text import line_at, line_ends

__all__ = ["recovered"]

_PYTHON_START = re.compile(rb"[ \t]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w)")
_ECMA_START = re.compile(
    rb"[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?"
    rb"(?:@\w|(?:async[ \t]+)?function\b|(?:abstract[ \t]+)?class[ \t]+\w|interface[ \t]+\w"
    rb"|(?:const[ \t]+)?enum[ \t]+\w|namespace[ \t]+\w|type[ \t]+\w+[^=]*=|(?:const|let|var)[ \t]"
    rb"|(?!(?:if|for|while|switch|catch|with|return|else|do)\b)"
    rb"(?:(?:static|async|get|set|public|private|protected|readonly|abstract|override)[ \t]+)*"
    rb"[\#*]?[\w$]+[ \t]*\([^;]*\{[ \t\r]*$)"
)
_CONTINUES = re.compile(rb"[ \t]*(?:[)\]}]|(?:elif|else|except|finally|case)\b)")
_CLOSERS = frozenset(b")]}")
_USES = frozenset(("call", "import", "import.call", "inherit", "element", "opaque", "prose"))


def recovered(source: bytes, language: str, captures: Captures) -> Captures:
    """`captures`, or those of the mended file if they hold more definitions.

    Offsets are those of `source`. A broken piece still gives what can be read of it alone.
    """
    parser, ends = parser_for(language), line_ends(source)
    broken = [
        piece
        for piece in _pieces(source, language)
        if _root(parser, source, ends, piece).has_error
        and not _whole_member(source, language, piece)
    ]
    if not broken:
        return captures
    mended = bytearray(source)
    for start, end in broken:
        mended[start:end] = _mended(source[start:end], language)
    query = symbol_query(language)
    root = parser_for(language).parse(bytes(mended)).root_node
    merged = dict(QueryCursor(query).captures(root))
    known = {node.start_byte for name in merged.keys() - _USES for node in merged[name]}
    for piece in broken:
        for name, nodes in QueryCursor(query).captures(_root(parser, source, ends, piece)).items():
            if name in _USES or piece[0] not in known:
                merged[name] = merged.get(name, []) + nodes
    counts = [len(definitions(one, source, language)) for one in (captures, merged)]
    return merged if counts[1] > counts[0] else captures


def _root(parser: Parser, source: bytes, ends: Sequence[int], piece: tuple[int, int]) -> Node:
    """The tree of a piece alone, its offsets and lines those of the file."""
    first, last = (_point(ends, offset) for offset in piece)
    parser.included_ranges = [Range(first, last, *piece)]
    return parser.parse(source).root_node


def _point(ends: Sequence[int], offset: int) -> tuple[int, int]:
    row = line_at(ends, offset) - 1
    return row, offset - (ends[row - 1] if row else 0)


def _whole_member(source: bytes, language: str, piece: tuple[int, int]) -> bool:
    """Whether a piece is whole although it can't stand alone, as a method can't in JavaScript."""
    start, end = piece
    member = language != "python" and source[start - 1 : start] in (b" ", b"\t")
    return member and _open_brackets(source[start:end], language) == 0


def _open_brackets(text: bytes, language: str) -> int:
    """How many brackets `text` leaves open; -1 if it closes more than it opens."""
    depth = 0
    for token in lex(text, language, ()).texts:
        depth += BRACKETS.get(token, 0)
        if depth < 0:
            break
    return depth


def _mended(piece: bytes, language: str) -> bytes:
    """As many bytes as `piece`: its first line, if sound, with an empty body, else blanks."""
    head = piece.partition(b"\n")[0].rstrip()
    used = len(piece.rstrip())
    python = language == "python"
    ending, stub, opened = (b":", b"pass", 0) if python else (b"{", b"}", 1)
    gap = used - len(head) - len(stub)
    if gap > 0 and head.endswith(ending) and _open_brackets(head, language) == opened:
        return head + b" " * gap + stub + piece[used:]
    blank = re.sub(rb"[^\n]", b" ", piece)
    return stub + blank[len(stub) :] if python and len(head) >= len(stub) else blank


def _pieces(source: bytes, language: str) -> Iterator[tuple[int, int]]:
    """The innermost pieces: from the first word of a line to the line where the next one starts."""
    starts = list(_starts(source, language))
    for (start, indent), (following, deeper) in pairwise([*starts, (len(source), 0)]):
        if deeper <= indent and source[start] not in _CLOSERS:
            yield start, following - deeper


def _starts(source: bytes, language: str) -> Iterator[tuple[int, int]]:
    """Offset and indentation of the lines where a definition or what follows one starts."""
    python = language == "python"
    pattern = _PYTHON_START if python else _ECMA_START
    at, current, decorating = 0, 0, False
    for line in source.split(b"\n"):
        stripped = line.lstrip(b" \t")
        indent = len(line) - len(stripped)
        if stripped.strip():
            defines = pattern.match(line) is not None
            if defines and not (decorating and current == indent):
                yield at + indent, indent
                current = indent
            elif (
                not defines
                and indent <= current
                and (python or indent == 0)  # elsewhere JavaScript's layout is less certain
                and not _CONTINUES.match(line)
            ):
                yield at + indent, indent
                current = indent if python else -1
            elif not python and indent < current and stripped[0] in _CLOSERS:
                yield at + indent, indent
                current = indent
            if defines or not decorating:
                decorating = stripped.startswith(b"@")
        at += len(line) + 1
