"""The closed vocabularies of SPEC §1: what a record can be and in what state."""

from enum import StrEnum

__all__ = [
    "Channel",
    "EdgeType",
    "EventOutcome",
    "EventType",
    "Freshness",
    "Kind",
    "LearningKind",
    "Lifecycle",
    "LinkState",
    "Reason",
    "Scope",
    "Severity",
    "TruthStatus",
]


class Kind(StrEnum):
    """The kinds of record."""

    FACT = "fact"
    RELATION = "relation"
    ENTITY = "entity"
    HYPOTHESIS = "hypothesis"
    EVENT = "event"
    DECISION = "decision"
    FAILURE = "failure"
    LEARNING = "learning"
    SUMMARY = "summary"
    PATTERN = "pattern"
    RULE = "rule"
    TASK = "task"
    REVIEW = "review"


class Channel(StrEnum):
    """The door a statement came through; the owner process sets it, never the caller."""

    PERSON = "person"
    AGENT = "agent"
    LLM = "llm"
    OWNER = "owner"


class TruthStatus(StrEnum):
    """How far a record is believed."""

    HYPOTHESIS = "hypothesis"
    CANDIDATE = "candidate"
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    DEPRECATED = "deprecated"


class Lifecycle(StrEnum):
    """Where a record is on its way from intake to the archive."""

    STAGING = "staging"
    WORKING = "working"
    CONSOLIDATED = "consolidated"
    ARCHIVED = "archived"


class Scope(StrEnum):
    """How far the consequences of a record reach."""

    LOCAL = "local"
    SYSTEM = "system"
    INFRA = "infra"


class EventType(StrEnum):
    """What happened."""

    PROMPT = "prompt"
    RESPONSE = "response"
    EDIT = "edit"
    COMMIT_CHANGE = "commit_change"
    ERROR = "error"
    RESULT = "result"
    TEST = "test"
    BUILD = "build"
    DECISION = "decision"
    RECALL = "recall"
    OVERRIDE = "override"


class EventOutcome(StrEnum):
    """How what happened ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"


class LearningKind(StrEnum):
    """What sort of lesson a learning is."""

    INSIGHT = "insight"
    PROCEDURE = "procedure"
    FRICTION = "friction"
    PITFALL = "pitfall"
    PREFERENCE = "preference"


class LinkState(StrEnum):
    """Where a referenced symbol went."""

    SAME = "same"
    RENAMED = "renamed"
    MOVED = "moved"
    DERIVED = "derived"
    AMBIGUOUS = "ambiguous"
    REMOVED = "removed"


class Freshness(StrEnum):
    """Whether a referenced symbol still is what it was when the record spoke of it."""

    OK = "ok"
    STALE = "stale"


class Severity(StrEnum):
    """How bad a finding is; critical and high stop the edit."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def blocks(self) -> bool:
        """True when a finding of this severity stops the edit."""
        return self in (Severity.CRITICAL, Severity.HIGH)


class EdgeType(StrEnum):
    """The typed relations of the graph."""

    GOVERNS = "GOVERNS"
    SUPERSEDED_BY = "SUPERSEDED_BY"
    EVIDENCE = "EVIDENCE"
    CONTRADICTS = "CONTRADICTS"
    SAME_AS = "SAME_AS"
    RENAMED_FROM = "RENAMED_FROM"
    DERIVED_FROM = "DERIVED_FROM"
    DEFINES = "DEFINES"
    CALLS = "CALLS"
    IMPORTS = "IMPORTS"
    INHERITS = "INHERITS"
    TESTS = "TESTS"
    ABOUT = "ABOUT"
    CAUSED = "CAUSED"
    FIXED_BY = "FIXED_BY"
    DEPENDS_ON = "DEPENDS_ON"


class Reason(StrEnum):
    """Why the gate withheld a record, or why a whole question ended in an abstain (SPEC §3, §7)."""

    LOW_CONFIDENCE = "low_confidence"
    LOW_TRUST = "low_trust"
    NO_SOURCE = "no_source"
    UNVERIFIED = "unverified"
    TEMPORAL_INVALID = "temporal_invalid"
    CONTRADICTION_UNRESOLVED = "contradiction_unresolved"
    AMBIGUITY_UNRESOLVED = "ambiguity_unresolved"
    STALE_CODE = "stale_code"
    ARCHIVED = "archived"
    RULE_VIOLATION = "rule_violation"
    NO_ACCEPTED_FACTS = "no_accepted_facts"
    OFF_TOPIC = "off_topic"
    ANCHOR_MISMATCH = "anchor_mismatch"
    MENTION_ONLY = "mention_only"
    SUPERSEDED = "superseded"
