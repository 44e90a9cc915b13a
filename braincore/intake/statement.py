"""What comes in: statements, decisions and failures, before anything is believed."""

from dataclasses import dataclass
from datetime import datetime

from braincore.model.axes import Channel, Kind, Scope
from braincore.model.records import Alternative, Claim

__all__ = ["Caller", "DecisionInput", "FailureInput", "Statement"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who speaks, as the owner found out itself. `name`: git user or `client/session`."""

    channel: Channel
    name: str
    session: str = ""

    @property
    def ref(self) -> str:
        """The source of what this caller says without naming one."""
        return f"user:{self.name}" if self.channel is Channel.PERSON else f"agent:{self.name}"


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact, relation, entity, hypothesis or learning as somebody states it."""

    text: str
    source: str = ""
    kind: Kind | None = None
    target: str = ""
    claim: Claim | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    confidence: float | None = None
    scope: Scope = Scope.LOCAL
    namespace: str = "main"
    tags: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionInput:
    """A decision with all that is required of one; `governs` holds symbols and paths."""

    title: str
    problem: str
    alternatives: tuple[Alternative, ...]
    decision: str
    reasoning: str
    source: str = ""
    target: str = ""
    governs: tuple[str, ...] = ()
    supersedes: str = ""
    coexists: bool = False
    namespace: str = "main"
    scope: Scope = Scope.LOCAL


@dataclass(frozen=True, slots=True)
class FailureInput:
    """A failure; `fragment` is `FILE` or `FILE:L1-L2`, `evidence` `commit:SHA` or `test:ID`."""

    title: str
    broke: str
    why: str
    fix: str
    evidence: str
    fragment: str = ""
    target: str = ""
    source: str = ""
    namespace: str = "main"
    scope: Scope = Scope.LOCAL
