"""Which language a path is written in, and the grammar and queries of that language."""

from functools import cache
from pathlib import Path
from typing import Any, cast

import tree_sitter_language_pack
from tree_sitter import Language, Parser, Query

from braincore.errors import GrammarMissing

__all__ = ["LANGUAGES", "language_of", "parser_for", "symbol_query", "token_query"]

_EXTENSIONS = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "mts": "typescript",
    "cts": "typescript",
    "tsx": "tsx",
}

# Queries that several grammars understand are shared; `tokens` parts name what no regular
# expression can delimit.
_SYMBOLS = {
    "python": ("python",),
    "javascript": ("ecma", "javascript", "jsx"),
    "typescript": ("ecma", "typescript"),
    "tsx": ("ecma", "typescript", "jsx"),
}
_TOKENS = {
    "python": ("python.tokens",),
    "javascript": ("ecma.tokens", "jsx.tokens"),
    "typescript": ("ecma.tokens",),
    "tsx": ("ecma.tokens", "jsx.tokens"),
}

LANGUAGES = tuple(_SYMBOLS)


def language_of(path: str) -> str | None:
    """The language of `path` by its extension, in any case of letters; None when unknown."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _EXTENSIONS.get(extension.lower()) if dot and stem else None


@cache
def _grammar(language: str) -> Language:
    if language not in _SYMBOLS:
        raise GrammarMissing(language)
    try:
        return tree_sitter_language_pack.get_language(cast(Any, language))
    except (LookupError, OSError, ValueError) as error:
        raise GrammarMissing(language) from error


def parser_for(language: str) -> Parser:
    """A new parser of `language`; raises GrammarMissing. Parsers aren't shared: they hold state."""
    return Parser(_grammar(language))


@cache
def symbol_query(language: str) -> Query:
    """The query for definitions, references and the spans of `token_query`; GrammarMissing."""
    grammar = _grammar(language)
    return Query(grammar, _text(_SYMBOLS[language] + _TOKENS[language]))


@cache
def token_query(language: str) -> Query:
    """The query for spans no regular expression can delimit (`opaque`, `prose`); GrammarMissing."""
    grammar = _grammar(language)
    return Query(grammar, _text(_TOKENS[language]))


def _text(parts: tuple[str, ...]) -> str:
    folder = Path(__file__).parent / "queries"
    return "\n".join((folder / f"{part}.scm").read_text(encoding="utf-8") for part in parts)
