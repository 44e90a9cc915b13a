"""The internal git: one commit a change; nothing half done, whatever the disk says."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
import pytest

from braincore.errors import StoreError
from braincore.journal.codec import encode, encode_json, path_of
from braincore.journal.store import Change, Journal, Why
from braincore.model.axes import Kind
from braincore.model.records import Record

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHY = Why("remember", "maya", "person", "stated")
Make = Callable[..., Record]
Put = Callable[[Record], str]


def records(journal: Journal, commit: str | None = None) -> dict[str, Record]:
    at = commit or journal.head
    assert at is not None
    return {e.record.id: e.record for e in journal.read(at)}


def test_a_change_is_one_commit_that_says_who_how_why_and_which(
    journal: Journal, fact: Make
) -> None:
    one, two = fact("Postgres is used"), fact("Redis is used")
    before = journal.head
    made = journal.commit([Change(None, one), Change(None, two)], WHY, AT)
    assert journal.head == made
    assert journal.parent(made) == before
    entry = next(journal.log())
    assert (entry.commit, entry.verb, entry.who) == (made, "remember", "maya")
    assert (entry.channel, entry.why, entry.subject) == ("person", "stated", "Postgres is used")
    assert entry.records == (one.id, two.id)
    assert [e.commit for e in journal.log()] == [made, before]
    assert [e.commit for e in journal.log(1)] == [made]
    assert records(journal) == {one.id: one, two.id: two}


def test_the_tree_is_three_levels_deep_and_empties_again(
    journal: Journal, fact: Make, put: Put
) -> None:
    record = fact()
    made = put(record)
    assert [p for p, _ in journal.blobs(made)] == [path_of(record.id)]
    assert journal.file_at(made, path_of(record.id)) == encode(record)
    assert journal.file_at(made, "facts/none.md") is None
    gone = journal.commit([Change(record, None)], WHY, AT)
    assert list(journal.blobs(gone)) == []
    repo = pygit2.Repository(str(journal.path))
    assert len(repo[gone].peel(pygit2.Tree)) == 0


@pytest.mark.parametrize(
    "text",
    ["nul\x00byte", "two\nlines\n\nWho: nobody", "\r\n", "x" * 5000, "\u2028", "Why: a: b", " "],
)
def test_no_text_can_break_the_log(journal: Journal, fact: Make, text: str) -> None:
    record = fact(text)
    made = journal.commit([Change(None, record)], Why("remember", text, "agent", text), AT)
    entry = next(journal.log())
    assert (entry.commit, entry.channel) == (made, "agent")
    assert entry.records == (record.id,)
    assert entry.at == AT + timedelta(microseconds=1)
    assert records(journal)[record.id].text == text


def test_as_of_is_the_newest_commit_not_later(journal: Journal, fact: Make, put: Put) -> None:
    first, *_ = journal.log()
    one, two = fact(), fact()
    made = [put(one), put(two)]
    assert journal.as_of(AT - timedelta(seconds=1)) is None
    assert journal.as_of(AT) == first.commit
    assert journal.as_of(one.created_at) == made[0]
    assert journal.as_of(two.created_at - timedelta(microseconds=1)) == made[0]
    assert journal.as_of(two.created_at) == made[1]
    assert journal.as_of(datetime(2999, 1, 1, tzinfo=UTC)) == made[1]
    assert set(records(journal, made[0])) == {one.id}


def test_journal_time_goes_on_when_the_clock_was_set_back(
    journal: Journal, fact: Make, put: Put
) -> None:
    put(fact())
    late = journal.commit([Change(None, fact())], WHY, datetime(2001, 1, 1, tzinfo=UTC))
    times = [e.at for e in journal.log()]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times)
    assert journal.as_of(datetime(2999, 1, 1, tzinfo=UTC)) == late
    assert journal.as_of(datetime(2001, 1, 2, tzinfo=UTC)) is None


@pytest.mark.parametrize("year", [1960, 2500])
def test_times_that_git_cannot_hold_are_kept_in_the_trailer(
    tmp_path: Path, fact: Make, year: int
) -> None:
    at = datetime(year, 1, 1, tzinfo=UTC)
    journal = Journal(tmp_path / "j.git", began=at)
    made = journal.commit([Change(None, fact())], WHY, at)
    assert next(journal.log()).at == at + timedelta(microseconds=1)
    assert journal.as_of(at + timedelta(days=1)) == made


def test_changed_names_new_changed_and_removed_files(
    journal: Journal, fact: Make, put: Put
) -> None:
    one, two, three = fact("one"), fact("two"), fact("three")
    put(one)
    old = put(two)
    edited = replace(one, text="one, edited")
    changes = [Change(one, edited), Change(two, None), Change(None, three)]
    new = journal.commit(changes, WHY, AT)
    blob = Journal.blob_of
    assert sorted(journal.changed(old, new)) == sorted(
        [
            (path_of(one.id), blob(encode(one)), blob(encode(edited))),
            (path_of(two.id), blob(encode(two)), None),
            (path_of(three.id), None, blob(encode(three))),
        ]
    )
    assert journal.blob(blob(encode(edited))) == encode(edited)
    assert journal.changed(new, new) == []


def test_has_knows_ancestors_only(journal: Journal, fact: Make, put: Put, tmp_path: Path) -> None:
    made = put(fact())
    first = journal.parent(made)
    assert first is not None
    assert journal.has(made)
    assert journal.has(first)
    other = Journal(tmp_path / "other.git", began=datetime(2020, 1, 1, tzinfo=UTC))
    stranger = other.head
    assert stranger is not None
    blob = next(journal.blobs(made))[1]
    for unknown in (stranger, blob, "0" * 40, "", "x", "HEAD", "main", made[:10], "\udcff"):
        assert not journal.has(unknown), unknown


def test_reopened_it_goes_on(journal: Journal, fact: Make, put: Put, tmp_path: Path) -> None:
    one = fact()
    made = put(one)
    journal.close()
    again = Journal(tmp_path / "journal.git")
    assert again.head == made
    assert records(again) == {one.id: one}


def test_a_half_made_repository_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "journal.git.new" / "objects").mkdir(parents=True)
    assert Journal(tmp_path / "journal.git").head is not None


def test_known_blobs_are_not_parsed_again(journal: Journal, fact: Make, put: Put) -> None:
    record = fact()
    made = put(record)
    blob = Journal.blob_of(encode(record))
    told = replace(record, text="from the cache")
    assert [e.record for e in journal.read(made, {blob: told})] == [told]


def test_events_come_in_order_of_time(journal: Journal, fact: Make) -> None:
    events = [fact(str(n), Kind.EVENT) for n in range(4)]
    for path, part in (("events/2026/03/02/b", events[2:]), ("events/2026/03/01/a", events[:2])):
        data = b"".join(encode_json(e) + b"\n" for e in part)
        journal.write({f"{path}.jsonl": data}, "events\n\n", AT)
    head = journal.head
    assert head is not None
    assert list(journal.events(head)) == events
    assert list(journal.blobs(head)) == []


def unchanged(journal: Journal, head: str | None, known: dict[str, Record]) -> None:
    again = Journal(journal.path)
    assert again.head == head
    assert records(again) == known


def test_a_disk_error_is_a_store_error_and_changes_nothing(
    journal: Journal, fact: Make, put: Put
) -> None:
    one = fact()
    head = put(one)
    lock = journal.path / "refs" / "heads" / "main.lock"
    lock.write_bytes(b"")
    with pytest.raises(StoreError, match=r"journal\.git"):
        put(fact())
    unchanged(journal, head, {one.id: one})
    lock.unlink()
    put(fact())
    assert len(records(journal)) == 2


def test_a_store_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="can't be used"):
        Journal(tmp_path / "file" / "journal.git")
    (tmp_path / "journal.git").mkdir()
    (tmp_path / "journal.git" / "HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(StoreError, match="can't be used"):
        Journal(tmp_path / "journal.git")


@pytest.mark.parametrize("damage", ["", "garbage", "0" * 40])
def test_a_damaged_ref_is_an_error_and_not_a_new_beginning(
    journal: Journal, fact: Make, put: Put, damage: str
) -> None:
    put(fact())
    ref = journal.path / "refs" / "heads" / "main"
    ref.write_text(damage)
    with pytest.raises(StoreError):
        records(Journal(journal.path))
    assert ref.read_text() == damage


def test_a_missing_object_is_a_store_error(journal: Journal, fact: Make, put: Put) -> None:
    made = put(fact())
    blob = next(journal.blobs(made))[1]
    (journal.path / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(StoreError):
        records(Journal(journal.path))


def test_a_full_disk_is_a_store_error_and_changes_nothing(
    journal: Journal, fact: Make, put: Put
) -> None:
    one = fact()
    head = put(one)
    program = """
import resource, signal, sys
from datetime import datetime, UTC
from pathlib import Path
from dataclasses import replace
from braincore.errors import StoreError
from braincore.journal.store import Change, Journal, Why
journal = Journal(Path(sys.argv[1]))
old = next(journal.read(journal.head)).record
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
import random
text = "".join(chr(random.randrange(33, 0x2000)) for _ in range(60000))
try:
    new = replace(old, text=text)
    journal.commit([Change(old, new)], Why("a", "b", "c", "d"), datetime.now(UTC))
except StoreError as error:
    print(error)
    sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", program, journal.path], capture_output=True)
    assert done.returncode == 7, done.stderr
    assert b"nothing acknowledged was lost" in done.stdout
    unchanged(journal, head, {one.id: one})
