"""The code index into the graph: files, symbols and their edges, by generation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from braincore.graph.projection import collect
from braincore.graph.store import GraphStore
from braincore.model.symbols import FileSymbols, Symbol

__all__ = ["CODE", "apply_code"]

CODE = "code"
"""The Meta key that holds `<code index id>:<generation>`."""

BULK = 60
"""From this many files on, edges go in by COPY."""

Edges = Mapping[str, Sequence[tuple[str, str, str, int]]]


def apply_code(
    graph: GraphStore, files: Sequence[FileSymbols], gone: Sequence[str], edges: Edges, mark: str
) -> None:
    """Project changed and vanished files. `edges` maps a path to (type, source, target, line) of
    all edges out of it; `mark` is stored as what the graph has reached."""
    orphans: set[tuple[str, str]] = set()
    with graph.transaction():
        for path in gone:
            orphans |= _clear(graph, path, keep=set())
            graph.run(
                "MATCH (f:File {path: $path}) SET f.indexed = false, f.language = ''",
                {"path": path},
            )
            orphans.add(("File", path))
        fresh = not graph.run("MATCH (f:File) WHERE f.indexed RETURN f.path LIMIT 1")
        for file in files:
            if not fresh:
                orphans |= _clear(graph, file.path, keep=set(keyed(file)))
            graph.run(
                "MERGE (f:File {path: $path}) SET f.language = $language, f.indexed = true",
                {"path": file.path, "language": file.language},
            )
        _symbols(graph, files, fresh=fresh)
        known = _known_ends(graph, files, edges)
        rows = [e for f in files for e in edges.get(f.path, ()) if e[2] in known]
        rows += [
            ("DEFINES", f.path, key, s.first_line)
            for f in files
            for key, s in keyed(f).items()
            if key != s.ref
        ]
        if len(files) >= BULK:
            _copy_edges(graph, rows)
        else:
            for kind, source, target, line in rows:
                _edge(graph, kind, source, target, line)
        graph.set_meta(CODE, mark)
        collect(graph, orphans)


def _clear(graph: GraphStore, path: str, keep: set[str]) -> set[tuple[str, str]]:
    """Remove the edges out of a file and its symbols; returns symbols it no longer defines."""
    rows = graph.run(
        "MATCH (:File {path: $path})-[:DEFINES]->(s:Symbol) RETURN s.ref", {"path": path}
    )
    graph.run("MATCH (f:File {path: $path})-[e:DEFINES|IMPORTS|CALLS]->() DELETE e", {"path": path})
    out = set()
    for (ref,) in rows:
        graph.run("MATCH (s:Symbol {ref: $ref})-[e:CALLS|INHERITS]->() DELETE e", {"ref": ref})
        if ref not in keep:
            graph.run("MATCH (s:Symbol {ref: $ref})<-[e:CALLS|INHERITS]-() DELETE e", {"ref": ref})
            graph.run(
                "MATCH (s:Symbol {ref: $ref}) SET s.indexed = false, s.kind = '', "
                "s.signature = '', s.node_id = '', s.first_line = 0, s.last_line = 0",
                {"ref": ref},
            )
            out.add(("Symbol", str(ref)))
    return out


def keyed(file: FileSymbols) -> dict[str, Symbol]:
    """The symbols of a file by node key: the reference, with `#2`, `#3` … for twins of one name (a
    getter and its setter, two halves of a condition)."""
    out: dict[str, Symbol] = {}
    for symbol in file.symbols:
        key, number = symbol.ref, 2
        while key in out:
            key, number = f"{symbol.ref}#{number}", number + 1
        out[key] = symbol
    return out


def _symbols(graph: GraphStore, files: Sequence[FileSymbols], *, fresh: bool) -> None:
    rows = {
        key: {
            "ref": key,
            "path": s.path,
            "name": s.qualified_name,
            "kind": s.kind,
            "signature": s.signature[:400].replace("\x00", ""),
            "node_id": s.node_id,
            "first_line": s.first_line,
            "last_line": s.last_line,
        }
        for f in files
        for key, s in keyed(f).items()
    }
    there = {r[0] for r in graph.run("MATCH (s:Symbol) RETURN s.ref")} if fresh else set()
    if fresh and len(rows) > 200:
        new = [(*r.values(), "true") for ref, r in rows.items() if ref not in there]
        graph.load("Symbol", new)
        rows = {ref: r for ref, r in rows.items() if ref in there}
    for row in rows.values():
        graph.run(
            "MERGE (s:Symbol {ref: $ref}) SET s.path = $path, s.name = $name, s.kind = $kind, "
            "s.signature = $signature, s.node_id = $node_id, s.first_line = $first_line, "
            "s.last_line = $last_line, s.indexed = true",
            row,
        )


def _known_ends(graph: GraphStore, files: Sequence[FileSymbols], edges: Edges) -> set[str]:
    """The targets that exist, so that an edge never dangles."""
    known = {s.ref for f in files for s in f.symbols} | {f.path for f in files}
    for file in files:
        for _, _, target, _ in edges.get(file.path, ()):
            if target in known:
                continue
            table, key = ("Symbol", "ref") if "::" in target else ("File", "path")
            if graph.run(
                f"MATCH (m:{table} {{{key}: $id}}) WHERE m.indexed RETURN m.{key}", {"id": target}
            ):
                known.add(target)
    return known


def _tables(kind: str, source: str) -> tuple[str, str]:
    end = "File" if kind == "IMPORTS" else "Symbol"
    return ("Symbol" if "::" in source else "File", end)


def _edge(graph: GraphStore, kind: str, source: str, target: str, line: int) -> None:
    one, two = _tables(kind, source)
    keys = {"File": "path", "Symbol": "ref"}
    graph.run(
        f"MATCH (a:{one} {{{keys[one]}: $source}}), (b:{two} {{{keys[two]}: $target}}) "
        f"CREATE (a)-[:{kind} {{line: $line}}]->(b)",
        {"source": source, "target": target, "line": line},
    )


def _copy_edges(graph: GraphStore, rows: Sequence[tuple[str, str, str, int]]) -> None:
    groups: defaultdict[tuple[str, str, str], list[tuple[str, str, int]]] = defaultdict(list)
    for kind, source, target, line in rows:
        groups[(kind, *_tables(kind, source))].append((source, target, line))
    for (kind, one, two), group in groups.items():
        pair = (one, two) if kind == "CALLS" else None
        graph.load(kind, group, pair)
