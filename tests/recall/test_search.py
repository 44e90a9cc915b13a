"""One question over a table of records: deterministic, bounded, explained."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.lifecycle.scores import Usage
from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, TruthStatus
from braincore.model.outcomes import Abstain, Answer
from braincore.model.records import Candidate, Claim, Edge, Note, Record, Review
from braincore.model.table import Table
from braincore.recall.question import parse_question
from braincore.recall.rank import Terms
from braincore.recall.search import MAX_REJECTED, Lists, Query, graph_candidates, search

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def record(
    number: int,
    text: str,
    target: str = "",
    *,
    kind: Kind = Kind.FACT,
    trust: float = 0.9,
    confidence: float = 0.7,
    truth: TruthStatus = TruthStatus.CONFIRMED,
    claim: Claim | None = None,
    edges: tuple[Edge, ...] = (),
) -> Record:
    """A working record with an id that says its number."""
    at = NOW + timedelta(microseconds=number)
    return Record(
        id=f"{kind}-01ARZ3NDEKTSV4RRFFQ69G5{LETTERS[number // 32]}{LETTERS[number % 32]}0",
        kind=kind,
        text=text,
        source_ref="user:ann",
        channel=Channel.PERSON,
        trust=trust,
        created_at=at,
        valid_from=at,
        body=Note(claim),
        confidence=confidence,
        truth_status=truth,
        lifecycle=Lifecycle.WORKING,
        target=target,
        edges=edges,
    )


def ask(text: str, rows: list[Record], **more: object) -> Answer | Abstain:
    """Search with every record as keyword candidate, in the order given."""
    target = str(more.pop("target", ""))
    query = Query(parse_question(text, target), NOW + timedelta(days=1), **more)  # type: ignore[arg-type]
    return search(
        query, Table(rows), Lists([r.id for r in rows]), lambda i: Usage(), lambda r: False
    )


WORDS = "staging production port timeout redis api worker 30 90 8443 not never v1 v2".split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(texts, st.sampled_from(["", "staging_port", "redis", "api"])), max_size=8),
    texts,
)
def test_search_is_deterministic_and_its_scores_recompute(
    given_rows: list[tuple[str, str]], question: str
) -> None:
    rows = [record(n, text, target) for n, (text, target) in enumerate(given_rows)]
    found = ask(question, rows)
    assert ask(question, rows) == found
    if isinstance(found, Abstain):
        assert found.reason
        return
    top = [f.score for f in found.facts if not any(flag == "probable" for flag in f.flags)]
    assert top == sorted(top, reverse=True)
    for fact in found.facts:
        t = fact.terms
        assert isinstance(t, Terms)
        base = 0.35 * t.semantic + 0.20 * t.memory + 0.15 * t.graph + 0.15 * t.temporal
        base += 0.10 * t.trust - 0.15 * t.ambiguity
        assert fact.score == pytest.approx(max(0.0, base) * t.lifecycle)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=6), st.randoms())
def test_the_order_in_the_table_does_not_matter(sentences: list[str], shuffle: object) -> None:
    rows = [record(n, text, "staging_port") for n, text in enumerate(sentences)]
    ids = [r.id for r in rows]
    query = Query(parse_question("staging port"), NOW + timedelta(days=1))
    mixed = list(rows)
    shuffle.shuffle(mixed)  # type: ignore[attr-defined]
    one, two = (
        search(query, Table(table), Lists(ids), lambda i: Usage(), lambda r: False)
        for table in (rows, mixed)
    )
    assert one == two


@settings(max_examples=60, deadline=None)
@given(texts, texts)
def test_no_unflagged_answer_says_another_number(question: str, text: str) -> None:
    found = ask(question, [record(0, text, "staging_port")])
    if isinstance(found, Answer) and not found.facts[0].flags:
        numbers = {w for w in question.split() if any(c.isdigit() for c in w)}
        assert numbers <= set(text.split())


def test_rejects_are_bounded_and_the_best_gives_the_reason() -> None:
    rows = [record(0, "Staging port is 1.", "staging_port", trust=0.3)]
    rows += [
        record(n, f"Staging port is {n}.", "staging_port", confidence=0.1) for n in range(1, 30)
    ]
    found = ask("staging port", rows)
    assert isinstance(found, Abstain)
    assert len(found.rejected) == MAX_REJECTED
    assert found.reason == found.rejected[0].reason


def test_an_open_review_withholds() -> None:
    rows = [record(0, "Staging port is 1.", "staging_port")]
    review = record(1, "Which port?", kind=Kind.REVIEW)
    body = Review(rows[0].id, "contradiction", (Candidate(rows[0].id, 0.5),))
    found = ask("staging port", [*rows, replace(review, body=body)])
    assert isinstance(found, Abstain) and found.reason == "contradiction_unresolved"
    closed = replace(review, body=replace(body, closed=True))
    assert isinstance(ask("staging port", [*rows, closed]), Answer)


@pytest.mark.parametrize("kind", [Kind.TASK, Kind.REVIEW, Kind.EVENT, Kind.RULE])
def test_some_kinds_never_answer(kind: Kind) -> None:
    rows = [record(0, "Staging port is 1.", "staging_port", kind=kind)]
    found = ask("staging port", rows)
    assert isinstance(found, Abstain) and found.rejected == ()


def test_a_confirmed_record_comes_before_its_like_from_an_agent() -> None:
    agent = record(
        0, "Staging port is one.", "staging_port", trust=0.5, truth=TruthStatus.CANDIDATE
    )
    person = record(1, "Staging port is the first.", "staging_port")
    found = ask("staging port", [agent, person])
    assert isinstance(found, Answer)
    assert [f.record.id for f in found.facts] == [person.id, agent.id]
    assert found.facts[1].flags == ("unconfirmed",)


def test_graph_candidates_know_how_far_they_are() -> None:
    about = record(0, "It is fast.", "redis", edges=(Edge(EdgeType.ABOUT, "redis"),))
    near = record(
        1, "Sessions are in Redis.", "sessions", edges=(Edge(EdgeType.ABOUT, "redis", 0.2),)
    )
    far = record(2, "Other.", "other", edges=(Edge(EdgeType.ABOUT, "other"),))
    nearest, hops = graph_candidates(parse_question("is redis fast"), Table([near, about, far]), 50)
    assert hops == {about.id: 0, near.id: 1}
    assert nearest == [about.id]  # a mention has its hops, and is found by its words


def test_explicit_symbols_are_at_the_anchor() -> None:
    linked = record(0, "It caches.", edges=(Edge(EdgeType.ABOUT, "a.py::f"),))
    question = parse_question("does it cache?", "", ("a.py::f",))
    assert graph_candidates(question, Table([linked]), 50)[1] == {linked.id: 0}


def test_a_vector_list_brings_candidates_and_explains_them() -> None:
    port = record(1, "Staging uses port 8443", "staging_port")
    day = record(2, "Deploys go out on Tuesdays", "deploys")
    query = Query(
        parse_question("Which port does staging use?"), NOW + timedelta(days=1), explain=True
    )
    lists = Lists([port.id], [day.id, port.id], lambda ids: {i: 0.8 for i in ids if i == port.id})
    found = search(query, Table([port, day]), lists, lambda i: Usage(), lambda r: False)
    assert isinstance(found, Answer)
    assert [f.record.id for f in found.facts] == [port.id]
    terms = found.facts[0].terms
    assert isinstance(terms, Terms) and terms.cosine == 0.8
    rows = {c.id: c for c in found.considered}
    assert (rows[port.id].keyword_rank, rows[port.id].vector_rank) == (1, 2)
    assert (rows[day.id].keyword_rank, rows[day.id].vector_rank) == (None, 1)
    assert rows[port.id].reason is None and rows[day.id].reason == "off_topic"
    assert rows[day.id].cosine is None
    assert rows[port.id].rrf == pytest.approx(1 / 61 + 1 / 62)


def test_a_near_meaning_alone_is_no_answer() -> None:
    day = record(1, "Deploys go out on Tuesdays", "deploys")
    query = Query(parse_question("On which weekday do we release?"), NOW + timedelta(days=1))
    lists = Lists([], [day.id], lambda ids: dict.fromkeys(ids, 0.99))
    found = search(query, Table([day]), lists, lambda i: Usage(), lambda r: False)
    assert isinstance(found, Abstain) and found.reason == "no_accepted_facts"
