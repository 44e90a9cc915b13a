"""A question as values: its anchors and its content words (SPEC §7, 4a)."""

import re
from dataclasses import dataclass
from itertools import pairwise

from braincore.model.words import (
    ASIDES,
    DIALOGUE,
    LIGHT_VERBS,
    Phrase,
    exact_words,
    identifiers,
    is_negation,
    is_number,
    is_stop,
    is_unit,
    phrase,
    proper_names,
    question_words,
    quoted,
    stem,
    words,
)

__all__ = ["Question", "parse_question"]

_ASKED_NOUN = re.compile(
    r"\b(?:which|what)\s+(?:kind of\s+|sort of\s+|type of\s+)?([^\W\d_]+)", re.I
)
_REDACTED = re.compile(r"\[redacted: [^\]]*\]")
"""What stands for a secret names nothing: any two secrets would agree."""
_COMPARED = re.compile(r"\b(?:instead of|rather than|over|and not|but not)\b", re.I)
_REFUSAL = frozenset(stem(w) for w in ("reject", "rejected", "against", "instead", "avoid"))


@dataclass(frozen=True, slots=True)
class Question:
    """`anchors`: sequences of exact words that must stand in the record, in order. `content`: what
    is asked about; `whole`: all its words. `asked`: the noun after which/what, a kind of thing
    rather than its name. `negated`: it asks why or whether not; `refusal`: that, or what was turned
    down; `preferred`: what stands before "instead of" and the like. `names`: identifiers and proper
    names as written. `target`, `symbols`: given explicitly.
    """

    text: str
    content: Phrase
    whole: Phrase
    anchors: tuple[tuple[str, ...], ...]
    asked: frozenset[str]
    negated: bool = False
    refusal: bool = False
    preferred: str = ""
    names: tuple[str, ...] = ()
    target: str = ""
    symbols: tuple[str, ...] = ()


def parse_question(text: str, target: str = "", symbols: tuple[str, ...] = ()) -> Question:
    """The question's anchors: identifiers, paths, numbers and versions, quoted strings, names."""
    text = _REDACTED.sub(" ", text)
    named = [*identifiers(text), *proper_names(text)]
    anchors = dict.fromkeys(tuple(exact_words(a)) for a in (*quoted(text), *named))
    anchors.update(dict.fromkeys(_measures(text)))
    asked = {w.casefold() for w in _ASKED_NOUN.findall(text)}
    said = words(text)
    compared = _COMPARED.split(text)
    negated = any(is_negation(w) for w in said)
    refused = not _REFUSAL.isdisjoint(stem(w) for w in said)
    return Question(
        text=text,
        content=phrase(text, tuple(question_words(text))),
        whole=phrase(text),
        anchors=tuple(a for a in anchors if a and not all(is_stop(w) for w in a)),
        asked=frozenset(stem(w) for w in asked - ASIDES - DIALOGUE - LIGHT_VERBS if not is_stop(w)),
        negated=negated,
        refusal=negated or refused,
        preferred=compared[0] if len(compared) > 1 and not negated else "",
        names=tuple(dict.fromkeys(named)),
        target=target,
        symbols=symbols,
    )


def _measures(text: str) -> list[tuple[str, ...]]:
    """Each number with the unit that follows it: 30 seconds are not 30 minutes."""
    exact = exact_words(text)
    return [
        tuple(exact[i : i + 2]) if is_unit(after) else (word,)
        for i, (word, after) in enumerate(pairwise([*exact, ""]))
        if is_number(word)
    ]
