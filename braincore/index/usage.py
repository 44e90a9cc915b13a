"""What no one must commit for: how often and when a record was returned, what a session was told.

Local, outside journal and digest, so that reading never changes what is believed.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Set
from datetime import UTC, datetime
from pathlib import Path

from braincore.errors import StoreError

__all__ = ["UsageStore"]


SESSIONS = 64
"""Sessions whose lines are held in memory."""
TOLD_DAYS = 30
"""What a session was told is forgotten so long after it was said."""


class UsageStore:
    """`usage.db`: counts are kept in memory and written behind. One caller at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._dirty: set[str] = set()
        self._told: OrderedDict[str, set[str]] = OrderedDict()
        self._untold: list[tuple[str, str, float]] = []
        try:
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):  # locked, full, read-only: not torn
                    raise
                for file in path.parent.glob(path.name + "*"):
                    if not file.name.endswith(".bad"):
                        file.replace(file.with_name(file.name + ".bad"))
                self._open()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(str(path), str(error)) from None

    def _open(self) -> None:
        self._db = _connect(self._path)
        try:
            self._rows: dict[str, tuple[int, float]] = {
                i: (int(n), float(t))
                for i, n, t in self._db.execute("SELECT id, n, last FROM usage")
            }
            self.recalls, self.abstains = self._counter("recalls"), self._counter("abstains")
            self._written = (self.recalls, self.abstains)
        except sqlite3.Error:
            self._db.close()
            raise

    def _counter(self, name: str) -> int:
        row = self._db.execute("SELECT n FROM counter WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def of(self, record_id: str) -> tuple[int, datetime | None]:
        """How often a record was returned, and when last."""
        count, last = self._rows.get(record_id, (0, 0.0))
        return count, datetime.fromtimestamp(last, UTC) if count else None

    def count(self, ids: Iterable[str], at: datetime, *, abstained: bool) -> None:
        """Note one recall and the records it returned."""
        self.recalls += 1
        self.abstains += abstained
        for record_id in ids:
            self._rows[record_id] = (self._rows.get(record_id, (0, 0.0))[0] + 1, at.timestamp())
            self._dirty.add(record_id)

    def told(self, session: str) -> Set[str]:
        """The lines, by key, that this session was told. Raises StoreError."""
        found = self._told.get(session)
        if found is None:
            try:
                rows = self._db.execute("SELECT line FROM told WHERE session = ?", (session,))
                found = self._told[session] = {line for (line,) in rows}
            except sqlite3.Error as error:
                raise StoreError(str(self._path), str(error)) from None
            found |= {line for name, line, _ in self._untold if name == session}
        self._told.move_to_end(session)
        while len(self._told) > SESSIONS:
            self._told.popitem(last=False)
        return found

    def tell(self, session: str, lines: Iterable[str], at: datetime) -> None:
        """Note the lines, by key, that this session is told. Raises StoreError."""
        self.told(session)
        for line in lines:
            self._told[session].add(line)
            self._untold.append((session, line, at.timestamp()))

    @property
    def waiting(self) -> bool:
        """True when there is something to write."""
        return bool(self._untold) or (self.recalls, self.abstains) != self._written

    def flush(self) -> None:
        """Write what was counted since the last time. Raises StoreError; then it is kept."""
        rows = [(i, *self._rows[i]) for i in self._dirty]
        try:
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?)", rows)
                self._db.executemany(
                    "INSERT OR REPLACE INTO counter VALUES (?, ?)",
                    [("recalls", self.recalls), ("abstains", self.abstains)],
                )
                self._db.executemany("INSERT OR IGNORE INTO told VALUES (?, ?, ?)", self._untold)
                if self._untold:
                    oldest = self._untold[-1][2] - TOLD_DAYS * 86_400
                    self._db.execute("DELETE FROM told WHERE at < ?", (oldest,))
        except sqlite3.Error as error:
            raise StoreError(str(self._path), str(error)) from None
        self._dirty.clear()
        self._untold.clear()
        self._written = (self.recalls, self.abstains)

    def close(self) -> None:
        """Write and close."""
        try:
            self.flush()
        finally:
            self._db.close()


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE IF NOT EXISTS usage (id TEXT PRIMARY KEY, n INTEGER, last REAL)")
        db.execute("CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, n INTEGER)")
        db.execute(
            "CREATE TABLE IF NOT EXISTS told (session TEXT, line TEXT, at REAL,"
            " PRIMARY KEY (session, line)) WITHOUT ROWID"
        )
    except sqlite3.Error:
        db.close()
        raise
    path.chmod(0o600)
    return db
