"""The vector index: unit rows by record id; exact by numpy, above a size by hnswlib if installed.

**Threads.** One thread puts, drops and saves; any number search meanwhile. Rows live in slots that
are only added: a slot never changes its id or its vector, and which slots count is an array that is
replaced, never written to. So a search takes one look at that array and works on what it saw,
without a lock; saving reads the same way. The graph of hnswlib is built by a thread of its own from
the rows that are there: until it is ready, and for the rows it lacks, the exact scan answers.

**Files.** `vectors.rows` (all rows, checksummed, replaced in one step) and hnswlib's graph beside
it. Both are derived: what is damaged, of another model or absent counts as none and is made again.
"""

import hashlib
import json
import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from braincore.disk import write_atomic
from braincore.errors import InvalidInput, StoreError
from braincore.index import hnsw
from braincore.index.embed import Identity, Vectors

__all__ = ["HNSW_FROM", "VectorIndex"]

HNSW_FROM = 20_000
"""From this many rows on hnswlib answers, if it is installed: an exact search takes 3 ms there."""
BLOCK = 4096
"""Rows in a block: memory grows by 6 MB, never by doubling."""
STEP = 8
"""Rows inserted into the graph at once: some 5 ms in which no question can ask it."""
GAPS = 1024
"""Dropped rows are kept until there are more of them than this and than rows."""
GRAPH_LAG = 0.05
"""The graph's file is written anew when it lacks more than this part of the rows."""
ROWS = "vectors.rows"
FORMAT = 1
SEAL = 65
"""Bytes of the checksum line."""

Slots = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]


class VectorIndex:
    """The vectors of one model in one folder. Searching is for any thread, changing for one."""

    def __init__(self, folder: Path, identity: Identity, hnsw_from: int = HNSW_FROM) -> None:
        """Open the folder; what lies there and can't be used counts as none. Raises StoreError."""
        self.identity = identity
        self._folder = folder
        self._hnsw_from = hnsw_from
        self._graph: hnsw.Graph | None = None
        self._graph_ready = False
        self._graph_saved = 0  # slots that the graph's file covers
        self._builder: threading.Thread | None = None
        self._closed = False
        self._changing = threading.RLock()
        self._revision = self._saved = 0
        loaded = _read(folder / ROWS, identity)
        self._rows = loaded or _Rows(identity.dimensions)
        if loaded and self._wants_graph():
            self._take_graph()
        self._bring_graph_along()

    def __len__(self) -> int:
        """How many rows can be found."""
        return len(self._rows.slots)

    @property
    def dirty(self) -> bool:
        """Whether `save` has something to write."""
        return self._revision != self._saved or self._graph_lags_on_disk()

    def has(self, record_id: str, made_of: str) -> bool:
        """Whether the row of this record is there and was made of this text (by its hash)."""
        rows = self._rows
        slot = rows.slots.get(record_id)
        return slot is not None and rows.made_of[slot] == made_of

    def made_of(self) -> Mapping[str, str]:
        """Record id → hash of the text its row was made of, as of now."""
        rows = self._rows
        return {record_id: rows.made_of[slot] for record_id, slot in rows.slots.copy().items()}

    def put(self, rows: Sequence[tuple[str, str]], vectors: Vectors) -> None:
        """Add or replace rows: (record id, hash of its text) with one unit vector each.

        Raises InvalidInput, and changes nothing, when the vectors are not of this model's shape.
        """
        wanted = (len(rows), self.identity.dimensions)
        if vectors.shape != wanted or not np.isfinite(vectors).all():
            raise InvalidInput(
                f"Vectors of shape {vectors.shape} don't fit: {wanted} finite numbers are wanted",
                "Embed with the model the index was opened for.",
            )
        if not rows:
            return
        with self._changing:
            self._forget(self._rows.add(rows, vectors))
            self._after_change()

    def drop(self, ids: Iterable[str]) -> None:
        """Take rows out: no later search finds them. Ids that are not there are passed over."""
        with self._changing:
            dead = self._rows.drop(ids)
            if dead:
                self._forget(dead)
                self._after_change()

    def search(
        self, vector: Vectors, limit: int, among: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """The nearest rows with their cosine, best first, equal ones by id; at most `limit`.

        Exact below `hnsw_from` rows, and at any size when `among` says which may be found.
        """
        rows = self._rows
        if limit <= 0:
            return []
        if among is not None:
            slots = rows.slots_of(among)
            return rows.best(slots, rows.scores(vector, slots), limit)
        if self._graph_ready:
            found = self._search_graph(rows, vector, limit)
            if found is not None:
                return found
        alive = rows.alive
        return rows.best(np.flatnonzero(alive), rows.scan(vector, len(alive))[alive], limit)

    def cosine(self, vector: Vectors, ids: Iterable[str]) -> dict[str, float]:
        """The cosine of each of these records that has a row, exactly."""
        rows = self._rows
        slots = rows.slots_of(ids)
        scores = rows.scores(vector, slots)
        return {rows.ids[at]: float(score) for at, score in zip(slots, scores, strict=True)}

    def save(self) -> None:
        """Write what changed; searches go on meanwhile. Raises StoreError.

        All rows are written whenever one changed (154 MB at 100k): save in pauses, not after each
        row; a row that wasn't saved is embedded again. The graph follows when it has grown.
        """
        with self._changing:
            revision, rows = self._revision, self._rows
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                if revision != self._saved:
                    write_atomic(self._folder / ROWS, rows.as_file(self.identity))
                    self._saved = revision
                if self._graph is None or not self._graph_ready:
                    hnsw.Graph.remove(self._folder)  # that of other rows, or none
                elif self._graph_lags_on_disk():
                    self._graph_saved = self._graph.save(self._folder, rows.generation)
            except OSError as problem:
                raise StoreError(str(self._folder), problem.strerror or str(problem)) from problem

    def compact(self) -> None:
        """Leave nothing of dropped rows in memory, nor, after `save`, in the files."""
        with self._changing:
            # The graph first: a search must not meet its slots beside the new rows.
            self._graph_ready, self._graph, self._graph_saved = False, None, 0
            self._rows = self._rows.compacted()
            self._revision += 1
            self._bring_graph_along()

    def close(self) -> None:
        """End the thread that builds the graph; a graph that is not ready stays unused."""
        with self._changing:
            self._closed = True
            builder = self._builder
        if builder is not None:
            builder.join()

    def _after_change(self) -> None:
        self._revision += 1
        if self._rows.gaps > max(GAPS, len(self)):
            self.compact()
        self._bring_graph_along()

    def _forget(self, slots: Sequence[int]) -> None:
        if self._graph is not None:
            self._graph.forget(slots)

    def _wants_graph(self) -> bool:
        return len(self) >= max(1, self._hnsw_from) and hnsw.available()

    def _graph_lags_on_disk(self) -> bool:
        graph = self._graph if self._graph_ready else None
        return graph is not None and graph.covered - self._graph_saved > GRAPH_LAG * graph.covered

    def _take_graph(self) -> None:
        """The graph from its file, less what was dropped since; without one it will be built."""
        rows = self._rows
        self._graph = hnsw.Graph.load(
            self._folder, rows.generation, self.identity.dimensions, len(rows.alive)
        )
        if self._graph is None:
            # Whatever lies there belongs to other rows: these get a name that it doesn't know.
            rows.generation = uuid.uuid4().hex
            self._revision += 1
            return
        self._graph_ready, self._graph_saved = True, self._graph.covered
        self._graph.forget([slot for slot in self._graph.inside if not rows.alive[slot]])

    def _bring_graph_along(self) -> None:
        """Start the builder when the graph is wanted and lacks rows."""
        with self._changing:
            if self._builder is not None or self._closed or not self._wants_graph():
                return
            if self._graph is None:
                room = 2 * len(self._rows.alive)
                self._graph = hnsw.Graph(self.identity.dimensions, room)
            if self._graph.covered < len(self._rows.alive):
                self._builder = threading.Thread(
                    target=self._build, args=(self._graph, self._rows), daemon=True
                )
                self._builder.start()

    def _build(self, graph: hnsw.Graph, rows: "_Rows") -> None:
        while True:
            alive = rows.alive
            until = min(graph.covered + STEP, len(alive))
            slots = [slot for slot in range(graph.covered, until) if alive[slot]]
            graph.add(slots, rows.vectors(np.array(slots, np.int64)), until)
            # Dropped in between: `_forget` came too early for these.
            graph.forget([slot for slot in slots if not rows.alive[slot]])
            if until < len(rows.alive) and not self._closed and graph is self._graph:
                continue
            with self._changing:
                done = until == len(rows.alive)
                self._graph_ready |= done and graph is self._graph
                if done or self._closed or graph is not self._graph:
                    self._builder = None
                    self._bring_graph_along()
                    return

    def _search_graph(
        self, rows: "_Rows", vector: Vectors, limit: int
    ) -> list[tuple[str, float]] | None:
        """From the graph, and by a scan of what it lacks; None: the exact scan has to answer."""
        graph = self._graph
        near = graph.nearest(vector, limit) if graph is not None else None
        if near is None or rows is not self._rows or graph is not self._graph:
            return None
        found, covered = near
        alive = rows.alive
        known = np.array([slot for slot in found if alive[slot]], np.int64)
        lacking = covered + np.flatnonzero(alive[covered:])
        if len(known) + len(lacking) < min(limit, int(alive.sum())):
            return None
        slots = np.concatenate([known, lacking])
        return rows.best(slots, rows.scores(vector, slots), limit)


class _Rows:
    """One generation of rows: slots are added, what stands in one never changes."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.generation = uuid.uuid4().hex
        self.blocks: list[Vectors] = []
        self.ids: list[str] = []
        self.made_of: list[str] = []
        self.slots: dict[str, int] = {}
        self.alive: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)

    @property
    def gaps(self) -> int:
        """How many slots hold a dropped row."""
        return len(self.alive) - len(self.slots)

    def add(self, rows: Sequence[tuple[str, str]], vectors: Vectors) -> list[int]:
        """Fill new slots; the slots of rows that were replaced."""
        first = len(self.alive)
        self.fill(first, vectors)
        self.ids.extend(record_id for record_id, _ in rows)
        self.made_of.extend(made_of for _, made_of in rows)
        alive = np.concatenate([self.alive, np.ones(len(rows), np.bool_)])
        replaced = []
        for slot, (record_id, _) in enumerate(rows, first):
            before = self.slots.get(record_id)
            if before is not None:
                alive[before] = False
                replaced.append(before)
            self.slots[record_id] = slot
        self.alive = alive
        return replaced

    def drop(self, ids: Iterable[str]) -> list[int]:
        """The slots that held these ids and don't count any more."""
        found = (self.slots.pop(record_id, None) for record_id in ids)
        dead = [slot for slot in found if slot is not None]
        alive = self.alive.copy()
        alive[dead] = False
        self.alive = alive
        return dead

    def compacted(self) -> "_Rows":
        """The same rows in a generation of its own, without gaps."""
        slots = np.flatnonzero(self.alive)
        new = _Rows(self.dimensions)
        new.add([(self.ids[at], self.made_of[at]) for at in slots], self.vectors(slots))
        return new

    def slots_of(self, ids: Iterable[str]) -> Slots:
        """The slots of the ids that are there, ascending, each once."""
        found = (self.slots.get(record_id) for record_id in ids)
        return np.array(sorted({slot for slot in found if slot is not None}), np.int64)

    def vectors(self, slots: Slots) -> Vectors:
        """The rows of ascending slots."""
        parts = [block[at] for block, at in self._by_block(slots)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)

    def scores(self, vector: Vectors, slots: Slots) -> Scores:
        """The cosine of each of these slots; scans when that is less work than picking them."""
        if 4 * len(slots) > len(self.alive):
            return self.scan(vector, int(slots.max()) + 1)[slots]
        order = np.argsort(slots, kind="stable")
        out = np.empty(len(slots), np.float32)
        parts = [block[at] @ vector for block, at in self._by_block(slots[order])]
        out[order] = np.concatenate(parts) if parts else np.zeros(0, np.float32)
        return out.clip(-1, 1)

    def scan(self, vector: Vectors, until: int) -> Scores:
        """The cosine of every slot below `until`, dropped ones too."""
        out = np.empty(until, np.float32)
        for at in range(0, until, BLOCK):
            size = min(BLOCK, until - at)
            np.matmul(self.blocks[at // BLOCK][:size], vector, out=out[at : at + size])
        return out.clip(-1, 1)

    def best(self, slots: Slots, scores: Scores, limit: int) -> list[tuple[str, float]]:
        """The ids of the highest scores, best first, equal ones by id."""
        if len(slots) > limit:
            least = np.partition(scores, -limit)[-limit]
            near = scores >= least
            slots, scores = slots[near], scores[near]
        pairs = zip(scores.tolist(), slots.tolist(), strict=True)
        ranked = sorted((-score, self.ids[slot]) for score, slot in pairs)
        return [(record_id, -score) for score, record_id in ranked[:limit]]

    def as_file(self, identity: Identity) -> Iterator[bytes | memoryview]:
        """Checksum, head and rows; a dropped row is zeros without an id."""
        alive = self.alive
        count = len(alive)
        head = {
            "format": FORMAT,
            "model": [identity.name, identity.weights, identity.dimensions],
            "generation": self.generation,
            "ids": [self.ids[at] if alive[at] else None for at in range(count)],
            "made_of": [self.made_of[at] if alive[at] else "" for at in range(count)],
        }
        line = json.dumps(head).encode()
        # The rows begin where numpy can use them in place.
        line = line.ljust(len(line) + -(len(line) + SEAL + 1) % 64) + b"\n"
        digest = hashlib.sha256(line)
        for part in self._parts(alive):
            digest.update(part)
        yield digest.hexdigest().encode() + b"\n"
        yield line
        yield from self._parts(alive)

    def _parts(self, alive: npt.NDArray[np.bool_]) -> Iterator[memoryview]:
        for at in range(0, len(alive), BLOCK):
            kept = alive[at : at + BLOCK]
            rows = self.blocks[at // BLOCK][: len(kept)]
            yield (rows if kept.all() else np.where(kept[:, None], rows, 0)).data.cast("B")

    def fill(self, first: int, vectors: Vectors) -> None:
        """Put vectors into the slots from `first` on."""
        done = 0
        while done < len(vectors):
            block, at = divmod(first + done, BLOCK)
            if block == len(self.blocks):
                self.blocks.append(np.zeros((BLOCK, self.dimensions), np.float32))
            part = vectors[done : done + BLOCK - at]
            self.blocks[block][at : at + len(part)] = part
            done += len(part)

    def _by_block(self, slots: Slots) -> Iterable[tuple[Vectors, Slots]]:
        """Ascending slots as (block, places in it)."""
        cuts = np.flatnonzero(np.diff(slots // BLOCK)) + 1
        for part in np.split(slots, cuts):
            if len(part):
                yield self.blocks[int(part[0]) // BLOCK], part % BLOCK


def _read(file: Path, identity: Identity) -> _Rows | None:
    """The rows of a file, or None when it is absent, damaged, or of another model or format."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise StoreError(str(file), problem.strerror or str(problem)) from problem
    if hashlib.sha256(memoryview(data)[SEAL:]).hexdigest().encode() + b"\n" != data[:SEAL]:
        return None
    end = data.index(b"\n", SEAL)
    head = json.loads(data[SEAL:end])
    model = [identity.name, identity.weights, identity.dimensions]
    if head["format"] != FORMAT or head["model"] != model:
        return None
    ids: list[str | None] = head["ids"]
    rows = _Rows(identity.dimensions)
    vectors = np.frombuffer(data, np.float32, offset=end + 1).reshape(-1, identity.dimensions)
    # Full blocks stay where they were read: no slot in them will change.
    whole = len(ids) // BLOCK * BLOCK
    rows.blocks = [vectors[at : at + BLOCK] for at in range(0, whole, BLOCK)]
    rows.fill(whole, vectors[whole:])
    rows.generation = head["generation"]
    rows.ids = [record_id or "" for record_id in ids]
    rows.made_of = head["made_of"]
    rows.slots = {record_id: at for at, record_id in enumerate(ids) if record_id is not None}
    rows.alive = np.array([record_id is not None for record_id in ids], np.bool_)
    return rows
