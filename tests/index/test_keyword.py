"""The keyword index: what waits is found like what is on disk, whatever the language."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from braincore.errors import StoreError
from braincore.index.keyword import KeywordIndex
from braincore.model.axes import Channel, Kind
from braincore.model.records import Note, Record, new_id

AT = datetime(2026, 3, 1, tzinfo=UTC)
HEAD = "0a" * 20


def fact(text: str, number: int = 0, target: str = "") -> Record:
    at = AT + timedelta(seconds=number)
    return Record(
        id=new_id(Kind.FACT, at),
        kind=Kind.FACT,
        text=text,
        source_ref="user:maya",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=at,
        valid_from=at,
        body=Note(),
        target=target,
    )


@pytest.fixture
def index(tmp_path: Path) -> Iterator[KeywordIndex]:
    made = KeywordIndex(tmp_path / "keyword")
    yield made
    made.close()


WORDS = "redis queue retry timeout postgres cache token session worker migration".split()


def facts(count: int) -> list[Record]:
    pick = random.Random(7)
    return [fact(" ".join(pick.choices(WORDS, k=pick.randint(3, 12))), n) for n in range(count)]


def test_what_waits_is_found_in_the_order_of_what_is_on_disk(index: KeywordIndex) -> None:
    rows = facts(120)
    index.put(rows)
    questions = ["redis retry", "postgres migration worker", "token", "cache session queue timeout"]
    waiting = [index.search(q, 1000) for q in questions]
    assert index.waiting == len(index) == 120
    assert index.head is None
    index.commit(HEAD)
    assert index.waiting == 0
    assert len(index) == 120
    assert index.head == HEAD
    for question, before in zip(questions, waiting, strict=True):
        after = index.search(question, 1000)
        assert sorted(after) == sorted(before)
        swapped = [i for i, (a, b) in enumerate(zip(after, before, strict=True)) if a != b]
        text = {r.id: sorted(r.text.split()) for r in rows}
        for place in swapped:  # only what scores alike may change places
            one, two = (
                {w: text[i].count(w) for w in question.split()}
                for i in (after[place], before[place])
            )
            assert one == two
        assert len(index.search(question, 3)) == 3


def test_both_parts_are_searched_as_one(index: KeywordIndex) -> None:
    rows = facts(40)
    index.put(rows[::2])
    index.commit(HEAD)
    index.put(rows[1::2])
    best = fact("the zebra is striped", 99)
    index.put([best])
    for question in ("zebra", "redis zebra", "zebra striped token"):
        assert index.search(question, 5)[0] == best.id
    wanted = {r.id for r in rows if "redis" in r.text}
    assert set(index.search("redis", 100)) == wanted


@pytest.mark.parametrize("committed", [False, True])
def test_an_update_hides_what_it_replaces(index: KeywordIndex, committed: bool) -> None:
    old = fact("the queue is redis")
    index.put([old])
    if committed:
        index.commit(HEAD)
    index.put([replace(old, text="the queue is rabbit")])
    assert index.search("redis", 5) == []
    assert index.search("rabbit", 5) == [old.id]
    index.commit(HEAD)
    assert index.search("redis", 5) == []
    assert index.search("rabbit", 5) == [old.id]
    assert len(index) == 1


@pytest.mark.parametrize("committed", [False, True])
def test_what_was_dropped_is_not_found(index: KeywordIndex, committed: bool) -> None:
    one, two = fact("the queue is redis"), fact("the cache is redis", 1)
    index.put([one, two])
    if committed:
        index.commit(HEAD)
    index.drop([one.id])
    assert index.search("redis", 5) == [two.id]
    index.commit(HEAD)
    assert index.search("redis", 5) == [two.id]
    index.put([one])
    assert set(index.search("redis", 5)) == {one.id, two.id}
    index.drop([one.id, "fact-never-there"])
    index.commit(HEAD)
    assert index.search("redis", 5) == [two.id]


def test_changes_during_a_commit_are_kept(index: KeywordIndex) -> None:
    one, two, three = fact("redis one"), fact("redis two", 1), fact("redis three", 2)
    index.put([one, two])
    batch = index.take()
    index.put([replace(one, text="rabbit one"), three])
    index.drop([two.id])
    index.store(batch, HEAD)
    index.settle(batch)
    for _ in range(2):
        assert index.search("redis", 9) == [three.id]
        assert index.search("rabbit", 9) == [one.id]
        index.commit(HEAD)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("数据库使用连接池", "连接"),
        ("数据库使用连接池", "数据库"),
        ("キャッシュを使う", "キャッシュ"),
        ("세션은 레디스에 저장", "레디스"),
        ("getUserById caches the row", "user"),
        ("getUserById caches the row", "getUserById"),
        ("the HTTPServer restarts", "server"),
        ("the job_queue is full", "queue"),
        ("the job_queue is full", "job_queue"),
        ("сервер хранит сессии", "сессия"),
        ("мы используем миграции", "миграция"),
        ("tokens are rotated", "rotating token"),
        ("port 8443 is used", "8443"),
        ("version v2 of the API", "v2"),
        ("see src/auth/token.py", "token.py"),
        ("the naïve café approach", "café"),
    ],
)
def test_words_of_every_kind_are_found(
    index: KeywordIndex, text: str, question: str, committed: bool
) -> None:
    record = fact(text)
    index.put([record, fact("something else altogether", 1)])
    if committed:
        index.commit(HEAD)
    assert index.search(question, 5)[:1] == [record.id]


@pytest.mark.parametrize("question", ["", " ", "the of and", "?!", "\x00", "zzzunknown", "💥"])
def test_a_question_without_a_known_word_finds_nothing(index: KeywordIndex, question: str) -> None:
    index.put([fact("the queue is redis")])
    assert index.search(question, 5) == []
    index.commit(HEAD)
    assert index.search(question, 5) == []


def test_a_very_long_question_is_bounded(index: KeywordIndex) -> None:
    index.put([fact("the queue is redis")])
    index.commit(HEAD)
    words = " ".join(f"word{n}" for n in range(10_000))
    assert len(index.search(f"redis {words}", 5)) == 1


def test_reopened_it_finds_what_was_committed_and_nothing_else(tmp_path: Path) -> None:
    index = KeywordIndex(tmp_path / "keyword")
    kept, lost = fact("redis kept"), fact("redis lost", 1)
    index.put([kept])
    index.commit(HEAD)
    index.put([lost])
    index.close()
    again = KeywordIndex(tmp_path / "keyword")
    assert again.search("redis", 5) == [kept.id]
    assert again.head == HEAD
    again.close()


def test_a_thousand_records(index: KeywordIndex) -> None:
    rows = [fact(f"record number{n} says w{n % 10}", n) for n in range(1000)]
    index.put(rows)
    index.commit(HEAD)
    assert len(index) == 1000
    assert index.search("number777", 5)[0] == rows[777].id
    assert len(index.search("w3", 1000)) == 100
    index.drop(r.id for r in rows[:900])
    index.commit(HEAD)
    assert len(index.search("says", 1000)) == 100


def lose_everything(folder: Path) -> None:
    shutil.rmtree(folder)


def damage_meta(folder: Path) -> None:
    (folder / "meta.json").write_text("{garbage")


def damage_segment(folder: Path) -> None:
    for file in folder.iterdir():
        if file.suffix in (".idx", ".term", ".store"):
            file.write_bytes(os.urandom(64))


def flip_one_bit(folder: Path) -> None:
    for file in folder.glob("*.term"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)


def lose_segment(folder: Path) -> None:
    for file in folder.glob("*.idx"):
        file.unlink()


def other_schema(folder: Path) -> None:
    meta = folder / "meta.json"
    meta.write_text(meta.read_text().replace('"terms"', '"words"'))


@pytest.mark.parametrize(
    "damage",
    [lose_everything, damage_meta, damage_segment, flip_one_bit, lose_segment, other_schema],
)
def test_a_damaged_folder_is_thrown_away(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = tmp_path / "keyword"
    index = KeywordIndex(folder)
    index.put(facts(20))
    index.commit(HEAD)
    index.close()
    damage(folder)
    again = KeywordIndex(folder)
    assert again.head is None
    assert again.search("redis", 5) == []
    again.put(facts(20))
    again.commit(HEAD)
    assert again.search("redis", 5)
    again.close()


def test_anew_throws_away_what_is_there(tmp_path: Path) -> None:
    index = KeywordIndex(tmp_path / "keyword")
    index.put(facts(20))
    index.commit(HEAD)
    index.close()
    again = KeywordIndex(tmp_path / "keyword", anew=True)
    assert len(again) == 0
    assert again.head is None
    again.close()


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="can't be used"):
        KeywordIndex(tmp_path / "file" / "keyword")
