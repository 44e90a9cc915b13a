"""Records and outcomes as JSON: the shapes of the command line's contract."""

from collections.abc import Sequence
from typing import cast

from braincore import shapes
from braincore.brain import Entry, Fit, Terms, advice, explain
from braincore.model.edits import CheckResult, Finding, Verdict
from braincore.model.outcomes import Abstain, Answer, Conflict, Considered, Found, Stored
from braincore.model.records import Decision, Failure, Record, Review, Task, is_record_id
from braincore.model.times import iso

__all__ = ["answer", "checked", "decided", "entry", "short", "stored", "task"]


def short(row: Record) -> shapes.Brief:
    """What a list shows of a record."""
    out: shapes.Brief = {
        "id": row.id,
        "kind": str(row.kind),
        "text": row.text,
        "source_ref": row.source_ref,
        "truth_status": str(row.truth_status),
        "created_at": iso(row.created_at),
    }
    if row.target:
        out["target"] = row.target
    if row.title:
        out["title"] = row.title
    return out


def answer(found: Answer | Abstain, *, explained: bool) -> shapes.Recalled:
    """The outcome of `recall`."""
    rejected: list[shapes.Rejected] = [{"id": r.id, "reason": r.reason} for r in found.rejected]
    out = _answer(found, rejected, explained)
    if explained:
        out["considered"] = [_considered(c) for c in found.considered]
    return out


def _considered(row: Considered) -> shapes.Considered:
    return {
        "id": row.id,
        "rrf": round(row.rrf, 6),
        "keyword_rank": row.keyword_rank,
        "vector_rank": row.vector_rank,
        "graph_rank": row.graph_rank,
        "cosine": None if row.cosine is None else round(row.cosine, 4),
        "reason": row.reason,
    }


def _answer(
    found: Answer | Abstain, rejected: list[shapes.Rejected], explained: bool
) -> shapes.Recalled:
    match found:
        case Answer():
            return {
                "outcome": "answer",
                "facts": [_fact(f, explained) for f in found.facts],
                "rejected": rejected,
                "reason": None,
                "task": None,
                "total": found.total,
                "next": None,
            }
        case Abstain():
            return {
                "outcome": "abstain",
                "facts": [],
                "rejected": rejected,
                "reason": found.reason,
                "task": found.task,
                "total": 0,
                "next": advice.next_step(found.reason),
            }


def _fact(found: Found, explained: bool) -> shapes.Fact:
    row = found.record
    out: shapes.Fact = {
        "id": row.id,
        "kind": str(row.kind),
        "text": row.text,
        "score": round(found.score, 6),
        "source_ref": row.source_ref,
        "flags": list(found.flags),
        "truth_status": str(row.truth_status),
        "lifecycle": str(row.lifecycle),
        "trust": row.trust,
        "confidence": row.confidence,
        "target": row.target,
        "valid_from": iso(row.valid_from),
        "valid_until": iso(row.valid_until) if row.valid_until else None,
        "created_at": iso(row.created_at),
    }
    match row.body:
        case Decision() as d:
            out |= {"title": d.title, "problem": d.problem, "reasoning": d.reasoning}
            out["alternatives"] = _alternatives(d)
        case Failure() as f:
            out |= {"title": f.title, "why": f.why, "fix": f.fix, "evidence": f.evidence}
        case _:
            pass
    if row.claim is not None:
        claim = row.claim
        out["claim"] = {
            "subject": claim.subject,
            "predicate": claim.predicate,
            "object": claim.object,
        }
    if explained and isinstance(found.terms, Terms) and isinstance(found.fit, Fit):
        out["explain"] = {
            **explain(found.terms),
            "question_coverage": round(found.fit.question_coverage, 4),
            "name_coverage": round(found.fit.name_coverage, 4),
            "linked": found.fit.linked,
            "probable": found.fit.probable,
        }
    return out


def _alternatives(body: Decision) -> list[shapes.Alternative]:
    return [{"option": a.option, "rejected_because": a.rejected_because} for a in body.alternatives]


def stored(done: Stored) -> shapes.Stored:
    """The outcome of `remember`, `fail` and `outcome`."""
    return {
        "outcome": "stored",
        "id": done.record.id,
        "duplicate": done.duplicate,
        "kind": str(done.record.kind),
        "channel": str(done.record.channel),
        "trust": done.record.trust,
        "truth_status": str(done.record.truth_status),
        "lifecycle": str(done.record.lifecycle),
        "source_ref": done.record.source_ref,
        "notes": list(done.notes),
    }


def decided(done: Stored | Conflict) -> shapes.Decided:
    """The outcome of `decide`."""
    match done:
        case Stored():
            return {**stored(done), "conflicts": []}
        case Conflict():
            return {
                "outcome": "conflict",
                "id": None,
                "conflicts": [short(r) for r in done.conflicts],
                "reason": done.reason or "these decisions answer the same problem",
                "next": advice.CONFLICT,
            }


def chain(rows: Sequence[Record], stale: Sequence[Sequence[str]]) -> list[shapes.ChainLink]:
    """One decision chain, oldest first."""
    out: list[shapes.ChainLink] = []
    for row, gone in zip(rows, stale, strict=True):
        body = row.body
        assert isinstance(body, Decision)
        out.append(
            {
                "id": row.id,
                "title": body.title,
                "problem": body.problem,
                "alternatives": _alternatives(body),
                "decision": body.decision,
                "reasoning": body.reasoning,
                "outcome": body.outcome or None,
                "superseded_by": list(row.superseded_by),
                "in_force": not row.superseded_by,
                "source_ref": row.source_ref,
                "truth_status": str(row.truth_status),
                "created_at": iso(row.created_at),
                "target": row.target,
                "edges": [{"type": str(e.type), "to": e.to} for e in row.edges],
                "stale": list(gone),
            }
        )
    return out


def checked(result: CheckResult) -> shapes.Checked:
    """The outcome of `check`."""
    return {
        "verdict": cast(shapes.VerdictName, str(result.verdict)),
        "findings": [_finding(f) for f in result.findings],
        "repair_plan": [
            {
                "path": s.path,
                "line": s.line,
                "change": s.change,
                "why": s.why,
                "evidence": s.evidence,
            }
            for s in result.repair_plan
        ],
        "notes": list(result.notes),
        "next": advice.DENIED if result.verdict in (Verdict.DENY, Verdict.ABSTAIN) else None,
    }


def _finding(found: Finding) -> shapes.Finding:
    out: shapes.Finding = {
        "severity": str(found.severity),
        "message": found.message,
        "path": found.path,
        "line": found.line,
        "why": found.why,
        "snippet": found.snippet,
    }
    if is_record_id(found.source):
        return {"record": found.source, **out}
    return {"rule": found.source, **out}


def task(row: Record) -> shapes.Task:
    """One brain task."""
    body = row.body
    assert isinstance(body, Task)
    return {
        "id": row.id,
        "query": body.query,
        "why": body.why,
        "needs": body.needs,
        "asked": body.bumps,
        "target": row.target or None,
        "created_at": iso(row.created_at),
    }


def review(row: Record) -> shapes.Review:
    """One review."""
    body = row.body
    assert isinstance(body, Review)
    return {
        "id": row.id,
        "subject": body.subject,
        "reason": body.reason,
        "closed": body.closed,
        "candidates": [{"ref": c.ref, "score": c.score} for c in body.candidates],
    }


def entry(line: Entry) -> shapes.Entry:
    """One line of the log."""
    return {
        "commit": line.commit,
        "at": iso(line.at),
        "verb": line.verb,
        "who": line.who,
        "channel": line.channel,
        "why": line.why,
        "subject": line.subject,
        "records": list(line.records),
    }
