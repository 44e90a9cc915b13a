"""Vectors of everything that may answer, made behind the writers by a thread of its own.

The queue is what the table holds and the index doesn't, so it survives whatever happens to this
process. While a model loads or everything is embedded anew, questions are answered by keywords,
graph, and the vectors that are there; those of two models are never in one index.
"""

import functools
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from braincore.brain.waits import waiting
from braincore.errors import BraincoreError, InvalidInput
from braincore.index.embed import Embedder, Vectors, background, make_embedder
from braincore.index.vectors import VectorIndex
from braincore.model.records import Decision, Failure, Record
from braincore.recall.rank import calibrated
from braincore.recall.search import ANSWERING

__all__ = ["Nearest", "Semantic", "meaning"]

log = logging.getLogger("braincore")

BATCH = 16
"""Texts embedded at once: a change of settings or the end is noticed in between."""
SAVE_SECONDS = 5.0
"""After so long without a new row the rows are written."""
SAVE_AT_MOST_SECONDS = 60.0
DELAY_SECONDS = 20.0
"""An owner that just started has more urgent things to do than to load a model nobody asks."""
READY_SECONDS = 5.0
"""A question waits at most so long for a model that is loading."""
RETRY_SECONDS = 60.0
REMEMBERED = 256

Wanted = tuple[str, str]
NONE: Wanted = ("none", "")


def meaning(record: Record) -> str:
    """The text of a record that is embedded: title, sentence, and what it is an answer to."""
    parts = [record.title, record.text]
    match record.body:
        case Decision() as d:
            parts.append(d.problem)
        case Failure() as f:
            parts.append(f.broke)
        case _:
            pass
    parts.append(record.target.rpartition("::")[2].replace("_", " "))
    said: list[str] = []
    for part in filter(None, parts):
        if not any(part.casefold() in other.casefold() for other in said):
            said.append(part)
    return "\n".join(said)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@functools.lru_cache(maxsize=2)
def _loaded(wanted: Wanted) -> tuple[Embedder, float] | None:
    """The model of a setting and its background; one for all brains of this process."""
    embedder = make_embedder(*wanted)
    return None if embedder is None else (embedder, background(embedder))


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest records by meaning, best first; as many as one wants; and the calibrated cosine
    of any record asked."""

    ids: tuple[str, ...] = ()
    most: Callable[[int], tuple[str, ...]] = field(default=lambda limit: ())
    of: Callable[[Iterable[str]], Mapping[str, float]] = field(default=lambda ids: {})


@dataclass(frozen=True, slots=True)
class _Ready:
    wanted: Wanted
    embedder: Embedder
    background: float
    index: VectorIndex


class Semantic:
    """The vector side of one store. `records`: all of them, as they are now."""

    def __init__(self, folder: Path, records: Callable[[], list[Record]]) -> None:
        self._folder = folder
        self._records = records
        self._state = threading.Condition()
        self._wanted: Wanted = NONE
        self._ready: _Ready | None = None
        self._due: dict[str, Record | None] = {}
        self._problem = ""
        self._asked = self._stop = False
        self._thread: threading.Thread | None = None
        self._questions: dict[tuple[Wanted, str], Vectors] = {}

    # — asked by anybody —

    def configure(self, embedder: str, model: str) -> None:
        """Use this embedder from now on; what is there of another is embedded anew."""
        wanted = NONE if embedder == "none" else (embedder, model)  # a model may stay in the file
        with self._state:
            if wanted == self._wanted:
                return
            self._wanted, self._problem = wanted, ""
            if self._thread is None and wanted != NONE and not self._stop:
                self._thread = threading.Thread(target=self._run, name="embedder", daemon=True)
                self._thread.start()
            self._state.notify_all()

    def changed(self, pairs: Iterable[tuple[Record | None, Record | None]]) -> None:
        """Records were written or taken away."""
        with self._state:
            if self._wanted == NONE:
                return  # whatever is missing is found when a model comes
            for old, new in pairs:
                if new is not None:
                    self._due[new.id] = new
                elif old is not None:
                    self._due[old.id] = None
            self._state.notify_all()

    @property
    def waiting(self) -> int:
        """Records whose vector is not made yet, as far as is known."""
        with self._state:
            return len(self._due)

    @property
    def problem(self) -> str:
        """Why there are no vectors although they are wanted; empty when all is well."""
        with self._state:
            return self._problem

    def status(self) -> dict[str, object]:
        """The model in use, how many vectors there are and how many are missing."""
        with self._state:
            ready, wanted = self._current, self._wanted
        out: dict[str, object] = {"embedder": wanted[0], "vectors": 0, "waiting": self.waiting}
        if ready is not None:
            identity = ready.index.identity
            out |= {"model": identity.name, "weights": identity.weights}
            out["vectors"] = len(ready.index)
        return out

    def nearest(self, text: str, limit: int) -> Nearest:
        """The records nearest to a text; nothing while there is no model."""
        with waiting("model"):
            ready = self._wait_ready()
            if ready is None:
                return Nearest()
            vector = self._embedded(ready, text)

        def most(limit: int) -> tuple[str, ...]:
            return tuple(i for i, _ in ready.index.search(vector, limit))

        def of(ids: Iterable[str]) -> Mapping[str, float]:
            cosines = ready.index.cosine(vector, ids)
            return {i: calibrated(c, ready.background) for i, c in cosines.items()}

        return Nearest(most(limit), most, of)

    def close(self) -> None:
        """Write what was made and end."""
        with self._state:
            self._stop = True
            self._state.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(60)

    def _wait_ready(self) -> _Ready | None:
        with self._state:
            if self._wanted[0] == "none":
                return None
            if not self._asked:
                self._asked = True
                self._state.notify_all()
            self._state.wait_for(
                lambda: self._current is not None or self._problem or self._stop, READY_SECONDS
            )
            return self._current

    @property
    def _current(self) -> _Ready | None:
        ready = self._ready
        return ready if ready is not None and ready.wanted == self._wanted else None

    def _embedded(self, ready: _Ready, text: str) -> Vectors:
        key = (ready.wanted, text)
        known = self._questions.get(key)
        if known is None:
            known = ready.embedder.embed([text])[0]
            while len(self._questions) >= REMEMBERED:
                self._questions.pop(next(iter(self._questions)), None)
            self._questions[key] = known
        return known

    # — the thread —

    def _run(self) -> None:
        ended = "the thread that makes them ended unforeseen; see the log"
        try:
            self._work()
            ended = ""
        finally:
            with self._state:
                self._problem = f"vectors: {ended}" if ended else ""
                self._state.notify_all()

    def _work(self) -> None:
        changed = saved = time.monotonic()
        while True:
            self._pause()
            with self._state:
                stop, wanted, ready = self._stop, self._wanted, self._ready
            if ready is not None and (stop or ready.wanted != wanted):
                self._let_go(ready)
            if stop:
                return
            if ready is None:
                self._load(wanted)
            elif ready.wanted == wanted:
                now = time.monotonic()
                if self._make(ready):
                    changed = now
                quiet = now - changed > SAVE_SECONDS or now - saved > SAVE_AT_MOST_SECONDS
                if ready.index.dirty and quiet:
                    self._try(ready.index.save)
                    saved = now

    def _pause(self) -> None:
        """Until there is something to do; after a failure for a while, unless settings change."""
        with self._state:
            wanted = self._wanted
            if self._ready is None and wanted == NONE:
                self._state.wait_for(lambda: self._stop or self._wanted != NONE)
            elif self._ready is None and not (self._asked or self._problem):
                self._state.wait_for(
                    lambda: self._stop or self._asked or self._wanted != wanted, DELAY_SECONDS
                )
            elif self._problem:
                self._state.wait_for(
                    lambda: self._stop or self._wanted != wanted or not self._problem, RETRY_SECONDS
                )
            elif self._current is not None and not self._due and not self._stop:
                self._state.wait(SAVE_SECONDS)

    def _load(self, wanted: Wanted) -> None:
        if wanted == NONE:
            return
        found: list[_Ready] = []

        def load() -> None:
            loaded = _loaded(wanted)
            if loaded is None:
                raise InvalidInput(f"The embedder {wanted[0]!r} has no model", "See config.toml.")
            embedder, base = loaded
            index = VectorIndex(self._folder, embedder.identity)
            found.append(_Ready(wanted, embedder, base, index))

        if not self._try(load):
            return
        ready = found[0]
        due = self._missing(ready.index)
        with self._state:
            for record_id, record in due.items():
                self._due.setdefault(record_id, record)
            self._ready = ready
            self._state.notify_all()

    def _missing(self, index: VectorIndex) -> dict[str, Record | None]:
        made_of = index.made_of()
        rows = {r.id: r for r in self._records() if r.kind in ANSWERING}
        due: dict[str, Record | None] = {
            i: r for i, r in rows.items() if made_of.get(i) != _hash(meaning(r))
        }
        return due | {i: None for i in made_of.keys() - rows.keys()}

    def _make(self, ready: _Ready) -> bool:
        """Embed one batch of what is due; False when nothing was."""
        with self._state:
            batch = {i: self._due.pop(i) for i in list(self._due)[:BATCH]}
        if not batch:
            return False
        gone = [i for i, r in batch.items() if r is None or r.kind not in ANSWERING]
        texts = {i: meaning(r) for i, r in batch.items() if r is not None and i not in gone}
        rows = [(i, h) for i, t in texts.items() if not ready.index.has(i, h := _hash(t))]

        def embed() -> None:
            ready.index.drop(gone)
            if rows:
                ready.index.put(rows, ready.embedder.embed([texts[i] for i, _ in rows]))

        if not self._try(embed):
            with self._state:
                self._due = batch | self._due
            return False
        return bool(rows or gone)

    def _let_go(self, ready: _Ready) -> None:
        if ready.index.dirty:
            self._try(ready.index.save)
        ready.index.close()
        with self._state:
            if self._ready is ready:
                self._ready = None
                self._due.clear()

    def _try(self, step: Callable[[], None]) -> bool:
        try:
            step()
        except (BraincoreError, OSError, RuntimeError, ValueError, MemoryError) as error:
            log.error("vectors: %s", error, exc_info=not isinstance(error, BraincoreError))
            with self._state:
                self._problem = f"vectors: {error}"
                self._state.notify_all()
            return False
        with self._state:
            self._problem = ""
        return True
