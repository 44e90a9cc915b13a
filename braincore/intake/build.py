"""Inputs become records: pure functions of input, caller, verified evidence, table and clock."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from braincore.intake import link
from braincore.intake.evidence import Verified
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.intake.trust import trust
from braincore.intake.validate import (
    check_confidence,
    check_temporal,
    clean,
    hedged,
)
from braincore.model.axes import Channel, EdgeType, Kind, LearningKind, Lifecycle, TruthStatus
from braincore.model.records import (
    Decision,
    Edge,
    Failure,
    Fragment,
    Learning,
    Note,
    Record,
    new_id,
    strongest,
)
from braincore.model.refs import file_ref
from braincore.model.table import Table

__all__ = ["build_decision", "build_failure", "build_statement", "strengthened"]

STATEMENT_KINDS = (
    Kind.FACT,
    Kind.RELATION,
    Kind.ENTITY,
    Kind.HYPOTHESIS,
    Kind.LEARNING,
)


def build_statement(
    given: Statement,
    caller: Caller,
    source: Verified,
    symbols: Sequence[Edge],
    table: Table,
    now: datetime,
) -> Record:
    """The record of a statement, linked and in `working`, or in `staging` when nothing links it."""
    text = clean(given.text, "text")
    kind = given.kind or Kind.FACT
    hedge = kind is Kind.HYPOTHESIS or hedged(text)
    if hedge and kind is Kind.FACT:
        kind = Kind.HYPOTHESIS
    at = table.next_time(now)
    valid_from = given.valid_from or at
    check_temporal(valid_from, given.valid_until)
    unparsed = kind is Kind.FACT and given.claim is None
    target = given.target.strip()
    edges = strongest(
        (
            *link.about(target, given.claim),
            *symbols,
            *link.evidence(source.source_ref, source.places),
            *link.mentions(text, table),
        )
    )
    return Record(
        id=new_id(kind, at),
        kind=kind,
        text=text,
        source_ref=source.source_ref,
        channel=caller.channel,
        trust=trust(source.source_ref, caller.channel, verified=source.verified),
        created_at=at,
        valid_from=valid_from,
        valid_until=given.valid_until,
        body=Learning(LearningKind.INSIGHT) if kind is Kind.LEARNING else Note(given.claim),
        confidence=check_confidence(given.confidence, hedge=hedge),
        truth_status=_truth(caller.channel, verified=source.verified, hedge=hedge),
        lifecycle=_where(edges),
        target=target,
        scope=given.scope,
        namespace=given.namespace,
        tags=tuple(given.tags) + (("unparsed",) if unparsed else ()),
        edges=edges,
    )


def build_decision(
    given: DecisionInput,
    caller: Caller,
    source: Verified,
    symbols: Sequence[Edge],
    table: Table,
    now: datetime,
) -> Record:
    """The record of a decision; without target its title is what it is about."""
    at = table.next_time(now)
    title = clean(given.title, "title")
    choice = clean(given.decision, "decision")
    record = Record(
        id=new_id(Kind.DECISION, at),
        kind=Kind.DECISION,
        text=choice,
        source_ref=source.source_ref,
        channel=caller.channel,
        trust=trust(source.source_ref, caller.channel, verified=source.verified),
        created_at=at,
        valid_from=at,
        body=Decision(
            title,
            clean(given.problem, "problem"),
            given.alternatives,
            choice,
            clean(given.reasoning, "reasoning"),
        ),
        truth_status=_truth(caller.channel, verified=source.verified, hedge=False),
        target=given.target.strip(),
        scope=given.scope,
        namespace=given.namespace,
    )
    edges = (
        *link.about(record.target, None),
        *symbols,
        *link.evidence(source.source_ref, source.places),
        *link.mentions(title, table),
    )
    return _settled(record.linked(*edges))


def build_failure(
    given: FailureInput,
    caller: Caller,
    evidence: Verified,
    fragment: Fragment | None,
    symbols: Sequence[Edge],
    table: Table,
    now: datetime,
) -> Record:
    """The record of a failure. Its evidence exists; a fragment is what lets it stop an edit."""
    at = table.next_time(now)
    title = clean(given.title, "title")
    source = given.source or caller.ref
    record = Record(
        id=new_id(Kind.FAILURE, at),
        kind=Kind.FAILURE,
        text=f"{title}: {clean(given.why, 'why')}",
        source_ref=source,
        channel=caller.channel,
        trust=trust(
            evidence.source_ref if evidence.verified else source,
            caller.channel,
            verified=evidence.verified,
        ),
        created_at=at,
        valid_from=at,
        body=Failure(
            title,
            clean(given.broke, "broke"),
            clean(given.why, "why"),
            clean(given.fix, "fix"),
            evidence.source_ref,
            fragment,
        ),
        truth_status=_truth(caller.channel, verified=evidence.verified, hedge=False),
        target=given.target.strip(),
        scope=given.scope,
        namespace=given.namespace,
    )
    places = fragment.places if fragment is not None else evidence.places
    edges = (
        *link.about(record.target, None),
        *symbols,
        *link.evidence(evidence.source_ref, ()),
        *(Edge(EdgeType.ABOUT, file_ref(place), link.STATED) for place in places[:10]),
        *link.mentions(title, table),
    )
    return _settled(record.linked(*edges))


def strengthened(old: Record, again: Record) -> Record:
    """The record that was repeated, with a further source: never a second record, and never
    confirmed by the same kind of voice twice (two agent sessions are not independent)."""
    confirmed = again.truth_status is TruthStatus.CONFIRMED
    unsure = old.truth_status in (TruthStatus.CANDIDATE, TruthStatus.HYPOTHESIS)
    known = again.source_ref in (old.source_ref, *old.sources)
    # An agent may name anybody as its source; only what was verified counts as another voice.
    voice = confirmed or again.source_ref.startswith("agent:")
    return replace(
        old,
        sources=old.sources if known or not voice else (*old.sources, again.source_ref),
        trust=max(old.trust, again.trust),
        truth_status=TruthStatus.CONFIRMED if confirmed and unsure else old.truth_status,
    ).linked(*again.edges)


def _truth(channel: Channel, *, verified: bool, hedge: bool) -> TruthStatus:
    if hedge:
        return TruthStatus.HYPOTHESIS
    if verified or channel is Channel.PERSON:
        return TruthStatus.CONFIRMED
    return TruthStatus.HYPOTHESIS if channel is Channel.LLM else TruthStatus.CANDIDATE


def _settled(record: Record) -> Record:
    """Validated and linked: working; without an edge it waits in staging."""
    return replace(record, lifecycle=_where(record.edges))


def _where(edges: Sequence[Edge]) -> Lifecycle:
    return Lifecycle.WORKING if edges else Lifecycle.STAGING
