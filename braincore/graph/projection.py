"""Records into the graph. One function serves live writes, replay and rebuild."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from braincore.graph.store import GraphStore, pairs
from braincore.model.axes import EdgeType, Kind
from braincore.model.records import Edge, Event, Record, kind_of_id
from braincore.model.refs import RefType, path_of_ref, ref_type
from braincore.model.times import iso

__all__ = ["COMMIT", "FAMILIES", "apply_events", "apply_records", "family"]

COMMIT = "commit"
"""The Meta key that holds the journal commit the graph has reached."""
FAMILIES: Mapping[Kind, str] = {
    Kind.FACT: "Fact",
    Kind.RELATION: "Fact",
    Kind.ENTITY: "Fact",
    Kind.HYPOTHESIS: "Fact",
    Kind.DECISION: "Decision",
    Kind.FAILURE: "Failure",
    Kind.LEARNING: "Learning",
    Kind.SUMMARY: "Learning",
    Kind.PATTERN: "Learning",
    Kind.TASK: "Task",
    Kind.REVIEW: "Review",
    Kind.RULE: "Rule",
}

_KEYS = {"Entity": "name", "File": "path", "Symbol": "ref"}
_NEW = {
    "File": "m.language = '', m.indexed = false",
    "Symbol": "m.path = $path, m.name = $name, m.kind = '', m.signature = '', m.node_id = '', "
    "m.first_line = 0, m.last_line = 0, m.indexed = false",
}
_OUT = "ABOUT|GOVERNS|EVIDENCE|SUPERSEDED_BY|CONTRADICTS|DERIVED_FROM"
_PAIRS = pairs()


def family(record_id: str) -> str:
    """The node table of a record id."""
    return FAMILIES[kind_of_id(record_id)]


def apply_records(
    graph: GraphStore,
    changes: Iterable[tuple[Record | None, Record | None]],
    body_of: Mapping[str, str],
    commit: str,
    pointing_at: Callable[[str], Iterable[Record]] = lambda record_id: (),
) -> None:
    """Project record changes (old, new) and the commit they belong to, in one transaction.

    Applying the same changes twice leaves the same graph. `body_of` maps ids to JSON bodies;
    `pointing_at` gives the records that have an edge to a record which is new.
    """
    first: dict[str, Record | None] = {}
    last: dict[str, tuple[Record | None, Record | None]] = {}
    for old, new in changes:
        either = new or old
        assert either is not None
        first.setdefault(either.id, old)
        last[either.id] = (old, new)
    written = {i: new for i, (_, new) in last.items() if new is not None}
    freed = {i: _ends(first[i]) - _ends(new) for i, (_, new) in last.items()}
    letting_go = {i for i, ends in freed.items() if ends}
    for i in letting_go:
        # Apart from what is made: an edge that goes and one that comes at the same end in one
        # transaction leave the engine with half of the new one.
        _let_go(graph, last[i], body_of, freed[i])
    with graph.transaction():
        again = bool(letting_go) or graph.meta(COMMIT) == commit
        for old, new in last.values():
            if new is None and old is not None and old.id not in letting_go:
                _remove(graph, old)
        for record in written.values():
            _put(graph, record, body_of.get(record.id, "{}"))
        waiting = {
            r.id: r for i in written if first[i] is None for r in pointing_at(i) if r.id not in last
        }
        for record in (*written.values(), *waiting.values()):
            if again or first.get(record.id, record) is not None:
                link(graph, record)
            else:
                _link_new(graph, record)
        graph.set_meta(COMMIT, commit)


def _let_go(
    graph: GraphStore,
    change: tuple[Record | None, Record | None],
    body_of: Mapping[str, str],
    ends: set[tuple[str, str]],
) -> None:
    """One record that lets go of ends: its edges first, then the ends nothing points to."""
    old, new = change
    with graph.transaction():
        if new is not None:
            _put(graph, new, body_of.get(new.id, "{}"))
            link(graph, new)
        elif old is not None:
            _remove(graph, old)
    with graph.transaction():
        collect(graph, sorted(ends))


def _ends(record: Record | None) -> set[tuple[str, str]]:
    """The ends of a record's edges that live only as long as something points there."""
    if record is None:
        return set()
    ends = ((end, value) for end, _, value in map(end_of, edges_of(record)))
    return {(end, value) for end, value in ends if end in _KEYS}


def _put(graph: GraphStore, record: Record, body: str) -> None:
    table = FAMILIES[record.kind]
    graph.run(
        f"MERGE (n:{table} {{id: $id}}) SET n.kind = $kind, n.text = $text, n.title = $title, "
        "n.target = $target, n.namespace = $namespace, n.truth_status = $truth_status, "
        "n.lifecycle = $lifecycle, n.source_ref = $source_ref, n.trust = $trust, "
        "n.confidence = $confidence, n.created_at = $created_at, n.valid_from = $valid_from, "
        "n.valid_until = $valid_until, n.body = $body",
        row_of(record, body),
    )


def row_of(record: Record, body: str) -> dict[str, object]:
    """A record as the columns of its node table."""
    return {
        "id": record.id,
        "kind": str(record.kind),
        "text": _text(record.text),
        "title": _text(record.title),
        "target": _text(record.target),
        "namespace": _text(record.namespace),
        "truth_status": str(record.truth_status),
        "lifecycle": str(record.lifecycle),
        "source_ref": _text(record.source_ref),
        "trust": float(record.trust),
        "confidence": float(record.confidence),
        "created_at": iso(record.created_at),
        "valid_from": iso(record.valid_from),
        "valid_until": iso(record.valid_until) if record.valid_until else "",
        "body": _text(body),
    }


def _text(value: str) -> str:
    return value.replace("\x00", "")


def edges_of(record: Record) -> list[Edge]:
    """The edges a record stands for: its own, and its supersession chain.

    One edge of a type between two nodes; what the schema has no table for stays in the journal.
    """
    chain = [Edge(EdgeType.SUPERSEDED_BY, i, 1.0) for i in record.superseded_by]
    table = FAMILIES[record.kind]
    out: dict[tuple[str, str, str], Edge] = {}
    for edge in (*record.edges, *chain):
        end, _, value = end_of(edge)
        if (str(edge.type), table, end) in _PAIRS:
            out.setdefault((str(edge.type), end, value), edge)
    return list(out.values())


def end_of(edge: Edge) -> tuple[str, str, str]:
    """Node table, key column and key value of an edge's end."""
    to = _text(edge.to)
    match ref_type(to):
        case RefType.RECORD:
            return FAMILIES.get(kind_of_id(to), "Event"), "id", to
        case RefType.SYMBOL:
            return "Symbol", "ref", to
        case RefType.FILE:
            return "File", "path", path_of_ref(to)
        case RefType.ENTITY:
            return "Entity", "name", to


def link(graph: GraphStore, record: Record) -> None:
    """Give a record's node the edges it stands for and no others; nothing when it isn't there.

    Only what differs is touched: once an edge was deleted and created again in one transaction,
    the engine's DETACH DELETE of one end leaves half of it at the other.
    """
    table = FAMILIES[record.kind]
    found = graph.run(
        f"MATCH (n:{table} {{id: $id}}) OPTIONAL MATCH (n)-[e:{_OUT}]->(m) "
        "RETURN label(e), label(m), m.id, m.name, m.path, m.ref, e.strength",
        {"id": record.id},
    )
    if not found:
        return
    there = {
        (str(kind), str(end), str(_key(end, *keys))): strength
        for kind, end, *keys, strength in found
        if kind
    }
    wanted = {(str(e.type), end_of(e)[0], end_of(e)[2]): e for e in edges_of(record)}
    for kind, end, value in there.keys() - wanted.keys():
        graph.run(
            f"MATCH (:{table} {{id: $id}})-[e:{kind}]->(:{end} {{{key_of(end)}: $to}}) DELETE e",
            {"id": record.id, "to": value},
        )
    for (kind, end, value), edge in wanted.items():
        given = {"id": record.id, "to": value, "strength": float(edge.strength)}
        to = f"{end} {{{key_of(end)}: $to}}"
        if (kind, end, value) not in there:
            _stub(graph, end, value)
            graph.run(
                f"MATCH (n:{table} {{id: $id}}), (m:{to}) "
                f"CREATE (n)-[:{kind} {{strength: $strength}}]->(m)",
                given,
            )
        elif there[kind, end, value] != edge.strength:
            graph.run(
                f"MATCH (:{table} {{id: $id}})-[e:{kind}]->(:{to}) SET e.strength = $strength",
                given,
            )


def _link_new(graph: GraphStore, record: Record) -> None:
    """Give the node of a record that was never there its edges."""
    for edge in edges_of(record):
        link_end(graph, record, edge)


def link_end(graph: GraphStore, record: Record, edge: Edge) -> None:
    """Give a record's node an edge that it doesn't have; nothing when its end is no record's."""
    end, key, value = end_of(edge)
    given: dict[str, object] = {"id": record.id, "to": value, "strength": float(edge.strength)}
    node, to = f"(n:{FAMILIES[record.kind]} {{id: $id}})", f"(m:{end} {{{key}: $to}})"
    if end not in _KEYS:
        ends = f"MATCH {node}, {to}"
    else:
        ends = f"MATCH {node} MERGE {to}"
        if end in _NEW:
            ends += f" ON CREATE SET {_NEW[end]}"
        if end == "Symbol":
            given["path"], _, given["name"] = value.partition("::")
    graph.run(f"{ends} CREATE (n)-[:{edge.type} {{strength: $strength}}]->(m)", given)


def key_of(table: str) -> str:
    """The column a node table is looked up by."""
    return _KEYS.get(table, "id")


def _key(end: str, record_id: str, name: str, path: str, ref: str) -> str:
    return {"Entity": name, "File": path, "Symbol": ref}.get(end, record_id)


def _stub(graph: GraphStore, end: str, value: str) -> None:
    """Make an end that is no record, in case it isn't there."""
    if end == "Symbol":
        path, _, name = value.partition("::")
        graph.run(
            f"MERGE (m:Symbol {{ref: $ref}}) ON CREATE SET {_NEW[end]}",
            {"ref": value, "path": path, "name": name},
        )
    elif end == "File":
        graph.run(f"MERGE (m:File {{path: $path}}) ON CREATE SET {_NEW[end]}", {"path": value})
    elif end == "Entity":
        graph.run("MERGE (m:Entity {name: $name})", {"name": value})


def stub(graph: GraphStore, end: str, values: Sequence[str]) -> None:
    """Make many ends that are no records, where they aren't there."""
    if not values:
        return
    rows: list[dict[str, str]] = [{"to": value} for value in values]
    made = ""
    if end == "Symbol":
        for row in rows:
            row["path"], _, row["name"] = row["to"].partition("::")
    if end in _NEW:
        made = f" ON CREATE SET {_NEW[end].replace('$', 'r.')}"
    key = key_of(end)
    graph.run(f"UNWIND $rows AS r MERGE (m:{end} {{{key}: r.to}}){made}", {"rows": rows})


def collect(graph: GraphStore, ends: Iterable[tuple[str, str]]) -> None:
    """Remove ends with no code behind them and no record pointing there."""
    for end, value in ends:
        key = _KEYS[end]
        alive = "false" if end == "Entity" else "m.indexed"
        graph.run(
            f"MATCH (m:{end} {{{key}: $value}}) WHERE NOT {alive} AND NOT (m)<-[]-() "
            "AND NOT (m)-[]->() DETACH DELETE m",
            {"value": value},
        )


def _remove(graph: GraphStore, record: Record) -> None:
    """Take a record's node and edges away."""
    table = FAMILIES[record.kind]
    graph.run(f"MATCH (:{table} {{id: $id}})-[e:{_OUT}]->() DELETE e", {"id": record.id})
    graph.run(f"MATCH (n:{table} {{id: $id}}) DETACH DELETE n", {"id": record.id})


def apply_events(graph: GraphStore, events: Sequence[Record], commit: str) -> None:
    """Project a batch of events and the commit they belong to, in one transaction."""
    with graph.transaction():
        for record in events:
            graph.run(
                "MERGE (e:Event {id: $id}) SET e.type = $type, e.outcome = $outcome, "
                "e.session = $session, e.text = $text, e.target = $target, "
                "e.created_at = $created_at",
                event_row(record),
            )
        graph.set_meta(COMMIT, commit)


def event_row(record: Record) -> dict[str, object]:
    """An event as the columns of its node table."""
    body = record.body
    assert isinstance(body, Event)
    return {
        "id": record.id,
        "type": str(body.type),
        "outcome": str(body.outcome),
        "session": _text(body.session),
        "text": _text(record.text),
        "target": _text(record.target),
        "created_at": iso(record.created_at),
    }


def json_body(body: object) -> str:
    """A body as JSON text, keys in order."""
    return json.dumps(body, ensure_ascii=False, sort_keys=True)
