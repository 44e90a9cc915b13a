"""Many records at once, by COPY: into an empty graph for a rebuild, or beside what is there. Both
are equal to the slow road.

The engine can't go on after a COPY that was rolled back: when one raises, renew the graph.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from braincore.graph.projection import (
    COMMIT,
    FAMILIES,
    edges_of,
    end_of,
    event_row,
    link,
    link_end,
    row_of,
    stub,
)
from braincore.graph.store import GraphStore
from braincore.model.records import Edge, Record

__all__ = ["BULK", "add_records", "apart", "load_everything"]

BULK = 100
"""From so many new records on, COPY is quicker than one statement for each."""

Changes = Sequence[tuple[Record | None, Record | None]]

_ENDS = ("Entity", "File", "Symbol")


def apart(changes: Changes) -> tuple[list[Record], Changes]:
    """The records that changes make and leave, as they are in the end, and all other changes."""
    made = {new.id for old, new in changes if old is None and new is not None}
    last: dict[str, Record | None] = {}
    rest = []
    for old, new in changes:
        either = new or old
        assert either is not None
        if either.id in made:
            last[either.id] = new
        else:
            rest.append((old, new))
    return [record for record in last.values() if record is not None], rest


def add_records(
    graph: GraphStore,
    records: Sequence[Record],
    body_of: Mapping[str, str],
    commit: str,
    pointing_at: Callable[[str], Iterable[Record]],
) -> None:
    """Add records that the graph has never seen, and the commit they belong to, in one transaction.
    `pointing_at` gives the records that have an edge to one of them."""
    nodes: defaultdict[str, list[list[object]]] = defaultdict(list)
    ends: dict[str, dict[str, None]] = {end: {} for end in _ENDS}
    edges: defaultdict[tuple[str, str, str], list[tuple[str, str, float]]] = defaultdict(list)
    between: list[tuple[Record, Edge]] = []
    for record in records:
        table = FAMILIES[record.kind]
        nodes[table].append(list(row_of(record, body_of.get(record.id, "{}")).values()))
        for edge in edges_of(record):
            end, _, value = end_of(edge)
            if end not in ends:
                between.append((record, edge))
                continue
            ends[end][value] = None
            edges[str(edge.type), table, end].append((record.id, value, float(edge.strength)))
    added = {record.id for record in records}
    waiting = {r.id: r for i in added for r in pointing_at(i) if r.id not in added}
    with graph.transaction():
        for table, rows in nodes.items():
            graph.load(table, rows)
        for end, values in ends.items():
            stub(graph, end, list(values))
        for (kind, one, two), pairs in edges.items():
            graph.load(kind, pairs, (one, two))
        for record, edge in between:
            link_end(graph, record, edge)
        for record in waiting.values():
            link(graph, record)
        graph.set_meta(COMMIT, commit)


def load_everything(
    graph: GraphStore,
    records: Iterable[Record],
    body_of: Mapping[str, str],
    events: Iterable[Record],
    commit: str,
) -> None:
    """Fill an empty graph with records and events; one transaction, like every projection."""
    nodes: defaultdict[str, list[list[object]]] = defaultdict(list)
    ends: dict[str, dict[str, None]] = {end: {} for end in _ENDS}
    edges: defaultdict[tuple[str, str, str], list[tuple[str, str, float]]] = defaultdict(list)
    for record in records:
        table = FAMILIES[record.kind]
        nodes[table].append(list(row_of(record, body_of.get(record.id, "{}")).values()))
        for edge in edges_of(record):
            end, _, value = end_of(edge)
            if end in ends:
                ends[end][value] = None
            edges[str(edge.type), table, end].append((record.id, value, float(edge.strength)))
    happened = {e.id: list(event_row(e).values()) for e in events}
    there = {row[0] for rows in nodes.values() for row in rows}
    with graph.room_for(len(there)), graph.unhurried(), graph.transaction():
        for table, rows in nodes.items():
            graph.load(table, rows)
        graph.load("Entity", [[name] for name in ends["Entity"]])
        graph.load("File", [[path, "", "false"] for path in ends["File"]])
        graph.load(
            "Symbol",
            [[ref, *ref.split("::", 1), "", "", "", 0, 0, "false"] for ref in ends["Symbol"]],
        )
        graph.load("Event", list(happened.values()))
        for (kind, one, two), pairs in edges.items():
            alive = [p for p in pairs if two in ends or p[1] in there]
            graph.load(kind, alive, (one, two))
        graph.set_meta(COMMIT, commit)
