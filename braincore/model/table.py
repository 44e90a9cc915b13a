"""The record table: one row a record in memory, with the look-ups that validators and gate need.

Updated in the same critical section as the commit, so whoever asks sees what was just written.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from braincore.model.axes import EdgeType, Kind
from braincore.model.records import Claim, Decision, Failure, Record, Review, Task
from braincore.model.refs import RefType, path_of_ref, ref_type
from braincore.model.said import code_refs
from braincore.model.words import joined_name, name_key, statement_words

__all__ = ["Keys", "Table", "keys_of", "text_key"]

_PLACES = (RefType.FILE, RefType.SYMBOL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text_key(text: str) -> str:
    """What two statements must share to be the same one: every word, number, unit, sign and mark of
    polarity, in order; only case, spacing and punctuation are ignored."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(statement_words(folded)) or folded.strip()


@dataclass(frozen=True, slots=True)
class Keys:
    """What a record is looked up by that takes a while to work out: its text_key, and the name_key
    of its target and of each end of an ABOUT edge."""

    text: str
    names: tuple[str, ...]


def keys_of(record: Record) -> Keys:
    """The keys of a record."""
    names = [record.target] if record.target else []
    names += [e.to for e in record.edges if e.type is EdgeType.ABOUT]
    return Keys(text_key(record.text), tuple(dict.fromkeys(map(name_key, names))))


def _claim_key(claim: Claim) -> tuple[str, str]:
    return name_key(claim.subject), name_key(claim.predicate)


class Table:
    """Records by id, by target, by text, by what they are linked to. Not thread-safe by itself."""

    def __init__(
        self, records: Iterable[Record] = (), known: Mapping[str, Keys] | None = None
    ) -> None:
        """`known`: keys by record id, as far as they have been worked out before."""
        self._rows: dict[str, Record] = {}
        self._keys: dict[str, Keys] = {}
        self._by_target: defaultdict[str, set[str]] = defaultdict(set)
        self._by_text: defaultdict[tuple[Kind, str], set[str]] = defaultdict(set)
        self._by_link: defaultdict[str, set[str]] = defaultdict(set)
        self._by_path: defaultdict[str, set[str]] = defaultdict(set)
        self._by_successor: defaultdict[str, set[str]] = defaultdict(set)
        self._by_kind: defaultdict[Kind, dict[str, None]] = defaultdict(dict)
        self._reviews_of: defaultdict[str, set[str]] = defaultdict(set)
        self._by_claim: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._by_decided: defaultdict[str, set[str]] = defaultdict(set)
        self._code_refs: dict[str, frozenset[str]] = {}
        self._unsorted: set[Kind] = set()
        self._last = _EPOCH
        known = known or {}
        for record in records:
            self._put(record, known.get(record.id) or keys_of(record))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._rows.values()))

    def get(self, record_id: str) -> Record | None:
        """The record with this id, or None."""
        return self._rows.get(record_id)

    def put(self, record: Record, keys: Keys | None = None) -> None:
        """Add a record or replace the one with its id; a replaced one keeps its place. `keys`: its
        own, where they have been worked out."""
        self._put(record, keys or keys_of(record))

    def _put(self, record: Record, keys: Keys) -> None:
        old = self._rows.get(record.id)
        if old is not None:
            self._unlink(old)
        ordered = self._by_kind[record.kind]
        if old is None and ordered:
            newest = self._rows[next(reversed(ordered))]
            if (record.created_at, record.id) < (newest.created_at, newest.id):
                self._unsorted.add(record.kind)
        elif old is not None and old.created_at != record.created_at:
            self._unsorted.add(record.kind)
        self._rows[record.id] = record
        self._keys[record.id] = keys
        ordered[record.id] = None
        if refs := code_refs(record):
            self._code_refs[record.id] = refs
        for found in self._places(record):
            found.add(record.id)
        self._last = max(self._last, record.created_at)

    def drop(self, record_id: str) -> None:
        """Remove a record; nothing happens if it isn't there."""
        old = self._rows.get(record_id)
        if old is None:
            return
        self._unlink(old)
        del self._rows[record_id], self._keys[record_id], self._by_kind[old.kind][record_id]

    def _unlink(self, old: Record) -> None:
        self._code_refs.pop(old.id, None)
        for found in self._places(old):
            found.discard(old.id)

    def _places(self, record: Record) -> Iterator[set[str]]:
        """Every set of ids that this record stands in."""
        keys = self._keys[record.id]
        for name in keys.names:
            yield self._by_target[name]
        yield self._by_text[record.kind, keys.text]
        for edge in record.edges:
            yield self._by_link[edge.to]
            if ("/" in edge.to or "::" in edge.to) and ref_type(edge.to) in _PLACES:
                yield self._by_path[path_of_ref(edge.to)]
        for successor in record.superseded_by:
            yield self._by_successor[successor]
        if isinstance(record.body, Review) and not record.body.closed:
            for named in {record.body.subject, *(c.ref for c in record.body.candidates)}:
                yield self._reviews_of[named]
        if (claim := record.claim) is not None:
            yield self._by_claim[_claim_key(claim)]
        if isinstance(record.body, Decision):
            yield self._by_decided[joined_name(record.target)]

    def next_time(self, now: datetime) -> datetime:
        """A creation time after every other, even when the clock was set back."""
        return max(now, self._last + timedelta(microseconds=1))

    def about(self, name: str) -> list[Record]:
        """The records whose target or ABOUT edge is this name, in any spelling."""
        return [self._rows[i] for i in sorted(self._by_target.get(name_key(name), ()))]

    def has_key(self, key: str) -> bool:
        """True when some record is about the name with this `name_key`."""
        return bool(self._by_target.get(key))

    def keys(self, record_id: str) -> Keys:
        """The keys of a record that is there."""
        return self._keys[record_id]

    def linked(self, ref: str) -> list[Record]:
        """The records with an edge to exactly this id, path or symbol."""
        return [self._rows[i] for i in sorted(self._by_link.get(ref, ()))]

    def linked_under(self, path: str) -> list[Record]:
        """The records with an edge to this path or to a symbol in it."""
        return [self._rows[i] for i in sorted(self._by_path.get(path_of_ref(path), ()))]

    def pointing_at(self, record_id: str) -> list[Record]:
        """The records with an edge to this one or superseded by it."""
        ids = self._by_link.get(record_id, set()) | self._by_successor.get(record_id, set())
        return [self._rows[i] for i in sorted(ids)]

    def same_text(self, kind: Kind, text: str) -> list[Record]:
        """The records of a kind that say the same words in the same order."""
        return self.same_key(kind, text_key(text))

    def same_key(self, kind: Kind, key: str) -> list[Record]:
        """The records of a kind whose text has this `text_key`."""
        return [self._rows[i] for i in sorted(self._by_text.get((kind, key), ()))]

    def claiming(self, claim: Claim) -> list[Record]:
        """The records with a claim of the same subject and predicate, whatever its object."""
        return [self._rows[i] for i in sorted(self._by_claim.get(_claim_key(claim), ()))]

    def of_kind(self, *kinds: Kind) -> list[Record]:
        """The records of some kinds, kind by kind, oldest first."""
        for kind in self._unsorted.intersection(kinds):
            found = [self._rows[i] for i in self._by_kind[kind]]
            found.sort(key=lambda r: (r.created_at, r.id))
            self._by_kind[kind] = {r.id: None for r in found}
        self._unsorted.difference_update(kinds)
        return [self._rows[i] for kind in kinds for i in self._by_kind[kind]]

    def names(self) -> Iterator[str]:
        """Every name_key that some record is about."""
        return (key for key, ids in self._by_target.items() if key and ids)

    def open_reviews(self, record_id: str) -> list[tuple[Record, Review]]:
        """The undecided reviews that name this record."""
        rows = [self._rows[i] for i in sorted(self._reviews_of.get(record_id, ()))]
        return [(r, r.body) for r in rows if isinstance(r.body, Review)]

    def disputed(self) -> list[Record]:
        """The records that undecided reviews name."""
        named = [i for i, reviews in self._reviews_of.items() if reviews]
        return [self._rows[i] for i in named if i in self._rows]

    def with_code(self) -> list[tuple[Record, frozenset[str]]]:
        """The records that govern code or are about it, with its references."""
        return [(self._rows[i], refs) for i, refs in self._code_refs.items()]

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

    def decided(self, target: str) -> list[tuple[Record, Decision]]:
        """The decisions about a target in any spelling, or about none, with their bodies."""
        rows = [self._rows[i] for i in sorted(self._by_decided.get(joined_name(target), ()))]
        return [(r, r.body) for r in rows if isinstance(r.body, Decision)]

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
