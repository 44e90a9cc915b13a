"""Strict mode: each check with its reason, in the order of the checks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.gate.strict import CHECKS, Facts, first_reject, flags_of
from braincore.model.axes import Channel, Kind, Lifecycle, Reason, TruthStatus
from braincore.model.records import Note, Record

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
GOOD = Record(
    id="fact-01ARZ3NDEKTSV4RRFFQ69G5FAV",
    kind=Kind.FACT,
    text="Redis is on 6379.",
    source_ref="user:ann",
    channel=Channel.PERSON,
    trust=0.5,
    created_at=NOW,
    valid_from=NOW,
    body=Note(),
    confidence=0.5,
    truth_status=TruthStatus.CONFIRMED,
    lifecycle=Lifecycle.WORKING,
)

# In the order of SPEC §3: what is wrong, and the reason.
FAULTS: list[tuple[dict[str, Any], dict[str, Any], Reason]] = [
    ({"source_ref": ""}, {}, Reason.NO_SOURCE),
    ({"lifecycle": Lifecycle.STAGING}, {}, Reason.UNVERIFIED),
    ({"truth_status": TruthStatus.HYPOTHESIS}, {}, Reason.UNVERIFIED),
    ({"confidence": 0.49}, {}, Reason.LOW_CONFIDENCE),
    ({"trust": 0.49}, {}, Reason.LOW_TRUST),
    ({"valid_from": NOW + DAY}, {}, Reason.TEMPORAL_INVALID),
    ({}, {"contradicted": True}, Reason.CONTRADICTION_UNRESOLVED),
    ({}, {"ambiguous": True}, Reason.AMBIGUITY_UNRESOLVED),
    ({}, {"stale": True}, Reason.STALE_CODE),
]


def test_a_good_record_passes_at_the_thresholds() -> None:
    assert first_reject(GOOD, Facts(NOW)) is None
    assert len(CHECKS) == len(FAULTS)


@pytest.mark.parametrize(("record", "facts", "reason"), FAULTS)
def test_one_fault_one_reason(
    record: dict[str, Any], facts: dict[str, Any], reason: Reason
) -> None:
    assert first_reject(replace(GOOD, **record), Facts(NOW, **facts)) is reason


@given(st.sets(st.integers(0, len(FAULTS) - 1), min_size=1))
def test_the_first_fault_in_order_gives_the_reason(chosen: set[int]) -> None:
    record, facts = GOOD, Facts(NOW)
    for index in chosen:
        record = replace(record, **FAULTS[index][0])
        facts = replace(facts, **FAULTS[index][1])
    assert first_reject(record, facts) is FAULTS[min(chosen)][2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lifecycle": Lifecycle.ARCHIVED}, Reason.ARCHIVED),
        ({"lifecycle": Lifecycle.CONSOLIDATED}, None),
        ({"truth_status": TruthStatus.CONTRADICTED}, Reason.CONTRADICTION_UNRESOLVED),
        ({"truth_status": TruthStatus.DEPRECATED}, Reason.TEMPORAL_INVALID),
        ({"truth_status": TruthStatus.CANDIDATE}, None),
    ],
)
def test_states(change: dict[str, Any], reason: Reason | None) -> None:
    assert first_reject(replace(GOOD, **change), Facts(NOW)) is reason


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (NOW - DAY, Reason.TEMPORAL_INVALID),
        (NOW, None),
        (NOW + DAY, None),
        (NOW + 2 * DAY, Reason.TEMPORAL_INVALID),
        (NOW + 3 * DAY, Reason.TEMPORAL_INVALID),
    ],
)
def test_valid_from_is_inside_and_valid_until_outside(at: datetime, reason: Reason | None) -> None:
    ending = replace(GOOD, valid_until=NOW + 2 * DAY)
    assert first_reject(ending, Facts(at)) is reason


def test_deprecated_answers_only_about_the_past() -> None:
    old = replace(GOOD, truth_status=TruthStatus.DEPRECATED, valid_until=NOW + DAY)
    assert first_reject(old, Facts(NOW, historical=True)) is None
    assert first_reject(old, Facts(NOW + DAY, historical=True)) is Reason.TEMPORAL_INVALID


@pytest.mark.parametrize(
    ("truth", "historical", "flags"),
    [
        (TruthStatus.CONFIRMED, False, ()),
        (TruthStatus.CANDIDATE, False, ("unconfirmed",)),
        (TruthStatus.CONFIRMED, True, ("historical",)),
        (TruthStatus.CANDIDATE, True, ("unconfirmed", "historical")),
    ],
)
def test_flags(truth: TruthStatus, historical: bool, flags: tuple[str, ...]) -> None:
    assert flags_of(replace(GOOD, truth_status=truth), Facts(NOW, historical=historical)) == flags
