"""The state of one brain: journal first, then table and pending keywords, then the projections.

`commit` is the critical section: journal → record table → keyword list → files for people. Graph
and keyword index on disk follow behind in one thread; what they have reached is stored in them, so
a crash between any two steps is mended by replaying the difference.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from braincore.errors import BraincoreError, StoreError
from braincore.graph.bulk import load_everything
from braincore.graph.projection import COMMIT, apply_events, apply_records, json_body
from braincore.graph.store import GraphStore
from braincore.index.keyword import KeywordIndex
from braincore.index.rows import RowCache
from braincore.index.usage import UsageStore
from braincore.journal.codec import decode, decode_json, encode, encode_json, path_of, to_mapping
from braincore.journal.events import EventLog
from braincore.journal.store import Change, Journal, Why
from braincore.journal.worktree import WorkTree
from braincore.locate import Place
from braincore.model.records import Record
from braincore.model.table import Table

__all__ = ["Keeper"]

log = logging.getLogger("braincore")

EVENT_SECONDS = 5.0
KEYWORD_SECONDS = 1.0
KEYWORD_WAITING = 200
IDLE_SECONDS = 2.0
BATCH = 100

Changes = Sequence[tuple[Record | None, Record | None]]


class Keeper:
    """Opens a store, keeps it in step, closes it. `lock` guards table, journal and keywords."""

    def __init__(self, place: Place, clock: Callable[[], datetime], *, fsync: bool = False) -> None:
        self.place = place
        self.clock = clock
        self.lock = threading.RLock()
        store = place.store
        try:
            store.mkdir(parents=True, exist_ok=True, mode=0o700)
            store.chmod(0o700)
        except OSError as error:
            raise StoreError(str(store), str(error)) from None
        self.journal = Journal(store / "journal.git", fsync=fsync)
        self.events = EventLog(store / "events.wal", self.journal)
        self._rows = RowCache(store / "index" / "rows.jsonl")
        self.table = self._load_table()
        self.usage = UsageStore(store / "usage.db")
        self.worktrees: dict[Path, WorkTree] = {}
        self.hand_edited: list[str] = []
        self._keyword: KeywordIndex | None = None
        self._graph: GraphStore | None = None
        self._queue: list[tuple[str, Changes, Sequence[Record]]] = []
        self._wake = threading.Condition(self.lock)
        self._ready = threading.Event()
        self._graph_ready = threading.Event()
        self._stop = False
        self.problem = ""
        self._busy = False
        self._written = time.monotonic()
        self._thread = threading.Thread(target=self._project, name="projector", daemon=True)
        self._thread.start()

    def _load_table(self) -> Table:
        """Every record of the head, parsed only where the row cache doesn't know the blob."""
        head = self.journal.head
        assert head is not None
        loaded = list(self.journal.read(head, self._rows.load(decode_json)))
        self._blobs = {entry.record.id: entry.blob for entry in loaded}
        return Table(sorted((e.record for e in loaded), key=lambda r: r.id))

    # — writing —

    def commit(self, changes: Sequence[Change], why: Why) -> str:
        """Write changes; when this returns they are durable and every reader sees them."""
        with self.lock:
            at = self.clock()
            commit = self.journal.commit(changes, why, at)
            pairs = [(c.old, c.new) for c in changes]
            for old, new in pairs:
                if new is not None:
                    self.table.put(new)
                elif old is not None:
                    self.table.drop(old.id)
            if self._keyword is not None:
                self._index(self._keyword, pairs)
            self._queue.append((commit, pairs, ()))
            self._put_files(changes, commit)
            self._wake.notify_all()
            return commit

    def _put_files(self, changes: Sequence[Change], commit: str) -> None:
        """Bring memory/ along; where that fails the change is safe and the files follow later."""
        files = {}
        for change in changes:
            record = change.new or change.old
            assert record is not None
            files[path_of(record.id)] = encode(change.new) if change.new is not None else None
        for tree in self.worktrees.values():
            try:
                if tree.at == self.journal.parent(commit):
                    tree.written(files, commit)
                else:
                    self.hand_edited = tree.sync()
            except (OSError, StoreError) as error:
                log.warning("memory/ could not be brought along: %s", error)

    def note(self, events: Sequence[Record]) -> None:
        """Make events durable; they are committed in batches."""
        with self.lock:
            self.events.append(events)
            if self.events.full:
                self._flush_events()
            self._wake.notify_all()

    def _flush_events(self) -> None:
        pending = list(self.events.pending)
        commit = self.events.flush(self.clock())
        if commit is not None:
            self._queue.append((commit, (), pending))

    @staticmethod
    def _index(keyword: KeywordIndex, changes: Changes) -> None:
        keyword.put(new for _, new in changes if new is not None)
        keyword.drop(old.id for old, new in changes if new is None and old is not None)

    # — worktrees —

    def attach(self, place: Place) -> WorkTree:
        """The memory/ of a worktree, made or restored if it isn't there."""
        with self.lock:
            tree = self.worktrees.get(place.root)
            if tree is None or not (place.memory / ".git").exists():
                tree = WorkTree(place.memory, self.journal)
                tree.attach()
                self.hand_edited = tree.sync()
                self.worktrees[place.root] = tree
            return tree

    # — reading —

    @property
    def keyword(self) -> KeywordIndex:
        """The keyword index, once it has caught up."""
        self._wait_ready()
        assert self._keyword is not None
        return self._keyword

    @property
    def graph(self) -> GraphStore:
        """The graph with everything acknowledged in it. Raises StoreError when it can't be had."""
        if not self._graph_ready.wait(120):
            raise StoreError(str(self.place.store / "graph"), "it did not open in two minutes")
        deadline = time.monotonic() + 30
        with self.lock:
            while (self._queue or self._busy) and not self.problem:
                if not self._wake.wait(deadline - time.monotonic()):
                    raise StoreError(str(self.place.store), "the graph did not catch up in 30 s")
        if self._graph is None or self.problem:
            raise StoreError(str(self.place.store / "graph"), self.problem or "not open")
        return self._graph

    @property
    def lag(self) -> int:
        """How many commits the projections are behind."""
        return len(self._queue)

    def _wait_ready(self) -> None:
        if not self._ready.wait(120):
            raise StoreError(str(self.place.store), "the indexes did not open in two minutes")
        if self._keyword is None:
            raise StoreError(str(self.place.store / "index"), self.problem)

    def table_at(self, at: datetime) -> Table | None:
        """What was on record at a time of the journal; None before its beginning."""
        with self.lock:
            commit = self.journal.as_of(at)
            if commit is None:
                return None
            known = {blob: r for i, blob in self._blobs.items() if (r := self.table.get(i))}
            # A row may have moved on since its blob was read: only unchanged ones are reused.
            fresh = {b: r for b, r in known.items() if self.journal.blob_of(encode(r)) == b}
            return Table(e.record for e in self.journal.read(commit, fresh))

    # — the projector —

    def _project(self) -> None:
        try:
            self._open_projections()
        except BraincoreError as error:
            self.problem = str(error)
            log.error("projections: %s", error)
        self._ready.set()
        self._graph_ready.set()
        last_event = last_keyword = last_idle = time.monotonic()
        while True:
            with self.lock:
                if not self._queue and not self._stop:
                    self._wake.wait(0.25)
                now = time.monotonic()
                if self.events.pending and (now - last_event > EVENT_SECONDS or self._stop):
                    self._try("events", self._flush_events)
                    last_event = now
                batch = self._queue[:BATCH]
                stop = self._stop
                self._busy = bool(batch)
            if batch:
                self._apply_batch(batch)
                with self.lock:
                    del self._queue[: len(batch)]
                    self._busy = False
                    self._written = time.monotonic()
                    self._wake.notify_all()
            waiting = self._keyword.waiting if self._keyword is not None else 0
            due = waiting and (now - last_keyword > KEYWORD_SECONDS or waiting >= KEYWORD_WAITING)
            if self._keyword is not None and (due or (stop and waiting)):
                self._try("keywords", self._commit_keywords)
                last_keyword = now
            if stop and not self._queue:
                return
            quiet = now - self._written > IDLE_SECONDS
            if quiet and last_idle < self._written:
                self._try("idle", self._settle)
                last_idle = time.monotonic()

    def _try(self, step: str, action: Callable[[], None]) -> None:
        """A background step that fails is said in log and status, and tried again later."""
        try:
            action()
        except (BraincoreError, OSError) as error:
            self.problem = f"{step}: {error}"
            log.error("%s", self.problem)

    def _commit_keywords(self) -> None:
        with self.lock:
            head = self.journal.head
            assert head is not None and self._keyword is not None
            if self._queue:
                head = self._queue[0][0]
                parent = self.journal.parent(head)
                head = parent or head
            self._keyword.commit(head)

    def _settle(self) -> None:
        """For quiet moments: write counters and the row cache, fold the graph's log."""
        with self.lock:
            self.usage.flush()
            rows = []
            head = self.journal.head
            assert head is not None
            blobs = {Path(p).stem: b for p, b in self.journal.blobs(head)}
            for record in self.table:
                if (blob := blobs.get(record.id)) is not None:
                    rows.append((blob, encode_json(record)))
            self._blobs = blobs
        self._rows.save(rows)
        if self._graph is not None:
            self._graph.checkpoint()

    def _open_projections(self) -> None:
        store = self.place.store
        keyword = KeywordIndex(store / "index" / "keyword")
        with self.lock:
            self._catch_up_keywords(keyword)
            self._keyword = keyword
        self._ready.set()
        self._graph = GraphStore(store / "graph" / "graph.kuzu")
        self._catch_up_graph(self._graph)

    def _catch_up_keywords(self, keyword: KeywordIndex) -> None:
        head = self.journal.head
        assert head is not None
        reached = keyword.head
        if reached is not None and self.journal.has(reached):
            self._index(keyword, self._changes(reached, head))
        else:
            keyword.put(self.table)
        keyword.commit(head)

    def _catch_up_graph(self, graph: GraphStore) -> None:
        """Replay what the graph has not seen, or fill it when it knows nothing of this journal."""
        with self.lock:
            head = self.journal.head
            assert head is not None
            reached = graph.meta(COMMIT)
            self._queue.clear()
            if reached == head:
                return
            known = reached is not None and self.journal.has(reached)
            if reached is None or not known:
                if reached is not None:
                    log.warning("the graph follows another journal: it is set aside and rebuilt")
                self._rebuild_graph()
                return
            changes = self._changes(reached, head)
            events = list(self._events(reached, head))
        apply_records(graph, changes, bodies(n for _, n in changes if n), head)
        apply_events(graph, events, head)

    def _changes(self, old: str, new: str) -> list[tuple[Record | None, Record | None]]:
        """Record changes between two commits, read back from the journal."""
        out = []
        for path, before, after in self.journal.changed(old, new):
            if path.endswith(".md"):
                one = decode(self.journal.blob(before), path) if before else None
                two = decode(self.journal.blob(after), path) if after else None
                out.append((one, two))
        return out

    def _events(self, old: str, new: str) -> Iterable[Record]:
        for path, _, after in self.journal.changed(old, new):
            if path.endswith(".jsonl") and after:
                data = self.journal.blob(after)
                for number, line in enumerate(data.split(b"\n"), 1):
                    if line:
                        yield decode_json(line, path, number)

    def _apply_batch(self, batch: Sequence[tuple[str, Changes, Sequence[Record]]]) -> None:
        graph = self._graph
        if graph is None:
            return
        head = batch[-1][0]
        changes = [pair for _, pairs, _ in batch for pair in pairs]
        events = [e for _, _, found in batch for e in found]
        try:
            apply_records(graph, changes, bodies(n for _, n in changes if n), head)
            if events:
                apply_events(graph, events, head)
            self.problem = ""
        except BraincoreError as error:
            # What raised may still be committed: the graph itself says what it has reached.
            log.error("graph: %s; rebuilding it", error)
            self._try("graph", self._rebuild_graph)

    def _rebuild_graph(self) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph.set_aside()
        self._graph = GraphStore(self.place.store / "graph" / "graph.kuzu")
        with self.lock:
            head = self.journal.head
            assert head is not None
            records = list(self.table)
        load_everything(self._graph, records, bodies(records), self.journal.events(head), head)
        self.problem = ""

    def rebuild(self) -> None:
        """Throw graph and keyword index away and fill them from the journal."""
        self._wait_ready()
        with self.lock:
            while self._busy:
                self._wake.wait(1)
            self._queue.clear()
            self._rebuild_graph()
            if self._keyword is not None:
                self._keyword.close()
            folder = self.place.store / "index" / "keyword"
            for file in folder.iterdir():
                file.unlink()
            self._keyword = KeywordIndex(folder)
            self._catch_up_keywords(self._keyword)

    def close(self) -> None:
        """Bring everything to disk and let go."""
        with self.lock:
            self._stop = True
            self._wake.notify_all()
        self._thread.join(60)
        self._try("closing", self._settle)
        if self._keyword is not None:
            self._keyword.close()
        if self._graph is not None:
            self._graph.close()
        self.usage.close()
        self.journal.close()


def bodies(records: Iterable[Record]) -> dict[str, str]:
    """The JSON body of each record, for the graph."""
    out = {}
    for record in records:
        mapping = to_mapping(record)
        out[record.id] = json_body({k: v for k, v in mapping.items() if k not in _COLUMNS})
    return out


_COLUMNS = frozenset(
    [
        "id",
        "kind",
        "title",
        "target",
        "namespace",
        "truth_status",
        "lifecycle",
        "source_ref",
        "trust",
        "confidence",
        "created_at",
        "valid_from",
        "valid_until",
        "edges",
        "superseded_by",
    ]
)
