"""One question, start to end, over a table of records and the candidate lists given in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from braincore.gate.strict import Facts, first_reject, flags_of
from braincore.lifecycle.scores import Usage, memory_score, memory_terms
from braincore.model.axes import EdgeType, Kind, Reason, TruthStatus
from braincore.model.outcomes import Abstain, Answer, Found, Rejected
from braincore.model.records import Record
from braincore.model.table import Table
from braincore.model.words import content_words, words
from braincore.recall.about import Fit, about, ambiguous
from braincore.recall.question import Question
from braincore.recall.rank import Terms, fuse, retrieval_score, temporal_validity

__all__ = ["ANSWERING", "Query", "graph_candidates", "search"]

ANSWERING = frozenset(
    {
        Kind.FACT,
        Kind.RELATION,
        Kind.ENTITY,
        Kind.HYPOTHESIS,
        Kind.DECISION,
        Kind.FAILURE,
        Kind.LEARNING,
        Kind.SUMMARY,
        Kind.PATTERN,
    }
)
MAX_REJECTED = 10
MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of the table. `now` is the clock; `valid_at` the time asked about, if any."""

    question: Question
    now: datetime
    limit: int = 5
    offset: int = 0
    valid_at: datetime | None = None
    allow_uncertainty: bool = False
    namespace: str = "main"
    historical: bool = False


@dataclass(frozen=True, slots=True)
class _Scored:
    record: Record
    fit: Fit
    terms: Terms
    reason: Reason | None
    flags: tuple[str, ...]


def graph_candidates(
    question: Question, table: Table, limit: int
) -> tuple[list[str], dict[str, int]]:
    """Records at the entities and symbols that the question names, nearest first, with hops."""
    said = words(question.text.replace("_", " "))
    keys = {
        "_".join(said[i : i + size]) for size in range(1, 5) for i in range(len(said) - size + 1)
    }
    if question.target:
        keys.add(question.target)
    hops: dict[str, int] = {}
    for key in sorted(keys, key=len, reverse=True):
        for record in table.about(key):
            hops.setdefault(record.id, 0 if record.target else 1)
    for symbol in question.symbols:
        for record in table.linked(symbol):
            hops[record.id] = 0
    if question.target:
        for record in table.linked(question.target):
            hops.setdefault(record.id, 0)
    nearest = sorted(hops, key=lambda i: hops[i])[:limit]
    return nearest, hops


def search(
    query: Query,
    table: Table,
    keyword: Sequence[str],
    usage: Callable[[str], Usage],
    stale: Callable[[Record], bool],
) -> Answer | Abstain:
    """The answer, or an abstain whose reason is that of the best-ranked reject on the topic.

    The caller opens the task of an abstain; `Abstain.task` is None here.
    """
    graph, hops = graph_candidates(query.question, table, max(50, query.limit * 10))
    rrf = fuse(keyword, graph)
    at = query.valid_at or query.now
    found: dict[str, tuple[Record, Fit, float]] = {}
    off: list[tuple[Record, Fit]] = []
    for record_id, score in rrf.items():
        record = table.get(record_id)
        if record is None or record.kind not in ANSWERING or record.namespace != query.namespace:
            continue
        fit = about(query.question, record)
        if not fit.accepted:
            off.append((record, fit))
            continue
        for living in _resolve(record, table, query):
            kept = found.get(living.id)
            if kept is None or kept[2] < score:
                found[living.id] = (living, fit, score)
    scored = _score(query, table, list(found.values()), hops, usage, stale, at)
    good = [s for s in scored if s.reason is None]
    bad = [s for s in scored if s.reason is not None]
    rejected = [Rejected(s.record.id, str(s.reason)) for s in bad[:MAX_REJECTED]]
    near = [(r, f) for r, f in off if f.reason is not Reason.OFF_TOPIC]
    rejected += [Rejected(r.id, str(f.reason)) for r, f in near[: MAX_REJECTED - len(rejected)]]
    if query.allow_uncertainty:
        good = sorted([*good, *bad], key=_order)
    if not good:
        best = bad[0].reason if bad else None
        return Abstain(str(best or Reason.NO_ACCEPTED_FACTS), tuple(rejected), None)
    page = good[query.offset : query.offset + query.limit]
    contested = _contested([s.record for s in good])
    return Answer(tuple(_found(s, contested) for s in page), tuple(rejected), len(good))


def _resolve(record: Record, table: Table, query: Query) -> list[Record]:
    """Follow superseded_by to what holds now; a question about the past keeps what held then."""
    if query.historical or query.valid_at is not None or not record.superseded_by:
        return [record]
    return table.living(record, MAX_DEPTH)


def _score(
    query: Query,
    table: Table,
    found: Sequence[tuple[Record, Fit, float]],
    hops: dict[str, int],
    usage: Callable[[str], Usage],
    stale: Callable[[Record], bool],
    at: datetime,
) -> list[_Scored]:
    top = max((score for _, _, score in found), default=0.0)
    possible = [
        (r, f)
        for r, f, _ in found
        if first_reject(r, _facts(r, table, query, at, stale(r))) is None
    ]
    unclear = set(ambiguous(query.question, possible))
    out = []
    for record, fit, score in found:
        facts = _facts(record, table, query, at, stale(record), record.id in unclear)
        links = len(record.edges)
        terms = retrieval_score(
            record,
            rrf=score,
            max_rrf=top,
            memory=memory_score(memory_terms(record, usage(record.id), links, query.now)),
            hops=hops.get(record.id, 1 if fit.linked else None),
            equal=len(unclear) if record.id in unclear else 1,
            under_review=facts.contradicted,
            evidence_links=sum(e.type is EdgeType.EVIDENCE for e in record.edges),
            at=at,
        )
        reason = first_reject(record, facts)
        flags = flags_of(record, facts) + (("probable",) if fit.probable else ())
        out.append(_Scored(record, fit, terms, reason, flags))
    return sorted(out, key=_order)


def _order(scored: _Scored) -> tuple[bool, float, str]:
    """Full agreement before probable, then by score, newest first among equals."""
    return (scored.fit.probable, -scored.terms.score, _reversed(scored.record.id))


def _reversed(record_id: str) -> str:
    return "".join(chr(0x7F - ord(c)) for c in record_id.rpartition("-")[2] if ord(c) < 0x7F)


def _facts(
    record: Record,
    table: Table,
    query: Query,
    at: datetime,
    stale: bool,
    ambiguous: bool = False,
) -> Facts:
    gone = bool(record.superseded_by) or temporal_validity(record, query.now) == 0.0
    return Facts(
        valid_at=at,
        contradicted=bool(table.open_reviews(record.id)),
        ambiguous=ambiguous,
        stale=stale,
        historical=query.historical or (query.valid_at is not None and gone),
    )


def _contested(records: Sequence[Record]) -> set[str]:
    """Records whose claims name the same subject and predicate but another object."""
    objects: dict[tuple[frozenset[str], frozenset[str]], set[str]] = {}
    ids: dict[tuple[frozenset[str], frozenset[str]], set[str]] = {}
    for record in records:
        if (claim := record.claim) is not None:
            key = (content_words(claim.subject), content_words(claim.predicate))
            objects.setdefault(key, set()).add(claim.object.casefold())
            ids.setdefault(key, set()).add(record.id)
    return {i for key, found in objects.items() if len(found) > 1 for i in ids[key]}


def _found(scored: _Scored, contested: set[str]) -> Found:
    flags = scored.flags
    if scored.record.id in contested:
        flags += ("one_of_several",)
    if scored.reason is not None:
        flags += (str(scored.reason),)
    if scored.record.truth_status is TruthStatus.HYPOTHESIS and scored.reason is not None:
        flags += ("hypothesis",)
    return Found(scored.record, scored.terms.score, flags, scored.fit, scored.terms)
