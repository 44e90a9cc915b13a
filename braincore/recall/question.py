"""A question as values: its anchors and its content words (SPEC §7, 4a)."""

import re
from dataclasses import dataclass

from braincore.model.words import (
    INTENT_WORDS,
    STOP_WORDS,
    content_words,
    identifier_parts,
    identifiers,
    is_number,
    proper_names,
    quoted,
    stem,
    words,
)

__all__ = ["Question", "parse_question"]

_ASKED_NOUN = re.compile(
    r"\b(?:which|what)\s+(?:kind of\s+|sort of\s+|type of\s+)?([^\W\d_]+)", re.I
)


@dataclass(frozen=True, slots=True)
class Question:
    """`anchors`: sequences of folded words that must stand in the record, exactly and in order.
    `content`: stems. `asked`: the noun after which/what, a kind of thing rather than its name.
    `target`, `symbols`: given explicitly. `identifiers`: as written."""

    text: str
    content: frozenset[str]
    anchors: tuple[tuple[str, ...], ...]
    asked: frozenset[str]
    identifiers: tuple[str, ...] = ()
    target: str = ""
    symbols: tuple[str, ...] = ()


def parse_question(text: str, target: str = "", symbols: tuple[str, ...] = ()) -> Question:
    """The question's anchors: identifiers, paths, numbers and versions, quoted strings, names."""
    named = identifiers(text)
    raw = [*quoted(text), *named, *proper_names(text)]
    anchors = {identifier_parts(a): None for a in raw}
    anchors.update({(w,): None for w in words(text) if is_number(w)})
    asked = {
        stem(w.casefold())
        for w in _ASKED_NOUN.findall(text)
        if w.casefold() not in STOP_WORDS | INTENT_WORDS
    }
    return Question(
        text=text,
        content=content_words(text, question=True),
        anchors=tuple(a for a in anchors if a and not set(a) <= STOP_WORDS),
        asked=frozenset(asked),
        identifiers=tuple(named),
        target=target,
        symbols=symbols,
    )
