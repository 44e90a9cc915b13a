"""The record table: one row a record in memory, with the look-ups that validators and gate need.

Updated in the same critical section as the commit, so whoever asks sees what was just written.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from braincore.model.axes import EdgeType, Kind
from braincore.model.records import Decision, Failure, Record, Review, Task
from braincore.model.words import name_key, words

__all__ = ["Table", "text_key"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text_key(text: str) -> str:
    """What two statements must share to be the same one: every word, number and sign of polarity,
    in order; only case, spacing and punctuation are ignored."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(words(folded)) or folded.strip()


class Table:
    """Records by id, by target, by text, by what they are linked to. Not thread-safe by itself."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._rows: dict[str, Record] = {}
        self._by_target: defaultdict[str, set[str]] = defaultdict(set)
        self._by_text: defaultdict[tuple[Kind, str], set[str]] = defaultdict(set)
        self._by_link: defaultdict[str, set[str]] = defaultdict(set)
        self._by_kind: defaultdict[Kind, dict[str, None]] = defaultdict(dict)
        self._last = _EPOCH
        for record in records:
            self.put(record)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._rows.values()))

    def get(self, record_id: str) -> Record | None:
        """The record with this id, or None."""
        return self._rows.get(record_id)

    def put(self, record: Record) -> None:
        """Add a record or replace the one with its id."""
        self.drop(record.id)
        self._rows[record.id] = record
        self._by_kind[record.kind][record.id] = None
        if record.target:
            self._by_target[name_key(record.target)].add(record.id)
        self._by_text[record.kind, text_key(record.text)].add(record.id)
        for edge in record.edges:
            self._by_link[edge.to].add(record.id)
            if edge.type is EdgeType.ABOUT:
                self._by_target[name_key(edge.to)].add(record.id)
        self._last = max(self._last, record.created_at)

    def drop(self, record_id: str) -> None:
        """Remove a record; nothing happens if it isn't there."""
        old = self._rows.pop(record_id, None)
        if old is None:
            return
        self._by_kind[old.kind].pop(record_id, None)
        self._by_target[name_key(old.target)].discard(record_id)
        self._by_text[old.kind, text_key(old.text)].discard(record_id)
        for edge in old.edges:
            self._by_link[edge.to].discard(record_id)
            self._by_target[name_key(edge.to)].discard(record_id)

    def next_time(self, now: datetime) -> datetime:
        """A creation time after every other, even when the clock was set back."""
        return max(now, self._last + timedelta(microseconds=1))

    def about(self, name: str) -> list[Record]:
        """The records whose target or ABOUT edge is this name, in any spelling."""
        return [self._rows[i] for i in sorted(self._by_target.get(name_key(name), ()))]

    def linked(self, ref: str) -> list[Record]:
        """The records with an edge to exactly this id, path or symbol."""
        return [self._rows[i] for i in sorted(self._by_link.get(ref, ()))]

    def linked_under(self, path: str) -> list[Record]:
        """The records with an edge to this path or to a symbol in it."""
        prefix = f"{path}::"
        ids = {i for ref, found in self._by_link.items() if ref.startswith(prefix) for i in found}
        return [self._rows[i] for i in sorted(ids | self._by_link.get(path, set()))]

    def same_text(self, kind: Kind, text: str) -> list[Record]:
        """The records of a kind that say the same words in the same order."""
        return [self._rows[i] for i in sorted(self._by_text.get((kind, text_key(text)), ()))]

    def of_kind(self, *kinds: Kind) -> list[Record]:
        """The records of some kinds, oldest first."""
        return [self._rows[i] for kind in kinds for i in self._by_kind[kind]]

    def names(self) -> Iterator[str]:
        """Every name_key that some record is about."""
        return (key for key, ids in self._by_target.items() if key and ids)

    def open_reviews(self, record_id: str) -> list[tuple[Record, Review]]:
        """The undecided reviews that name this record."""
        out = []
        for record in self.of_kind(Kind.REVIEW):
            body = record.body
            if (
                isinstance(body, Review)
                and not body.closed
                and (body.subject == record_id or any(c.ref == record_id for c in body.candidates))
            ):
                out.append((record, body))
        return out

    def open_tasks(self) -> list[tuple[Record, Task]]:
        """The brain tasks that are still open."""
        return [
            (r, r.body)
            for r in self.of_kind(Kind.TASK)
            if isinstance(r.body, Task) and not r.body.closed
        ]

    def decisions(self) -> list[tuple[Record, Decision]]:
        """The decisions with their bodies."""
        return [(r, r.body) for r in self.of_kind(Kind.DECISION) if isinstance(r.body, Decision)]

    def failures(self) -> list[tuple[Record, Failure]]:
        """The failures with their bodies."""
        return [(r, r.body) for r in self.of_kind(Kind.FAILURE) if isinstance(r.body, Failure)]

    def living(self, record: Record, depth: int = 20) -> list[Record]:
        """The records at the end of the supersession chain; chains may branch.

        Raises ValueError when the chain is longer than `depth` or runs in a circle.
        """
        ends: dict[str, Record] = {}
        layer = {record.id: record}
        for _ in range(depth + 1):
            following: dict[str, Record] = {}
            for row in layer.values():
                found = [self._rows[i] for i in row.superseded_by if i in self._rows]
                if found:
                    following.update((r.id, r) for r in found)
                else:
                    ends[row.id] = row
            if not following:
                return list(ends.values())
            layer = following
        raise ValueError(f"{record.id}: more than {depth} supersessions in a row, or a circle")
