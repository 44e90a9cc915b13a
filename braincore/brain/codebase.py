"""The code as the brain sees it: files of a worktree, their symbols, and both in the graph."""

import difflib
import threading
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path

from braincore.code import decode, extract, language_of
from braincore.code.resolve import resolve
from braincore.errors import UnknownReference
from braincore.graph.code import CODE, apply_code
from braincore.graph.store import GraphStore
from braincore.index.code import CodeIndex, Scan
from braincore.index.project import ProjectFiles
from braincore.model.symbols import FileSymbols, Symbol, symbol_ref
from braincore.rules.schema import RuleSet

__all__ = ["Codebase"]


class Codebase:
    """Files, symbols and rules of one worktree. `project_id` tells repositories apart."""

    def __init__(self, root: Path, index: Path, project_id: str, max_file_bytes: int) -> None:
        self.root = root
        self._project_id = project_id
        self._max = max_file_bytes
        self.files = ProjectFiles(root, decode, self._names)
        self._index = CodeIndex(index)
        self._lock = threading.Lock()
        self.last_scan: Scan | None = None

    def _extract(self, path: str, data: bytes, language: str) -> FileSymbols:
        return extract(path, data, language, project_id=self._project_id)

    def _names(self, path: str, data: bytes) -> list[str] | None:
        language = language_of(path)
        if language is None:
            return None
        return [s.qualified_name for s in self._extract(path, data, language).symbols]

    def update(self, graph: GraphStore | None, progress: Callable[[int], None]) -> Scan:
        """Bring index and graph to the working tree; unchanged files cost a stat."""
        with self._lock:
            scan = self._index.update(
                self._sources(), self._extract, whole=True, max_bytes=self._max, progress=progress
            )
            self.last_scan = scan
            if graph is not None:
                self._project(graph)
            return scan

    def _sources(self) -> Iterator[tuple[str, str, Path]]:
        for path, disk in self.files.files():
            language = language_of(path)
            if language is not None:
                yield path, language, disk

    def _project(self, graph: GraphStore) -> None:
        mark = f"{self._index.id}:{self._index.generation}"
        reached = graph.meta(CODE) or ""
        if reached == mark:
            return
        life, _, number = reached.partition(":")
        known = life == self._index.id
        files, gone = self._index.since(int(number) if known else -1)
        if reached and not known:
            stale = graph.run("MATCH (f:File) WHERE f.indexed RETURN f.path")
            gone = sorted({str(r[0]) for r in stale} - {f.path for f in files})
        edges: dict[str, list[tuple[str, str, str, int]]] = {}
        for file in files:
            found, looked_at = resolve(file, self._index.has, self._index.names_in)
            edges[file.path] = [astuple(e) for e in found]
            self._index.watch(file.path, looked_at)
        self._index.commit()
        apply_code(graph, files, gone, edges, mark)

    def symbol(self, ref: str) -> str:
        """The reference in full form: `path::name`, or the path. Accepts a bare symbol name that
        only one symbol has. Raises UnknownReference with near names."""
        path, colons, name = ref.partition("::")
        if colons:
            names = self.files.symbols(path)
            if names is None:
                raise UnknownReference("file", path, self.files.near_paths(path))
            if name in names:
                return ref
            near = difflib.get_close_matches(name, names, 3, 0.5)
            same_last = [n for n in names if n.rpartition(".")[2] == name.rpartition(".")[2]]
            raise UnknownReference(
                "symbol", ref, [symbol_ref(path, n) for n in dict.fromkeys((*same_last, *near))][:3]
            )
        if self.files.path(ref) is not None:
            return ref
        if (self.root / ref).is_dir() and not ref.startswith(("/", "..")):
            return ref.rstrip("/") + "/"
        with self._lock:
            found = self._index.named(ref.rpartition(".")[2])
        exact = [f for f in found if f.rpartition("::")[2] == ref or _tail(f, ref)]
        if len(exact) == 1:
            return exact[0]
        raise UnknownReference(
            "symbol or path", ref, (exact or found or self.files.near_paths(ref))[:3]
        )

    def is_stale(self, ref: str) -> bool:
        """True when a symbol or file that a record speaks of is not there any more."""
        path, colons, name = ref.partition("::")
        path = path.removeprefix("./")
        if path.endswith("/"):
            return not (self.root / path).is_dir()
        if not colons:
            return self.files.path(path) is None
        if language_of(path) is None:
            return False
        with self._lock:
            indexed = self._index.names_in(path) if self._index.has(path) else None
        if indexed is not None and name in indexed:
            return self.files.path(path) is None
        names = self.files.symbols(path)
        return names is None or name not in names

    def symbols_of(self, path: str, text: str) -> tuple[Symbol, ...]:
        """The symbols a text would define at this path; () where its language isn't known."""
        language = language_of(path)
        if language is None:
            return ()
        return self._extract(path, text.encode("utf-8", "surrogatepass"), language).symbols

    def symbols_at(self, path: str, text: str, lines: set[int]) -> list[str]:
        """References of the symbols of a text that contain any of the lines, innermost first."""
        hit = [
            s
            for s in self.symbols_of(path, text)
            if any(s.first_line <= n <= s.last_line for n in lines)
        ]
        return [s.ref for s in sorted(hit, key=lambda s: s.last_line - s.first_line)]

    def named(self, last: str) -> list[str]:
        """References of the symbols with this last name, as last indexed."""
        with self._lock:
            return self._index.named(last)

    def counts(self) -> tuple[int, int, int]:
        """Files, symbols, and files with a syntax error in the index."""
        with self._lock:
            return self._index.counts()

    def close(self) -> None:
        """Write and close."""
        with self._lock:
            self._index.close()


def _tail(ref: str, name: str) -> bool:
    """`auth.GetUser` names `auth/user.go::GetUser` when its first part is in the path."""
    first, _, last = name.rpartition(".")
    return bool(first) and ref.endswith(f"::{last}") and first.rpartition(".")[2] in ref


NO_RULES = RuleSet((), ())
