"""The keeper: whatever dies, vanishes or is damaged, what was acknowledged is there, everywhere."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pygit2
import pytest

from braincore import locate
from braincore.brain import projector as projector_module
from braincore.brain.keeper import Keeper
from braincore.errors import StoreError
from braincore.graph.projection import COMMIT
from braincore.graph.queries import digest
from braincore.graph.store import GraphStore
from braincore.index.keyword import KeywordIndex
from braincore.journal.codec import encode, path_of
from braincore.journal.events import BATCH, EventLog
from braincore.journal.store import Change, Journal, Why
from braincore.model.axes import Channel, EdgeType, EventType, Kind
from braincore.model.records import Edge, Event, Note, Record, new_id

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
        edges=() if kind is Kind.EVENT else (Edge(EdgeType.ABOUT, f"topic{number % 3}"),),
    )


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    pygit2.init_repository(str(root))
    return root


@pytest.fixture
def opened(repo: Path) -> Iterator[Callable[[], Keeper]]:
    """Opens the keeper of the repository; the one before must be closed."""
    made: list[Keeper] = []

    def open_one() -> Keeper:
        place = locate.find(repo)
        keeper = Keeper(place, lambda: datetime.now(UTC))
        made.append(keeper)
        keeper.attach(place)
        return keeper

    yield open_one
    for keeper in made:
        keeper.close()


@pytest.fixture
def keeper(opened: Callable[[], Keeper]) -> Keeper:
    return opened()


def put(keeper: Keeper, *records: Record) -> None:
    for record in records:
        keeper.commit([Change(keeper.table.get(record.id), record)], WHY)


def drop(keeper: Keeper, record: Record) -> None:
    keeper.commit([Change(record, None)], WHY)


def settle(keeper: Keeper) -> None:
    """What was committed is in memory/ and graph now."""
    assert keeper.graph


def sound(keeper: Keeper, *records: Record) -> str:
    """Journal, table, memory/, keywords and graph say the same; returns the digest."""
    live = digest(keeper.graph)
    head = keeper.journal.head
    assert head is not None
    written = {e.record.id: e.record for e in keeper.journal.read(head)}
    assert written == {r.id: r for r in keeper.table}
    for record in records:
        assert written[record.id] == record
    memory = keeper.place.memory
    files = {p.relative_to(memory).as_posix(): p.read_bytes() for p in memory.rglob("*.md")}
    assert files == {path_of(r.id): encode(r) for r in written.values()}
    assert not list(memory.rglob(".new-*"))
    for record in written.values():
        assert record.id in keeper.keyword.search(record.text, 1000), record.text
    assert len(keeper.keyword.search("fact", 10_000)) <= len(written)
    assert keeper.problem == ""
    keeper.rebuild()
    assert digest(keeper.graph) == live
    for record in written.values():
        assert record.id in keeper.keyword.search(record.text, 1000)
    return live


def test_what_was_committed_is_everywhere_at_once(keeper: Keeper) -> None:
    one, two = make("fact one is red", 1), make("fact two is blue", 2)
    put(keeper, one, two)
    assert keeper.keyword.search("blue", 5) == [two.id]
    put(keeper, replace(two, text="fact two is green"))
    drop(keeper, one)
    assert keeper.keyword.search("blue red", 5) == []
    sound(keeper, replace(two, text="fact two is green"))
    assert keeper.lag == 0


def test_closed_and_opened_again_it_is_the_same(opened: Callable[[], Keeper]) -> None:
    keeper = opened()
    rows = [make(f"fact number{n}", n) for n in range(30)]
    put(keeper, *rows)
    keeper.note([make("happened", 1, Kind.EVENT)])
    keeper.usage.count([rows[0].id], AT, abstained=False)
    keeper.close()
    keeper.close()
    again = opened()
    assert not again.events.pending
    assert [e.text for e in again.journal.events(again.journal.head or "")] == ["happened"]
    assert again.usage.of(rows[0].id)[0] == 1
    assert again._unsaved == 0
    live = sound(again, *rows)
    again.close()
    assert sound(opened(), *rows) == live


@pytest.mark.parametrize("lost", ["graph", "index", "graph index", "usage.db", "memory", "events"])
def test_what_is_derived_can_be_deleted(opened: Callable[[], Keeper], lost: str) -> None:
    keeper = opened()
    rows = [make(f"fact number{n}", n) for n in range(10)]
    put(keeper, *rows)
    keeper.note([make("happened", 1, Kind.EVENT)])
    keeper.close()
    store = keeper.place.store
    for name in lost.split():
        if name == "memory":
            shutil.rmtree(keeper.place.brain)
        elif name == "events":
            (store / "events.wal").unlink()
        elif name == "usage.db":
            for file in store.glob("usage.db*"):
                file.unlink()
        else:
            shutil.rmtree(store / name)
    again = opened()
    sound(again, *rows)
    assert len(again.graph.run("MATCH (e:Event) RETURN e.id")) == 1


def garbage_graph(store: Path) -> None:
    (store / "graph" / "graph.kuzu").write_bytes(os.urandom(9000))


def stray_log(store: Path) -> None:
    (store / "graph" / "graph.kuzu").unlink()
    (store / "graph" / "graph.kuzu.wal").write_bytes(b"x" * 99)


def strange_graph(store: Path) -> None:
    graph = GraphStore(store / "graph" / "graph.kuzu")
    graph.set_meta(COMMIT, "f" * 40)
    graph.run("CREATE (:Entity {name: 'a stranger'})")
    graph.close()


def unfinished_graph(store: Path) -> None:
    graph = GraphStore(store / "graph" / "graph.kuzu")
    graph.run("MATCH (m:Meta {key: $key}) DELETE m", {"key": COMMIT})
    graph.run("MATCH (f:Fact) DETACH DELETE f")
    graph.close()


def strange_keywords(store: Path) -> None:
    index = KeywordIndex(store / "index" / "keyword")
    index.put([make("fact of a stranger")])
    index.commit("e" * 40)
    index.close()


def garbage_keywords(store: Path) -> None:
    (store / "index" / "keyword" / "meta.json").write_text("{")


def garbage_rows(store: Path) -> None:
    rows = store / "index" / "rows.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b"fact number1", b"fake number1"))


def garbage_usage(store: Path) -> None:
    (store / "usage.db").write_bytes(b"not a database" * 50)


@pytest.mark.parametrize(
    "damage",
    [
        *(garbage_graph, stray_log, strange_graph, unfinished_graph),
        *(strange_keywords, garbage_keywords, garbage_rows, garbage_usage),
    ],
)
def test_what_is_damaged_is_built_anew(
    opened: Callable[[], Keeper], damage: Callable[[Path], None]
) -> None:
    keeper = opened()
    rows = [make(f"fact number{n}", n) for n in range(5)]
    put(keeper, *rows)
    keeper.close()
    damage(keeper.place.store)
    again = opened()
    sound(again, *rows)
    assert again.graph.run("MATCH (e:Entity {name: 'a stranger'}) RETURN e.name") == []
    assert again.keyword.search("stranger", 5) == []


def test_projections_left_behind_catch_up(
    opened: Callable[[], Keeper], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = opened()
    rows = [make(f"fact number{n}", n) for n in range(6)]
    put(keeper, *rows[:3])
    keeper.close()
    journal = Journal(keeper.place.store / "journal.git")
    edited = replace(rows[0], text="fact edited", edges=())
    changes = [Change(None, r) for r in rows[3:]] + [Change(rows[0], edited), Change(rows[1], None)]
    journal.commit(changes, WHY, AT)
    log = EventLog(keeper.place.store / "events.wal", journal)
    log.append([make("happened", 1, Kind.EVENT)])
    log.flush(AT)
    journal.close()
    filled: list[str] = []
    monkeypatch.setattr(
        projector_module, "load_everything", lambda *given: filled.append("from the start")
    )
    again = opened()
    assert digest(again.graph)
    assert again.keyword.search("number1", 5) == []
    assert not filled
    monkeypatch.undo()
    assert len(again.graph.run("MATCH (e:Event) RETURN e.id")) == 1
    sound(again, edited, *rows[2:])


def test_a_brain_of_an_earlier_time(keeper: Keeper) -> None:
    times = []
    one, two = make("fact one", 1), make("fact two", 2)
    for change in (Change(None, one), Change(None, two), Change(one, replace(one, text="later"))):
        keeper.commit([change], WHY)
        times.append(next(keeper.journal.log()).at)
    drop(keeper, two)
    assert keeper.table_at(datetime(2020, 1, 1, tzinfo=UTC)) is None
    for at, wanted in zip(
        times, ([one], [one, two], [replace(one, text="later"), two]), strict=True
    ):
        table = keeper.table_at(at)
        assert table is not None
        assert sorted(table, key=lambda r: r.created_at) == wanted
    now = keeper.table_at(datetime(2999, 1, 1, tzinfo=UTC))
    assert now is not None
    assert list(now) == list(keeper.table)


def test_many_threads_write_at_once(keeper: Keeper) -> None:
    failed: list[Exception] = []

    def work(number: int) -> None:
        try:
            for n in range(3):
                record = make(f"fact thread{number} times{n}", number)
                put(keeper, record)
                assert keeper.keyword.search(f"thread{number} times{n}", 1)[0] == record.id
            keeper.note([make(f"event {number}", number, Kind.EVENT)])
            if number % 20 == 0:
                assert keeper.graph.run("MATCH (f:Fact {id: $id}) RETURN f.id", {"id": record.id})
        except (StoreError, AssertionError) as error:
            failed.append(error)
            raise

    # Searching needs the lock, as the verbs do.
    search = keeper.keyword.search

    def guarded(text: str, limit: int) -> list[str]:
        with keeper.lock:
            return search(text, limit)

    keeper.keyword.search = guarded  # type: ignore[method-assign]
    threads = [threading.Thread(target=work, args=(n,)) for n in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(keeper.table) == 180
    assert len({e.at for e in keeper.journal.log()}) >= 181
    sound(keeper)


def test_a_journal_that_refuses_changes_nothing(keeper: Keeper) -> None:
    one = make("fact one", 1)
    put(keeper, one)
    lock = keeper.place.store / "journal.git" / "refs" / "heads" / "main.lock"
    lock.touch()
    with pytest.raises(StoreError):
        put(keeper, make("fact two", 2))
    with pytest.raises(StoreError):
        put(keeper, replace(one, text="fact changed"))
    keeper.note([make("happened", n, Kind.EVENT) for n in range(BATCH)])
    assert len(keeper.events.pending) == BATCH
    lock.unlink()
    sound(keeper, one)
    assert len(keeper.table) == 1


def test_memory_that_cannot_follow_is_said_and_follows_later(keeper: Keeper) -> None:
    one, two = make("fact one", 1), make("fact two", 2)
    mark = next(keeper.worktrees.values().__iter__())._mark
    mark.unlink()
    mark.mkdir()
    put(keeper, one)
    settle(keeper)
    assert "memory/" in keeper.problem
    assert keeper.keyword.search("one", 1) == [one.id]
    mark.rmdir()
    put(keeper, two)
    sound(keeper, one, two)


def test_a_hand_edit_is_left_and_said_until_it_is_gone(keeper: Keeper) -> None:
    one, two = make("fact one", 1), make("fact two", 2)
    put(keeper, one, two)
    settle(keeper)
    file = keeper.place.memory / path_of(one.id)
    file.write_text("mine")
    assert keeper.look_for_hand_edits() == keeper.hand_edited == [path_of(one.id)]
    put(keeper, replace(one, text="fact changed"), replace(two, text="fact changed too"))
    settle(keeper)
    assert file.read_text() == "mine"
    assert keeper.hand_edited == [path_of(one.id)]
    file.unlink()
    keeper.place.memory.joinpath("facts", "note.md").write_text("a note")
    assert keeper.look_for_hand_edits() == sorted([path_of(one.id), "facts/note.md"])
    keeper.place.memory.joinpath("facts", "note.md").unlink()
    file.write_bytes(encode(replace(one, text="fact changed")))
    assert keeper.look_for_hand_edits() == []
    sound(keeper)


def test_a_cleaned_repository_is_restored_by_the_next_write(keeper: Keeper) -> None:
    one, two = make("fact one", 1), make("fact two", 2)
    put(keeper, one)
    settle(keeper)
    shutil.rmtree(keeper.place.brain)
    put(keeper, two)
    sound(keeper, one, two)
    shutil.rmtree(keeper.place.brain)
    keeper.attach(keeper.place)
    sound(keeper, one, two)


def test_events_are_committed_by_time_and_by_number(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest(keeper.graph)
    keeper.note([make(f"event {n}", n, Kind.EVENT) for n in range(BATCH)])
    assert not keeper.events.pending
    assert len(keeper.graph.run("MATCH (e:Event) RETURN e.id")) == BATCH
    monkeypatch.setattr(projector_module, "CHORE_SECONDS", 0.0)
    keeper.note([make("one more", 1, Kind.EVENT)])
    for _ in range(200):
        if not keeper.events.pending:
            break
        time.sleep(0.02)
    assert len(keeper.graph.run("MATCH (e:Event) RETURN e.id")) == BATCH + 1
    sound(keeper)


def test_a_store_that_cannot_be_made_is_a_store_error(repo: Path) -> None:
    (repo / ".git" / "braincore").write_text("in the way")
    with pytest.raises(StoreError, match="can't be used"):
        Keeper(locate.find(repo), lambda: datetime.now(UTC))


def test_unchanged_rows_are_not_parsed_again(
    opened: Callable[[], Keeper], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = opened()
    put(keeper, *[make(f"fact number{n}", n) for n in range(5)])
    keeper.close()

    def refuse(*given: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr("braincore.journal.store.decode", refuse)
    monkeypatch.setattr("braincore.brain.keeper.decode", refuse)
    monkeypatch.setattr("braincore.model.table.keys_of", refuse)
    assert len(opened().table) == 5


@pytest.mark.parametrize("cache", ["behind", "of another history"])
def test_rows_that_are_behind_are_brought_along(opened: Callable[[], Keeper], cache: str) -> None:
    keeper = opened()
    rows = [make(f"fact number{n}", n) for n in range(6)]
    put(keeper, *rows[:4])
    keeper.close()
    file = keeper.place.store / "index" / "rows.jsonl"
    behind = file.read_bytes()
    if cache == "of another history":
        body = behind.partition(b"\n")[2]
        form, rest = body[:17], body[57:]
        body = form + b"f" * 40 + rest
        behind = sha256(body).hexdigest().encode() + b"\n" + body
    keeper = opened()
    changed = replace(rows[0], text="fact changed", target="elsewhere")
    put(keeper, changed, *rows[4:])
    drop(keeper, rows[1])
    keeper.note([make("happened", 1, Kind.EVENT)])
    keeper.close()
    file.write_bytes(behind)
    again = opened()
    assert [r.id for r in again.table.about("elsewhere")] == [rows[0].id]
    assert again._unsaved == (5 if cache == "behind" else 3)
    sound(again, changed, *rows[2:])


def test_a_problem_is_said_once(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(keeper)

    def fail(*given: object) -> None:
        raise StoreError("graph.kuzu", "No space left on device")

    monkeypatch.setattr(projector_module, "apply_records", fail)
    monkeypatch.setattr(projector_module, "load_everything", fail)
    put(keeper, make("fact one", 1))
    with pytest.raises(StoreError) as error:
        assert keeper.graph
    assert str(error.value).count("Check permissions") == 1
    assert "graph.kuzu: No space left on device" in str(error.value)
    monkeypatch.undo()
    keeper.rebuild()
