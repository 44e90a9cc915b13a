"""One question, start to end, over a table of records and the candidate lists given in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from braincore.gate.strict import Facts, first_reject, flags_of
from braincore.lifecycle.scores import Usage, memory_score, memory_terms
from braincore.model.axes import EdgeType, Kind, Reason, TruthStatus
from braincore.model.outcomes import Abstain, Answer, Considered, Found, Rejected
from braincore.model.records import Record
from braincore.model.said import STATED
from braincore.model.table import Table
from braincore.model.words import exact_words, is_negation, is_number, name_key, words
from braincore.recall.about import Fit, about, ambiguous, doubted
from braincore.recall.names import told
from braincore.recall.question import Question
from braincore.recall.rank import Terms, fuse, retrieval_score, temporal_validity

__all__ = ["ANSWERING", "Lists", "Query", "graph_candidates", "search"]

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
ALIKE = 0.6
"""Two statements share so many of their spellings that only numbers or polarity set them apart."""


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
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Lists:
    """Candidates by keyword and by meaning, best first; `cosine`: calibrated, by record id, of
    whatever records are asked for that have a vector."""

    keyword: Sequence[str]
    vector: Sequence[str] = ()
    cosine: Callable[[Iterable[str]], Mapping[str, float]] = field(default=lambda ids: {})


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
    """Records at the entities and symbols that the question names, and how many hops away those
    and the ones that mention them are."""
    said = words(question.text.replace("_", " "))
    keys = {
        "_".join(said[i : i + size]) for size in range(1, 5) for i in range(len(said) - size + 1)
    }
    if question.target:
        keys.add(question.target)
    hops: dict[str, int] = {}
    linked: dict[str, int] = {}
    for key in sorted(keys, key=len, reverse=True):
        folded = name_key(key)
        for record in table.about(key):
            away = 0 if record.target and name_key(record.target) == folded else 1
            hops[record.id] = min(hops.get(record.id, 1), away)
            if away == 0 or any(
                e.strength >= STATED and name_key(e.to) == folded for e in record.edges
            ):
                linked[record.id] = hops[record.id]
    for symbol in question.symbols:
        hops |= (at := {record.id: 0 for record in table.linked(symbol)})
        linked |= at
    for record in table.linked(question.target) if question.target else ():
        linked[record.id] = hops.setdefault(record.id, 0)
    # A mere mention is no candidate of this list: a common word has hundreds, all alike, and the
    # other lists rank them better.
    nearest = sorted(linked, key=lambda i: hops[i])[:limit]
    return nearest, hops


def search(
    query: Query,
    table: Table,
    lists: Lists,
    usage: Callable[[str], Usage],
    stale: Callable[[Record], bool],
    has_twin: Callable[[str], bool] = lambda symbol: False,
) -> Answer | Abstain:
    """The answer, or an abstain whose reason is that of the best-ranked reject on the topic.

    `has_twin`: the code has other symbols of this one's name. The caller opens the task of an
    abstain; `Abstain.task` is None here.
    """
    graph, hops = graph_candidates(query.question, table, max(50, query.limit * 10))
    rrf = fuse(lists.keyword, lists.vector, graph)
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
        if fit.sure and _unqualified(query.question, record) and has_twin(record.target):
            fit = doubted(fit)
        for living in _resolve(record, table, query):
            kept = found.get(living.id)
            if kept is None or kept[2] < score:
                found[living.id] = (living, fit, score)
    scored = _score(query, table, list(found.values()), hops, lists, usage, stale, at)
    good = [s for s in scored if s.reason is None]
    bad = [s for s in scored if s.reason is not None]
    rejected = [Rejected(s.record.id, str(s.reason)) for s in bad[:MAX_REJECTED]]
    near = [(r, f) for r, f in off if f.reason is not Reason.OFF_TOPIC]
    rejected += [Rejected(r.id, str(f.reason)) for r, f in near[: MAX_REJECTED - len(rejected)]]
    if query.allow_uncertainty:
        good = sorted([*good, *bad], key=_order)
    considered: tuple[Considered, ...] = ()
    if query.explain:
        reasons = {r.id: f.reason for r, f in off} | {s.record.id: s.reason for s in bad}
        considered = _considered(rrf, lists, graph, reasons, table, query.namespace)
    if not good:
        best = bad[0].reason if bad else None
        reason = str(best or Reason.NO_ACCEPTED_FACTS)
        return Abstain(reason, tuple(rejected), None, considered)
    page = good[query.offset : query.offset + query.limit]
    facts = tuple(_found(s, _contested(s.record, table, query, at, stale)) for s in page)
    return Answer(facts, tuple(rejected), len(good), considered)


def _considered(
    rrf: Mapping[str, float],
    lists: Lists,
    graph: Sequence[str],
    reasons: Mapping[str, Reason | None],
    table: Table,
    namespace: str,
) -> tuple[Considered, ...]:
    """Every candidate of this namespace, best fused score first."""
    keyword, vector, near = (
        {record_id: rank for rank, record_id in enumerate(dict.fromkeys(ids), 1)}
        for ids in (lists.keyword, lists.vector, graph)
    )
    own = [i for i in rrf if (r := table.get(i)) and r.kind in ANSWERING]
    own = [i for i in own if (r := table.get(i)) and r.namespace == namespace]
    cosine = lists.cosine(own)
    return tuple(
        Considered(
            i,
            rrf[i],
            keyword.get(i),
            vector.get(i),
            near.get(i),
            cosine.get(i),
            str(why) if (why := reasons.get(i)) is not None else None,
        )
        for i in sorted(own, key=lambda i: (-rrf[i], i))
    )


def _unqualified(question: Question, record: Record) -> bool:
    """The question names the record's symbol by its last part only, so a twin could be meant."""
    if "::" not in record.target or question.target or question.symbols:
        return False
    path = record.target.rpartition("::")[0]
    return not set(words(path)) & set(words(question.text))


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
    lists: Lists,
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
    cosine = lists.cosine([r.id for r, _, _ in found])
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
            evidence_links=_evidence_links(record),
            at=at,
            cosine=cosine.get(record.id),
        )
        reason = first_reject(record, facts)
        flags = flags_of(record, facts) + (("probable",) if fit.probable else ())
        out.append(_Scored(record, fit, terms, reason, flags))
    return sorted(out, key=_order)


def _evidence_links(record: Record) -> int:
    """The pieces of evidence themselves; the files that one touches are not further ones."""
    found = [e.to for e in record.edges if e.type is EdgeType.EVIDENCE]
    return sum(ref.partition(":")[0] in ("commit", "test", "file", "url") for ref in found)


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


def _contested(
    record: Record, table: Table, query: Query, at: datetime, stale: Callable[[Record], bool]
) -> bool:
    """Another record that may answer says something else about the same: the same subject and
    predicate with another object, or the same words with other numbers or another polarity."""
    claim = record.claim
    names = [record.target] if record.target else []
    names += [claim.subject] if claim is not None else []
    names += [e.to for e in record.edges if e.type is EdgeType.ABOUT] if not names else []
    near = {r.id: r for name in names for r in table.about(name) if r.id != record.id}
    return any(
        _differs(record, other)
        and other.namespace == record.namespace
        and first_reject(other, _facts(other, table, query, at, stale(other))) is None
        for other in near.values()
    )


def _differs(one: Record, two: Record) -> bool:
    if one.claim is not None and two.claim is not None:
        same = name_key(one.claim.subject) == name_key(two.claim.subject) and name_key(
            one.claim.predicate
        ) == name_key(two.claim.predicate)
        same = same and one.claim.qualifiers == two.claim.qualifiers
        return same and name_key(one.claim.object) != name_key(two.claim.object)
    if one.kind is Kind.DECISION or two.kind is Kind.DECISION:
        return False
    shared, every = told(one) & told(two), told(one) | told(two)
    plain = sum(not is_number(w) for w in every)
    alike = plain > 0 and sum(not is_number(w) for w in shared) / plain >= ALIKE
    return alike and _measure(one.text) != _measure(two.text)


def _measure(text: str) -> tuple[frozenset[str], bool]:
    """What makes two alike sentences say different things: numbers and polarity."""
    denied = sum(is_negation(w) for w in words(text)) % 2 == 1
    return frozenset(w for w in exact_words(text) if is_number(w)), denied


def _found(scored: _Scored, contested: bool) -> Found:
    flags = scored.flags
    if contested:
        flags += ("one_of_several",)
    if scored.reason is not None:
        flags += (str(scored.reason),)
    if scored.record.truth_status is TruthStatus.HYPOTHESIS and scored.reason is not None:
        flags += ("hypothesis",)
    return Found(scored.record, scored.terms.score, flags, scored.fit, scored.terms)
