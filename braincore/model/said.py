"""All that a record says, field by field: what search looks in and anchors are looked up in."""

from braincore.model.axes import EdgeType
from braincore.model.records import Decision, Failure, Record

__all__ = ["code_refs", "said"]

STATED = 0.5
"""Edges weaker than this were not stated, the text merely names their end."""


def said(record: Record) -> list[str]:
    """The non-empty texts of a record: name, text, claim, the parts of its body, stated links."""
    out = [record.text, record.target, record.title, *record.aliases, *record.tags]
    if (claim := record.claim) is not None:
        out += [claim.subject, claim.predicate, claim.object]
        out += [v for _, v in claim.qualifiers]
    match record.body:
        case Decision() as d:
            out += [d.problem, d.reasoning, d.outcome]
            out += [a.option for a in d.alternatives]
        case Failure() as f:
            out += [f.broke, f.why, f.fix]
        case _:
            pass
    out += [e.to for e in record.edges if e.strength >= STATED]
    return list(dict.fromkeys(f for f in out if f))


def code_refs(record: Record) -> frozenset[str]:
    """The paths and symbols that a record governs or is about; without them it is stale."""
    governs = EdgeType.GOVERNS
    return frozenset(
        [e.to for e in record.edges if e.type is governs or ("::" in e.to and e.strength >= STATED)]
    )
