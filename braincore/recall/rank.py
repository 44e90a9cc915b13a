"""Reciprocal rank fusion and RetrievalScore (SPEC §7, 2 and 5), every term kept for `explain`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from braincore.model.axes import TruthStatus
from braincore.model.records import Record

__all__ = ["Terms", "calibrated", "explain", "fuse", "retrieval_score", "temporal_validity"]

RRF_K = 60
SEMANTIC = 0.35
MEMORY = 0.20
GRAPH = 0.15
TEMPORAL = 0.15
TRUST = 0.10
AMBIGUITY = 0.15
ALPHA = 1.0

_STATUS = {TruthStatus.DEPRECATED: 0.3, TruthStatus.CONTRADICTED: 0.2}
NO_PHASE = 1.2


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one RetrievalScore, each in [0, 1] but `lifecycle` (0.04–3); `cosine` is
    calibrated, None where there is no vector."""

    semantic: float
    memory: float
    graph: float
    temporal: float
    trust: float
    ambiguity: float
    lifecycle: float
    rrf: float
    score: float
    cosine: float | None = None


def calibrated(cosine: float, background: float) -> float:
    """clamp((cosine − background) / (1 − background), 0, 1): 0 for what has nothing in common.

    `background`: the model's mean cosine between unrelated sentences; models differ much in it.
    """
    return min(1.0, max(0.0, (cosine - background) / (1 - background)))


def fuse(*lists: Sequence[str]) -> dict[str, float]:
    """score(id) = Σ 1 / (60 + rank) over the lists; ranks count from 1."""
    scores: dict[str, float] = {}
    for ranked in lists:
        for rank, record_id in enumerate(dict.fromkeys(ranked), 1):
            scores[record_id] = scores.get(record_id, 0.0) + 1 / (RRF_K + rank)
    return scores


def temporal_validity(record: Record, at: datetime) -> float:
    """1 valid at the time, 0 not; a record always knows when it began, so .5 never arises here."""
    if record.valid_from > at:
        return 0.0
    return 0.0 if record.valid_until is not None and record.valid_until <= at else 1.0


def retrieval_score(
    record: Record,
    *,
    rrf: float,
    max_rrf: float,
    memory: float,
    hops: int | None,
    equal: int,
    under_review: bool,
    evidence_links: int,
    at: datetime,
    cosine: float | None = None,
) -> Terms:
    """The score of one record; `hops` None: no anchor within 2; `equal`: how many fit equally;
    `cosine`: calibrated, None where there is no vector."""
    ranked = rrf / max_rrf if max_rrf else 0.0
    semantic = ranked if cosine is None else (cosine + ranked) / 2
    graph = 1 / (1 + hops) if hops is not None and hops <= 2 else 0.0
    temporal = temporal_validity(record, at)
    ambiguity = 1.0 if under_review else 1 - 1 / max(1, equal)
    lifecycle = NO_PHASE * _STATUS.get(record.truth_status, 1.0)
    lifecycle *= 1 + min(0.2 * evidence_links, 1.0)
    base = (
        SEMANTIC * semantic
        + MEMORY * memory
        + GRAPH * graph
        + TEMPORAL * temporal
        + TRUST * record.trust
        - AMBIGUITY * ambiguity
    )
    score = max(0.0, base) * lifecycle**ALPHA
    return Terms(
        semantic, memory, graph, temporal, record.trust, ambiguity, lifecycle, rrf, score, cosine
    )


def explain(terms: Terms) -> Mapping[str, float | None]:
    """The terms by name, fractions rounded for reading."""
    values = {f.name: getattr(terms, f.name) for f in fields(terms)}
    return {name: v if v is None else round(v, 4) for name, v in values.items()}
