"""Strict mode (SPEC §3): each check a function with its reason; the first that fails decides."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from braincore.model.axes import Lifecycle, Reason, TruthStatus
from braincore.model.records import Record

__all__ = ["CHECKS", "Facts", "first_reject", "flags_of"]

MIN_CONFIDENCE = 0.5
MIN_TRUST = 0.5


@dataclass(frozen=True, slots=True)
class Facts:
    """What the gate must know beside the record. `valid_at`: the time the question is about."""

    valid_at: datetime
    contradicted: bool = False
    ambiguous: bool = False
    stale: bool = False
    historical: bool = False


Check = Callable[[Record, Facts], Reason | None]


def has_source(record: Record, facts: Facts) -> Reason | None:
    """No source, no answer."""
    return None if record.source_ref else Reason.NO_SOURCE


def is_alive(record: Record, facts: Facts) -> Reason | None:
    """Only working and consolidated records answer."""
    if record.lifecycle is Lifecycle.ARCHIVED:
        return Reason.ARCHIVED
    return Reason.UNVERIFIED if record.lifecycle is Lifecycle.STAGING else None


def is_believed(record: Record, facts: Facts) -> Reason | None:
    """Confirmed or candidate; deprecated only when the question is about the past."""
    match record.truth_status:
        case TruthStatus.HYPOTHESIS:
            return Reason.UNVERIFIED
        case TruthStatus.CONTRADICTED:
            return Reason.CONTRADICTION_UNRESOLVED
        case TruthStatus.DEPRECATED:
            return None if facts.historical else Reason.TEMPORAL_INVALID
        case TruthStatus.CONFIRMED | TruthStatus.CANDIDATE:
            return None


def is_confident(record: Record, facts: Facts) -> Reason | None:
    """confidence ≥ 0.5."""
    return None if record.confidence >= MIN_CONFIDENCE else Reason.LOW_CONFIDENCE


def is_trusted(record: Record, facts: Facts) -> Reason | None:
    """trust ≥ 0.5."""
    return None if record.trust >= MIN_TRUST else Reason.LOW_TRUST


def is_valid(record: Record, facts: Facts) -> Reason | None:
    """valid_from ≤ the time asked about < valid_until."""
    if record.valid_from > facts.valid_at:
        return Reason.TEMPORAL_INVALID
    if record.valid_until is not None and record.valid_until <= facts.valid_at:
        return Reason.TEMPORAL_INVALID
    return None


def is_uncontradicted(record: Record, facts: Facts) -> Reason | None:
    """No open review about a contradiction."""
    return Reason.CONTRADICTION_UNRESOLVED if facts.contradicted else None


def is_unambiguous(record: Record, facts: Facts) -> Reason | None:
    """No open review about what it means."""
    return Reason.AMBIGUITY_UNRESOLVED if facts.ambiguous else None


def is_fresh(record: Record, facts: Facts) -> Reason | None:
    """The code it speaks of is neither stale nor gone."""
    return Reason.STALE_CODE if facts.stale else None


CHECKS: tuple[Check, ...] = (
    has_source,
    is_alive,
    is_believed,
    is_confident,
    is_trusted,
    is_valid,
    is_uncontradicted,
    is_unambiguous,
    is_fresh,
)


def first_reject(record: Record, facts: Facts) -> Reason | None:
    """The reason of the first check that fails, or None when the record may answer."""
    for check in CHECKS:
        if (reason := check(record, facts)) is not None:
            return reason
    return None


def flags_of(record: Record, facts: Facts) -> tuple[str, ...]:
    """What a reader must be told about an accepted record."""
    flags = []
    if record.truth_status is TruthStatus.CANDIDATE:
        flags.append("unconfirmed")
    if facts.historical:
        flags.append("historical")
    return tuple(flags)
