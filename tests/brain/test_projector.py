"""The thread behind the writers: what fails there is said, mended, and leaves nobody waiting."""

import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
import pytest

from braincore import locate
from braincore.brain import projector as projector_module
from braincore.brain.keeper import Keeper
from braincore.errors import StoreError
from braincore.graph.queries import digest
from braincore.journal.store import Change, Why
from braincore.model.axes import Channel, EventType, Kind
from braincore.model.records import Event, Note, Record, new_id

WHY = Why("remember", "maya", "person", "stated")
AT = datetime(2026, 3, 1, tzinfo=UTC)


def make(text: str, number: int = 0, kind: Kind = Kind.FACT) -> Record:
    at = AT + timedelta(seconds=number)
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


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    pygit2.init_repository(str(tmp_path))
    made = Keeper(locate.find(tmp_path), lambda: datetime.now(UTC))
    yield made
    made.close()


def put(keeper: Keeper, *records: Record) -> None:
    for record in records:
        keeper.commit([Change(None, record)], WHY)


def sound(keeper: Keeper, *records: Record) -> None:
    """Graph and keywords hold the records, and a rebuild changes nothing."""
    live = digest(keeper.graph)
    for _ in range(2):
        rows = keeper.graph.run("MATCH (f:Fact) RETURN f.id")
        assert {r.id for r in records} <= {row[0] for row in rows}
        assert len(rows) == len(keeper.table)
        for record in records:
            assert record.id in keeper.keyword.search(record.text, 1000)
        assert keeper.problem == ""
        keeper.rebuild()
        assert digest(keeper.graph) == live


def test_rebuilding_while_others_write(keeper: Keeper) -> None:
    stop = threading.Event()
    written: list[Record] = []
    failed: list[StoreError] = []

    def write() -> None:
        while not stop.wait(0.005):
            record = make(f"fact number{len(written)}", len(written))
            put(keeper, record)
            written.append(record)
            if len(written) % 7 == 0:
                keeper.note([make("happened", 1, Kind.EVENT)])

    def ask() -> None:
        try:
            while not stop.is_set():
                last = written[-1] if written else None
                rows = keeper.graph.run("MATCH (f:Fact) RETURN f.id")
                assert last is None or [last.id] in rows
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=t) for t in (write, ask)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        keeper.rebuild()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    sound(keeper, *written)


class Unforeseen(Exception):
    """What no step expects."""


FAULTS = [AssertionError(), StoreError("x", "y"), Unforeseen()]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("where", ["apply_records", "load_everything"])
def test_a_fault_in_the_projector_is_said_and_mended(
    keeper: Keeper,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    where: str,
) -> None:
    put(keeper, make("fact before", 1))
    digest(keeper.graph)
    real, left = getattr(projector_module, where), [1]

    def failing(*given: object) -> object:
        if left[0]:
            left[0] -= 1
            raise fault
        return real(*given)

    with caplog.at_level(logging.ERROR, "braincore"):
        monkeypatch.setattr(projector_module, where, failing)
        if where == "load_everything":
            monkeypatch.setattr(projector_module, "RETRY_SECONDS", 0.05)
            if not isinstance(fault, Unforeseen):
                with pytest.raises(StoreError):
                    keeper.rebuild()
            else:
                keeper.rebuild()
        record = make("fact after", 2)
        put(keeper, record)
        for _ in range(100):
            if not keeper.problem:
                break
            time.sleep(0.05)
        assert keeper.graph.run("MATCH (f:Fact {id: $id}) RETURN f.id", {"id": record.id})
    assert caplog.records
    sound(keeper, record)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_projector_that_keeps_dying_leaves_nobody_waiting(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest(keeper.graph)

    def dying(*given: object) -> None:
        raise Unforeseen

    with monkeypatch.context() as patch:
        patch.setattr(projector_module, "apply_records", dying)
        patch.setattr(projector_module, "load_everything", dying)
        record = make("fact after", 1)
        put(keeper, record)
        with pytest.raises(StoreError):
            digest(keeper.graph)
        assert "projector" in keeper.problem
    assert record.id in keeper.keyword.search("after", 1)
    keeper.rebuild()
    assert keeper.problem == ""
    sound(keeper, record)


def test_a_keyword_index_that_fails_is_built_anew(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = keeper.keyword
    failed = threading.Event()

    def failing(*given: object) -> None:
        failed.set()
        raise StoreError("index", "the writer was killed")

    monkeypatch.setattr(projector_module, "KEYWORD_SECONDS", 0.0)
    monkeypatch.setattr(old, "store", failing)
    record = make("fact after", 1)
    put(keeper, record)
    assert failed.wait(10)
    assert digest(keeper.graph)
    for _ in range(100):
        if keeper.keyword is not old and not keeper.problem:
            break
        time.sleep(0.02)
    assert keeper.keyword is not old
    sound(keeper, record)
