"""What is asked of the graph: supersession chains, neighbours, dependents, its digest."""

import hashlib
import json
from dataclasses import dataclass

from braincore.graph.projection import FAMILIES, family
from braincore.graph.store import GraphStore, pairs
from braincore.model.axes import Kind

__all__ = ["Neighbour", "chain", "community", "dependents", "digest", "governed_by", "neighbours"]

MAX_DEPTH = 20
_RECORD_TABLES = tuple(dict.fromkeys(FAMILIES.values()))
_NODE_KEYS = {
    **dict.fromkeys(_RECORD_TABLES, "id"),
    "Event": "id",
    "Entity": "name",
    "File": "path",
    "Symbol": "ref",
    "Meta": "key",
}
_RELATIONS = tuple(sorted({relation for relation, _, _ in pairs()}))


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One edge seen from a node: relation, direction (`out` or `in`), the other end, its name."""

    relation: str
    direction: str
    ref: str
    name: str


def chain(graph: GraphStore, record_id: str) -> list[str]:
    """The ids that supersede a record, in one query, nearest first; it itself is not among them.

    Raises ValueError when the chain is deeper than 20.
    """
    table = family(record_id)
    rows = graph.run(
        f"MATCH p = (n:{table} {{id: $id}})-[:SUPERSEDED_BY*1..{MAX_DEPTH + 1}]->(m:{table}) "
        "RETURN m.id, min(length(p)) AS depth ORDER BY depth, m.id",
        {"id": record_id},
    )
    if any(depth > MAX_DEPTH for _, depth in rows):
        raise ValueError(f"{record_id}: more than {MAX_DEPTH} supersessions in a row")
    return [str(row[0]) for row in rows]


def predecessors(graph: GraphStore, record_id: str) -> list[str]:
    """The ids that a record supersedes, directly or not, nearest first."""
    table = family(record_id)
    rows = graph.run(
        f"MATCH p = (n:{table} {{id: $id}})<-[:SUPERSEDED_BY*1..{MAX_DEPTH}]-(m:{table}) "
        "RETURN m.id, min(length(p)) AS depth ORDER BY depth, m.id",
        {"id": record_id},
    )
    return [str(row[0]) for row in rows]


def governed_by(graph: GraphStore, ref: str) -> list[str]:
    """The records with any stated edge to a symbol or file."""
    table, key = ("Symbol", "ref") if "::" in ref else ("File", "path")
    out: list[str] = []
    for source in _RECORD_TABLES:
        rows = graph.run(
            f"MATCH (n:{source})-[:ABOUT|GOVERNS|EVIDENCE]->(m:{table} {{{key}: $ref}}) "
            "RETURN DISTINCT n.id ORDER BY n.id",
            {"ref": ref},
        )
        out += [str(row[0]) for row in rows]
    return out


def neighbours(graph: GraphStore, ref: str, limit: int = 50) -> list[Neighbour]:
    """The code around a symbol or file: what it calls, what calls it, imports, definitions."""
    table, key = ("Symbol", "ref") if "::" in ref else ("File", "path")
    names = (
        ("CALLS", "INHERITS", "DEFINES") if table == "Symbol" else ("IMPORTS", "DEFINES", "CALLS")
    )
    out = []
    for relation in names:
        for direction, pattern in (("out", "-[e:{}]->"), ("in", "<-[e:{}]-")):
            for other, other_key in (("Symbol", "ref"), ("File", "path")):
                if not _pair_exists(relation, direction, table, other):
                    continue
                rows = graph.run(
                    f"MATCH (n:{table} {{{key}: $ref}}){pattern.format(relation)}(m:{other}) "
                    f"RETURN DISTINCT m.{other_key} ORDER BY m.{other_key} LIMIT {limit}",
                    {"ref": ref},
                )
                out += [Neighbour(relation, direction, str(r[0]), str(r[0])) for r in rows]
    return out


_PAIRS = {
    "DEFINES": {("File", "Symbol")},
    "CALLS": {("Symbol", "Symbol"), ("File", "Symbol")},
    "IMPORTS": {("File", "File")},
    "INHERITS": {("Symbol", "Symbol")},
}


def _pair_exists(relation: str, direction: str, table: str, other: str) -> bool:
    pair = (table, other) if direction == "out" else (other, table)
    return pair in _PAIRS[relation]


def dependents(graph: GraphStore, ref: str, depth: int = 2) -> list[str]:
    """What reaches a symbol by calls or inheritance, or a file by imports, within `depth` hops."""
    if "::" in ref:
        query = (
            f"MATCH (n:Symbol {{ref: $ref}})<-[:CALLS|INHERITS*1..{depth}]-(m:Symbol) "
            "RETURN DISTINCT m.ref ORDER BY m.ref"
        )
    else:
        query = (
            f"MATCH (n:File {{path: $ref}})<-[:IMPORTS*1..{depth}]-(m:File) "
            "RETURN DISTINCT m.path ORDER BY m.path"
        )
    return [str(r[0]) for r in graph.run(query, {"ref": ref}) if r[0] != ref]


def community(graph: GraphStore, ref: str, limit: int = 10) -> list[str]:
    """The symbols that matter most around one: PageRank over its calls within two hops."""
    import networkx  # a fifth of the time the owner takes to come up

    net = networkx.DiGraph()
    net.add_node(ref)
    start = "(n:Symbol {ref: $ref})"
    for pattern in (f"{start}-[:CALLS*1..2]->(m:Symbol)", f"{start}<-[:CALLS*1..2]-(m:Symbol)"):
        rows = graph.run(
            f"MATCH {pattern} RETURN DISTINCT m.ref LIMIT 200",
            {"ref": ref},
        )
        net.add_nodes_from(str(r[0]) for r in rows)
    for node in list(net):
        rows = graph.run(
            "MATCH (n:Symbol {ref: $ref})-[:CALLS]->(m:Symbol) RETURN m.ref LIMIT 200",
            {"ref": node},
        )
        net.add_edges_from((node, str(r[0])) for r in rows if str(r[0]) in net)
    ranks = networkx.pagerank(net) if net.number_of_edges() else {}
    ordered = sorted(ranks, key=lambda n: (-ranks[n], n))
    return [n for n in ordered if n != ref][:limit]


def digest(graph: GraphStore, *, code: bool = True) -> str:
    """sha256 over all nodes and edges in order: equal graphs have equal digests.

    `code=False` leaves out what the working tree defines and keeps what the journal says.
    """
    out = hashlib.sha256()
    for table, key in _NODE_KEYS.items():
        if table == "Meta" or (not code and table in ("File", "Symbol")):
            continue
        for row in graph.run(f"MATCH (n:{table}) RETURN n ORDER BY n.{key}"):
            node = {k: v for k, v in row[0].items() if not k.startswith("_")}
            out.update(json.dumps([table, node], sort_keys=True, default=str).encode() + b"\n")
    for relation in _RELATIONS:
        if not code and relation in _PAIRS:
            continue
        lines = []
        for kind, one, two in sorted(pairs()):
            if kind == relation:
                ends = f"a.{_NODE_KEYS[one]}, b.{_NODE_KEYS[two]}"
                query = f"MATCH (a:{one})-[e:{relation}]->(b:{two}) RETURN {ends}, e"
                lines += [
                    json.dumps(
                        [relation, [one, a], [two, b], _props(e)], sort_keys=True, default=str
                    )
                    for a, b, e in graph.run(query)
                ]
        out.update("\n".join(sorted(lines)).encode())
    return out.hexdigest()


def _props(edge: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in edge.items() if not k.startswith("_")}


def record_count(graph: GraphStore) -> int:
    """How many records the graph holds."""
    return sum(int(graph.run(f"MATCH (n:{t}) RETURN count(n)")[0][0]) for t in _RECORD_TABLES)


def is_record_kind(kind: Kind) -> bool:
    """True for kinds that are nodes of a record family (events are not)."""
    return kind in FAMILIES
