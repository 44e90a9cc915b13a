"""The code index: files, symbols and references of the working tree, kept by stat and content.

SQLite file `code.db`. Unchanged files cost a stat; each change gets a generation number, by which
the graph projection knows what it has not seen.
"""

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path

from braincore.errors import StoreError
from braincore.model.symbols import FileSymbols, Reference, Symbol

__all__ = ["CodeIndex", "Scan"]

VERSION = "3"
"""Raised when rows change shape or meaning: an older file is thrown away and built anew."""

RACY_NS = 2_000_000_000
"""Coarsest step of file times in use: two seconds."""

Extract = Callable[[str, bytes, str], FileSymbols]


@dataclass(frozen=True, slots=True)
class Scan:
    """What one update did. `skipped`: path and reason of files that were passed over."""

    seen: int
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


class CodeIndex:
    """The index of one worktree. One caller at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
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
        except (sqlite3.Error, OSError) as error:
            raise StoreError(str(path), str(error)) from None

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
              sha TEXT, language TEXT, error INTEGER, generation INTEGER, gone INTEGER, data TEXT);
            CREATE TABLE IF NOT EXISTS symbol (ref TEXT, path TEXT, name TEXT, last TEXT);
            CREATE INDEX IF NOT EXISTS symbol_ref ON symbol (ref);
            CREATE INDEX IF NOT EXISTS symbol_path ON symbol (path);
            CREATE INDEX IF NOT EXISTS symbol_last ON symbol (last);
            CREATE INDEX IF NOT EXISTS file_generation ON file (generation);
            CREATE TABLE IF NOT EXISTS watch (path TEXT, on_path TEXT,
              PRIMARY KEY (on_path, path)) WITHOUT ROWID;
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
                self._db.close()
                self._db = self._anew()
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
        seen, changed, skipped = set[str](), [], []
        generation = self.generation + 1
        for path, language, disk in files:
            seen.add(path)
            if len(seen) % 50 == 0:
                progress(len(seen))
            try:
                stat = disk.stat()
                old = known.get(path)
                if old is not None and old[:2] == (stat.st_mtime_ns, stat.st_size):
                    continue
                if stat.st_size > max_bytes:
                    skipped.append((path, f"larger than {max_bytes:,} bytes"))
                    seen.discard(path)
                    continue
                data = disk.read_bytes()
            except OSError as error:
                skipped.append((path, error.strerror or "unreadable"))
                seen.discard(path)
                continue
            if b"\x00" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
                skipped.append((path, "binary"))
                seen.discard(path)
                continue
            digest = sha256(data).hexdigest()
            if old is not None and old[2] == digest:
                self._db.execute(
                    "UPDATE file SET mtime = ?, size = ? WHERE path = ?",
                    (_settled(stat), stat.st_size, path),
                )
                continue
            self._write(
                extract(path, data, language), _settled(stat), stat.st_size, digest, generation
            )
            changed.append(path)
            if len(changed) % 200 == 0:  # a crash from here on must leave a whole generation
                self._finish(changed[-200:], generation)
        removed = sorted(known.keys() - seen) if whole else []
        self._forget(removed, generation)
        if changed or removed:
            self._finish({*changed, *removed}, generation)
        self._db.commit()
        return Scan(len(seen), tuple(changed), tuple(removed), tuple(skipped))

    def _write(self, file: FileSymbols, mtime: int, size: int, sha: str, generation: int) -> None:
        data = json.dumps(
            {
                "s": [astuple(s)[1:] for s in file.symbols],
                "r": [astuple(r) for r in file.references],
            },
            ensure_ascii=False,
        )
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
            (file.path, mtime, size, sha, file.language, file.has_error, generation, data),
        )
        self._db.execute("DELETE FROM symbol WHERE path = ?", (file.path,))
        self._db.executemany(
            "INSERT INTO symbol VALUES (?, ?, ?, ?)",
            [
                (s.ref, s.path, s.qualified_name, s.qualified_name.rpartition(".")[2].lower())
                for s in file.symbols
            ],
        )

    def _forget(self, paths: Iterable[str], generation: int) -> None:
        for path in paths:
            self._db.execute(
                "UPDATE file SET gone = 1, generation = ?, sha = '', data = '' WHERE path = ?",
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

    def since(self, generation: int) -> tuple[list[FileSymbols], list[str]]:
        """Files changed after a generation, and paths that are gone since."""
        rows = self._db.execute(
            "SELECT path, language, error, gone, data FROM file WHERE generation > ? ORDER BY path",
            (generation,),
        ).fetchall()
        files = [_file(p, lang, bool(e), d) for p, lang, e, gone, d in rows if not gone]
        return files, [p for p, _, _, gone, _ in rows if gone]

    def file(self, path: str) -> FileSymbols | None:
        """What the index holds of one file."""
        row = self._db.execute(
            "SELECT path, language, error, data FROM file WHERE path = ? AND NOT gone", (path,)
        ).fetchone()
        return _file(row[0], row[1], bool(row[2]), row[3]) if row else None

    def has(self, path: str) -> bool:
        """True when the file is in the index."""
        row = self._db.execute("SELECT 1 FROM file WHERE path = ? AND NOT gone", (path,)).fetchone()
        return row is not None

    def names_in(self, path: str) -> set[str]:
        """The qualified names defined in a file."""
        return {r[0] for r in self._db.execute("SELECT name FROM symbol WHERE path = ?", (path,))}

    def named(self, last: str) -> list[str]:
        """References of the symbols whose last name is this one, in any case."""
        rows = self._db.execute(
            "SELECT DISTINCT ref FROM symbol WHERE last = ? ORDER BY ref", (last.lower(),)
        )
        return [r[0] for r in rows]

    def paths(self) -> Iterator[str]:
        """Every path in the index."""
        return (
            r[0] for r in self._db.execute("SELECT path FROM file WHERE NOT gone ORDER BY path")
        )

    def counts(self) -> tuple[int, int, int]:
        """How many files, symbols, and files with a syntax error."""
        files, errors = self._db.execute(
            "SELECT count(*), coalesce(sum(error), 0) FROM file WHERE NOT gone"
        ).fetchone()
        symbols = self._db.execute("SELECT count(*) FROM symbol").fetchone()[0]
        return int(files), int(symbols), int(errors)

    def close(self) -> None:
        """Write and close."""
        self._db.commit()
        self._db.close()


def _settled(stat: os.stat_result) -> int:
    """The time of a file's last change, or 0 when it is so fresh that another change could bear
    the same time: then the next update reads the file once more."""
    return stat.st_mtime_ns if time.time_ns() - stat.st_mtime_ns > RACY_NS else 0


def _file(path: str, language: str, error: bool, data: str) -> FileSymbols:
    held = json.loads(data)
    return FileSymbols(
        path,
        language,
        tuple(Symbol(path, *row) for row in held["s"]),
        tuple(Reference(*row) for row in held["r"]),
        error,
    )
