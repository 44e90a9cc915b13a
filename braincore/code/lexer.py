"""Source bytes as tokens with offsets: comments and layout dropped, block structure kept.

Regular expressions cut the text; the tree is asked only for the spans they can't delimit (strings
with interpolation, regular expressions, JSX text). So a fragment that doesn't parse still falls
into the same tokens as it does inside its file, and a file is cut at the speed of `findall`.

Python's blocks are said by markers between tokens: INDENT, DEDENT, and NEWLINE between statements
(`;` gives one too, and `if x: y` the same as with a line break). CUT is a line break after a line
that began outside the fragment: it closes a bracket too many, or stands left of what follows
without opening it. In JavaScript and TypeScript a NEWLINE stands only where a line break ends a
statement by itself, as after `return`.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node, QueryCursor

from braincore.code.grammars import parser_for, token_query

__all__ = [
    "BRACKETS",
    "CUT",
    "DEDENT",
    "INDENT",
    "MARKERS",
    "NEWLINE",
    "Lexed",
    "Span",
    "lex",
    "spans_of",
]

# A control character starts each marker: in source it is a token of one character.
NEWLINE = b"\x1dnewline"
INDENT = b"\x1dindent"
DEDENT = b"\x1ddedent"
CUT = b"\x1dcut"
MARKERS = frozenset((NEWLINE, INDENT, DEDENT, CUT))
BRACKETS = {b"(": 1, b"[": 1, b"{": 1, b")": -1, b"]": -1, b"}": -1}

Span = tuple[int, int, bool]
"""Start, end, and whether it is prose (cut into words) or one token."""

_WORD = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_NUMBER = rb"0[xX][\da-fA-F_]+n?|\d(?:[eE][+-]?\d|\w|\.(?=\d))*"
_PYTHON = re.compile(
    rb"(?:[ \t\f\r]*(?:\#[^\n]*)?\n)+[ \t\f]*"  # line ends, blank and comment lines, indentation
    rb"|[ \t\f\r]+|\#[^\n]*|\\\r?\n[ \t\f]*"
    rb"|(?:[rR][bBfFtT]?|[bBfFtT][rR]?|[uU])?(?:"
    rb"'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    rb'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    rb"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*")'
    rb"|" + _WORD + rb"|" + _NUMBER + rb"|\*\*=|//=|>>=|<<=|\.\.\."
    rb"|\*\*|//|>>|<<|->|:=|[-+*/%@&|^=!<>]="
    rb"|.",
    re.DOTALL,
)
# `>` always stands alone: `Map<K, Set<V>>` may be broken between its two.
_ECMA = re.compile(
    rb"\s+|//[^\n]*|/\*.*?\*/|^\#![^\n]*"
    rb"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    rb"|`[^`\\]*(?:\\.[^`\\]*)*`"
    rb"|\#?[A-Za-z_$\x80-\xff][\w$\x80-\xff]*|" + _NUMBER + rb"|=>|\.\.\.|\?\?=?|\?\.|===|!==|&&=?"
    rb"|\|\|=?|\*\*=?|\+\+|--|<<=?|[-+*/%&|^=!<]="
    rb"|.",
    re.DOTALL,
)
_PROSE = re.compile(rb"\s+|\S+")

_BLANK = frozenset(b" \t\f\r\n#\\")
_ECMA_BLANK = frozenset(b" \t\f\v\r\n")
_SOFT = frozenset((b"match", b"case", b"type"))
_COMPOUND = _SOFT | frozenset(
    b"if elif else for while with try except finally def class async".split()
)
_RESTRICTED = frozenset(b"return break continue yield throw".split())


@dataclass(frozen=True, slots=True)
class Lexed:
    """Tokens and markers of a text, and the byte each starts at (a marker: that of the next)."""

    texts: list[bytes]
    starts: list[int]

    def between(self, start: int, end: int) -> list[bytes]:
        """Tokens that start in [start, end), markers inside kept and those at the ends dropped."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        while first < last and self.texts[first] in MARKERS:
            first += 1
        while first < last and self.texts[last - 1] in MARKERS:
            last -= 1
        return self.texts[first:last]

    def words(self, start: int, end: int) -> list[bytes]:
        """Tokens that start in [start, end), without any marker."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        return [text for text in self.texts[first:last] if text not in MARKERS]


def spans_of(captures: dict[str, list[Node]]) -> list[Span]:
    """The outermost spans of a query's `opaque` and `prose` captures, in order."""
    found = [(n.start_byte, n.end_byte, False) for n in captures.get("opaque", ())]
    found += [(n.start_byte, n.end_byte, True) for n in captures.get("prose", ())]
    found.sort(key=lambda span: (span[0], -span[1]))
    spans: list[Span] = []
    for span in found:
        if not spans or span[0] >= spans[-1][1]:
            spans.append(span)
    return spans


def lex(source: bytes, language: str, spans: Sequence[Span] | None = None) -> Lexed:
    """The tokens of UTF-8 `source`. `spans` come from the caller's query, else from a parse here.

    Raises GrammarMissing for a language without a grammar.
    """
    if spans is None:
        root = parser_for(language).parse(source).root_node
        spans = spans_of(QueryCursor(token_query(language)).captures(root))
    python = language == "python"
    raw = _cut(source, _PYTHON if python else _ECMA, spans)
    lexed = _python(raw, _indent(source)) if python else _ecma(raw)
    if b"\r\n" in source:
        # Only a string can hold a line break here; its line ending is layout all the same.
        texts = [text.replace(b"\r\n", b"\n") for text in lexed.texts]
        return Lexed(texts, lexed.starts)
    return lexed


def _cut(source: bytes, pattern: re.Pattern[bytes], spans: Sequence[Span]) -> list[bytes]:
    """All of `source` in pieces, blanks and comments among them."""
    pieces: list[bytes] = []
    at = 0
    for start, end, prose in spans:
        pieces += pattern.findall(source, at, start)
        if prose:
            pieces += _PROSE.findall(source, start, end)
        else:
            pieces.append(source[start:end])
        at = end
    pieces += pattern.findall(source, at)
    return pieces


def _ecma(pieces: Iterable[bytes]) -> Lexed:
    texts: list[bytes] = []
    starts: list[int] = []
    at = 0
    restricted = False
    for piece in pieces:
        start, at = at, at + len(piece)
        if piece[0] in _ECMA_BLANK or piece.startswith((b"//", b"/*", b"#!")):
            if restricted and b"\n" in piece:
                texts.append(NEWLINE)
                starts.append(at)
                restricted = False
            continue
        restricted = piece in _RESTRICTED
        texts.append(piece)
        starts.append(start)
    return Lexed(texts, starts)


class _Blocks:
    """The indentation stack of a Python text, which may start in the middle of a block."""

    def __init__(self) -> None:
        self.stack = [0]
        self.step = 4

    def line(self, width: int, opened: bool, inline: bool) -> Iterator[bytes]:
        """Markers before a line indented by `width`, after one that opened a block or held one."""
        stack = self.stack
        if opened and width > stack[-1]:
            self.step = min(self.step, width - stack[-1])
            stack.append(width)
            yield INDENT
            return
        if inline:
            yield DEDENT
        elif width > stack[-1]:
            yield CUT
        elif width == stack[-1]:
            yield NEWLINE
        while len(stack) > 1 and width < stack[-1]:
            stack.pop()
            yield DEDENT
        if width < stack[-1]:
            # Below where the fragment started: how many blocks closed can only be estimated.
            yield from [DEDENT] * max(1, round((stack[-1] - width) / self.step))
        stack[-1] = width


def _python(pieces: Iterable[bytes], width: int) -> Lexed:
    """The tokens of Python's `pieces`, whose first line is indented by `width`."""
    texts: list[bytes] = []
    starts: list[int] = []
    blocks = _Blocks()
    at = depth = lambdas = first = 0
    stack = blocks.stack
    ended = True
    compound = opened = inline = stray = False
    for piece in pieces:
        if piece == b" ":
            at += 1
            continue
        start = at
        at += len(piece)
        lead = piece[0]
        if 94 < lead < 123 and not (
            ended or opened or compound
        ):  # most words: nothing to watch for
            texts.append(piece)
            starts.append(start)
            continue
        if lead in _BLANK:
            if depth == 0 and b"\n" in piece and lead != 92:  # 92: a backslash joins lines
                ended = True
                width = _width(piece[piece.rindex(b"\n") + 1 :])
            continue
        if ended:
            if texts:
                while texts and texts[-1] is NEWLINE:  # a `;` at the end of a line
                    texts.pop()
                    starts.pop()
                if stray:  # the line began before the fragment, who knows how deep
                    texts.append(CUT)
                    stack[:] = [width]
                elif width == stack[-1] and not inline:
                    texts.append(NEWLINE)
                else:
                    texts += blocks.line(width, opened, inline)
                starts += [start] * (len(texts) - len(starts))
            else:
                stack[-1] = width
            ended = opened = inline = stray = False
            lambdas = 0
            first = len(texts)
            compound = piece in _COMPOUND
        elif opened:
            texts.append(INDENT)
            starts.append(start)
            opened, inline = False, True
        if piece in BRACKETS:
            depth += BRACKETS[piece]
            if depth < 0:
                depth, stray = 0, True
        elif depth == 0:
            if piece == b";":
                piece = NEWLINE
            elif compound:
                if piece == b"lambda":
                    lambdas += 1
                elif piece == b":":
                    if lambdas:
                        lambdas -= 1
                    else:
                        soft = len(texts) == first + 1 and texts[first] in _SOFT
                        opened, compound = not soft, False
        texts.append(piece)
        starts.append(start)
    return Lexed(texts, starts)


def _width(indentation: bytes) -> int:
    return len(indentation.expandtabs(8))


def _indent(source: bytes) -> int:
    return _width(source[: len(source) - len(source.lstrip(b" \t\f"))])
