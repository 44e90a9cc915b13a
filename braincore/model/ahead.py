"""A record table with records in front of it that are not committed yet."""

from collections.abc import Mapping
from datetime import datetime

from braincore.model.axes import Kind
from braincore.model.records import Claim, Decision, Record
from braincore.model.table import Keys, Table

__all__ = ["Ahead"]


class Ahead(Table):
    """What a table will be once a batch is committed, as far as intake asks it. Iterating gives the
    batch alone. Hold the lock of the table behind while asking."""

    def __init__(self, behind: Table) -> None:
        super().__init__()
        self._behind = behind

    def get(self, record_id: str) -> Record | None:
        """The record with this id, or None."""
        return super().get(record_id) or self._behind.get(record_id)

    def next_time(self, now: datetime) -> datetime:
        """A creation time after every other, here and behind."""
        return super().next_time(self._behind.next_time(now))

    def has_key(self, key: str) -> bool:
        """True when some record is about the name with this `name_key`."""
        return bool(self._by_target.get(key) or self._behind._by_target.get(key))

    def same_key(self, kind: Kind, key: str) -> list[Record]:
        """The records of a kind whose text has this `text_key`."""
        return self._with(self._behind.same_key(kind, key), super().same_key(kind, key))

    def claiming(self, claim: Claim) -> list[Record]:
        """The records with a claim of the same subject and predicate, whatever its object."""
        return self._with(self._behind.claiming(claim), super().claiming(claim))

    def decided(self, target: str) -> list[tuple[Record, Decision]]:
        """The decisions about a target in any spelling, or about none, with their bodies."""
        mine = super().decided(target)
        return [row for row in self._behind.decided(target) if not self.holds(row[0].id)] + mine

    def holds(self, record_id: str) -> bool:
        """True for a record of the batch."""
        return super().get(record_id) is not None

    def all_keys(self) -> Mapping[str, Keys]:
        """The keys of the batch by record id."""
        return self._keys

    def _with(self, behind: list[Record], mine: list[Record]) -> list[Record]:
        return [r for r in behind if not self.holds(r.id)] + mine if mine else behind
