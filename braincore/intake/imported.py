"""What differs when a statement comes from a file rather than from a voice (SPEC §2, Link).

Pure functions of the record that intake built, the line it came from and the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from braincore.intake.link import MENTION
from braincore.intake.statement import DecisionInput, FailureInput, Statement
from braincore.intake.trust import CLASSES
from braincore.model.axes import EdgeType, Lifecycle, TruthStatus
from braincore.model.records import Body, Decision, Edge, Failure, Note, Record
from braincore.model.table import Table
from braincore.model.words import same_name

__all__ = ["ImportReport", "Imported", "Rejected", "as_imported", "known", "outlived"]


@dataclass(frozen=True, slots=True)
class Imported:
    """One line of a file. `stated`: when it was said, if the line tells; `id`: the record it was
    exported from."""

    line: int
    given: Statement | DecisionInput | FailureInput
    stated: datetime | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that went nowhere, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many lines became records, how many were on record already, and those rejected."""

    stored: int
    duplicates: int
    rejected: Sequence[Rejected]


def as_imported(record: Record, source: str, *, verified: bool) -> Record:
    """The record with an edge to where it came from, trusted no more than an import: nobody looked
    at each line, so only evidence that was verified confirms."""
    edges, trust, truth = record.edges, record.trust, record.truth_status
    if not any(edge.type is EdgeType.EVIDENCE for edge in edges):
        edges = (*edges, Edge(EdgeType.EVIDENCE, source, MENTION))
    if not verified:
        trust = min(trust, CLASSES["import"])
        truth = TruthStatus.CANDIDATE if truth is TruthStatus.CONFIRMED else truth
    return replace(
        record, edges=edges, trust=trust, truth_status=truth, lifecycle=Lifecycle.WORKING
    )


def known(record: Record, table: Table) -> Record | None:
    """The record that says this already. One that was superseded or archived counts too: an old
    file never brings back what was left behind."""
    gone = None
    for other in table.same_text(record.kind, record.text):
        if (
            other.namespace == record.namespace
            and (other.target == record.target or same_name(other.target, record.target))
            and _said(other.body) == _said(record.body)
        ):
            if not _in_force(other):
                gone = other
            elif other.valid_until == record.valid_until:
                return other
    return gone


def outlived(record: Record, stated: datetime | None, table: Table) -> bool:
    """True when a newer record says otherwise about the same subject and predicate, and this one
    doesn't say until when it held."""
    if stated is None or record.claim is None or record.valid_until is not None:
        return False
    mine = record.claim
    return any(
        _in_force(other)
        and other.namespace == record.namespace
        and other.valid_from > stated
        and other.claim is not None
        and not same_name(other.claim.object, mine.object)
        for other in table.claiming(mine)
    )


def _in_force(record: Record) -> bool:
    return not (
        record.superseded_by
        or record.lifecycle is Lifecycle.ARCHIVED
        or record.truth_status in (TruthStatus.DEPRECATED, TruthStatus.CONTRADICTED)
    )


def _said(body: Body) -> Body:
    """A body without what is added to it later or depends on files of the moment."""
    match body:
        case Decision() if body.outcome:
            return replace(body, outcome="")
        case Failure() if body.fragment is not None:
            return replace(body, fragment=None)
        case Note() if body.aliases:
            return replace(body, aliases=())
        case _:
            return body
