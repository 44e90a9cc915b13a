"""The checks of intake, each a function with its reason code (SPEC §2).

A check returns None when it passes. `Rejected` values are results; only malformed input raises.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from math import log

from braincore.errors import InvalidInput
from braincore.intake.statement import DecisionInput, FailureInput, Statement
from braincore.model.axes import Lifecycle, TruthStatus
from braincore.model.records import Claim, Record
from braincore.model.table import Table
from braincore.model.words import content_words, is_negation, is_number, same_name, words

__all__ = [
    "MAX_TEXT",
    "check_claim",
    "check_confidence",
    "check_decision",
    "check_failure",
    "check_temporal",
    "check_text",
    "clean",
    "conflicts",
    "duplicate",
    "hedged",
    "may_supersede",
    "polarity",
    "problem_similarity",
]

MAX_TEXT = 64 * 1024
"""Characters of one field at most: a record is a sentence, not a document."""

SHARED_PROBLEM = 0.70
"""Decisions conflict only above this similarity of their problems (SPEC §2)."""

_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|i think|i guess|i believe|i suspect|might be|"
    r"could be|not sure|it seems|seems to|supposedly|presumably|apparently)\b",
    re.I,
)


def clean(text: str, field: str) -> str:
    """A field without outer space and NULs. Raises InvalidInput: empty, too long, not text."""
    out = text.replace("\x00", "").strip()
    if not out:
        raise InvalidInput(f"--{field} is empty", "Say it in one sentence a person can read.")
    if len(out) > MAX_TEXT:
        raise InvalidInput(
            f"--{field} has {len(out):,} characters, {MAX_TEXT:,} are the most",
            "Remember one sentence, and name the document as --source file:PATH.",
        )
    try:
        out.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"--{field} is not valid Unicode", "Check its encoding.") from None
    return out


def check_text(statement: Statement) -> None:
    """source, text and target have the form they need; a claim is whole or absent."""
    clean(statement.text, "text")
    check_target(statement.target)


def check_target(target: str) -> None:
    """A target, where there is one, has at least three characters."""
    if target and len(target.strip()) < 3:
        raise InvalidInput(
            f"the target {target!r} is too short", "Name an entity or symbol of 3 letters or more."
        )


def check_claim(subject: str, predicate: str, obj: str) -> Claim | None:
    """Subject, predicate and object together, or none of them."""
    parts = [p.strip() for p in (subject, predicate, obj)]
    if not any(parts):
        return None
    if not all(parts):
        missing = [
            n for n, p in zip(("subject", "predicate", "object"), parts, strict=True) if not p
        ]
        raise InvalidInput(
            f"the claim lacks --{missing[0]}", "Give --subject, --predicate and --object together."
        )
    return Claim(parts[0], parts[1], parts[2])


def check_confidence(confidence: float | None, *, hedge: bool) -> float:
    """Confidence in [0, 1]; 0.7 when not given, 0.4 when hedged (SPEC §2)."""
    if confidence is None:
        return 0.4 if hedge else 0.7
    if not 0 <= confidence <= 1:
        raise InvalidInput(f"--confidence {confidence} is out of range", "Give 0 to 1.")
    return confidence


def check_temporal(valid_from: datetime, valid_until: datetime | None) -> None:
    """from ≤ until."""
    if valid_until is not None and valid_until < valid_from:
        raise InvalidInput("valid_until lies before valid_from", "Swap them, or leave one out.")


def check_decision(given: DecisionInput) -> None:
    """All the required parts of a decision are there."""
    for field in ("title", "problem", "decision", "reasoning"):
        clean(getattr(given, field), field)
    if not given.alternatives:
        raise InvalidInput(
            "a decision needs at least one alternative",
            "Add --alternative 'OPTION: why it was rejected'.",
        )
    if bad := [
        a for a in given.alternatives if not (a.option.strip() and a.rejected_because.strip())
    ]:
        raise InvalidInput(
            f"the alternative {bad[0].option!r} lacks an option or a reason",
            "Write --alternative 'OPTION: why it was rejected'.",
        )
    check_target(given.target)
    if given.supersedes and given.coexists:
        raise InvalidInput(
            "--supersedes and --coexists exclude each other", "Give the one that is meant."
        )


def check_failure(given: FailureInput) -> None:
    """All the required parts of a failure are there, with evidence of a kind that can be found."""
    for field in ("title", "broke", "why", "fix"):
        clean(getattr(given, field), field)
    if not given.evidence.startswith(("commit:", "test:")):
        raise InvalidInput(
            f"{given.evidence!r} is no evidence of a failure",
            "Give --evidence commit:SHA (the fix) or test:NODE_ID (the test that failed).",
        )
    check_target(given.target)


def hedged(text: str) -> bool:
    """True for text that guesses ("maybe", "I think")."""
    return bool(_HEDGES.search(text))


def polarity(text: str) -> bool:
    """False when the text denies something: an odd number of negations."""
    return sum(is_negation(w) for w in words(text)) % 2 == 0


def duplicate(record: Record, table: Table) -> Record | None:
    """The living record that says exactly this: same words, numbers and polarity, same target and
    claim, in the same namespace."""
    for other in table.same_text(record.kind, record.text):
        if (
            other.namespace == record.namespace
            and (other.target == record.target or same_name(other.target, record.target))
            and other.body == record.body
            and not other.superseded_by
            and other.lifecycle is not Lifecycle.ARCHIVED
            and other.valid_from <= record.valid_from
            and other.valid_until == record.valid_until
        ):
            return other
    return None


def problem_similarity(one: str, two: str, corpus: Sequence[frozenset[str]] = ()) -> float:
    """idf-weighted token Jaccard of two problems, in [0, 1]; 1 for equal texts, 0 when polarity or
    numbers differ. idf = ln(1 + N / df) over the problems of the corpus and these two."""
    a, b = content_words(one), content_words(two)
    if polarity(one) != polarity(two):
        return 0.0
    if a == b:
        return 1.0
    if {w for w in a if is_number(w)} != {w for w in b if is_number(w)}:
        return 0.0
    return _jaccard(a, b, corpus)


def _jaccard(a: frozenset[str], b: frozenset[str], corpus: Sequence[frozenset[str]]) -> float:
    size = len(corpus) + 2
    df = {w: 1 + sum(w in doc for doc in corpus) for w in a | b}
    weight = {w: log(1 + size / df[w]) for w in a | b}
    union = sum(weight.values())
    return sum(weight[w] for w in a & b) / union if union else 0.0


def may_supersede(new: Record, old: Record) -> bool:
    """The new record's trust is at least as high, and it is confirmed or the old one isn't."""
    confirmed = TruthStatus.CONFIRMED
    return new.trust >= old.trust and (
        new.truth_status is confirmed or old.truth_status is not confirmed
    )


def conflicts(given: DecisionInput, table: Table) -> list[Record]:
    """The decisions in force that answer the same problem about the same target."""
    same = [
        (record, body.problem)
        for record, body in table.decided(given.target)
        if not record.superseded_by
        and record.namespace == given.namespace
        and bool(record.target) == bool(given.target)
    ]
    corpus = [content_words(problem) for _, problem in same]
    return [
        record
        for record, problem in same
        if problem_similarity(given.problem, problem, corpus) > SHARED_PROBLEM
    ]
