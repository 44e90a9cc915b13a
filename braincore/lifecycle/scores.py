"""MemoryScore and TrustScore (SPEC §6). Every term and the result lie in [0, 1]."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import log

from braincore.model.axes import Kind, Lifecycle, TruthStatus
from braincore.model.records import Record

__all__ = [
    "WEIGHTS",
    "Usage",
    "confirmations",
    "memory_score",
    "memory_terms",
    "settled_lifecycle",
    "trust_score",
]

WEIGHTS: dict[str, float] = {
    "importance": 0.22,
    "trust": 0.22,
    "task_relevance": 0.20,
    "usage": 0.12,
    "recency": 0.10,
    "stability": 0.10,
    "novelty": 0.08,
    "risk": -0.18,
    "noise": -0.18,
}

CONSOLIDATE = 0.80
CONSOLIDATE_TRUST = 0.75
CONSOLIDATE_CONFIDENCE = 0.7

_IMPORTANCE: dict[Kind, float] = {
    Kind.RULE: 1.0,
    Kind.DECISION: 0.9,
    Kind.FAILURE: 0.9,
    Kind.LEARNING: 0.7,
    Kind.FACT: 0.6,
    Kind.RELATION: 0.6,
    Kind.ENTITY: 0.5,
    Kind.SUMMARY: 0.4,
    Kind.PATTERN: 0.4,
    Kind.HYPOTHESIS: 0.3,
}


@dataclass(frozen=True, slots=True)
class Usage:
    """How often and when a record was last returned; local counters, outside the journal."""

    count: int = 0
    last: datetime | None = None


def trust_score(trust: float, confirmations: int) -> float:
    """TrustScore = 1 − (1 − trust) · 0.7^confirmations."""
    return 1 - (1 - trust) * 0.7**confirmations


def confirmations(record: Record) -> int:
    """How many further independent sources repeat a record; agents' sessions never are."""
    return sum(not source.startswith("agent:") for source in record.sources)


def memory_terms(record: Record, usage: Usage, links: int, now: datetime) -> dict[str, float]:
    """The terms of MemoryScore that this record has data for.

    importance: by kind, lifted to 1 by ten links or more · trust: TrustScore with one confirmation
    for each further source · usage: ln(1 + uses) / ln 21 · recency: 0.5^(days / 30) since it was
    last stated or used · risk: 1 under a contradiction · noise: 1 for text that could not be parsed
    and names no target.
    """
    base = _IMPORTANCE.get(record.kind, 0.5)
    last = max(record.created_at, usage.last or record.created_at)
    days = max(0.0, (now - last).total_seconds() / 86400)
    return {
        "importance": base + (1 - base) * min(1.0, links / 10),
        "trust": trust_score(record.trust, confirmations(record)),
        "usage": min(1.0, log(1 + usage.count) / log(21)),
        "recency": 0.5 ** (days / 30),
        "risk": 1.0 if record.truth_status is TruthStatus.CONTRADICTED else 0.0,
        "noise": 1.0 if "unparsed" in record.tags and not record.target else 0.0,
    }


def memory_score(terms: Mapping[str, float]) -> float:
    """The weighted sum over the terms that exist, divided by the positive weights that exist."""
    positive = sum(WEIGHTS[name] for name in terms if WEIGHTS[name] > 0)
    if not positive:
        return 0.0
    total = sum(WEIGHTS[name] * value for name, value in terms.items())
    return min(1.0, max(0.0, total / positive))


def settled_lifecycle(record: Record, score: float, *, under_review: bool) -> Lifecycle:
    """Where a working record belongs: consolidated when every condition of SPEC §2 and §6 holds."""
    if record.lifecycle is not Lifecycle.WORKING:
        return record.lifecycle
    ready = (
        record.truth_status is TruthStatus.CONFIRMED
        and bool(record.edges)
        and not under_review
        and record.confidence >= CONSOLIDATE_CONFIDENCE
        and score >= CONSOLIDATE
        and trust_score(record.trust, confirmations(record)) >= CONSOLIDATE_TRUST
    )
    return Lifecycle.CONSOLIDATED if ready else Lifecycle.WORKING
