"""The keyword index: BM25 by tantivy, with the few uncommitted records searched apart.

A tantivy commit costs 20 ms, so records are added at once to a small pending list and committed in
batches; a query sees both. The journal commit it has reached is stored beside it.
"""

import shutil
from collections.abc import Iterable, Sequence
from math import log
from pathlib import Path

import tantivy

from braincore.errors import StoreError
from braincore.model.records import Record
from braincore.model.said import said
from braincore.model.words import search_terms

__all__ = ["KeywordIndex"]

K1 = 1.2
B = 0.75
HEAP = 16_000_000


class KeywordIndex:
    """Search over one state of mind. Calls come one at a time (the caller's lock)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = folder / "journal-head"
        self._pending: dict[str, list[str]] = {}
        self._gone: set[str] = set()
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        builder.add_text_field("terms", stored=False, tokenizer_name="whitespace")
        self._schema = builder.build()
        self._index = self._open()
        self._writer = self._index.writer(HEAP, 1)
        self._searcher = self._index.searcher()

    def _open(self) -> "tantivy.Index":
        """The index on disk; one that can't be opened is thrown away, since it is derived."""
        for attempt in (1, 2):
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                index = tantivy.Index(self._schema, path=str(self._folder))
                index.reload()
                return index
            except (ValueError, OSError) as error:
                if attempt == 2:
                    raise StoreError(str(self._folder), str(error)) from None
                shutil.rmtree(self._folder, ignore_errors=True)
        raise AssertionError

    @property
    def head(self) -> str | None:
        """The journal commit that what is on disk has reached."""
        try:
            return self._mark.read_text().strip() or None
        except OSError:
            return None

    def put(self, records: Iterable[Record]) -> None:
        """Add or replace records; they are found at once."""
        for record in records:
            self._pending[record.id] = [t for field in said(record) for t in search_terms(field)]
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
        """Bring what is pending to disk, up to this journal commit."""
        pending, gone = dict(self._pending), set(self._gone)
        try:
            if pending or gone:
                for record_id in (*pending, *gone):
                    self._writer.delete_documents("id", record_id)
                for record_id, terms in pending.items():
                    self._writer.add_document(
                        tantivy.Document(id=[record_id], terms=[" ".join(terms)])
                    )
                self._writer.commit()
                self._index.reload()
            self._mark.write_text(head + "\n")
        except (ValueError, OSError) as error:
            raise StoreError(str(self._folder), str(error)) from None
        self._searcher = self._index.searcher()
        for record_id, terms in pending.items():
            if self._pending.get(record_id) is terms:
                del self._pending[record_id]
        self._gone -= gone

    def search(self, text: str, limit: int) -> list[str]:
        """The ids that match best, best first."""
        wanted = list(dict.fromkeys(search_terms(text)))[:64]
        if not wanted:
            return []
        query = tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "terms", term))
                for term in wanted
            ]
        )
        hidden = self._pending.keys() | self._gone
        hits = self._searcher.search(query, limit + min(len(hidden), 1000), count=False).hits
        scored: list[tuple[float, str]] = []
        for score, address in hits:
            record_id = str(self._searcher.doc(address)["id"][0])
            if record_id not in hidden:
                scored.append((float(score), record_id))
        scored += self._score_pending(wanted)
        scored.sort(key=lambda hit: (-hit[0], hit[1]))
        return [record_id for _, record_id in scored[:limit]]

    def _score_pending(self, wanted: Sequence[str]) -> list[tuple[float, str]]:
        """BM25 of the uncommitted records, with document frequencies over both parts and the mean
        length of the uncommitted ones."""
        docs = list(self._pending.items())
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

    def close(self) -> None:
        """Let go of the writer's lock."""
        self._writer.wait_merging_threads()
