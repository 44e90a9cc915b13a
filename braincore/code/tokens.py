"""A text as comparable tokens, and where a fragment stands in a text whatever its layout."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braincore.code import lexer
from braincore.code.grammars import LANGUAGES
from braincore.code.text import decode, line_at, line_ends

__all__ = ["DEDENT", "INDENT", "NEWLINE", "Token", "find_fragment", "tokens"]

NEWLINE = lexer.NEWLINE.decode()
INDENT = lexer.INDENT.decode()
DEDENT = lexer.DEDENT.decode()

_MARKERS = frozenset(marker.decode() for marker in lexer.MARKERS)
_CUT = (lexer.CUT.decode(),)
_DEPTH = {text.decode(): step for text, step in lexer.BRACKETS.items()}
_PLAIN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Token:
    """A token or a block marker (NEWLINE, INDENT, DEDENT) and the line, from 1, it starts on."""

    text: str
    line: int


def tokens(text: str | bytes, language: str) -> tuple[Token, ...]:
    """The tokens of a file or of any piece of one; comments and layout don't show.

    A string is one token and keeps its quotes. Python's indentation shows as markers (see
    `braincore.code.lexer`), counted from the first line, so an indented piece needs no dedenting.
    In a language without a grammar words and punctuation marks are the tokens, and nothing else is
    known.
    """
    if isinstance(text, bytes):
        text = decode(text)
    if language not in LANGUAGES:
        return tuple(_plain(text))
    source = text.encode("utf-8", "surrogatepass")
    lexed = lexer.lex(source, language)
    ends = line_ends(source)
    return tuple(
        Token(piece.decode("utf-8", "surrogatepass"), line_at(ends, start))
        for piece, start in zip(lexed.texts, lexed.starts, strict=True)
    )


def _plain(text: str) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n"), 1):
        for word in _PLAIN.findall(line):
            yield Token(word, number)


def find_fragment(haystack: Sequence[Token], needle: Sequence[Token]) -> list[int]:
    """The lines, from 1, where `needle` starts in `haystack`; occurrences don't overlap.

    Markers at the needle's ends don't count. Those inside must agree, except where the haystack is
    inside brackets: there the needle, cut out of its brackets, shows markers that aren't there.
    Linear in both; an empty needle occurs nowhere.
    """
    texts, needle_gaps = _without_markers(needle)
    if not texts:
        return []
    codes = {text: chr(number) for number, text in enumerate(dict.fromkeys(texts), 1)}
    wanted = "".join(codes[text] for text in texts)
    content, gaps = _without_markers(haystack)
    searched = "".join(codes.get(text, "\0") for text in content)
    lines = [token.line for token in haystack if token.text not in _MARKERS]
    depths: list[int] = []
    found: list[int] = []
    at = searched.find(wanted)
    while at >= 0:
        depths = depths or _depths(content)
        agree = all(
            _alike(gaps.get(at + offset, ()), needle_gaps.get(offset, ()))
            for offset in _gap_offsets(gaps, needle_gaps, at, len(texts))
            if depths[at + offset] == 0
        )
        if agree:
            found.append(lines[at])
        at = searched.find(wanted, at + (len(wanted) if agree else 1))
    return found


_Gaps = dict[int, tuple[str, ...]]


def _without_markers(sequence: Sequence[Token]) -> tuple[list[str], _Gaps]:
    """The texts that aren't markers, and the markers before each of them by its index."""
    content: list[str] = []
    gaps: _Gaps = {}
    for token in sequence:
        if token.text in _MARKERS:
            gaps[len(content)] = (*gaps.get(len(content), ()), token.text)
        else:
            content.append(token.text)
    return content, gaps


def _alike(gap: tuple[str, ...], needle_gap: tuple[str, ...]) -> bool:
    """Whether the markers agree; after a CUT any line break may be the right one."""
    return gap == needle_gap or (needle_gap == _CUT and bool(gap))


def _gap_offsets(gaps: _Gaps, needle_gaps: _Gaps, at: int, length: int) -> Iterator[int]:
    for offset in range(1, length):
        if offset in needle_gaps or at + offset in gaps:
            yield offset


def _depths(content: Sequence[str]) -> list[int]:
    """How many brackets are open before each token."""
    depths, depth = [], 0
    for text in content:
        depths.append(depth)
        depth = max(0, depth + _DEPTH.get(text, 0))
    return depths
