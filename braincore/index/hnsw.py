"""The approximate index over vector rows: hnswlib, extra `[hnsw]`, and its file.

Rows go in by slot, in order, and a slot never changes its vector; so the graph only grows, and
one that lags behind is still right about what it covers. hnswlib allows questions beside questions,
but not beside a change, and dies of a damaged file: hence two locks and a checksum.
"""

import hashlib
import importlib.util
import json
import os
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from braincore.disk import write_atomic
from braincore.errors import StoreError

__all__ = ["Graph", "available"]

LINKS = 16
EF_BUILD = 100
EF_SEARCH = 150
"""Recall@10 on 20,000 docstrings: .976 at 50, .991 at 100, .995 at 150, .997 at 200."""
MOST = 500
"""More neighbours than this are found sooner, and without a miss, by the exact scan."""
PATIENCE = 0.005
"""Seconds a question waits for an insertion to end before it is answered by the exact scan."""
GRAPH, NOTE = "graph.hnsw", "graph.json"


def available() -> bool:
    """Whether hnswlib is installed."""
    return importlib.util.find_spec("hnswlib") is not None


class Graph:
    """Neighbours by inner product among the first `covered` slots of one generation of rows."""

    def __init__(self, dimensions: int, room: int) -> None:
        self._index = _empty(dimensions)
        self._index.init_index(max_elements=room, ef_construction=EF_BUILD, M=LINKS, random_seed=1)
        self.covered = 0
        self._inside: set[int] = set()
        self._changing = threading.Lock()  # one change at a time; also held while it is written
        self._using = threading.Lock()  # one question or one change at a time

    def add(self, slots: Sequence[int], vectors: npt.NDArray[np.float32], covered: int) -> None:
        """Insert rows; with them the graph knows all slots below `covered`."""
        with self._changing, self._using:
            room = self._index.get_max_elements()
            if self._index.get_current_count() + len(slots) > room:
                self._index.resize_index(2 * room)
            if slots:
                self._index.add_items(vectors, np.array(slots, np.int64), num_threads=1)
            self._inside.update(slots)
            self.covered = covered

    def forget(self, slots: Sequence[int]) -> None:
        """Never answer with these slots again."""
        with self._changing, self._using:
            for slot in slots:
                if slot in self._inside:
                    self._index.mark_deleted(slot)
                    self._inside.remove(slot)

    def nearest(self, vector: npt.NDArray[np.float32], limit: int) -> tuple[list[int], int] | None:
        """Up to `limit` slots and how many slots they were chosen from.

        None: a change is under way, or so many can't be reached; the exact scan has to answer.
        """
        if limit > MOST or not self._using.acquire(timeout=PATIENCE):
            return None
        try:
            count = min(limit, len(self._inside))
            if not count:
                return [], self.covered
            self._index.set_ef(max(EF_SEARCH, 2 * count))
            labels, _ = self._index.knn_query(vector.reshape(1, -1), k=count, num_threads=1)
            return [int(label) for label in labels[0]], self.covered
        except RuntimeError:  # hnswlib's way to say that it reached fewer than k
            return None
        finally:
            self._using.release()

    def save(self, folder: Path, generation: str) -> int:
        """Write graph and note, while questions go on; how many slots it covers.

        Raises StoreError.
        """
        handle, temp = tempfile.mkstemp(dir=folder, prefix=".new-")
        os.close(handle)
        try:
            with self._changing:
                covered, inside = self.covered, sorted(self._inside)
                self._index.save_index(temp)
                wanted = self._index.index_file_size()
            if os.path.getsize(temp) != wanted:  # hnswlib doesn't look whether its writes succeed
                raise StoreError(str(folder / GRAPH), "the graph could not be written whole")
            note = {
                "sha256": _digest(Path(temp)),
                "generation": generation,
                "covered": covered,
                "inside": inside,
            }
            os.replace(temp, folder / GRAPH)
            write_atomic(folder / NOTE, _sealed(note))
            return covered
        except (OSError, RuntimeError) as problem:
            raise StoreError(str(folder / GRAPH), str(problem)) from problem
        finally:
            Path(temp).unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path, generation: str, dimensions: int, slots: int) -> "Graph | None":
        """The graph of these rows, or None when it is absent, damaged, or that of other rows."""
        try:
            note = _opened((folder / NOTE).read_bytes())
            if note is None or note["generation"] != generation or note["covered"] > slots:
                return None
            if _digest(folder / GRAPH) != note["sha256"]:
                return None
            graph = cls(dimensions, 1)
            graph._index = _empty(dimensions)
            graph._index.load_index(str(folder / GRAPH), max_elements=2 * max(slots, 1))
        except (OSError, RuntimeError):
            return None
        graph.covered = note["covered"]
        graph._inside = set(note["inside"])
        return graph

    @property
    def inside(self) -> frozenset[int]:
        """The slots it can answer with."""
        return frozenset(self._inside)

    @staticmethod
    def remove(folder: Path) -> None:
        """Delete the files of a graph, the note first."""
        for name in (NOTE, GRAPH):
            (folder / name).unlink(missing_ok=True)


def _empty(dimensions: int) -> Any:
    import hnswlib

    return hnswlib.Index(space="ip", dim=dimensions)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _sealed(note: dict[str, Any]) -> bytes:
    body = json.dumps(note).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _opened(raw: bytes) -> dict[str, Any] | None:
    """The note, when its checksum is right: what carries it was written by `_sealed`."""
    seal, _, body = raw.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != seal:
        return None
    note: dict[str, Any] = json.loads(body)
    return note
