"""Fusion and RetrievalScore: golden values worked out by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.model.axes import Channel, Kind, Lifecycle, TruthStatus
from braincore.model.records import Note, Record
from braincore.recall.rank import (
    Terms,
    calibrated,
    explain,
    fuse,
    retrieval_score,
    temporal_validity,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FACT = Record(
    id="fact-01ARZ3NDEKTSV4RRFFQ69G5FAV",
    kind=Kind.FACT,
    text="Redis is on 6379.",
    source_ref="user:ann",
    channel=Channel.PERSON,
    trust=0.9,
    created_at=NOW,
    valid_from=NOW,
    body=Note(),
    truth_status=TruthStatus.CONFIRMED,
    lifecycle=Lifecycle.WORKING,
)
PLAIN: dict[str, Any] = {
    "rrf": 1 / 61,
    "max_rrf": 1 / 61,
    "memory": 0.5,
    "hops": None,
    "equal": 1,
    "under_review": False,
    "evidence_links": 0,
    "at": NOW,
}


def test_fusion_by_hand() -> None:
    # a: 1/61 + 1/62; b: 1/62 + 1/61; c: 1/63 only
    fused = fuse(["a", "b", "c"], ["b", "a"])
    assert fused["a"] == fused["b"] == pytest.approx(1 / 61 + 1 / 62)
    assert fused["c"] == pytest.approx(1 / 63)


def test_a_repeated_id_counts_once_in_a_list() -> None:
    assert fuse(["a", "a", "b"]) == {"a": 1 / 61, "b": 1 / 62}


def test_first_of_one_list_is_not_buried_by_another() -> None:
    others = [f"x{n}" for n in range(50)]
    fused = fuse(["exact", *others], [*others])
    # 1/61 against at most 1/62 + 1/61: it stays among the first half of the 51.
    better = [i for i, score in fused.items() if score > fused["exact"]]
    assert len(better) <= 50 and fused["exact"] > 1 / 62


@pytest.mark.parametrize(
    ("change", "score"),
    [
        # .35·1 + .20·.5 + .15·0 + .15·1 + .10·.9 − 0 = .69; × 1.2 without a phase
        ({}, 0.69 * 1.2),
        # semantic halved: .35·.5 = .175
        ({"rrf": 1 / 122}, 0.515 * 1.2),
        # at the anchor +.15, one hop +.075, two hops +.05, three hops +0
        ({"hops": 0}, 0.84 * 1.2),
        ({"hops": 1}, 0.765 * 1.2),
        ({"hops": 2}, 0.74 * 1.2),
        ({"hops": 3}, 0.69 * 1.2),
        # not yet valid: −.15
        ({"at": NOW - DAY}, 0.54 * 1.2),
        # two that fit equally: −.15 · (1 − 1/2); four: −.15 · 3/4; under review: −.15
        ({"equal": 2}, 0.615 * 1.2),
        ({"equal": 4}, 0.5775 * 1.2),
        ({"under_review": True}, 0.54 * 1.2),
        # evidence: × (1 + .2) for one link, × 2 for five and for more
        ({"evidence_links": 1}, 0.69 * 1.2 * 1.2),
        ({"evidence_links": 5}, 0.69 * 1.2 * 2),
        ({"evidence_links": 9}, 0.69 * 1.2 * 2),
        # no candidates at all: semantic 0
        ({"rrf": 0.0, "max_rrf": 0.0}, 0.34 * 1.2),
    ],
)
def test_retrieval_score_by_hand(change: dict[str, Any], score: float) -> None:
    assert retrieval_score(FACT, **{**PLAIN, **change}).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("truth", "factor"), [(TruthStatus.DEPRECATED, 0.3), (TruthStatus.CONTRADICTED, 0.2)]
)
def test_status_lowers_the_rank_by_hand(truth: TruthStatus, factor: float) -> None:
    terms = retrieval_score(replace(FACT, truth_status=truth), **PLAIN)
    assert terms.lifecycle == pytest.approx(1.2 * factor)
    assert terms.score == pytest.approx(0.69 * 1.2 * factor)


@pytest.mark.parametrize(
    ("until", "at", "wanted"),
    [
        (None, NOW - DAY, 0.0),
        (None, NOW, 1.0),
        (None, NOW + 9000 * DAY, 1.0),
        (NOW + DAY, NOW, 1.0),
        (NOW + DAY, NOW + DAY, 0.0),
    ],
)
def test_temporal_validity_by_hand(until: datetime | None, at: datetime, wanted: float) -> None:
    assert temporal_validity(replace(FACT, valid_until=until), at) == wanted


@given(
    rrf=st.floats(0, 1),
    memory=st.floats(0, 1),
    trust=st.floats(0, 1),
    hops=st.none() | st.integers(0, 5),
    equal=st.integers(0, 20),
    reviewed=st.booleans(),
    links=st.integers(0, 20),
    days=st.integers(-3, 3),
    truth=st.sampled_from(list(TruthStatus)),
    cosine=st.none() | st.floats(0, 1),
)
def test_terms_are_in_range_and_give_the_score(
    rrf: float,
    memory: float,
    trust: float,
    hops: int | None,
    equal: int,
    reviewed: bool,
    links: int,
    days: int,
    truth: TruthStatus,
    cosine: float | None,
) -> None:
    t: Terms = retrieval_score(
        replace(FACT, trust=trust, truth_status=truth),
        rrf=rrf,
        max_rrf=max(rrf, 0.001),
        memory=memory,
        hops=hops,
        equal=equal,
        under_review=reviewed,
        evidence_links=links,
        at=NOW + days * DAY,
        cosine=cosine,
    )
    for term in (t.semantic, t.memory, t.graph, t.temporal, t.trust, t.ambiguity):
        assert 0 <= term <= 1
    assert 0.04 <= t.lifecycle <= 3
    base = 0.35 * t.semantic + 0.20 * t.memory + 0.15 * t.graph + 0.15 * t.temporal
    base += 0.10 * t.trust - 0.15 * t.ambiguity
    assert t.score == pytest.approx(max(0.0, base) * t.lifecycle)
    assert explain(t)["score"] == round(t.score, 4)
    assert set(explain(t)) == set(Terms.__slots__)


@pytest.mark.parametrize(
    ("cosine", "background", "wanted"),
    [
        (0.05, 0.05, 0.0),  # (.05 − .05) / .95
        (0.525, 0.05, 0.5),  # .475 / .95
        (1.0, 0.05, 1.0),
        (-0.2, 0.05, 0.0),  # below the background
        (0.85, 0.7, 0.5),  # a model whose unrelated sentences have .7
        (1.0000001, 0.0, 1.0),  # rounding of unit vectors
    ],
)
def test_calibrated_cosine_by_hand(cosine: float, background: float, wanted: float) -> None:
    assert calibrated(cosine, background) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("rrf", "cosine", "wanted"),
    [
        (0.02, None, 0.5),  # the ranks alone: .02 / .04
        (0.02, 0.9, 0.7),  # (.9 + .5) / 2
        (0.04, 0.0, 0.5),  # best of all lists, nothing in common by meaning
        (0.0, 1.0, 0.5),
    ],
)
def test_semantic_is_the_mean_of_cosine_and_ranks(
    rrf: float, cosine: float | None, wanted: float
) -> None:
    terms = retrieval_score(
        FACT,
        rrf=rrf,
        max_rrf=0.04,
        memory=0.5,
        hops=None,
        equal=1,
        under_review=False,
        evidence_links=0,
        at=NOW,
        cosine=cosine,
    )
    assert terms.semantic == pytest.approx(wanted)
    assert terms.cosine == cosine
