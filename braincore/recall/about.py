"""Is this record about what was asked? (SPEC §7, 4b and c)

A score is no gate: cosine ≥ .6 passes 69 % of wrong-number twins. What counts is whether the names
agree both ways, or the record is linked to what the question is anchored to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from braincore.model.axes import Reason
from braincore.model.records import Claim, Decision, Record
from braincore.model.said import STATED, said
from braincore.model.words import (
    INTENT_WORDS,
    clauses,
    content_words,
    identifier_parts,
    name_key,
    stem,
    words,
)
from braincore.recall.question import Question

__all__ = ["Fit", "about", "ambiguous", "names_of"]

MIN_QUESTION = 0.9
MIN_NAME = 0.6


@dataclass(frozen=True, slots=True)
class Fit:
    """How a record fits a question. `reason` None: it is about it. `probable`: passed only by
    coverage ≥ .9 of the question and ≥ .6 of the name, or by a link alone."""

    reason: Reason | None
    probable: bool
    question_coverage: float
    name_coverage: float
    linked: bool

    @property
    def accepted(self) -> bool:
        """True when the record may go on to the gate."""
        return self.reason is None


@lru_cache(maxsize=20000)
def _content(text: str) -> frozenset[str]:
    return content_words(text)


_INTENT_STEMS = frozenset(stem(w) for w in INTENT_WORDS)


def _name(*parts: str) -> frozenset[str]:
    """The content words of a name, without words a question is asked with if any other is left."""
    found = frozenset[str]().union(*(_content(p.replace("_", " ")) for p in parts))
    return (found - _INTENT_STEMS) or found


def names_of(record: Record) -> list[frozenset[str]]:
    """What the record is called: target, aliases, title, the claim but for one slot; without any
    of these the content words of its text, and those of its main clause."""
    names: list[frozenset[str]] = []
    if record.target:
        names.append(_name(record.target.rpartition("::")[2]))
    names += [_name(a) for a in record.aliases]
    if record.title:
        names.append(_name(record.title))
    if (claim := record.claim) is not None:
        names += _claim_names(claim)
    if isinstance(record.body, Decision):
        names.append(_name(record.body.problem))
    if not names:
        names = [_name(record.text), _name((clauses(record.text) or [record.text])[0])]
    return [n for n in dict.fromkeys(names) if n]


def _claim_names(claim: Claim) -> list[frozenset[str]]:
    qualifiers = [v for _, v in claim.qualifiers]
    return [
        _name(claim.subject, claim.predicate, *qualifiers),
        _name(claim.predicate, claim.object, *qualifiers),
        _name(claim.subject, claim.object, *qualifiers),
    ]


@lru_cache(maxsize=20000)
def _words(text: str) -> tuple[str, ...]:
    return tuple(words(text.replace("_", " ")))


def _stands_in(anchor: tuple[str, ...], fields: Sequence[str]) -> bool:
    size = len(anchor)
    for field in fields:
        own = _words(field)
        if any(own[i : i + size] == anchor for i in range(len(own) - size + 1)):
            return True
        # `GetUser` and `getuser` name the same thing; `Get user` was split, so compare joined too.
        if size > 1 and "".join(anchor) in own:
            return True
    return False


def _linked(question: Question, record: Record) -> bool:
    if question.target:
        return _is_about(record, question.target)
    if question.symbols:
        return any(e.to in question.symbols for e in record.edges) or (
            record.target in question.symbols
        )
    refs = [e.to for e in record.edges if e.strength >= STATED and "::" in e.to]
    refs += [record.target] if "::" in record.target else []
    return any(_names_symbol(i, ref) for i in question.identifiers for ref in refs)


def _is_about(record: Record, target: str) -> bool:
    key = name_key(target)
    if record.target and name_key(record.target) == key:
        return True
    return any(
        e.to == target or name_key(e.to) == key for e in record.edges if e.strength >= STATED
    )


def _names_symbol(identifier: str, ref: str) -> bool:
    """`auth.GetUser` names `auth/user.go::GetUser`: the last part is the symbol's, the others are
    somewhere in its path."""
    last = identifier_parts(identifier.replace("::", ".").rpartition(".")[2])
    own = identifier_parts(ref.rpartition("::")[2].rpartition(".")[2])
    return last == own and set(identifier_parts(identifier)) <= set(identifier_parts(ref))


def _share(some: frozenset[str], of: frozenset[str]) -> float:
    return len(some & of) / len(of) if of else 0.0


def about(question: Question, record: Record) -> Fit:
    """Veto by anchors, then accept by names that agree both ways or by a link."""
    fields = said(record)
    linked = _linked(question, record)
    told = frozenset[str]().union(*(_content(f.replace("_", " ")) for f in fields))
    covered = _share(told, question.content)
    if any(not _stands_in(a, fields) for a in question.anchors):
        return Fit(Reason.ANCHOR_MISMATCH, False, covered, 0.0, linked)
    if question.target or question.symbols:
        if not linked:
            return Fit(Reason.OFF_TOPIC, False, covered, 0.0, False)
        extra = question.content - told - _content((question.target or "").replace("_", " "))
        return Fit(None, bool(extra), covered, 1.0, True)
    best = max((_share(question.content, n) for n in names_of(record)), default=0.0)
    if best == 1.0 and covered == 1.0:
        return Fit(None, False, covered, best, linked)
    open_slot = question.content - question.asked
    slot_covered = _share(told, open_slot) if open_slot and question.asked else 0.0
    if best >= MIN_NAME and (covered >= MIN_QUESTION or (slot_covered == 1.0 and best == 1.0)):
        return Fit(None, True, covered, best, linked)
    if linked:
        return Fit(None, covered < MIN_QUESTION or best < MIN_NAME, covered, best, True)
    reason = Reason.MENTION_ONLY if covered >= MIN_QUESTION else Reason.OFF_TOPIC
    return Fit(reason, False, covered, best, False)


def ambiguous(question: Question, fits: Sequence[tuple[Record, Fit]]) -> list[str]:
    """The ids of records that fit equally but are about different things; [] when one stands out.

    Full agreement with different entities is a set; with different symbols of one name, or only
    probable agreement with different targets, it is an ambiguity.
    """
    if question.target or question.symbols:
        return []
    sure = [(r, f) for r, f in fits if not f.probable]
    group = sure or list(fits)
    if not group:
        return []
    top = max((f.question_coverage, f.name_coverage) for _, f in group)
    equal = [r for r, f in group if (f.question_coverage, f.name_coverage) == top]
    if sure:
        equal = [r for r in equal if "::" in r.target]
    things = {r.target if "::" in r.target else name_key(r.target) for r in equal if r.target}
    return [r.id for r in equal if r.target] if len(things) > 1 else []
