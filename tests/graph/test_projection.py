"""However records come into the graph, one by one or all at once, it is the same graph."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braincore.errors import StoreError
from braincore.graph.bulk import load_everything
from braincore.graph.projection import COMMIT, FAMILIES, apply_events, apply_records
from braincore.graph.queries import chain, digest, governed_by, predecessors, record_count
from braincore.graph.store import GraphStore
from braincore.model.axes import Channel, EdgeType, EventType, Kind
from braincore.model.records import Decision, Edge, Event, Failure, Note, Record, new_id
from braincore.model.table import Table

TRIALS = int(os.environ.get("BRAINCORE_TRIALS", "1"))
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KINDS = (Kind.FACT, Kind.DECISION, Kind.FAILURE, Kind.LEARNING, Kind.REVIEW, Kind.RULE)
POOL = [(kind, new_id(kind, AT + timedelta(seconds=n))) for n, kind in enumerate(KINDS * 2)]
REFS = [
    *(
        "Redis",
        "redis",
        "it's",
        'a "b"',
        "back\\slash",
        "nul\x00byte",
        "😀",
        "two\nlines",
        "",
        "a,b",
    ),
    *("src/a.py", "./a.py", "src/a.py::f", "a.py::f", "café/a -> b.py", "c#/x'y.ts::A.#p", "dir/"),
    *(record_id for _, record_id in POOL),
]
NASTY = [
    *("", "'", '"', "\\", '\\"', "\n", "\r\n", "a,b", "nul\x00byte", "\x01", "\x07", "\x85\u2028"),
    *("😀日本", "NULL", "null", "[1,2]", "{a: 1}", " x ", "$id", "//", "\t", "\\N", "\ufeff", ";"),
]
texts = st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def make(kind: Kind, record_id: str, text: str = "x", edges: Sequence[Edge] = ()) -> Record:
    body: Note | Decision | Failure | Event = Note()
    if kind is Kind.DECISION:
        body = Decision(text, "p", (), "d", text)
    elif kind is Kind.FAILURE:
        body = Failure(text, "b", "w", "f", "test:a")
    elif kind is Kind.EVENT:
        body = Event(EventType.EDIT, session=text)
    return Record(
        id=record_id,
        kind=kind,
        text=text,
        source_ref=f"user:{text}",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=AT,
        valid_from=AT,
        body=body,
        target=text,
        namespace=text,
        edges=tuple(edges),
    )


edges_of = st.lists(
    st.builds(
        Edge, st.sampled_from(EdgeType), st.sampled_from(REFS), st.sampled_from([0.0, 0.5, 1.0])
    ),
    max_size=4,
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    kind, record_id = draw(st.sampled_from(POOL))
    record = make(kind, record_id, draw(texts), draw(edges_of))
    later = [i for k, i in POOL if k is kind and i > record_id]
    return replace(record, superseded_by=tuple(later) if draw(st.booleans()) else ())


steps = st.lists(
    st.lists(st.one_of(records(), st.sampled_from(POOL)), min_size=1, max_size=4), max_size=8
)


def body_of(rows: Sequence[Record]) -> dict[str, str]:
    return {r.id: '{"title": "' + r.title + '"}' for r in rows}


@settings(
    max_examples=12 * TRIALS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(batches=steps, twice=st.booleans())
def test_step_by_step_is_as_at_once(
    two: tuple[GraphStore, GraphStore], batches: list[list[Record | tuple[Kind, str]]], twice: bool
) -> None:
    slow, fast = two
    slow.renew()
    fast.renew()
    table = Table()
    apply_records(slow, [], {}, "c0")
    for number, batch in enumerate(batches, 1):
        changes: list[tuple[Record | None, Record | None]] = []
        for step in batch:
            old = table.get(step[1] if isinstance(step, tuple) else step.id)
            if isinstance(step, Record):
                table.put(step)
                changes.append((old, step))
            elif old is not None:
                table.drop(old.id)
                changes.append((old, None))
        rows = [new for _, new in changes if new is not None]
        for _ in range(1 + twice):
            apply_records(slow, changes, body_of(rows), f"c{number}", table.pointing_at)
    rows = list(table)
    load_everything(fast, rows, body_of(rows), [], f"c{len(batches)}")
    assert digest(slow) == digest(fast)
    assert slow.meta(COMMIT) == fast.meta(COMMIT)
    assert record_count(slow) == len(table)


@settings(
    max_examples=5 * TRIALS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(texts, max_size=6))
def test_events_step_by_step_are_as_at_once(
    two: tuple[GraphStore, GraphStore], found: list[str]
) -> None:
    slow, fast = two
    slow.renew()
    fast.renew()
    events = [make(Kind.EVENT, new_id(Kind.EVENT, AT), text) for text in found]
    for event in events:
        apply_events(slow, [event], "c")
        apply_events(slow, [event], "c")
    apply_events(slow, [], "c")
    load_everything(fast, [], {}, [*events, *events], "c")
    assert digest(slow) == digest(fast)


def test_an_update_that_drops_edges_leaves_nothing_behind(graph: GraphStore) -> None:
    other = make(Kind.FACT, POOL[6][1])
    about = [Edge(EdgeType.ABOUT, r) for r in ("Redis", "src/a.py", "src/a.py::f")]
    old = make(*POOL[0], edges=[*about, Edge(EdgeType.EVIDENCE, other.id)])
    new = replace(old, edges=())
    apply_records(graph, [(None, other), (None, new)], {}, "c1")
    bare = digest(graph)
    apply_records(graph, [(new, old)], {}, "c2")
    assert digest(graph) != bare
    assert governed_by(graph, "src/a.py::f") == governed_by(graph, "src/a.py") == [old.id]
    apply_records(graph, [(old, new)], {}, "c3")
    assert digest(graph) == bare


def test_an_edge_waits_for_the_record_it_leads_to(graph: GraphStore) -> None:
    old, new = make(Kind.DECISION, POOL[1][1]), make(Kind.DECISION, POOL[7][1])
    old = replace(old, superseded_by=(new.id,))
    table = Table([old])
    apply_records(graph, [(None, old)], {}, "c1", table.pointing_at)
    assert chain(graph, old.id) == []
    table.put(new)
    apply_records(graph, [(None, new)], {}, "c2", table.pointing_at)
    assert chain(graph, old.id) == [new.id]
    assert predecessors(graph, new.id) == [old.id]


def test_a_record_made_and_removed_in_one_batch_was_never_there(graph: GraphStore) -> None:
    apply_records(graph, [], {}, "c1")
    empty = digest(graph)
    record = make(*POOL[0], edges=[Edge(EdgeType.ABOUT, "Redis")])
    apply_records(graph, [(None, record), (record, None)], {}, "c1")
    assert digest(graph) == empty


def test_a_chain_of_twenty_is_followed_and_one_more_is_an_error(graph: GraphStore) -> None:
    ids = [new_id(Kind.DECISION, AT + timedelta(seconds=n)) for n in range(22)]
    rows = [
        replace(make(Kind.DECISION, one), superseded_by=(two,))
        for one, two in zip(ids, [*ids[1:], ""], strict=True)
    ]
    rows[-1] = replace(rows[-1], superseded_by=())
    load_everything(graph, rows, {}, [], "c")
    assert chain(graph, ids[1]) == ids[2:]
    with pytest.raises(ValueError, match="more than 20"):
        chain(graph, ids[0])
    assert predecessors(graph, ids[2]) == [ids[1], ids[0]]


def test_what_fails_half_way_leaves_the_graph_as_it_was(graph: GraphStore) -> None:
    one = make(*POOL[0], edges=[Edge(EdgeType.ABOUT, "Redis")])
    apply_records(graph, [(None, one)], {}, "c1")
    before = digest(graph)
    half = replace(one, text="\ud800")
    for _ in range(2):
        with pytest.raises(StoreError):
            apply_records(graph, [(None, make(*POOL[1])), (one, half)], {}, "c2")
        assert digest(graph) == before
        assert graph.meta(COMMIT) == "c1"
    with pytest.raises(StoreError), graph.transaction():
        apply_records(graph, [(one, None)], {}, "c2")
        apply_events(graph, [make(Kind.EVENT, new_id(Kind.EVENT, AT), "\ud800")], "c2")
    assert digest(graph) == before


def test_a_huge_text_goes_both_ways(two: tuple[GraphStore, GraphStore]) -> None:
    record = make(*POOL[0], text="ж\n" * 200_000)
    for store in two:
        store.renew()
    apply_records(two[0], [(None, record)], {}, "c")
    load_everything(two[1], [record], {}, [], "c")
    assert digest(two[0]) == digest(two[1])


def test_every_kind_but_events_has_a_table() -> None:
    assert set(FAMILIES) == set(Kind) - {Kind.EVENT}
