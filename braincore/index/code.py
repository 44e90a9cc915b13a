"""The code index: files, symbols and references of the working tree, kept by stat and content.

SQLite file `code.db`. Unchanged files cost a stat; each change gets a generation number, by which
the graph projection knows what it has not seen.
"""

import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from braincore.errors import StoreError
from braincore.model.packed import Packed, unpack_references, unpack_symbols
from braincore.model.symbols import Reference, Symbol, symbol_ref

__all__ = ["CodeIndex", "Scan"]

VERSION = "4"
"""Raised when rows change shape or meaning: an older file is thrown away and built anew."""

RACY_NS = 2_000_000_000
"""Coarsest step of file times in use: two seconds."""

PART = 200
"""So many changed files are committed at once; a crash loses no more work than that."""

Extract = Callable[[Iterable[tuple[str, str, bytes]]], Iterable[Packed]]
"""From path, language and bytes of files to what they hold, in the same order."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What one update did. `skipped`: path and reason of files that were passed over."""

    seen: int
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """A file whose bytes differ from what the index knows."""

    mtime: int
    size: int
    sha: str


class CodeIndex:
    """The index of one worktree. One caller at a time updates it; all questions may be asked from
    any thread meanwhile and see what was committed last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asking = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._db = self._connect()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):  # full, locked, read-only
                    raise
                self._db = self._anew()
            if self._meta("version") != VERSION:
                self._db.close()
                self._db = self._anew()
            self._reader = self._second()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(str(path), str(error)) from None

    def _second(self) -> sqlite3.Connection:
        reader = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        reader.execute("PRAGMA query_only = ON")
        return reader

    def _rows(self, query: str, *given: object) -> list[Any]:
        with self._asking:
            try:
                return self._reader.execute(query, given).fetchall()
            except sqlite3.OperationalError as error:  # the disk, or the folder was deleted
                raise StoreError(str(self._path), str(error)) from None

    def _anew(self) -> sqlite3.Connection:
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, check_same_thread=False)
        try:
            self._prepare(db)
        except sqlite3.Error:
            db.close()
            raise
        self._path.chmod(0o600)
        return db

    @staticmethod
    def _prepare(db: sqlite3.Connection) -> None:
        db.executescript(
            """
            PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
            CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
            CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, mtime INTEGER, size INTEGER,
              sha TEXT, language TEXT, error INTEGER, generation INTEGER, gone INTEGER,
              count INTEGER, symbols TEXT, refs TEXT);
            CREATE TABLE IF NOT EXISTS symbol (path TEXT, name TEXT, last TEXT,
              PRIMARY KEY (path, name)) WITHOUT ROWID;
            CREATE INDEX IF NOT EXISTS symbol_last ON symbol (last);
            CREATE INDEX IF NOT EXISTS file_generation ON file (generation);
            CREATE TABLE IF NOT EXISTS watch (path TEXT, on_path TEXT,
              PRIMARY KEY (on_path, path)) WITHOUT ROWID;
            CREATE INDEX IF NOT EXISTS watch_path ON watch (path);
            """
        )
        if db.execute("SELECT 1 FROM meta").fetchone() is None:
            db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
            db.execute("INSERT INTO meta VALUES ('id', ?)", (uuid.uuid4().hex,))
            db.execute("INSERT INTO meta VALUES ('generation', '0')")
            db.commit()

    def _meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    @property
    def id(self) -> str:
        """Names this file's life: another id means generations can't be compared."""
        return self._meta("id")

    @property
    def generation(self) -> int:
        """The number of the newest change."""
        return int(self._meta("generation") or 0)

    def update(
        self,
        files: Iterable[tuple[str, str, Path]],
        extract: Extract,
        *,
        whole: bool,
        max_bytes: int,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Scan:
        """Bring the index to the files given as (path, language, file on disk).

        `whole`: these are all files, so those not among them are gone. Raises StoreError; a
        damaged index is thrown away and built anew by the next update.
        """
        try:
            return self._update(files, extract, whole=whole, max_bytes=max_bytes, progress=progress)
        except sqlite3.DatabaseError as error:
            self._db.rollback()
            if not isinstance(error, sqlite3.OperationalError):
                with self._asking:
                    self._reader.close()
                    self._db.close()
                    self._db = self._anew()
                    self._reader = self._second()
            raise StoreError(str(self._path), str(error)) from None

    def _update(
        self,
        files: Iterable[tuple[str, str, Path]],
        extract: Extract,
        *,
        whole: bool,
        max_bytes: int,
        progress: Callable[[int], None],
    ) -> Scan:
        known = {
            p: (int(m), int(s), str(h))
            for p, m, s, h in self._db.execute(
                "SELECT path, mtime, size, sha FROM file WHERE NOT gone"
            )
        }
        seen, changed, skipped = set[str](), list[str](), list[tuple[str, str]]()
        generation = self.generation + 1
        reads: dict[str, _Read] = {}

        def differing() -> Iterator[tuple[str, str, bytes]]:
            for path, language, disk in files:
                seen.add(path)
                if len(seen) % 50 == 0:
                    progress(len(seen))
                found = self._read(path, disk, known.get(path), max_bytes)
                if isinstance(found, str):
                    skipped.append((path, found))
                    seen.discard(path)
                elif found is not None:
                    reads[path], data = found
                    yield path, language, data

        for file in extract(differing()):
            self._write(file, reads.pop(file.path), generation)
            changed.append(file.path)
            if len(changed) % PART == 0:  # a crash from here on must leave a whole generation
                self._finish(changed[-PART:], generation)
        removed = sorted(known.keys() - seen) if whole else []
        self._forget(removed, generation)
        if changed or removed:
            self._finish({*changed, *removed}, generation)
        self._db.commit()
        return Scan(len(seen), tuple(changed), tuple(removed), tuple(skipped))

    def _read(
        self, path: str, disk: Path, old: tuple[int, int, str] | None, max_bytes: int
    ) -> tuple[_Read, bytes] | str | None:
        """A file that changed, or why it is passed over; None when it is as known."""
        try:
            stat = disk.stat()
            if old is not None and old[:2] == (stat.st_mtime_ns, stat.st_size):
                return None
            if stat.st_size > max_bytes:
                return f"larger than {max_bytes:,} bytes"
            data = disk.read_bytes()
        except OSError as error:
            return error.strerror or "unreadable"
        if b"\x00" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "binary"
        digest = sha256(data).hexdigest()
        if old is not None and old[2] == digest:
            self._db.execute(
                "UPDATE file SET mtime = ?, size = ? WHERE path = ?",
                (_settled(stat), stat.st_size, path),
            )
            return None
        return _Read(_settled(stat), stat.st_size, digest), data

    def _write(self, file: Packed, read: _Read, generation: int) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
            (
                *(file.path, read.mtime, read.size, read.sha, file.language, file.error),
                *(generation, file.total, file.symbols, file.references),
            ),
        )
        self._db.execute("DELETE FROM symbol WHERE path = ?", (file.path,))
        self._db.executemany(
            "INSERT INTO symbol VALUES (?, ?, ?)",
            [(file.path, name, name.rpartition(".")[2].lower()) for name in file.names],
        )

    def _forget(self, paths: Iterable[str], generation: int) -> None:
        for path in paths:
            self._db.execute(
                "UPDATE file SET gone = 1, generation = ?, sha = '', symbols = '', refs = '' "
                "WHERE path = ?",
                (generation, path),
            )
            self._db.execute("DELETE FROM symbol WHERE path = ?", (path,))

    def _finish(self, paths: Collection[str], generation: int) -> None:
        self._touch_dependents(paths, generation)
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (str(generation),))
        self._db.commit()

    def _touch_dependents(self, paths: Collection[str], generation: int) -> None:
        """Files whose edges may change because another file did are seen as changed, too."""
        for path in paths:
            self._db.execute(
                "UPDATE file SET generation = ? WHERE NOT gone AND path IN "
                "(SELECT path FROM watch WHERE on_path = ?)",
                (generation, path),
            )

    def watch(self, path: str, looked_at: Iterable[str]) -> None:
        """Note which paths the edges of a file depend on."""
        self._db.execute("DELETE FROM watch WHERE path = ?", (path,))
        self._db.executemany(
            "INSERT OR IGNORE INTO watch VALUES (?, ?)", [(path, on) for on in looked_at]
        )

    def commit(self) -> None:
        """Make what was noted durable."""
        self._db.commit()

    def since(self, generation: int) -> tuple[list[tuple[str, str]], list[str]]:
        """Path and language of files changed after a generation, and paths gone since."""
        rows = self._rows(
            "SELECT path, language, gone FROM file WHERE generation > ? ORDER BY path", generation
        )
        return [(p, lang) for p, lang, gone in rows if not gone], [p for p, _, gone in rows if gone]

    def symbols(self, path: str, sha: str | None = None) -> tuple[Symbol, ...] | None:
        """The symbols of a file; None when it isn't in the index, or not with these bytes."""
        rows = self._rows(
            "SELECT language, symbols, sha FROM file WHERE path = ? AND NOT gone", path
        )
        if not rows or sha not in (None, rows[0][2]):
            return None
        return unpack_symbols(path, *rows[0][:2])

    def references(self, path: str) -> tuple[Reference, ...]:
        """The references of a file, () when it isn't in the index."""
        rows = self._rows("SELECT refs FROM file WHERE path = ? AND NOT gone", path)
        return unpack_references(rows[0][0]) if rows else ()

    def has(self, path: str) -> bool:
        """Whether a path is in the index."""
        return bool(self._rows("SELECT 1 FROM file WHERE path = ? AND NOT gone", path))

    def names_in(self, path: str) -> frozenset[str]:
        """The qualified names defined in a file."""
        return frozenset(r[0] for r in self._rows("SELECT name FROM symbol WHERE path = ?", path))

    def named(self, last: str) -> list[str]:
        """References of the symbols whose last name is this one, in any case."""
        rows = self._rows("SELECT path, name FROM symbol WHERE last = ?", last.lower())
        return sorted(symbol_ref(path, name) for path, name in rows)

    def paths(self) -> Sequence[str]:
        """Every path in the index."""
        return [r[0] for r in self._rows("SELECT path FROM file WHERE NOT gone ORDER BY path")]

    def counts(self) -> tuple[int, int, int]:
        """How many files, symbols, and files with a syntax error."""
        files, errors, symbols = self._rows(
            "SELECT count(*), coalesce(sum(error), 0), coalesce(sum(count), 0) FROM file "
            "WHERE NOT gone"
        )[0]
        return int(files), int(symbols), int(errors)

    def close(self) -> None:
        """Write and close."""
        with self._asking:
            self._reader.close()
            self._db.commit()
            self._db.close()


def _settled(stat: os.stat_result) -> int:
    """The time of a file's last change, or 0 when it is so fresh that another change could bear
    the same time: then the next update reads the file once more."""
    return stat.st_mtime_ns if time.time_ns() - stat.st_mtime_ns > RACY_NS else 0
