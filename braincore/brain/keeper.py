"""The state of one brain: journal first, then table and pending keywords, then the projections.

`commit` is the critical section: journal → record table → keyword list. Files for people, graph and
keyword index on disk follow behind (see projector).
"""

import gc
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from braincore.brain.projector import Changes, Chores, Projector
from braincore.brain.semantic import Semantic
from braincore.brain.waits import Watched, waiting
from braincore.errors import StoreError
from braincore.graph.store import GraphStore
from braincore.index.keyword import KeywordIndex
from braincore.index.rows import RowCache
from braincore.index.usage import UsageStore
from braincore.journal.codec import decode, path_of
from braincore.journal.events import EventLog
from braincore.journal.packed import FORMAT, pack, unpack
from braincore.journal.store import Change, Files, Journal, Why, files_of
from braincore.journal.worktree import Moves, Put, WorkTree, together
from braincore.locate import Place
from braincore.model.records import Record
from braincore.model.table import Keys, Table

__all__ = ["Keeper"]

log = logging.getLogger("braincore")

ROWS_UNSAVED = 500
"""Rows that may be missing from the row cache, at least; a tenth of all where that is more."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look through the new rows over and over."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Keeper:
    """Opens a store, keeps it in step, closes it. `lock` guards table, journal and keywords;
    `_files` guards memory/ and is taken last."""

    def __init__(self, place: Place, clock: Callable[[], datetime], *, fsync: bool = False) -> None:
        self.place = place
        self.clock = clock
        lock = threading.RLock()
        self.lock = Watched(lock, "lock")
        store = place.store
        try:
            store.mkdir(parents=True, exist_ok=True, mode=0o700)
            store.chmod(0o700)
        except OSError as error:
            raise StoreError(str(store), str(error)) from None
        self.journal = Journal(store / "journal.git", fsync=fsync, began=clock())
        self.events = EventLog(store / "events.wal", self.journal)
        self._cache = RowCache(store / "index" / "rows.jsonl", FORMAT)
        self._unsaved = 0
        self._blobs: dict[str, str] = {}
        self.table = self._load_table()
        self.usage = UsageStore(store / "usage.db")
        self.worktrees: dict[Path, WorkTree] = {}
        self._files = threading.Lock()
        self._unput: list[Put] = []
        self._memory_problem = ""
        self._closed = False
        chores = Chores(self._put_files, self._chores_due, self._do_chores, self._settle)
        self.semantic = Semantic(store / "index" / "vectors", self._snapshot)
        self._projector = Projector(store, lock, self.journal, self.table, chores)

    def _load_table(self) -> Table:
        """Every record of the head, parsed only where the row cache doesn't know the blob."""
        head = self.journal.tip
        with _uncollected():
            cached = self._cache.load(unpack)
            keys = {record.id: keys for record, keys in cached.by_blob.values()}
            rows = {blob: record for blob, (record, _) in cached.by_blob.items()}
            if cached.commit and self.journal.has(cached.commit):
                changed = [m for m in self.journal.changed(cached.commit, head) if ".md" in m[0]]
                for path, _, after in changed:
                    if after is not None and after not in rows:
                        rows[after] = decode(self.journal.blob(after), path)
                        self._unsaved += 1
                for _, before, _ in changed:
                    if before is not None and before in rows:
                        del rows[before]
                        self._unsaved += 1
            else:
                rows = {e.blob: e.record for e in self.journal.read(head, rows)}
                self._unsaved = sum(blob not in cached.by_blob for blob in rows)
            self._blobs = {record.id: blob for blob, record in rows.items()}
            for blob in rows.keys() - cached.by_blob.keys():
                keys.pop(rows[blob].id, None)
            return Table(sorted(rows.values(), key=lambda r: (r.created_at, r.id)), keys)

    # — writing —

    def commit(
        self,
        changes: Sequence[Change],
        why: Why,
        files: Files | None = None,
        keys: Mapping[str, Keys] | None = None,
    ) -> str:
        """Write changes; when this returns they are durable and every reader sees them. `files`,
        `keys`: what `files_of` and the table make of them, for callers that have it."""
        files = files_of(changes) if files is None else files
        known = keys or {}
        pairs = [(c.old, c.new) for c in changes]
        with self.lock:
            parent = self.journal.tip
            commit = self.journal.commit(changes, why, self.clock(), files)
            for old, new in pairs:
                if new is not None:
                    self.table.put(new, known.get(new.id))
                elif old is not None:
                    self.table.drop(old.id)
            self._unput.append(Put(parent, commit, self._note_blobs(pairs, files), files))
            self._projector.accept(commit, pairs, ())
            self.semantic.changed(pairs)
            return commit

    def _snapshot(self) -> list[Record]:
        with self.lock:
            return list(self.table)

    def _note_blobs(self, pairs: Changes, files: Files) -> Moves:
        """Keep the blob ids of all rows; returns what the commit made of which."""
        self._unsaved += len(pairs)
        moves = []
        for record_id in {r.id for pair in pairs for r in pair if r is not None}:
            path = path_of(record_id)
            before = self._blobs.pop(record_id, None)
            after = Journal.blob_of(data) if (data := files[path]) is not None else None
            if after is not None:
                self._blobs[record_id] = after
            moves.append((path, before, after))
        return moves

    def _put_files(self) -> None:
        """Bring memory/ along, behind the writers; where that fails the change is safe and the
        files follow later."""
        with self.lock:
            unput, self._unput = self._unput, []
            trees = list(self.worktrees.values())
        if not unput:
            return
        put = together(unput)
        with self._files:
            for tree in trees:
                try:
                    tree.follow(put)
                    self._memory_problem = ""
                except StoreError as error:
                    self._memory_problem = f"memory/ could not be brought along: {error.brief}"
                    log.warning("%s", self._memory_problem)

    def note(self, events: Sequence[Record]) -> None:
        """Make events durable; they are committed in batches."""
        with self.lock:
            self.events.append(events)
            if self.events.full:
                try:
                    self._flush_events()
                except StoreError as error:  # they are safe in the log and tried again
                    log.error("events: %s", error)

    def _flush_events(self) -> None:
        with self.lock:
            pending, parent = list(self.events.pending), self.journal.tip
            commit = self.events.flush(self.clock())
            if commit is not None:
                self._unput.append(Put(parent, commit, (), {}))
                self._projector.accept(commit, (), pending)

    # — worktrees —

    def attach(self, place: Place) -> WorkTree:
        """The memory/ of a worktree, made or restored if it isn't there."""
        with self.lock, self._files:
            tree = self.worktrees.get(place.root)
            if tree is None or not tree.attached:
                tree = tree or WorkTree(place.memory, self.journal)
                tree.attach()
                self.worktrees[place.root] = tree
            return tree

    @property
    def hand_edited(self) -> list[str]:
        """Paths in memory/ that were edited by hand and are left as they are."""
        with self.lock, self._files:
            return sorted({path for tree in self.worktrees.values() for path in tree.edited})

    def look_for_hand_edits(self) -> list[str]:
        """Look through memory/ now; what was found is what `hand_edited` says from then on."""
        with self.lock:
            trees = list(self.worktrees.values())
        for tree in trees:
            suspects = tree.suspects()
            with self._files:
                tree.hand_edits(suspects)
        return self.hand_edited

    # — reading —

    @property
    def keyword(self) -> KeywordIndex:
        """The keyword index, once it has caught up. Raises StoreError when it can't be had."""
        with waiting("index"):
            return self._projector.keyword

    @property
    def graph(self) -> GraphStore:
        """The graph with everything acknowledged in it. Raises StoreError when it can't be had."""
        with waiting("graph"):
            return self._projector.graph

    @property
    def graph_at_hand(self) -> GraphStore | None:
        """The graph if it can be asked this instant; for callers that must not wait."""
        return self._projector.graph_at_hand

    @property
    def lag(self) -> int:
        """How many commits the graph is behind."""
        return self._projector.lag

    @property
    def problem(self) -> str:
        """What keeps files, graph or indexes from following; empty when all is well."""
        problems = (self._projector.problem, self._memory_problem, self.semantic.problem)
        return "; ".join(p for p in problems if p)

    def table_at(self, at: datetime) -> Table | None:
        """What was on record at a time of the journal; None before its beginning."""
        with self.lock:
            commit = self.journal.as_of(at)
            if commit is None:
                return None
            rows = {blob: self.table.get(i) for i, blob in self._blobs.items()}
        known: Mapping[str, Record] = {b: r for b, r in rows.items() if r is not None}
        return Table(e.record for e in self.journal.read(commit, known))

    # — behind the writers —

    def _chores_due(self) -> bool:
        return bool(self.events.pending) or self.usage.waiting

    def _do_chores(self) -> None:
        self._flush_events()
        with self.lock:
            self.usage.flush()

    def _settle(self) -> None:
        """For quiet moments: the row cache when it has fallen behind, hand edits of memory/."""
        if self._unsaved > max(ROWS_UNSAVED, len(self.table) // 10):
            self._save_rows()
        self.look_for_hand_edits()

    def _save_rows(self) -> None:
        with self.lock:
            commit = self.journal.tip
            rows = [(self._blobs[r.id], r, self.table.keys(r.id)) for r in self.table]
            self._unsaved = 0
        self._cache.save(commit, ((blob, pack(record, keys)) for blob, record, keys in rows))

    def rebuild(self) -> None:
        """Throw graph and keyword index away and fill them from the journal."""
        self._projector.rebuild()

    def close(self) -> None:
        """Bring everything to disk and let go; safe to call again."""
        if self._closed:
            return
        self._closed = True
        self.semantic.close()
        self._projector.close()
        for step in (self._save_rows if self._unsaved else None, self.usage.close):
            try:
                if step is not None:
                    step()
            except StoreError as error:  # both are only a matter of speed and counts
                log.error("closing: %s", error)
        self.journal.close()
