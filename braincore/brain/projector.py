"""Graph and keyword index, brought along behind the journal by one thread.

All writes to the graph file happen here. What each projection has reached is stored in it, so a
crash between any two steps is mended by replaying the difference; what can't be mended by that is
rebuilt from the journal, at once and then every `RETRY_SECONDS`.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from braincore.brain.bodies import bodies
from braincore.errors import BraincoreError, StoreError
from braincore.graph.bulk import BULK, add_records, apart, load_everything
from braincore.graph.projection import COMMIT, apply_events, apply_records
from braincore.graph.store import GraphStore
from braincore.index.keyword import KeywordIndex
from braincore.journal.codec import decode
from braincore.journal.store import Journal, decode_lines
from braincore.model.records import Record
from braincore.model.table import Table

__all__ = ["Changes", "Chores", "Projector"]

log = logging.getLogger("braincore")

CHORE_SECONDS = 5.0
KEYWORD_SECONDS = 1.0
KEYWORD_WAITING = 200
IDLE_SECONDS = 2.0
RETRY_SECONDS = 30.0
BATCH = 100
BATCH_CHANGES = 5000
"""So many commits, and about so many changes, go into the graph in one transaction: who asks the
graph waits for it."""
LIVES = 3
"""How often the thread is started anew after something no step expects ended it."""

Changes = Sequence[tuple[Record | None, Record | None]]

FAULTS = (
    *(BraincoreError, OSError, RuntimeError, ValueError, LookupError, TypeError),
    *(AttributeError, AssertionError, ArithmeticError, MemoryError),
)
"""What a step may raise without ending the thread: clients must not be left waiting."""


@dataclass(frozen=True, slots=True)
class Step:
    """One commit that the graph has not seen."""

    commit: str
    changes: Changes
    events: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Chores:
    """What else is done behind the writers: `follow` at once after each commit, `regular` every 5 s
    while `due`, `quiet` when idle."""

    follow: Callable[[], None]
    due: Callable[[], bool]
    regular: Callable[[], None]
    quiet: Callable[[], None]


class State(Enum):
    """Whether a projection can be asked."""

    OPENING = 0
    READY = 1
    BROKEN = 2


class Projector:
    """The projections of one journal. `lock` is the keeper's: it guards table, journal, keywords
    and everything here but the graph, which has a lock of its own."""

    def __init__(
        self, store: Path, lock: threading.RLock, journal: Journal, table: Table, chores: Chores
    ) -> None:
        self._store = store
        self._lock = lock
        self._wake = threading.Condition(lock)
        self._journal = journal
        self._table = table
        self._chores = chores
        self._problems: dict[str, str] = {}
        self._keyword: KeywordIndex | None = None
        self._graph: GraphStore | None = None
        self._keyword_state = self._graph_state = State.OPENING
        self._steps: list[Step] = []
        self._accepted = self._applied = 0
        self._wanted = self._rebuilt = 0
        self._lives = LIVES
        self._alive = True
        self._stop = False
        self._unsettled = False
        now = time.monotonic()
        self._written = self._chored = self._keyworded = self._failed = now
        self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="projector", daemon=True)
        self._thread.start()

    # — asked by the keeper, which holds the lock —

    def accept(self, commit: str, changes: Changes, events: Sequence[Record]) -> None:
        """Take a commit: found by keyword from now on, in the graph soon."""
        if self._keyword is not None:
            _index(self._keyword, changes)
        self._steps.append(Step(commit, changes, events))
        self._accepted += 1
        self._unsettled = True
        self._wake.notify_all()

    # — asked by anybody —

    @property
    def problem(self) -> str:
        """What is wrong with the projections, or empty."""
        with self._lock:
            return "; ".join(f"{step}: {text}" for step, text in self._problems.items())

    @property
    def lag(self) -> int:
        """How many commits the graph is behind."""
        return self._accepted - self._applied

    @property
    def keyword(self) -> KeywordIndex:
        """The keyword index with everything acknowledged in it. Raises StoreError."""
        with self._lock:
            self._wait(lambda: self._keyword_state is not State.OPENING, "keywords")
            if self._keyword is None or self._keyword_state is State.BROKEN:
                raise self._unusable("index")
            return self._keyword

    @property
    def graph(self) -> GraphStore:
        """The graph with everything acknowledged in it. Raises StoreError."""
        with self._lock:
            target = self._accepted
            self._wait(
                lambda: (
                    self._graph_state is State.BROKEN
                    or (self._graph_state is State.READY and self._applied >= target)
                ),
                "the graph",
            )
            if self._graph is None or self._graph_state is State.BROKEN:
                raise self._unusable("graph")
            return self._graph

    @property
    def graph_at_hand(self) -> GraphStore | None:
        """The graph if it can be asked this instant; for callers that must not wait."""
        return self._graph if self._graph_state is State.READY else None

    def rebuild(self) -> None:
        """Throw graph and keyword index away and fill them from the journal. Raises StoreError."""
        with self._lock:
            if not self._alive and not self._stop:
                self._lives, self._alive = LIVES, True
                self._start()
            self._wanted += 1
            wanted = self._wanted
            self._wake.notify_all()
            self._wait(lambda: self._rebuilt >= wanted, "the rebuild", seconds=3600)
            if State.BROKEN in (self._graph_state, self._keyword_state):
                raise self._unusable("graph")

    def close(self) -> None:
        """Bring everything to disk and let go."""
        with self._lock:
            self._stop = True
            self._wake.notify_all()
        self._thread.join(120)
        if self._keyword is not None:
            self._try("keywords", self._keyword.close)
        if self._graph is not None:
            self._try("graph", self._graph.close)

    def _wait(self, done: Callable[[], bool], what: str, seconds: float = 120) -> None:
        """Wait with the lock let go. Raises StoreError when nobody is left to do it."""
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if not self._alive or left <= 0:
                why = self.problem or f"{what} did not get ready"
                raise StoreError(str(self._store), why)
            self._wake.wait(min(left, 5))

    def _unusable(self, folder: str) -> StoreError:
        return StoreError(str(self._store / folder), self.problem or "it is being closed")

    # — the thread —

    def _run(self) -> None:
        ended = "something unforeseen"
        try:
            if self._keyword is None:
                self._keyword_state = self._opened("keywords", self._open_keyword)
            if self._graph is None:
                self._graph_state = self._opened("graph", self._open_graph)
            while self._turn():
                pass
            ended = ""
        finally:
            with self._lock:
                if ended:
                    self._problems["projector"] = f"{ended} ended it"
                    log.error("the projector ended unforeseen and is started anew", exc_info=True)
                    self._lives -= 1
                if ended and self._lives and not self._stop:
                    self._wanted += 1
                    self._start()
                else:
                    self._alive = False
                self._wake.notify_all()

    def _opened(self, step: str, action: Callable[[], None]) -> State:
        done = self._try(step, action)
        with self._lock:
            self._wake.notify_all()
        return State.READY if done else State.BROKEN

    def _try(self, step: str, action: Callable[[], None]) -> bool:
        """A step that fails is said in log and status, and tried again later."""
        try:
            action()
        except FAULTS as error:
            log.error("%s: %s", step, error, exc_info=not isinstance(error, BraincoreError))
            with self._lock:
                said = error.brief if isinstance(error, StoreError) else str(error)
                self._problems[step] = said or type(error).__name__
                self._failed = time.monotonic()
            return False
        with self._lock:
            self._problems.pop(step, None)
        return True

    def _turn(self) -> bool:
        """One round: rebuild, apply, commit keywords, chores; False when there is no next one."""
        with self._lock:
            if not (self._steps or self._stop or self._wanted > self._rebuilt):
                busy = self._unsettled or self._chores.due()
                self._wake.wait(0.25 if busy else 1.0)
            stop, wanted = self._stop, self._wanted
            now = time.monotonic()
            broken = State.BROKEN in (self._graph_state, self._keyword_state)
            retry = broken and now - self._failed > RETRY_SECONDS
        if not stop and (wanted > self._rebuilt or retry):
            self._rebuild_all()
            with self._lock:
                self._rebuilt = wanted
                self._wake.notify_all()
        if self._chores.due() and (now - self._chored > CHORE_SECONDS or stop):
            self._try("events", self._chores.regular)
            self._chored = now
        self._apply_steps()
        if self._keyword is not None and self._keyword_state is State.READY:
            waiting = self._keyword.waiting
            late = now - self._keyworded > KEYWORD_SECONDS or stop or waiting >= KEYWORD_WAITING
            if waiting and late:
                self._commit_keywords(self._keyword)
                self._keyworded = now
        if stop:
            return bool(self._steps)
        if self._unsettled and not self._steps and now - self._written > IDLE_SECONDS:
            self._unsettled = False
            self._try("idle", self._settle)
        return True

    def _settle(self) -> None:
        self._chores.quiet()
        if self._keyword is not None:
            self._keyword.rest()
        if self._graph is not None and self._graph_state is State.READY:
            self._graph.checkpoint()

    # — keywords —

    def _open_keyword(self, *, anew: bool = False) -> None:
        keyword = KeywordIndex(self._store / "index" / "keyword", anew=anew)
        reached = keyword.head
        with self._lock:
            head = self._head()
            records = list(self._table)
        if reached is not None and self._journal.has(reached):
            _index(keyword, self._changes(reached, head))
        else:
            if len(keyword):  # it may hold records that this journal never had
                keyword.close()
                keyword = KeywordIndex(self._store / "index" / "keyword", anew=True)
            keyword.put(records)
        if keyword.waiting or reached != head:
            keyword.commit(head)
            keyword.rest()
        with self._lock:
            _index(keyword, self._changes(head, self._head()))
            self._keyword = keyword

    def _commit_keywords(self, keyword: KeywordIndex) -> None:
        def commit() -> None:
            with self._lock:
                batch, head = keyword.take(), self._head()
            keyword.store(batch, head)
            with self._lock:
                keyword.settle(batch)

        if not self._try("keywords", commit):
            self._rebuild_keywords()

    def _rebuild_keywords(self) -> None:
        self._keyword_state = State.OPENING
        old, self._keyword = self._keyword, None
        if old is not None:
            self._try("closing keywords", old.close)
        self._keyword_state = self._opened("keywords", lambda: self._open_keyword(anew=True))

    # — graph —

    def _open_graph(self) -> None:
        """Replay what the graph has not seen, or fill it when it knows nothing of this journal."""
        graph = self._graph = GraphStore(self._store / "graph" / "graph.kuzu")
        reached = graph.meta(COMMIT)
        with self._lock:
            head = self._head()
            self._steps.clear()
            self._applied = self._accepted
        self._try("memory", self._chores.follow)
        if reached == head:
            return
        if reached is None or not self._journal.has(reached):
            if reached is not None:
                log.warning("the graph follows another journal: it is set aside and rebuilt")
            self._fill_graph()
            return
        changes, events = self._changes(reached, head), self._events(reached, head)
        if not self._try("graph", lambda: self._apply(graph, changes, events, head)):
            self._fill_graph()

    def _apply_steps(self) -> None:
        graph = self._graph
        with self._lock:
            batch = _first(self._steps)
        self._try("memory", self._chores.follow)  # first, so that who waits for the graph has both
        with self._lock:
            if self._graph_state is State.BROKEN or graph is None:  # the rebuild will see them
                del self._steps[:]
                self._applied = self._accepted
                return
        if not batch:
            return
        changes = [pair for step in batch for pair in step.changes]
        events = [e for step in batch for e in step.events]
        head = batch[-1].commit
        if self._try("graph", lambda: self._apply(graph, changes, events, head)):
            with self._lock:
                del self._steps[: len(batch)]
                self._applied += len(batch)
                self._written = time.monotonic()
                self._wake.notify_all()
        else:  # what raised may still be committed, or committed in part
            self._rebuild_graph()

    def _apply(
        self, graph: GraphStore, changes: Changes, events: Sequence[Record], head: str
    ) -> None:
        fresh, rest = apart(changes)
        with self._lock:
            found = {r.id: self._table.pointing_at(r.id) for r in fresh}
        pointing = {i: rows for i, rows in found.items() if rows}
        bodies_of = bodies(new for _, new in changes if new is not None)

        def pointing_at(record_id: str) -> Sequence[Record]:
            return pointing.get(record_id, ())

        # Each step has its own transactions, and the last one says how far we are: what a crash
        # left undone is done over, as often as need be.
        reached = graph.meta(COMMIT) or ""
        if events:
            apply_events(graph, events, reached if changes else head)
        if len(fresh) >= BULK:
            if rest:
                apply_records(graph, rest, bodies_of, reached)
            with graph.room_for(len(fresh)), graph.unhurried(), graph.transaction():
                add_records(graph, fresh, bodies_of, head, pointing_at)
        elif changes:
            apply_records(graph, changes, bodies_of, head, pointing_at)

    def _rebuild_all(self) -> None:
        self._rebuild_graph()
        self._rebuild_keywords()
        if self._graph_state is self._keyword_state is State.READY:
            with self._lock:
                self._problems.pop("projector", None)

    def _rebuild_graph(self) -> None:
        self._graph_state = State.OPENING
        self._graph_state = self._opened("graph", self._fill_graph)

    def _fill_graph(self) -> None:
        if self._graph is None:
            self._graph = GraphStore(self._store / "graph" / "graph.kuzu")
        graph = self._graph
        with self._lock:
            head, records = self._head(), list(self._table)
            self._steps.clear()
            accepted = self._accepted
        with graph.lock:
            if not graph.fresh:
                graph.renew()
            load_everything(graph, records, bodies(records), self._journal.events(head), head)
        self._try("memory", self._chores.follow)
        with self._lock:
            self._applied = accepted
            self._written = time.monotonic()

    # — the journal —

    def _head(self) -> str:
        return self._journal.tip

    def _changes(self, old: str, new: str) -> list[tuple[Record | None, Record | None]]:
        """Record changes between two commits, read back from the journal."""
        out = []
        for path, before, after in self._journal.changed(old, new) if old != new else ():
            if path.endswith(".md"):
                one = decode(self._journal.blob(before), path) if before else None
                two = decode(self._journal.blob(after), path) if after else None
                out.append((one, two))
        return out

    def _events(self, old: str, new: str) -> list[Record]:
        out: list[Record] = []
        for path, _, after in self._journal.changed(old, new):
            if path.endswith(".jsonl") and after:
                out += decode_lines(self._journal.blob(after), path)
        return out


def _first(steps: Sequence[Step]) -> list[Step]:
    """The steps of one transaction, at least one."""
    batch: list[Step] = []
    size = 0
    for step in steps[:BATCH]:
        size += len(step.changes)
        if batch and size > BATCH_CHANGES:
            break
        batch.append(step)
    return batch


def _index(keyword: KeywordIndex, changes: Changes) -> None:
    keyword.put(new for _, new in changes if new is not None)
    keyword.drop(old.id for old, new in changes if new is None and old is not None)
