"""Negative memory: a fragment that broke before is recognised when an edit brings it back.

Compared token by token, so line breaks, spacing and comments don't hide it. What the file already
had is not held against the edit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from braincore.code import DEDENT, INDENT, NEWLINE, Token, find_fragment, tokens
from braincore.model.axes import Severity
from braincore.model.edits import Edit, Finding

__all__ = ["MIN_TOKENS", "Armed", "brought_back", "solid_tokens"]

MIN_TOKENS = 5
"""A shorter fragment stands in too much innocent code to be told again."""

_WORD = re.compile(r"\w+")
_MARKERS = frozenset({NEWLINE, INDENT, DEDENT})


@dataclass(frozen=True, slots=True)
class Armed:
    """A failure as the guard needs it. `places` empty: it may come back anywhere.

    `needle`: the fragment's tokens; `words`: the words in them, all of which a text must have to
    hold it.
    """

    id: str
    title: str
    why: str
    fix: str
    evidence: str
    language: str
    places: tuple[str, ...]
    text: str
    needle: tuple[Token, ...] = field(init=False, repr=False, compare=False)
    words: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        needle = tokens(self.text, self.language)
        told = (word for t in needle if t.text not in _MARKERS for word in _WORD.findall(t.text))
        object.__setattr__(self, "needle", needle)
        object.__setattr__(self, "words", frozenset(told))


def solid_tokens(text: str, language: str) -> int:
    """How many tokens of a fragment are more than layout."""
    return sum(t.text not in _MARKERS for t in tokens(text, language))


def brought_back(edit: Edit, language: str, failures: Sequence[Armed]) -> list[Finding]:
    """The failures whose fragment stands in the file more often after the edit than before.

    In one of its places, or when its places are unknown: high. Elsewhere: medium, since the same
    words may be right in another place.
    """
    if edit.after is None or edit.after == edit.before:
        return []
    out = []
    said = set(_WORD.findall(edit.after))
    after: tuple[Token, ...] | None = None
    before: tuple[Token, ...] = ()
    for failure in failures:
        if failure.language != language or not failure.words <= said:
            continue
        if after is None:
            after = tokens(edit.after, language)
            before = tokens(edit.before, language) if edit.before else ()
        found = find_fragment(after, failure.needle)
        had = len(find_fragment(before, failure.needle)) if before and found else 0
        if len(found) > had:
            out.append(_finding(failure, edit, found[-1 if had else 0]))
    return out


def _finding(failure: Armed, edit: Edit, line: int) -> Finding:
    at_home = not failure.places or edit.path in failure.places
    lines = (edit.after or "").splitlines()
    snippet = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Finding(
        source=failure.id,
        severity=Severity.HIGH if at_home else Severity.MEDIUM,
        message=f"this brings a known failure back: {failure.title}"
        if at_home
        else f"this looks like a failure known from {', '.join(failure.places)}: {failure.title}",
        why=f"{failure.why} (evidence: {failure.evidence})",
        path=edit.path,
        line=line,
        snippet=snippet[:200],
        repair=f"keep the fix: {failure.fix}",
    )
