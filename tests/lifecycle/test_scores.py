"""MemoryScore and TrustScore: golden values worked out by hand, and what must always hold."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.lifecycle.scores import (
    WEIGHTS,
    Usage,
    confirmations,
    memory_score,
    memory_terms,
    settled_lifecycle,
    trust_score,
)
from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, TruthStatus
from braincore.model.records import Edge, Note, Record

NOW = datetime(2026, 1, 1, tzinfo=UTC)
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
    edges=(Edge(EdgeType.ABOUT, "redis"),),
)


@pytest.mark.parametrize(
    ("trust", "times", "wanted"),
    [
        (0.5, 0, 0.5),
        (0.5, 1, 0.65),  # 1 − .5 · .7
        (0.5, 2, 0.755),  # 1 − .5 · .49
        (0.9, 1, 0.93),  # 1 − .1 · .7
        (0.3, 3, 0.7599),  # 1 − .7 · .343
        (1.0, 5, 1.0),
        (0.0, 0, 0.0),
    ],
)
def test_trust_score_by_hand(trust: float, times: int, wanted: float) -> None:
    assert trust_score(trust, times) == pytest.approx(wanted)


def test_agents_are_no_confirmations() -> None:
    assert confirmations(FACT) == 0
    told = replace(FACT, sources=("agent:codex/1", "user:bob", "agent:codex/2", "commit:abc"))
    assert confirmations(told) == 2


def test_memory_score_by_hand() -> None:
    # .22·.5 + .22·.8 + .20·.5 + .12·.25 + .10·1 + .10·.5 + .08·.5 − .18·.1 − .18·.2
    # = .11 + .176 + .1 + .03 + .1 + .05 + .04 − .018 − .036 = .552; positive weights sum to 1.04.
    terms = {
        "importance": 0.5,
        "trust": 0.8,
        "task_relevance": 0.5,
        "usage": 0.25,
        "recency": 1.0,
        "stability": 0.5,
        "novelty": 0.5,
        "risk": 0.1,
        "noise": 0.2,
    }
    assert memory_score(terms) == pytest.approx(0.552 / 1.04)


def test_without_a_task_the_term_is_dropped_by_hand() -> None:
    # Positive weights without task relevance: .22 + .22 + .12 + .10 + .10 + .08 = .84.
    terms = dict.fromkeys(("importance", "trust", "usage", "recency", "stability", "novelty"), 1.0)
    assert memory_score(terms) == pytest.approx(1.0)
    assert memory_score({**terms, "importance": 0.0}) == pytest.approx(0.62 / 0.84)
    assert memory_score({**terms, "risk": 1.0}) == pytest.approx(0.66 / 0.84)


def test_the_terms_of_a_fact_by_hand() -> None:
    # importance: .6, lifted by 1 of 10 links: .6 + .4 · .1 = .64
    # trust: 1 − .1 · .7 = .93 for one further source
    # usage: ln(1 + 20) / ln 21 = 1; recency: used 30 days ago: .5
    used = Usage(20, NOW)
    told = replace(FACT, sources=("user:bob",), created_at=NOW - timedelta(days=400))
    terms = memory_terms(told, used, 1, NOW + timedelta(days=30))
    assert terms == pytest.approx(
        {"importance": 0.64, "trust": 0.93, "usage": 1.0, "recency": 0.5, "risk": 0, "noise": 0}
    )
    # .22·.64 + .22·.93 + .12·1 + .10·.5 = .5154 over .22 + .22 + .12 + .10 = .66
    assert memory_score(terms) == pytest.approx(0.5154 / 0.66)


def test_risk_and_noise() -> None:
    bad = replace(FACT, truth_status=TruthStatus.CONTRADICTED, tags=("unparsed",))
    terms = memory_terms(bad, Usage(), 1, NOW)
    assert (terms["risk"], terms["noise"]) == (1.0, 1.0)
    aimed = memory_terms(replace(bad, target="redis"), Usage(), 1, NOW)
    assert aimed["noise"] == 0.0


@given(
    st.sampled_from(list(Kind)),
    st.floats(0, 1),
    st.integers(0, 10**6),
    st.integers(0, 50),
    st.integers(-400, 40000),
    st.sampled_from(list(TruthStatus)),
)
def test_terms_and_score_are_in_range(
    kind: Kind, trust: float, uses: int, links: int, days: int, truth: TruthStatus
) -> None:
    record = replace(FACT, kind=kind, trust=trust, truth_status=truth)
    at = NOW + timedelta(days=days)
    terms = memory_terms(record, Usage(uses, NOW if uses else None), links, at)
    assert all(0 <= value <= 1 for value in terms.values())
    assert set(terms) <= set(WEIGHTS)
    assert 0 <= memory_score(terms) <= 1


@given(st.dictionaries(st.sampled_from(list(WEIGHTS)), st.floats(0, 1)))
def test_any_terms_give_a_score_in_range(terms: dict[str, float]) -> None:
    assert 0 <= memory_score(terms) <= 1


@pytest.mark.parametrize(
    ("change", "score", "reviewed", "wanted"),
    [
        ({}, 0.80, False, Lifecycle.CONSOLIDATED),
        ({}, 0.79, False, Lifecycle.WORKING),
        ({}, 0.80, True, Lifecycle.WORKING),
        ({"edges": ()}, 0.9, False, Lifecycle.WORKING),
        ({"confidence": 0.69}, 0.9, False, Lifecycle.WORKING),
        ({"trust": 0.74}, 0.9, False, Lifecycle.WORKING),
        # 1 − .26 · .7 = .818 with one further source
        ({"trust": 0.74, "sources": ("user:bob",)}, 0.9, False, Lifecycle.CONSOLIDATED),
        ({"trust": 0.5, "sources": ("agent:a/1", "agent:b/2")}, 0.9, False, Lifecycle.WORKING),
        ({"truth_status": TruthStatus.CANDIDATE}, 0.9, False, Lifecycle.WORKING),
        ({"lifecycle": Lifecycle.STAGING}, 0.9, False, Lifecycle.STAGING),
        ({"lifecycle": Lifecycle.ARCHIVED}, 0.9, False, Lifecycle.ARCHIVED),
        ({"lifecycle": Lifecycle.CONSOLIDATED}, 0.1, False, Lifecycle.CONSOLIDATED),
    ],
)
def test_what_is_consolidated(
    change: dict[str, Any], score: float, reviewed: bool, wanted: Lifecycle
) -> None:
    assert settled_lifecycle(replace(FACT, **change), score, under_review=reviewed) is wanted
