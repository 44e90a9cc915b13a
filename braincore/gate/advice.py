"""What to do next, for each reason the gate gives: an abstain without that is a dead end."""

from collections.abc import Mapping

from braincore.model.axes import Reason

__all__ = ["CONFLICT", "DENIED", "next_step"]

_NEXT: Mapping[Reason, str] = {
    Reason.LOW_CONFIDENCE: "Find evidence (commit, test, file range) and remember it as source.",
    Reason.LOW_TRUST: "Find a better source (commit, test, file range) and remember that.",
    Reason.NO_SOURCE: "Remember it again with a source.",
    Reason.UNVERIFIED: "It is a guess so far: verify it in code or tests, then remember that.",
    Reason.TEMPORAL_INVALID: "It doesn't hold now; ask with valid_at for the time you mean.",
    Reason.CONTRADICTION_UNRESOLVED: "Two records disagree; a person decides in review.",
    Reason.AMBIGUITY_UNRESOLVED: "Several things have this name: ask again with target or symbols.",
    Reason.STALE_CODE: "The code it speaks of changed or is gone: read it, then remember anew.",
    Reason.ARCHIVED: "It was archived; ask with allow_uncertainty to see it, and verify it.",
    Reason.RULE_VIOLATION: "A rule speaks against it: see check_edit for the rule.",
    Reason.NO_ACCEPTED_FACTS: "Nothing verified is known. Look in the code, then remember it.",
    Reason.OFF_TOPIC: "Nothing on record is about this. Look in the code, then remember it.",
    Reason.ANCHOR_MISMATCH: "What is known has other numbers or names: check which is meant.",
    Reason.MENTION_ONLY: "It is only mentioned. Look in the code, then remember it.",
    Reason.SUPERSEDED: "It was replaced; why shows by what.",
}

CONFLICT = (
    "Not stored. Read these with why; then decide again with supersedes=ID, or coexists=true when "
    "both hold."
)
DENIED = "Don't write it. Follow the repair plan, then check again."


def next_step(reason: str) -> str:
    """One sentence for the caller of a question that ended with this reason."""
    return _NEXT[Reason(reason)]
