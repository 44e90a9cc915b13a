"""The Kùzu file: opened capped, used by one thread at a time, closed in the right order.

Database, log and shadow are one unit: what can't be opened is set aside together and built anew.
"""

import atexit
import contextlib
import csv
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import kuzu

from braincore.errors import StoreError

__all__ = ["GraphStore"]

BUFFER_POOL = 64 << 20
"""The least the engine works with; pages it needs at once must fit, and it takes no more than the
file has, so a small graph stays small."""
MOST_POOL = 4 << 30
ROW_BYTES = 6000
"""What a new record and its edges need in the pool while they are loaded (measured, 100k)."""
MAX_DB = 8 << 30
QUERY_SECONDS = 10

_open: dict[str, "GraphStore"] = {}
_registry = threading.Lock()


ENGINE_FAULTS = (RuntimeError, IndexError, ValueError, OverflowError, MemoryError)
"""What the engine's exceptions become in Python; a damaged file raises any of them."""

_IN_USE = "lock on file"
_NULL = "\x01braincore-null\x01"


class GraphStore:
    """One open graph file. Every call holds `lock`; a query takes all its rows and is closed.

    `fresh`: made just now, and no transaction since.
    """

    fresh: bool

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._prepared: dict[str, Any] = {}
        self._depth = 0
        self._unhurried = 0
        self._expected = 0
        self._torn = False
        self._opening = path.with_name(path.name + ".opening")
        self._key = str(path.absolute())
        with _registry:
            # Two read-write databases on one path in one process silently lose rows.
            if self._key in _open:
                raise StoreError(self._key, "this process has it open already")
            self._claim = self._claimed()
            try:
                self._db, self._connection = self._open_or_anew()
            except StoreError:
                os.close(self._claim)
                raise
            _open[self._key] = self
        atexit.register(self.close)

    def _claimed(self) -> int:
        """A lock for as long as the file is open: what is in use must never be set aside."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path.parent / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise StoreError(str(self.path), "another process has it open") from None
        return fd

    def renew(self) -> None:
        """Set the file aside and go on with an empty graph; hold `lock` until it is filled."""
        with self.lock:
            self._disconnect()
            self._set_aside()
            self._db, self._connection = self._open_or_anew()

    def _open_or_anew(self) -> tuple[Any, Any]:
        try:
            for stray in self.path.parent.glob("load-*"):
                shutil.rmtree(stray)
            if self._opening.exists():  # a damaged file can crash the process that opens it
                self._set_aside()
            try:
                return self._connect()
            except ENGINE_FAULTS as error:
                if _IN_USE in str(error):  # by some other tool
                    raise
                self._set_aside()
            return self._connect()
        except (OSError, *ENGINE_FAULTS) as error:
            with contextlib.suppress(OSError):
                self._opening.unlink()
            raise StoreError(str(self.path), str(error)) from None

    def _connect(self) -> tuple[Any, Any]:
        fresh = not self.path.exists()
        if fresh:
            self._set_aside()  # a stray log without its database stops it from opening
        self._opening.touch(mode=0o600)
        size = 0 if fresh else self.path.stat().st_size
        self._pool = min(MOST_POOL, max(BUFFER_POOL, size + self._expected * ROW_BYTES))
        db = kuzu.Database(str(self.path), buffer_pool_size=self._pool, max_db_size=MAX_DB)
        connection = kuzu.Connection(db, num_threads=1)
        connection.set_query_timeout(QUERY_SECONDS * 1000)
        try:
            if fresh:
                mark = f"CREATE (:Meta {{key: 'schema', value: '{schema_id()}'}})"
                for statement in ("BEGIN TRANSACTION", *schema(), mark, "COMMIT"):
                    _done(connection.execute(statement))
            elif self._schema_of(connection) != schema_id():
                raise RuntimeError("made with another schema")
        except ENGINE_FAULTS:
            connection.close()
            db.close()
            raise
        self._opening.unlink()
        self.fresh = fresh
        return db, connection

    @staticmethod
    def _schema_of(connection: Any) -> str:
        result = connection.execute("MATCH (m:Meta {key: 'schema'}) RETURN m.value")
        rows = result.get_all()
        result.close()
        return str(rows[0][0]) if rows else ""

    def _set_aside(self) -> None:
        """Move database, log and shadow away as one unit; the newest wreck is kept for a look."""
        self._opening.unlink(missing_ok=True)
        found = sorted(self.path.parent.glob(self.path.name + "*"))
        if not (wrecks := [f for f in found if not f.name.endswith(".broken")]):
            return
        for old in found:
            if old.name.endswith(".broken"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        for file in wrecks:
            file.replace(file.with_name(file.name + ".broken"))

    def run(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[list[Any]]:
        """All rows of one statement. Raises StoreError with the engine's message."""
        given = dict(parameters or {})
        with self.lock:
            if self._connection is None:
                raise StoreError(str(self.path), "it is closed")
            try:
                statement = self._prepared.get(query)
                if statement is None:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", DeprecationWarning)
                        statement = self._connection.prepare(query)
                    self._prepared[query] = statement
                result = self._connection.execute(statement, given)
                rows: list[list[Any]] = result.get_all()
                result.close()
                return rows
            except ENGINE_FAULTS as error:
                raise StoreError(str(self.path), str(error)) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Statements that take effect together or not at all; one inside another joins it."""
        with self.lock:
            if not self._depth:
                self.run("BEGIN TRANSACTION")
            self.fresh = False
            self._depth += 1
            whole = False
            try:
                yield
                whole = True
            finally:
                self._depth -= 1
                if not whole and not self._depth:
                    with contextlib.suppress(StoreError):  # a statement that failed ended it
                        self.run("ROLLBACK")
            if not self._depth:
                self.run("COMMIT")

    def load(
        self, table: str, rows: Sequence[Sequence[object]], pair: tuple[str, str] | None = None
    ) -> None:
        """Rows into a table by COPY; `pair` names the ends of a relation that has several."""
        if not rows:
            return
        # parallel=false: values hold line breaks; without null_strings "" becomes NULL; what is not
        # said is guessed from the rows
        ends = f"from='{pair[0]}', to='{pair[1]}', " if pair else ""
        options = (
            f"{ends}header=false, parallel=false, auto_detect=false, delim=',', quote='\"', "
            f"escape='\\\\', null_strings=['{_NULL}']"
        )
        with self.lock, self.unhurried():
            try:
                with tempfile.TemporaryDirectory(dir=self.path.parent, prefix="load-") as folder:
                    file = Path(folder) / "rows.csv"
                    _write_csv(file, rows)
                    name = str(file).replace("\\", "\\\\").replace("'", "\\'")
                    self._connection.execute(f"COPY {table} FROM '{name}' ({options})").close()
            except (OSError, *ENGINE_FAULTS) as error:
                self._torn = True
                raise StoreError(str(self.path), str(error)) from None

    @contextlib.contextmanager
    def room_for(self, rows: int) -> Iterator[None]:
        """A pool large enough to load so many records; outside of any transaction. Where that is
        more than there is, the file is opened again, and once more afterwards."""
        with self.lock:
            needed = self.path.stat().st_size + rows * ROW_BYTES
            if needed <= self._pool or self._pool == MOST_POOL:
                yield
                return
            fresh, self._expected = self.fresh, rows
            try:
                self._again()
            finally:
                self._expected = 0
            self.fresh = fresh
            yield
            self._again()  # not after a failure: then the caller sets the file aside

    def _again(self) -> None:
        """Close the file and open it, with the pool that is right for it now."""
        self._disconnect()
        try:
            self._db, self._connection = self._connect()
        except (OSError, *ENGINE_FAULTS) as error:
            raise StoreError(str(self.path), str(error)) from None

    @contextlib.contextmanager
    def unhurried(self) -> Iterator[None]:
        """Statements that may take as long as their rows need; holds `lock`."""
        with self.lock:
            if self._connection is None:
                raise StoreError(str(self.path), "it is closed")
            self._unhurried += 1
            self._connection.set_query_timeout(0)
            try:
                yield
            finally:
                self._unhurried -= 1
                if not self._unhurried and self._connection is not None:
                    self._connection.set_query_timeout(QUERY_SECONDS * 1000)

    def meta(self, key: str) -> str | None:
        """A value of the Meta table."""
        rows = self.run("MATCH (m:Meta {key: $key}) RETURN m.value", {"key": key})
        return str(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the Meta table, inside whatever transaction is open."""
        self.run("MERGE (m:Meta {key: $key}) SET m.value = $value", {"key": key, "value": value})

    def checkpoint(self) -> None:
        """Fold the log into the file; for quiet moments."""
        self.run("CHECKPOINT")

    def close(self) -> None:
        """Results are closed already; then the connection, then the database."""
        with self.lock, _registry:
            if _open.get(self._key) is not self:
                return
            del _open[self._key]
            self._disconnect()
            os.close(self._claim)
        atexit.unregister(self.close)

    def _disconnect(self) -> None:
        self._prepared.clear()
        if self._connection is not None:
            if self._torn:  # the checkpoint of a closing database crashes after a COPY that failed
                self._connection.execute("CALL force_checkpoint_on_close=false").close()
                self._torn = False
            self._connection.close()
            self._db.close()
            self._connection = self._db = None


def _write_csv(file: Path, rows: Sequence[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(
            out, quoting=csv.QUOTE_ALL, escapechar="\\", doublequote=False, lineterminator="\n"
        ).writerows(rows)


def _done(result: Any) -> None:
    """A result that is not closed crashes the process when it ends."""
    for one in result if isinstance(result, list) else [result]:
        one.close()


def schema_id() -> str:
    """Names the schema: a graph made with another one is set aside and built anew."""
    return hashlib.sha256("".join(schema()).encode()).hexdigest()[:16]


def pairs() -> frozenset[tuple[str, str, str]]:
    """Relation, from and to of every edge the schema can hold."""
    out = set()
    for statement in schema():
        if (m := re.match(r"CREATE REL TABLE (\w+)\((.*)\)$", statement)) is not None:
            out |= {(m[1], a, b) for a, b in re.findall(r"FROM (\w+) TO (\w+)", m[2])}
    return frozenset(out)


def schema() -> Sequence[str]:
    """The statements of schema.cypher."""
    text = (Path(__file__).parent / "schema.cypher").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    return [s.strip() for s in "\n".join(lines).split(";") if s.strip()]
