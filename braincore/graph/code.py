"""The code index into the graph: files, symbols and their edges, part by part.

A part is a transaction, since the engine's memory doesn't hold a large tree's at once. So nodes
come first, for all files, then edges, and the mark of what is reached last: whatever stops on the
way is done again from the last mark. Each step compares with what is there and writes only what
differs, so doing it again changes nothing.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from braincore.errors import StoreError
from braincore.graph.projection import collect
from braincore.graph.store import GraphStore
from braincore.model.symbols import Symbol

__all__ = ["CODE", "CodeProjection", "Edge", "NodesOf", "keyed"]

CODE = "code"
"""The Meta key that holds `<code index id>:<generation>`."""

RUN = "code run"
"""The Meta key by which a projection of many parts knows its graph again."""

BULK = 60
"""From this many files on, what is new goes in by COPY."""

Edge = tuple[str, str, str, int]
"""Type, source, target, line."""

NodesOf = tuple[str, str, Sequence[Symbol]]
"""Path, language and symbols of a file."""

_Ends = tuple[str, str, str]

_Columns = tuple[str, str, str, str, int, int]
"""Name, kind, signature, node id, first line, last line."""


class CodeProjection:
    """One way from mark to mark: `remove` and `nodes` for all files, then `edges`, then `finish`.

    `parts`: each call is a transaction of its own; else the caller holds one around all of them.
    """

    def __init__(self, graph: GraphStore, *, parts: bool) -> None:
        self._graph = graph
        self._token = uuid.uuid4().hex if parts else ""
        self._new = set[str]()
        if parts:
            graph.set_meta(RUN, self._token)

    def _check(self) -> None:
        """Between two parts the graph may have been set aside and begun anew."""
        if self._token and self._graph.meta(RUN) != self._token:
            raise StoreError(str(self._graph.path), "it was built anew while code was projected")

    def remove(self, gone: Sequence[str]) -> None:
        """Files that vanished."""
        with self._graph.transaction():
            self._check()
            for path in gone:
                old = _symbols_of(self._graph, path)
                _drop_symbols(self._graph, path, list(old))
                for edge in ("-[e:CALLS|IMPORTS]->()", "<-[e:IMPORTS]-()"):
                    self._graph.run(
                        f"MATCH (f:File {{path: $path}}){edge} DELETE e", {"path": path}
                    )
                self._graph.run(
                    "MATCH (f:File {path: $path}) SET f.indexed = false, f.language = ''",
                    {"path": path},
                )
            collect(self._graph, [("File", path) for path in gone])

    def nodes(self, files: Sequence[NodesOf]) -> None:
        """Files and their symbols."""
        graph, bulk = self._graph, len(files) >= BULK
        fresh_files: list[tuple[object, ...]] = []
        symbols: list[tuple[object, ...]] = []
        defines: list[tuple[object, ...]] = []
        with graph.transaction():
            self._check()
            waiting = _waiting(graph) if bulk else set()
            for path, language, found in files:
                rows = graph.run(_FILE, {"path": path})
                if not rows and bulk:
                    fresh_files.append((path, language, "true"))
                elif rows != [[language, True]]:
                    graph.run(_PUT_FILE, {"path": path, "language": language})
                there = bool(rows) and rows[0][1]
                old = _symbols_of(graph, path) if there else {}
                new = {ref: _columns(s) for ref, s in keyed(found).items()}
                if not there:
                    self._new.add(path)
                _drop_symbols(graph, path, [ref for ref in old if ref not in new])
                _change(graph, path, old, new)
                for ref in new.keys() - old.keys():
                    row = new[ref]
                    if not bulk or ref in waiting:
                        graph.run(_PUT_SYMBOL, _parameters(path, ref, row))
                    else:
                        symbols.append((ref, path, *row, "true"))
                    if bulk:
                        defines.append((path, ref, row[4]))
                    else:
                        _create(graph, ("DEFINES", path, ref, row[4]))
            graph.load("File", fresh_files)
            graph.load("Symbol", symbols)
            graph.load("DEFINES", defines)

    def edges(self, of: Mapping[str, Sequence[Edge]]) -> None:
        """All edges out of each of these files; the nodes of both ends are there."""
        graph = self._graph
        new: list[Edge] = []
        with graph.transaction():
            self._check()
            for path, given in of.items():
                old = {} if path in self._new else _edges_of(graph, path)
                wanted = {edge[:3]: edge[3] for edge in given}
                _touch(graph, path, [e for e in old if e not in wanted], "DELETE e", {})
                shifts: defaultdict[int, list[_Ends]] = defaultdict(list)
                for ends, line in wanted.items():
                    if ends not in old:
                        new.append((*ends, line))
                    elif line != old[ends]:
                        shifts[line - old[ends]].append(ends)
                for by, moved in shifts.items():
                    _touch(graph, path, moved, "SET e.line = e.line + $by", {"by": by})
            if len(of) >= BULK:
                _copy(graph, new)
            else:
                for edge in new:
                    _create(graph, edge)

    def finish(self, mark: str) -> None:
        """Store what the graph has reached."""
        with self._graph.transaction():
            self._check()
            # once a run of parts was killed, one without may be what makes up for it
            if self._graph.meta(RUN) is not None:
                self._graph.run("MATCH (m:Meta {key: $key}) DELETE m", {"key": RUN})
            self._graph.set_meta(CODE, mark)


def keyed(symbols: Iterable[Symbol]) -> dict[str, Symbol]:
    """The symbols of a file by node key: the reference, with `#2`, `#3` … for twins of one name (a
    getter and its setter, two halves of a condition)."""
    out: dict[str, Symbol] = {}
    for symbol in symbols:
        key, number = symbol.ref, 2
        while key in out:
            key, number = f"{symbol.ref}#{number}", number + 1
        out[key] = symbol
    return out


def _columns(s: Symbol) -> _Columns:
    signature = s.signature[:400].replace("\x00", "")
    return s.qualified_name, s.kind, signature, s.node_id, s.first_line, s.last_line


_FILE = "MATCH (f:File {path: $path}) RETURN f.language, f.indexed"
_PUT_FILE = "MERGE (f:File {path: $path}) SET f.language = $language, f.indexed = true"
_PUT_SYMBOL = (
    "MERGE (s:Symbol {ref: $ref}) SET s.path = $path, s.name = $name, s.kind = $kind, "
    "s.signature = $signature, s.node_id = $node_id, s.first_line = $first_line, "
    "s.last_line = $last_line, s.indexed = true"
)


def _parameters(path: str, ref: str, row: _Columns) -> dict[str, object]:
    keys = ("name", "kind", "signature", "node_id", "first_line", "last_line")
    return {"path": path, "ref": ref, **dict(zip(keys, row, strict=True))}


def _waiting(graph: GraphStore) -> set[str]:
    """Symbols that records speak of and no code defines yet; COPY would stumble over them."""
    return {r[0] for r in graph.run("MATCH (s:Symbol) WHERE NOT s.indexed RETURN s.ref")}


def _symbols_of(graph: GraphStore, path: str) -> dict[str, _Columns]:
    rows = graph.run(
        "MATCH (:File {path: $path})-[:DEFINES]->(s:Symbol) "
        "RETURN s.ref, s.name, s.kind, s.signature, s.node_id, s.first_line, s.last_line",
        {"path": path},
    )
    return {row[0]: (row[1], row[2], row[3], row[4], row[5], row[6]) for row in rows}


def _drop_symbols(graph: GraphStore, path: str, refs: Sequence[str]) -> None:
    """Symbols a file no longer defines: gone with their edges, or kept bare for the records."""
    if not refs:
        return
    graph.run(
        "MATCH (f:File {path: $path})-[e:DEFINES]->(s:Symbol) WHERE s.ref IN $refs DELETE e",
        {"path": path, "refs": list(refs)},
    )
    for ref in refs:
        for edge in (
            "-[e:CALLS|INHERITS]->(:Symbol)",
            "<-[e:CALLS|INHERITS]-(:Symbol)",
            "<-[e:CALLS]-(:File)",
        ):
            graph.run(f"MATCH (s:Symbol {{ref: $ref}}){edge} DELETE e", {"ref": ref})
        graph.run(
            "MATCH (s:Symbol {ref: $ref}) SET s.indexed = false, s.kind = '', "
            "s.signature = '', s.node_id = '', s.first_line = 0, s.last_line = 0",
            {"ref": ref},
        )
    collect(graph, [("Symbol", ref) for ref in refs])


def _change(
    graph: GraphStore, path: str, old: Mapping[str, _Columns], new: Mapping[str, _Columns]
) -> None:
    """Symbols that stay: most only moved, many by the same number of lines."""
    moved: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for ref in old.keys() & new.keys():
        before, after = old[ref], new[ref]
        if before[:4] != after[:4]:
            graph.run(_PUT_SYMBOL, _parameters(path, ref, (*after[:4], *before[4:])))
        if before[4:] != after[4:]:
            moved[after[4] - before[4], after[5] - before[5]].append(ref)
    for (first, last), refs in moved.items():
        graph.run(
            "MATCH (f:File {path: $path})-[e:DEFINES]->(s:Symbol) WHERE s.ref IN $refs "
            "SET s.first_line = s.first_line + $first, s.last_line = s.last_line + $last, "
            "e.line = e.line + $first",
            {"path": path, "refs": refs, "first": first, "last": last},
        )


def _edges_of(graph: GraphStore, path: str) -> dict[_Ends, int]:
    given = {"path": path}
    out: dict[_Ends, int] = {}
    for target, key, kind in (("Symbol", "ref", "CALLS"), ("File", "path", "IMPORTS")):
        for end, line in graph.run(
            f"MATCH (:File {{path: $path}})-[e:{kind}]->(m:{target}) RETURN m.{key}, e.line", given
        ):
            out[kind, path, end] = line
    for kind, source, end, line in graph.run(
        "MATCH (:File {path: $path})-[:DEFINES]->(s:Symbol)-[e:CALLS|INHERITS]->(t:Symbol) "
        "RETURN label(e), s.ref, t.ref, e.line",
        given,
    ):
        out[kind, source, end] = line
    return out


def _touch(
    graph: GraphStore,
    path: str,
    edges: Iterable[_Ends],
    action: str,
    given: Mapping[str, object],
) -> None:
    """Do something to edges out of a file, all of one type by one statement."""
    groups: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for kind, source, target in edges:
        own = source == path
        groups[kind, own].append(target if own else f"{source}\n{target}")
    for (kind, own), keys in groups.items():
        if own:
            end, key = ("File", "m.path") if kind == "IMPORTS" else ("Symbol", "m.ref")
            match = f"MATCH (:File {{path: $path}})-[e:{kind}]->(m:{end})"
        else:
            match = f"MATCH (:File {{path: $path}})-[:DEFINES]->(s:Symbol)-[e:{kind}]->(m:Symbol)"
            key = "concat(s.ref, '\n', m.ref)"
        graph.run(f"{match} WHERE {key} IN $keys {action}", {"path": path, "keys": keys, **given})


def _tables(kind: str, source: str) -> tuple[str, str]:
    return ("Symbol" if "::" in source else "File", "File" if kind == "IMPORTS" else "Symbol")


def _create(graph: GraphStore, edge: Edge) -> None:
    kind, source, target, line = edge
    one, two = _tables(kind, source)
    keys = {"File": "path", "Symbol": "ref"}
    graph.run(
        f"MATCH (a:{one} {{{keys[one]}: $source}}), (b:{two} {{{keys[two]}: $target}}) "
        f"CREATE (a)-[:{kind} {{line: $line}}]->(b)",
        {"source": source, "target": target, "line": line},
    )


def _copy(graph: GraphStore, edges: Iterable[Edge]) -> None:
    groups: defaultdict[tuple[str, str, str], list[tuple[str, str, int]]] = defaultdict(list)
    for kind, source, target, line in edges:
        groups[(kind, *_tables(kind, source))].append((source, target, line))
    for (kind, one, two), group in groups.items():
        graph.load(kind, group, (one, two) if kind == "CALLS" else None)
