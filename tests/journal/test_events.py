"""Events: durable at once, committed in batches, never doubled and never lost."""

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from braincore.errors import StoreError
from braincore.journal.codec import encode_json
from braincore.journal.events import BATCH, EventLog, batch_path
from braincore.journal.store import Journal
from braincore.model.axes import Kind
from braincore.model.records import Record

AT = datetime(2026, 3, 1, 13, tzinfo=UTC)
Make = Callable[..., Record]


@pytest.fixture
def wal(tmp_path: Path) -> Path:
    return tmp_path / "events.wal"


def events(fact: Make, count: int) -> list[Record]:
    return [fact(f"event {n}", Kind.EVENT) for n in range(count)]


def committed(journal: Journal) -> list[Record]:
    head = journal.head
    assert head is not None
    return list(journal.events(head))


def test_appended_events_survive_and_wait(journal: Journal, wal: Path, fact: Make) -> None:
    log = EventLog(wal, journal)
    one, two, three = events(fact, 3)
    log.append([one, two])
    log.append([three])
    assert list(EventLog(wal, journal).pending) == [one, two, three]
    assert committed(journal) == []
    assert wal.stat().st_mode & 0o777 == 0o600


def test_a_batch_is_one_commit_named_after_its_first_event(
    journal: Journal, wal: Path, fact: Make
) -> None:
    log = EventLog(wal, journal)
    assert log.flush(AT) is None
    happened = events(fact, 3)
    log.append(happened)
    made = log.flush(AT)
    assert made == journal.head
    assert batch_path(happened[0]) == f"events/2026/03/01/{happened[0].id[6:]}.jsonl"
    assert journal.file_at(made, batch_path(happened[0])) is not None
    assert committed(journal) == happened
    assert wal.read_bytes() == b""
    assert list(log.pending) == list(EventLog(wal, journal).pending) == []
    entry = next(journal.log())
    assert (entry.verb, entry.who, entry.records) == ("events", "braincore", ())


def test_a_full_batch_is_due(journal: Journal, wal: Path, fact: Make) -> None:
    log = EventLog(wal, journal)
    log.append(events(fact, BATCH - 1))
    assert not log.full
    log.append(events(fact, 1))
    assert log.full


def test_a_torn_last_line_is_dropped_and_harms_no_later_event(
    journal: Journal, wal: Path, fact: Make
) -> None:
    one, two, three = events(fact, 3)
    EventLog(wal, journal).append([one])
    with wal.open("ab") as file:
        file.write(encode_json(two)[:50])
    log = EventLog(wal, journal)
    assert list(log.pending) == [one]
    log.append([three])
    assert list(EventLog(wal, journal).pending) == [one, three]


def test_a_line_that_cannot_be_read_is_set_aside_and_the_others_kept(
    journal: Journal, wal: Path, fact: Make
) -> None:
    one, two = events(fact, 2)
    wal.write_bytes(encode_json(one) + b"\n{garbage\n" + encode_json(two) + b"\n")
    assert list(EventLog(wal, journal).pending) == [one, two]
    assert b"garbage" in wal.with_suffix(".wal.bad").read_bytes()
    assert list(EventLog(wal, journal).pending) == [one, two]


def test_a_crash_between_commit_and_emptying_doubles_nothing(
    journal: Journal, wal: Path, fact: Make
) -> None:
    log = EventLog(wal, journal)
    happened = events(fact, 3)
    log.append(happened)
    held = wal.read_bytes()
    log.flush(AT)
    late = events(fact, 1)
    wal.write_bytes(held + encode_json(late[0]) + b"\n")
    again = EventLog(wal, journal)
    assert list(again.pending) == late
    again.flush(AT)
    assert committed(journal) == happened + late
    assert list(EventLog(wal, journal).pending) == []


def test_a_log_that_cannot_be_emptied_doubles_and_loses_nothing(
    journal: Journal, wal: Path, fact: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EventLog(wal, journal)
    batches = [events(fact, 2), events(fact, 3)]
    late = events(fact, 1)

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "truncate", refuse)
        patch.setattr("braincore.journal.events.write_whole", refuse)
        log.append(batches[0])
        assert log.flush(AT) is not None
        with pytest.raises(StoreError):
            log.append(batches[1])
        assert list(log.pending) == []
    held = wal.read_bytes()
    log.append(batches[1])
    log.flush(AT)
    both = held + b"".join(encode_json(e) + b"\n" for e in (*batches[1], *late))
    wal.write_bytes(both)
    again = EventLog(wal, journal)
    assert list(again.pending) == late
    again.flush(AT)
    assert committed(journal) == [*batches[0], *batches[1], *late]


@pytest.mark.parametrize("step", ["write", "fsync", "short"])
def test_an_append_that_fails_takes_none(
    journal: Journal, wal: Path, fact: Make, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    log = EventLog(wal, journal)
    one, two, three = events(fact, 3)
    log.append([one])

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    write = os.write
    with monkeypatch.context() as patch:
        if step == "short":
            patch.setattr(os, "write", lambda fd, data: write(fd, data[:9]))
        else:
            patch.setattr(os, step, full)
        with pytest.raises(StoreError, match="space"):
            log.append([two])
    assert list(log.pending) == [one]
    log.append([three])
    assert list(EventLog(wal, journal).pending) == [one, three]


def test_a_flush_that_fails_keeps_everything_pending(
    journal: Journal, wal: Path, fact: Make
) -> None:
    log = EventLog(wal, journal)
    happened = events(fact, 2)
    log.append(happened)
    lock = journal.path / "refs" / "heads" / "main.lock"
    lock.touch()
    with pytest.raises(StoreError):
        log.flush(AT)
    assert list(log.pending) == list(EventLog(wal, journal).pending) == happened
    lock.unlink()
    log.flush(AT)
    assert committed(journal) == happened


def test_a_log_that_is_a_folder_is_a_store_error(journal: Journal, wal: Path, fact: Make) -> None:
    wal.mkdir()
    with pytest.raises(StoreError):
        EventLog(wal, journal)
