"""The record: the unit of memory (SPEC §1), as frozen values.

A record holds inputs and transitions only; whatever can be computed from them (scores, counts,
stream state) is never stored in it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ulid import ULID

from braincore.model.axes import (
    Channel,
    EdgeType,
    EventOutcome,
    EventType,
    Kind,
    LearningKind,
    Lifecycle,
    Scope,
    TruthStatus,
)

__all__ = [
    "Alternative",
    "Body",
    "Candidate",
    "Claim",
    "Decision",
    "Edge",
    "Event",
    "Failure",
    "Fragment",
    "Learning",
    "Note",
    "Pattern",
    "Record",
    "Review",
    "RuleMirror",
    "Summary",
    "Task",
    "is_record_id",
    "kind_of_id",
    "new_id",
    "strongest",
]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a fact says in a form that can be compared: subject, predicate, object, qualifiers."""

    subject: str
    predicate: str
    object: str
    qualifiers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """The body of fact, relation, entity and hypothesis: a claim, or none for unparsed text."""

    claim: Claim | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; append-only. `score` is in [0, 1]."""

    type: EventType
    outcome: EventOutcome = EventOutcome.NEUTRAL
    score: float = 0.5
    session: str = ""
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """An option that was weighed and why it was rejected."""

    option: str
    rejected_because: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The causal chain of SPEC §4; `outcome` is added later."""

    title: str
    problem: str
    alternatives: tuple[Alternative, ...]
    decision: str
    reasoning: str
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Code that broke. `places`: repository paths it belongs to; empty when unknown."""

    text: str
    language: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Negative memory. `evidence` is `commit:<sha>` or `test:<node id>`, and exists."""

    title: str
    broke: str
    why: str
    fix: str
    evidence: str
    fragment: Fragment | None = None


@dataclass(frozen=True, slots=True)
class Learning:
    """A reusable lesson, refined over time."""

    learning: LearningKind


@dataclass(frozen=True, slots=True)
class Summary:
    """What one session did."""

    session: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """What reflection noticed about a target."""

    support: int
    evidence_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleMirror:
    """A rule file mirrored so that it can be linked."""

    rule_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Task:
    """A brain task: why it exists, what evidence would settle it. `key` makes it unique."""

    key: str
    why: str
    needs: str
    query: str
    bumps: int = 1
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate of a review, with its score in [0, 1]."""

    ref: str
    score: float


@dataclass(frozen=True, slots=True)
class Review:
    """An ambiguity, conflict or missing link that a person decides."""

    subject: str
    reason: str
    candidates: tuple[Candidate, ...] = ()
    closed: bool = False


Body = Note | Event | Decision | Failure | Learning | Summary | Pattern | RuleMirror | Task | Review


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed link from the record to another record id, an entity name, a path or a symbol."""

    type: EdgeType
    to: str
    strength: float = 0.5


@dataclass(frozen=True, slots=True)
class Record:
    """The unit of memory. Times are aware UTC datetimes; confidence and trust are in [0, 1]."""

    id: str
    kind: Kind
    text: str
    source_ref: str
    channel: Channel
    trust: float
    created_at: datetime
    valid_from: datetime
    body: Body
    confidence: float = 0.7
    truth_status: TruthStatus = TruthStatus.CANDIDATE
    lifecycle: Lifecycle = Lifecycle.STAGING
    valid_until: datetime | None = None
    superseded_by: tuple[str, ...] = ()
    target: str = ""
    scope: Scope = Scope.LOCAL
    namespace: str = "main"
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()

    @property
    def claim(self) -> Claim | None:
        """The claim, for the kinds that can carry one."""
        return self.body.claim if isinstance(self.body, Note) else None

    @property
    def title(self) -> str:
        """The title, for the kinds that have one; else empty."""
        return self.body.title if isinstance(self.body, Decision | Failure) else ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names, for the kinds that can have them."""
        return self.body.aliases if isinstance(self.body, Note) else ()

    def linked(self, *edges: Edge) -> "Record":
        """This record with further edges; one of a type to the same end, the strongest."""
        return replace(self, edges=strongest((*self.edges, *edges)))


def strongest(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Edges without all but the strongest of a type to the same end."""
    out: dict[tuple[EdgeType, str], Edge] = {}
    for edge in edges:
        key = (edge.type, edge.to)
        if key not in out or out[key].strength < edge.strength:
            out[key] = edge
    return tuple(out.values())


def new_id(kind: Kind, at: datetime) -> str:
    """A fresh id: kind, hyphen, ULID. Safe as a file name everywhere, sorted by time."""
    return f"{kind}-{ULID.from_datetime(at.astimezone(UTC))}"


def kind_of_id(record_id: str) -> Kind:
    """The kind an id names. Raises ValueError for anything that is not a record id."""
    return Kind(record_id.partition("-")[0])


_ID = re.compile(rf"(?:{'|'.join(Kind)})-[0-9A-HJKMNP-TV-Z]{{26}}")


def is_record_id(text: str) -> bool:
    """True for what `new_id` makes: a kind, a hyphen, 26 characters of a ULID."""
    return _ID.fullmatch(text) is not None
