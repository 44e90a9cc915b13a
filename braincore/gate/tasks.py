"""Brain tasks: what evidence would let the question be answered (SPEC §3)."""

import re
from dataclasses import replace
from datetime import datetime

from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, Reason, TruthStatus
from braincore.model.records import Edge, Record, Task, new_id
from braincore.model.table import Table
from braincore.model.words import content_words, name_key

__all__ = ["open_or_bump", "task_key"]

_QUESTION = re.compile(
    r"\b(who|whom|whose|which|what|when|where|why|how|does|do|is|are|can)\b", re.I
)

_NEEDS: dict[Reason, str] = {
    Reason.LOW_CONFIDENCE: "a statement somebody is sure of",
    Reason.LOW_TRUST: "a source that is trusted more: a person, a commit, a test",
    Reason.NO_SOURCE: "a source",
    Reason.UNVERIFIED: "a confirmation: a person, a commit that touches it, a test that was run",
    Reason.TEMPORAL_INVALID: "what holds now; what is on record holds at another time",
    Reason.CONTRADICTION_UNRESOLVED: "a decision on the contradiction; see `braincore review`",
    Reason.AMBIGUITY_UNRESOLVED: "which of the candidates is meant; ask again with --target",
    Reason.STALE_CODE: "a statement about the code as it is now",
    Reason.ARCHIVED: "a fresh statement; what is on record was archived",
    Reason.RULE_VIOLATION: "a statement that breaks no rule",
    Reason.NO_ACCEPTED_FACTS: "any statement with a source; nothing on record is about this",
}


def task_key(query: str, target: str = "") -> str:
    """One key for one question: its entities and content words in order, and its question word."""
    asked = _QUESTION.search(query)
    parts = sorted(content_words(query, question=True))
    if target:
        parts.insert(0, f"@{name_key(target)}")
    return " ".join([*parts, f"?{asked[1].lower()}" if asked else "?"])


def open_or_bump(
    query: str, target: str, reason: Reason, rejected: int, table: Table, now: datetime
) -> tuple[Record | None, Record]:
    """The task of a question that could not be answered: (old, new) where old is None if it is new.

    Asked twice, it is one task that was bumped.
    """
    key = task_key(query, target)
    for old, task in table.open_tasks():
        if task.key == key:
            return old, replace(old, body=replace(task, bumps=task.bumps + 1))
    at = table.next_time(now)
    need = _NEEDS.get(reason, "evidence")
    known = f"{rejected} on record can't be used ({reason})" if rejected else "nothing is on record"
    record = Record(
        id=new_id(Kind.TASK, at),
        kind=Kind.TASK,
        text=f"I need evidence to answer with confidence: {query}",
        source_ref="agent:braincore/gate",
        channel=Channel.OWNER,
        trust=0.5,
        created_at=at,
        valid_from=at,
        body=Task(key=key, why=f"{known}", needs=need, query=query),
        truth_status=TruthStatus.CANDIDATE,
        lifecycle=Lifecycle.WORKING,
        target=target,
    )
    edges = [Edge(EdgeType.ABOUT, name_key(target))] if target else []
    return None, record.linked(*edges)
