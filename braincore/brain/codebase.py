"""The code as the brain sees it: files of a worktree, their symbols, and both in the graph."""

import difflib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from braincore.brain.workers import packed
from braincore.code import decode, extract, language_of
from braincore.code.resolve import resolve
from braincore.code.worker import Job
from braincore.errors import UnknownReference
from braincore.graph.code import CODE, CodeProjection
from braincore.graph.store import GraphStore
from braincore.index.code import CodeIndex, Scan
from braincore.index.project import ProjectFiles
from braincore.model.packed import Packed
from braincore.model.symbols import Symbol, symbol_ref
from braincore.rules.schema import RuleSet

__all__ = ["Codebase"]

PART = 200
"""So many files go into the graph in one transaction."""

_Item = TypeVar("_Item")

TEXTS = 64
"""Symbols of so many texts are kept; an edit asks for those of the same text several times."""


class Codebase:
    """Files, symbols and rules of one worktree. `project_id` tells repositories apart."""

    def __init__(self, root: Path, index: Path, project_id: str, max_file_bytes: int) -> None:
        self.root = root
        self._project_id = project_id
        self._max = max_file_bytes
        self.files = ProjectFiles(root, decode, self._names)
        self._index = CodeIndex(index)
        self._updating = threading.Lock()
        self._texts: OrderedDict[tuple[str, str], tuple[Symbol, ...]] = OrderedDict()
        self._texts_lock = threading.Lock()
        self.last_scan: Scan | None = None

    def _names(self, path: str, data: bytes) -> list[str] | None:
        language = language_of(path)
        if language is None:
            return None
        return [s.qualified_name for s in self._symbols(path, data, language)]

    def _packed(self, jobs: Iterable[Job]) -> Iterator[Packed]:
        return packed(jobs, self._project_id)

    def update(self, graph: GraphStore | None, progress: Callable[[int], None]) -> Scan:
        """Bring index and graph to the working tree; unchanged files cost a stat."""
        with self._updating:
            scan = self._index.update(
                self._sources(), self._packed, whole=True, max_bytes=self._max, progress=progress
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
        if not known:
            stale = graph.run("MATCH (f:File) WHERE f.indexed RETURN f.path")
            gone = sorted({str(r[0]) for r in stale} - {path for path, _ in files})
        if len(files) + len(gone) <= PART:
            with graph.transaction():
                self._write(CodeProjection(graph, parts=False), files, gone, mark)
        else:
            self._write(CodeProjection(graph, parts=True), files, gone, mark)

    def _write(
        self,
        projection: CodeProjection,
        files: Sequence[tuple[str, str]],
        gone: Sequence[str],
        mark: str,
    ) -> None:
        for some in _parts(gone):
            projection.remove(some)
        for part in _parts(files):
            projection.nodes([(p, lang, self._index.symbols(p) or ()) for p, lang in part])
        exists = frozenset(self._index.paths()).__contains__ if len(files) > 20 else self._index.has
        names_in = lru_cache(1024)(self._index.names_in)
        for part in _parts(files):
            edges = {}
            for path, language in part:
                references = self._index.references(path)
                edges[path], looked_at = resolve(path, language, references, exists, names_in)
                self._index.watch(path, looked_at)
            self._index.commit()
            projection.edges(edges)
        projection.finish(mark)

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
        if name in self._index.names_in(path):
            return self.files.path(path) is None
        names = self.files.symbols(path)
        return names is None or name not in names

    def gone(self, refs: Iterable[str]) -> set[str]:
        """Those of many references that are stale; each file is looked at once."""
        names: dict[str, frozenset[str]] = {}
        out = set()
        for ref in refs:
            path, colons, name = ref.removeprefix("./").partition("::")
            if colons and path not in names:
                there = os.path.isfile(os.path.join(self.root, path))
                names[path] = self._index.names_in(path) if there else frozenset()
            if (not colons or name not in names[path]) and self.is_stale(ref):
                out.add(ref)
        return out

    def symbols_of(self, path: str, text: str) -> tuple[Symbol, ...]:
        """The symbols a text would define at this path; () where its language isn't known."""
        language = language_of(path)
        if language is None:
            return ()
        return self._symbols(path, text.encode("utf-8", "surrogatepass"), language)

    def _symbols(self, path: str, data: bytes, language: str) -> tuple[Symbol, ...]:
        key = path, sha256(data).hexdigest()
        with self._texts_lock:
            found = self._texts.get(key)
            if found is not None:
                self._texts.move_to_end(key)
                return found
        found = self._index.symbols(*key)
        if found is None:
            found = extract(path, data, language, project_id=self._project_id).symbols
        with self._texts_lock:
            self._texts[key] = found
            if len(self._texts) > TEXTS:
                self._texts.popitem(last=False)
        return found

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
        with self._updating:
            return self._index.named(last)

    def counts(self) -> tuple[int, int, int]:
        """Files, symbols, and files with a syntax error in the index."""
        return self._index.counts()

    def close(self) -> None:
        """Write and close."""
        with self._updating:
            self._index.close()


def _parts(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for at in range(0, len(items), PART):
        yield items[at : at + PART]


def _tail(ref: str, name: str) -> bool:
    """`auth.GetUser` names `auth/user.go::GetUser` when its first part is in the path."""
    first, _, last = name.rpartition(".")
    return bool(first) and ref.endswith(f"::{last}") and first.rpartition(".")[2] in ref


NO_RULES = RuleSet((), ())
