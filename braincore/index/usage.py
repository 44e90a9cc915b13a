"""Counters that no one must commit for: how often and when a record was returned.

Local, outside journal and digest, so that reading never changes what is believed.
"""

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["UsageStore"]


class UsageStore:
    """`usage.db`: counts are kept in memory and written behind. One caller at a time."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = _connect(path)
        except sqlite3.DatabaseError:
            path.replace(path.with_suffix(".bad"))
            self._db = _connect(path)
        self._rows: dict[str, tuple[int, float]] = {
            i: (int(n), float(t)) for i, n, t in self._db.execute("SELECT id, n, last FROM usage")
        }
        self._dirty: set[str] = set()
        self.recalls, self.abstains = self._counter("recalls"), self._counter("abstains")

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

    def flush(self) -> None:
        """Write what was counted since the last time."""
        rows = [(i, *self._rows[i]) for i in self._dirty]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?)", rows)
            self._db.executemany(
                "INSERT OR REPLACE INTO counter VALUES (?, ?)",
                [("recalls", self.recalls), ("abstains", self.abstains)],
            )
        self._dirty.clear()

    def close(self) -> None:
        """Write and close."""
        self.flush()
        self._db.close()


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE IF NOT EXISTS usage (id TEXT PRIMARY KEY, n INTEGER, last REAL)")
    db.execute("CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, n INTEGER)")
    path.chmod(0o600)
    return db
