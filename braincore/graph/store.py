"""The Kùzu file: opened capped, used by one thread at a time, closed in the right order.

Database, log and shadow are one unit: what can't be opened is set aside together and built anew.
"""

import atexit
import contextlib
import csv
import hashlib
import re
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
MAX_DB = 8 << 30
QUERY_SECONDS = 10

_open: dict[str, "GraphStore"] = {}
_registry = threading.Lock()


class GraphStore:
    """One open graph file. Every call holds `lock`; a query takes all its rows and is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._prepared: dict[str, Any] = {}
        key = str(path.absolute())
        with _registry:
            # Two read-write databases on one path in one process silently lose rows.
            if key in _open:
                raise StoreError(key, "this process has it open already")
            self._db, self._connection = self._open_or_rebuild()
            _open[key] = self
        self._key = key
        atexit.register(self.close)

    def _open_or_rebuild(self) -> tuple[Any, Any]:
        try:
            return self._connect()
        except (RuntimeError, OSError, IndexError):
            self.set_aside()
        try:
            return self._connect()
        except (RuntimeError, OSError) as error:
            raise StoreError(str(self.path), str(error)) from None

    def _connect(self) -> tuple[Any, Any]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = not self.path.exists()
        if fresh:
            self.set_aside()  # a stray log without its database stops it from opening
        db = kuzu.Database(str(self.path), buffer_pool_size=BUFFER_POOL, max_db_size=MAX_DB)
        connection = kuzu.Connection(db, num_threads=1)
        connection.set_query_timeout(QUERY_SECONDS * 1000)
        try:
            if fresh:
                for statement in schema():
                    _done(connection.execute(statement))
                _done(
                    connection.execute(f"CREATE (:Meta {{key: 'schema', value: '{schema_id()}'}})")
                )
            elif self._schema_of(connection) != schema_id():
                raise RuntimeError("made with another schema")
        except RuntimeError:
            connection.close()
            db.close()
            raise
        return db, connection

    @staticmethod
    def _schema_of(connection: Any) -> str:
        result = connection.execute("MATCH (m:Meta {key: 'schema'}) RETURN m.value")
        rows = result.get_all()
        result.close()
        return str(rows[0][0]) if rows else ""

    def set_aside(self) -> None:
        """Move database, log and shadow away as one unit; the newest wreck is kept for a look."""
        for file in self.path.parent.glob(self.path.name + "*"):
            if not file.name.endswith(".broken"):
                file.replace(file.with_name(file.name + ".broken"))

    def run(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[list[Any]]:
        """All rows of one statement. Raises StoreError with the engine's message."""
        given = dict(parameters or {})
        with self.lock:
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
            except RuntimeError as error:
                raise StoreError(str(self.path), str(error)) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Statements that take effect together or not at all."""
        with self.lock:
            self.run("BEGIN TRANSACTION")
            whole = False
            try:
                yield
                whole = True
            finally:
                self.run("COMMIT" if whole else "ROLLBACK")

    def load(
        self, table: str, rows: Sequence[Sequence[object]], pair: tuple[str, str] | None = None
    ) -> None:
        """Rows into a table by COPY; `pair` names the ends of a relation that has several."""
        if not rows:
            return
        with tempfile.TemporaryDirectory(dir=self.path.parent) as folder, self.lock:
            file = Path(folder) / "rows.csv"
            with file.open("w", encoding="utf-8", newline="") as out:
                csv.writer(
                    out,
                    quoting=csv.QUOTE_ALL,
                    escapechar="\\",
                    doublequote=False,
                    lineterminator="\n",
                ).writerows(rows)
            # parallel=false: values hold line breaks; without null_strings "" becomes NULL
            ends = f"from='{pair[0]}', to='{pair[1]}', " if pair else ""
            options = f"{ends}header=false, parallel=false, escape='\\\\', null_strings=['\x01']"
            name = str(file).replace("\\", "\\\\").replace("'", "\\'")
            try:
                self._connection.execute(f"COPY {table} FROM '{name}' ({options})").close()
            except RuntimeError as error:
                raise StoreError(str(self.path), str(error)) from None

    def meta(self, key: str) -> str | None:
        """A value of the Meta table."""
        rows = self.run("MATCH (m:Meta {key: $key}) RETURN m.value", {"key": key})
        return str(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the Meta table, inside whatever transaction is open."""
        self.run("MERGE (m:Meta {key: $key}) SET m.value = $value", {"key": key, "value": value})

    def checkpoint(self) -> None:
        """Fold the log into the file; for quiet moments."""
        with self.lock:
            self._connection.execute("CHECKPOINT").close()

    def close(self) -> None:
        """Results are closed already; then the connection, then the database."""
        with self.lock, _registry:
            if _open.pop(self._key, None) is None:
                return
            self._prepared.clear()
            self._connection.close()
            self._db.close()
        atexit.unregister(self.close)


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
