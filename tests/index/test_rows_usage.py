"""The two small stores that may be lost without harm: row cache and counters."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from braincore.errors import StoreError
from braincore.index.rows import RowCache, Rows
from braincore.index.usage import UsageStore
from braincore.journal.packed import FORMAT, pack, unpack
from braincore.model.axes import Channel, Kind
from braincore.model.records import Note, Record, new_id
from braincore.model.table import keys_of

AT = datetime(2026, 3, 1, tzinfo=UTC)


def fact(text: str) -> Record:
    return Record(
        id=new_id(Kind.FACT, AT),
        kind=Kind.FACT,
        text=text,
        source_ref="user:maya",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=AT,
        valid_from=AT,
        body=Note(),
    )


TEXTS = ["one", "tab\there", "line\nend", "日本"]
ROWS = {f"{n:040x}": (r, keys_of(r)) for n, r in enumerate(map(fact, TEXTS))}
COMMIT = "c" * 40
HELD = Rows(COMMIT, ROWS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "index" / "rows.jsonl"


def save(file: Path) -> RowCache:
    cache = RowCache(file, FORMAT)
    cache.save(COMMIT, ((blob, pack(*row)) for blob, row in ROWS.items()))
    return cache


def test_rows_come_back(file: Path) -> None:
    assert RowCache(file, FORMAT).load(unpack) == Rows()
    assert save(file).load(unpack) == HELD
    assert file.stat().st_mode & 0o777 == 0o600
    cache = RowCache(file, FORMAT)
    cache.save(COMMIT, [])
    assert cache.load(unpack) == Rows(COMMIT)


def test_a_file_that_was_altered_anywhere_is_passed_over(file: Path) -> None:
    cache = save(file)
    data = file.read_bytes()
    places = range(0, len(data), 13)
    for at in places:
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert cache.load(unpack) == Rows(), at
    for cut in (0, 1, 64, 65, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:cut])
        assert cache.load(unpack) == Rows(), cut
    file.write_bytes(data + b"more")
    assert cache.load(unpack) == Rows()
    file.write_bytes(data)
    assert cache.load(unpack) == HELD


def test_rows_of_another_version_are_passed_over(file: Path) -> None:
    RowCache(file, "other").save(COMMIT, [("ff" * 20, b"[]")])
    assert RowCache(file, FORMAT).load(unpack) == Rows()


def test_a_cache_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = RowCache(tmp_path / "file" / "rows.jsonl", FORMAT)
    assert cache.load(unpack) == Rows()
    with pytest.raises(StoreError):
        cache.save(COMMIT, [])


def test_counts_survive(tmp_path: Path) -> None:
    usage = UsageStore(tmp_path / "usage.db")
    assert usage.of("a") == (0, None)
    assert not usage.waiting
    usage.count(["a", "b"], AT, abstained=False)
    usage.count(["a"], AT.replace(year=2027), abstained=False)
    usage.count([], AT, abstained=True)
    assert usage.waiting
    usage.flush()
    assert not usage.waiting
    usage.count(["b"], AT, abstained=False)
    usage.close()
    again = UsageStore(tmp_path / "usage.db")
    assert again.of("a") == (2, AT.replace(year=2027))
    assert again.of("b") == (2, AT)
    assert (again.recalls, again.abstains) == (4, 1)
    again.close()
    assert (tmp_path / "usage.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["garbage", "middle", "half"])
def test_a_damaged_file_is_set_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "usage.db"
    usage = UsageStore(path)
    usage.count([f"fact-{n}" for n in range(500)], AT, abstained=False)
    usage.close()
    data = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(b"this is not a database" * 99)
    elif damage == "half":
        path.write_bytes(data[: len(data) // 2 + 100])
    else:
        path.write_bytes(data[:4096] + b"\xff" * 12000 + data[16096:])
    again = UsageStore(path)
    assert again.of("fact-1") == (0, None)
    again.count(["fact-1"], AT, abstained=False)
    again.close()
    assert path.with_name("usage.db.bad").exists()
    third = UsageStore(path)
    assert third.of("fact-1")[0] == 1
    third.close()


def test_a_store_that_cannot_be_opened_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "usage.db").mkdir()
    with pytest.raises(StoreError, match="can't be used"):
        UsageStore(tmp_path / "usage.db")


def test_what_cannot_be_written_is_kept_for_the_next_time(tmp_path: Path) -> None:
    usage = UsageStore(tmp_path / "usage.db")
    other = UsageStore(tmp_path / "usage.db")
    other._db.execute("BEGIN IMMEDIATE")
    usage._db.execute("PRAGMA busy_timeout = 10")
    usage.count(["a"], AT, abstained=False)
    with pytest.raises(StoreError, match="locked"):
        usage.flush()
    assert usage.waiting
    other._db.rollback()
    other.close()
    usage.close()
    again = UsageStore(tmp_path / "usage.db")
    assert again.of("a") == (1, AT)
    again.close()
