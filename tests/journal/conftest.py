"""A journal in a scratch folder, and records and events to put in it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from braincore.journal.store import Change, Journal, Why
from braincore.model.axes import Channel, EventType, Kind
from braincore.model.records import Event, Note, Record, new_id

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHY = Why("remember", "maya", "person", "stated")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.git", began=AT)


@pytest.fixture
def fact() -> Callable[..., Record]:
    """Makes facts, each a second after the one before."""
    made = [0]

    def make(text: str = "a fact", kind: Kind = Kind.FACT) -> Record:
        made[0] += 1
        at = AT + timedelta(seconds=made[0])
        return Record(
            id=new_id(kind, at),
            kind=kind,
            text=text,
            source_ref="user:maya",
            channel=Channel.PERSON,
            trust=0.9,
            created_at=at,
            valid_from=at,
            body=Event(EventType.EDIT) if kind is Kind.EVENT else Note(),
        )

    return make


@pytest.fixture
def put(journal: Journal) -> Callable[[Record], str]:
    """Commits a new record at its own time."""

    def commit(record: Record) -> str:
        return journal.commit([Change(None, record)], WHY, record.created_at)

    return commit
