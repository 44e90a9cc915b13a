"""The keyword index: BM25 by tantivy, with the few uncommitted records searched apart.

A tantivy commit costs 20 ms, so records are added at once to a small pending list and committed in
batches; a query sees both. The journal commit it has reached is stored beside it, with checksums of
the files: the engine checks none, and a damaged one answers wrongly or panics.
"""

import contextlib
import hashlib
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import tantivy

from braincore.disk import write_atomic
from braincore.errors import StoreError
from braincore.model.records import Record
from braincore.model.said import said
from braincore.model.words import search_terms

__all__ = ["KeywordIndex"]

K1 = 1.2
B = 0.75
HEAP = 15_000_000
"""The least that the engine takes."""


class Waiting:
    """A record that is not on disk yet; its terms are worked out when somebody needs them, so that
    a write doesn't wait for it."""

    __slots__ = ("_found", "_record")

    def __init__(self, record: Record) -> None:
        self._record = record
        self._found: list[str] | None = None

    @property
    def terms(self) -> list[str]:
        """What the record is found by."""
        if self._found is None:
            self._found = terms_of(self._record)
        return self._found


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes on their way to disk: records by id, and ids to take out."""

    pending: dict[str, Waiting]
    gone: frozenset[str]


class KeywordIndex:
    """Search over one state of mind. Calls come one at a time (the caller's lock)."""

    def __init__(self, folder: Path, *, anew: bool = False) -> None:
        """`anew`: throw away what is on disk, as is done with what can't be opened."""
        self._folder = folder
        self._mark = folder / "journal-head"
        self._sums: dict[str, str] = {}
        self._pending: dict[str, Waiting] = {}
        self._gone: set[str] = set()
        self._writer: tantivy.IndexWriter | None = None
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        builder.add_text_field("terms", stored=False, tokenizer_name="whitespace")
        self._schema = builder.build()
        try:
            if not anew:
                self._open()
        except (ValueError, OSError):
            anew = True
        if anew:
            shutil.rmtree(folder, ignore_errors=True)
            try:
                self._open()
            except (ValueError, OSError) as error:
                raise StoreError(str(folder), str(error)) from None

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sums = self._checked()
        self._index = tantivy.Index(self._schema, path=str(self._folder))
        self._index.reload()
        self._searcher = self._index.searcher()

    def _checked(self) -> dict[str, str]:
        """The checksums of the files that are still there. Raises ValueError for a wrong one."""
        try:
            _, *lines = self._mark.read_bytes().decode("ascii").splitlines()
        except FileNotFoundError:
            return {}
        found = {}
        for line in lines:
            name, _, checksum = line.partition(" ")
            file = self._folder / name
            if file.exists():
                if _sum_of(file) != checksum:
                    raise ValueError(f"{name} is damaged")
                found[name] = checksum
        return found

    def _write_mark(self, head: str) -> None:
        """Note the commit reached and the checksums; the engine's files never change once made."""
        names = {f.name for f in self._folder.iterdir() if f.suffix and f.suffix != ".json"}
        names = {n for n in names if not n.startswith((".", "journal"))}
        self._sums = {n: s for n, s in self._sums.items() if n in names}
        for name in names - self._sums.keys():
            with contextlib.suppress(FileNotFoundError):  # a merge may take it away meanwhile
                self._sums[name] = _sum_of(self._folder / name)
        lines = [head, *(f"{name} {checksum}" for name, checksum in sorted(self._sums.items()))]
        write_atomic(self._mark, "\n".join(lines).encode() + b"\n")

    @property
    def head(self) -> str | None:
        """The journal commit that what is on disk has reached."""
        try:
            first = self._mark.read_bytes().partition(b"\n")[0]
        except OSError:
            return None
        return first.decode("ascii", "replace").strip() or None

    def put(self, records: Iterable[Record]) -> None:
        """Add or replace records; they are found at once."""
        for record in records:
            self._pending[record.id] = Waiting(record)
            self._gone.discard(record.id)

    def drop(self, ids: Iterable[str]) -> None:
        """Take records out; they are not found from now on."""
        for record_id in ids:
            self._pending.pop(record_id, None)
            self._gone.add(record_id)

    def __len__(self) -> int:
        return int(self._searcher.num_docs) + len(self._pending)

    @property
    def waiting(self) -> int:
        """How many changes are not yet on disk."""
        return len(self._pending) + len(self._gone)

    def commit(self, head: str) -> None:
        """Bring what is pending to disk, up to this journal commit. Raises StoreError."""
        self.settle(self.store(self.take(), head))

    def take(self) -> "Batch":
        """What is pending now; then `store` without the caller's lock, then `settle` with it."""
        return Batch(dict(self._pending), frozenset(self._gone))

    def store(self, batch: "Batch", head: str) -> "Batch":
        """The slow part of a commit; may run beside put, drop and search."""
        try:
            if batch.pending or batch.gone:
                if self._writer is None:
                    self._writer = self._index.writer(HEAP, 1)
                for record_id in (*batch.pending, *batch.gone):
                    self._writer.delete_documents_by_term("id", record_id)
                for record_id, waiting in batch.pending.items():
                    self._writer.add_document(
                        tantivy.Document(id=[record_id], terms=[" ".join(waiting.terms)])
                    )
                self._writer.commit()
                self._index.reload()
            self._write_mark(head)
        except (ValueError, OSError) as error:
            raise StoreError(str(self._folder), str(error)) from None
        return batch

    def settle(self, batch: "Batch") -> None:
        """Search from disk what is on disk."""
        self._searcher = self._index.searcher()
        for record_id, waiting in batch.pending.items():
            if self._pending.get(record_id) is waiting:
                del self._pending[record_id]
        self._gone -= batch.gone

    def search(self, text: str, limit: int, among: Collection[str] | None = None) -> list[str]:
        """The ids that match best, best first; only some, when given. Raises StoreError."""
        wanted = list(dict.fromkeys(search_terms(text)))[:64]
        if not wanted:
            return []
        query = tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "terms", term))
                for term in wanted
            ]
        )
        if among is not None:
            ids = tantivy.Query.term_set_query(self._schema, "id", list(among))
            query = tantivy.Query.boolean_query(
                [(tantivy.Occur.Must, query), (tantivy.Occur.Must, ids)]
            )
        hidden = self._pending.keys() | self._gone
        scored: list[tuple[float, str]] = []
        try:
            hits = self._searcher.search(query, limit + min(len(hidden), 1000), count=False).hits
            for score, address in hits:
                record_id = str(self._searcher.doc(address)["id"][0])
                if record_id not in hidden:
                    scored.append((float(score), record_id))
        except (ValueError, OSError) as error:
            raise StoreError(str(self._folder), str(error)) from None
        pending = self._score_pending(wanted)
        scored += pending if among is None else [hit for hit in pending if hit[1] in among]
        scored.sort(key=lambda hit: (-hit[0], hit[1]))
        return [record_id for _, record_id in scored[:limit]]

    def _score_pending(self, wanted: Sequence[str]) -> list[tuple[float, str]]:
        """BM25 of the uncommitted records, with document frequencies over both parts and the mean
        length of the uncommitted ones."""
        docs = [(record_id, waiting.terms) for record_id, waiting in self._pending.items()]
        if not docs:
            return []
        size = len(self)
        mean = sum(len(terms) for _, terms in docs) / len(docs) or 1.0
        idf = {}
        for term in wanted:
            df = int(self._searcher.doc_freq("terms", term)) + sum(term in t for _, t in docs)
            df = min(df, size)
            idf[term] = log(1 + (size - df + 0.5) / (df + 0.5))
        out = []
        for record_id, terms in docs:
            score = 0.0
            for term in wanted:
                if (tf := terms.count(term)) > 0:
                    norm = K1 * (1 - B + B * len(terms) / mean)
                    score += idf[term] * tf * (K1 + 1) / (tf + norm)
            if score > 0:
                out.append((score, record_id))
        return out

    def rest(self) -> None:
        """Let go of the writer, which holds 80 MB; the next `store` takes one again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    def close(self) -> None:
        """Let go of the writer and its lock."""
        self.rest()


def _sum_of(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def terms_of(record: Record) -> list[str]:
    """The terms a record is found by."""
    return [t for field in said(record) for t in search_terms(field)]
