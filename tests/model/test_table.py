"""The record table against a naive model of it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.model.axes import Channel, EdgeType, Kind
from braincore.model.records import (
    Candidate,
    Decision,
    Edge,
    Failure,
    Note,
    Record,
    Review,
    Task,
    new_id,
)
from braincore.model.refs import path_of_ref
from braincore.model.table import Table, keys_of, text_key
from braincore.model.words import name_key

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
POOL = [
    (kind, new_id(kind, AT + timedelta(seconds=n)), AT + timedelta(seconds=n))
    for n, kind in enumerate((Kind.FACT, Kind.DECISION, Kind.FAILURE, Kind.TASK, Kind.REVIEW) * 3)
]
IDS = [record_id for _, record_id, _ in POOL]
NAMES = ["Redis", "redis", "job_queue", "JobQueue", "src/a.py::f", ""]
REFS = ["Redis", "redis", "src/a.py", "src/a.py::f", "src/a.py::g.h", "./a.py", "a.py::f", *IDS[:4]]
TEXTS = ["Redis is used", "redis IS used.", "Redis is not used", "port 80", "port 81", "日本語"]


@st.composite
def records(draw: st.DrawFn) -> Record:
    kind, record_id, at = draw(st.sampled_from(POOL))
    refs = st.sampled_from(IDS)
    body: Note | Decision | Failure | Task | Review = Note()
    if kind is Kind.DECISION:
        body = Decision("t", "p", (), "d", "r")
    elif kind is Kind.FAILURE:
        body = Failure("t", "b", "w", "f", "e")
    elif kind is Kind.TASK:
        body = Task("k", "w", "n", "q", closed=draw(st.booleans()))
    elif kind is Kind.REVIEW:
        others = st.lists(st.builds(Candidate, refs, st.just(0.5)), max_size=2).map(tuple)
        body = Review(draw(refs), "r", draw(others), draw(st.booleans()))
    return Record(
        id=record_id,
        kind=kind,
        text=draw(st.sampled_from(TEXTS)),
        source_ref="user:maya",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=at,
        valid_from=at,
        body=body,
        target=draw(st.sampled_from(NAMES)),
        superseded_by=tuple(draw(st.lists(refs, max_size=2))),
        edges=tuple(
            draw(
                st.lists(
                    st.builds(
                        Edge,
                        st.sampled_from([EdgeType.ABOUT, EdgeType.GOVERNS, EdgeType.EVIDENCE]),
                        st.sampled_from(REFS),
                    ),
                    max_size=3,
                )
            )
        ),
    )


def same(table: Table, model: dict[str, Record]) -> None:
    def ids(wanted: Callable[[Record], bool]) -> list[str]:
        return sorted(r.id for r in model.values() if wanted(r))

    def about(r: Record) -> set[str]:
        edges = {name_key(e.to) for e in r.edges if e.type is EdgeType.ABOUT}
        return edges | ({name_key(r.target)} if r.target else set())

    assert len(table) == len(model)
    assert {r.id: r for r in table} == model
    for record_id in IDS:
        assert table.get(record_id) == model.get(record_id)
        reviews = ids(
            lambda r, i=record_id: (
                isinstance(r.body, Review)
                and not r.body.closed
                and i in {r.body.subject, *(c.ref for c in r.body.candidates)}
            )
        )
        assert [r.id for r, _ in table.open_reviews(record_id)] == reviews
        pointing = ids(lambda r, i=record_id: i in r.superseded_by or i in {e.to for e in r.edges})
        assert [r.id for r in table.pointing_at(record_id)] == pointing
    for name in NAMES:
        if name:
            found = ids(lambda r, n=name: name_key(n) in about(r))
            assert [r.id for r in table.about(name)] == found
            assert table.has_key(name_key(name)) == bool(found)
    for ref in REFS:
        found = ids(lambda r, to=ref: to in {e.to for e in r.edges})
        assert [r.id for r in table.linked(ref)] == found
    for path in ("src/a.py", "a.py", "./a.py"):
        bare = path.removeprefix("./")
        found = ids(
            lambda r, p=bare: any(
                path_of_ref(e.to) == p and ("/" in e.to or "::" in e.to) for e in r.edges
            )
        )
        assert [r.id for r in table.linked_under(path)] == found
    for text in TEXTS:
        for kind in (Kind.FACT, Kind.TASK):
            found = ids(lambda r, k=kind, t=text: r.kind is k and text_key(r.text) == text_key(t))
            assert [r.id for r in table.same_text(kind, text)] == found
    for kind in Kind:
        rows = sorted((r.created_at, r.id) for r in model.values() if r.kind is kind)
        assert [r.id for r in table.of_kind(kind)] == [i for _, i in rows]
    tasks = ids(lambda r: isinstance(r.body, Task) and not r.body.closed)
    assert sorted(r.id for r, _ in table.open_tasks()) == tasks
    assert sorted(r.id for r, _ in table.decisions()) == ids(lambda r: r.kind is Kind.DECISION)
    assert sorted(r.id for r, _ in table.failures()) == ids(lambda r: r.kind is Kind.FAILURE)
    assert set(table.names()) == {n for r in model.values() for n in about(r) if n}


steps = st.lists(st.one_of(records(), st.sampled_from(IDS)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_it_says_what_a_plain_dict_would(found: list[Record | str]) -> None:
    table, model = Table(), dict[str, Record]()
    for step in found:
        if isinstance(step, str):
            table.drop(step)
            model.pop(step, None)
        else:
            table.put(step)
            model[step.id] = step
    same(table, model)
    same(Table(model.values()), model)
    known = {r.id: keys_of(r) for r in model.values()}
    assert {i: table.keys(i) for i in model} == known
    same(Table(model.values(), known), model)
    assert table.of_kind(*Kind) == Table(model.values()).of_kind(*Kind)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20))
def test_creation_times_increase_whatever_the_clock_says(seconds: list[int]) -> None:
    table, times = Table(), []
    for shift in seconds:
        at = table.next_time(AT + timedelta(seconds=shift))
        table.put(fact(at))
        times.append(at)
    assert times == sorted(set(times))


def fact(at: datetime = AT, *superseded_by: str) -> Record:
    return Record(
        id=new_id(Kind.FACT, at),
        kind=Kind.FACT,
        text="x",
        source_ref="user:maya",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=at,
        valid_from=at,
        body=Note(),
        superseded_by=superseded_by,
    )


def chain(length: int) -> list[Record]:
    """`length` supersessions in a row, the one that holds first."""
    rows = [fact()]
    for _ in range(length):
        rows.append(fact(AT, rows[-1].id))
    return rows


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_chain_leads_to_what_holds_now(length: int) -> None:
    rows = chain(length)
    assert Table(rows).living(rows[-1]) == [rows[0]]


def test_a_chain_of_more_than_twenty_is_an_error() -> None:
    rows = chain(21)
    with pytest.raises(ValueError, match="more than 20 supersessions"):
        Table(rows).living(rows[-1])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_circle_is_an_error(size: int) -> None:
    rows = chain(size - 1)
    rows[0] = replace(rows[0], superseded_by=(rows[-1].id,))
    with pytest.raises(ValueError, match="or a circle"):
        Table(rows).living(rows[-1])


def test_a_chain_may_branch_and_meet_again() -> None:
    end, other = fact(), fact()
    left, right = fact(AT, end.id), fact(AT, end.id, other.id)
    start = fact(AT, left.id, right.id)
    found = Table([end, other, left, right, start]).living(start)
    assert {r.id for r in found} == {end.id, other.id}


def test_a_successor_that_is_not_there_ends_the_chain() -> None:
    lost = fact(AT, new_id(Kind.FACT, AT))
    assert Table([lost]).living(lost) == [lost]


def test_edges_to_one_end_become_one_of_the_greatest_strength() -> None:
    weak, strong, other = (
        Edge(EdgeType.ABOUT, "a.py::f", 0.2),
        Edge(EdgeType.ABOUT, "a.py::f", 1.0),
        Edge(EdgeType.GOVERNS, "a.py::f", 0.2),
    )
    assert fact().linked(weak, strong, other, weak).edges == (strong, other)
    assert fact().linked(strong).linked(weak).edges == (strong,)
    assert fact().linked(weak).linked(other, strong).edges == (strong, other)
