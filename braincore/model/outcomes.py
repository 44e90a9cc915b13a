"""Outcomes of the verbs: closed unions; an expected outcome is no exception."""

from dataclasses import dataclass

from braincore.model.records import Record

__all__ = ["Abstain", "Answer", "Conflict", "Considered", "Found", "Rejected", "Stored"]


@dataclass(frozen=True, slots=True)
class Found:
    """One record of an answer. `fit` and `terms` are what `explain` prints."""

    record: Record
    score: float
    flags: tuple[str, ...]
    fit: object
    terms: object


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that was on the topic and withheld, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate of a question, for `explain`: its fused score, its rank in each list (from 1,
    None: not in it), its calibrated cosine, and why it was not taken (None: it was)."""

    id: str
    rrf: float
    keyword_rank: int | None
    vector_rank: int | None
    graph_rank: int | None
    cosine: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Accepted records, best first; `total` counts all pages."""

    facts: tuple[Found, ...]
    rejected: tuple[Rejected, ...]
    total: int
    considered: tuple[Considered, ...] = ()


@dataclass(frozen=True, slots=True)
class Abstain:
    """No accepted record: the reason, and the brain task that was opened or bumped."""

    reason: str
    rejected: tuple[Rejected, ...]
    task: str | None
    considered: tuple[Considered, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """A record was stored, or an equal one strengthened (`duplicate`)."""

    record: Record
    duplicate: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """A decision that was not stored: others answer the same problem about the same target, or the
    one to be superseded is believed more; `reason` then says what would help."""

    conflicts: tuple[Record, ...]
    reason: str = ""
