"""memory/: in step with the journal, and no hand edit ever trampled."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from braincore.errors import StoreError
from braincore.journal.codec import encode, path_of
from braincore.journal.store import Change, Journal, Why, files_of
from braincore.journal.worktree import Put, WorkTree, together
from braincore.model.records import Record

AT = datetime(2026, 3, 1, 13, tzinfo=UTC)
WHY = Why("remember", "maya", "person", "stated")
Make = Callable[..., Record]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / ".braincore" / "memory"


@pytest.fixture
def tree(memory: Path, journal: Journal) -> WorkTree:
    made = WorkTree(memory, journal)
    made.attach()
    return made


def change(
    journal: Journal, tree: WorkTree | None, *changes: tuple[Record | None, Record | None]
) -> None:
    parent = journal.head
    assert parent is not None
    made = [Change(old, new) for old, new in changes]
    commit = journal.commit(made, WHY, AT)
    if tree is not None:
        tree.follow(Put(parent, commit, journal.changed(parent, commit), files_of(made)))


def in_step(memory: Path, *records: Record) -> None:
    found = {p.relative_to(memory).as_posix(): p.read_bytes() for p in memory.rglob("*.md")}
    assert found == {path_of(r.id): encode(r) for r in records}
    assert not list(memory.rglob(".new-*"))


def git(folder: Path, *arguments: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def edits(tree: WorkTree) -> list[str]:
    return [e.path for e in tree.hand_edits(tree.suspects())]


def test_files_follow_every_change(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two = fact("one"), fact("two")
    change(journal, tree, (None, one), (None, two))
    in_step(memory, one, two)
    new = replace(one, text="one, edited")
    change(journal, tree, (one, new))
    in_step(memory, new, two)
    change(journal, tree, (two, None))
    in_step(memory, new)
    assert tree.edited == set()
    assert edits(tree) == []
    assert (memory / path_of(one.id)).stat().st_mode & 0o777 == 0o600


def test_plain_git_shows_the_log(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    change(journal, tree, (None, fact("Postgres is used")))
    assert "remember: Postgres is used" in git(memory, "log", "--oneline")


def test_what_was_missed_is_made_up_for(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two, three = fact(), fact(), fact()
    change(journal, None, (None, one))
    change(journal, tree, (None, two))
    in_step(memory, one, two)
    change(journal, None, (None, three), (one, None))
    (memory / "facts" / ".new-left-by-a-crash").write_text("half")
    WorkTree(memory, journal).attach()
    in_step(memory, two, three)


def test_a_hand_edited_file_is_left_and_reported(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two = fact("one"), fact("two")
    change(journal, tree, (None, one), (None, two))
    file, other = memory / path_of(one.id), memory / path_of(two.id)
    file.write_text("mine")
    other.write_text("mine too")
    assert edits(tree) == sorted([path_of(one.id), path_of(two.id)])
    new = replace(one, text="changed by somebody else")
    change(journal, tree, (one, new), (two, None))
    assert file.read_text() == "mine"
    assert other.read_text() == "mine too"
    assert tree.edited == {path_of(one.id), path_of(two.id)}
    third = WorkTree(memory, journal)
    third.attach()
    assert edits(third) == sorted(tree.edited)
    file.write_bytes(encode(new))
    other.unlink()
    assert edits(tree) == []


def test_new_and_deleted_files_are_hand_edits_too(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two = fact(), fact()
    change(journal, tree, (None, one), (None, two))
    (memory / path_of(one.id)).unlink()
    (memory / "facts" / "note.md").write_text("hello")
    found = {e.path: e.data for e in tree.hand_edits(tree.suspects())}
    assert found == {path_of(one.id): None, "facts/note.md": b"hello"}


def test_an_edit_of_the_same_size_and_second_is_seen(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one = fact("aaaa")
    change(journal, tree, (None, one))
    assert edits(tree) == []
    file = memory / path_of(one.id)
    file.write_bytes(file.read_bytes().replace(b"aaaa", b"bbbb"))
    assert edits(tree) == [path_of(one.id)]


def test_a_folder_where_a_file_should_be_blocks_nothing_else(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two = fact(), fact()
    (memory / path_of(one.id)).mkdir(parents=True)
    change(journal, tree, (None, one), (None, two))
    assert (memory / path_of(two.id)).read_bytes() == encode(two)
    assert tree.edited == {path_of(one.id)}
    (memory / path_of(one.id)).rmdir()
    blocked = (memory / path_of(one.id)).parent
    blocked.rmdir()
    blocked.write_text("a file where a folder should be")
    new = replace(one, text="again")
    change(journal, tree, (one, new))
    assert tree.edited == {path_of(one.id)}


def test_a_file_put_but_not_noted_before_the_journal_went_on_is_no_hand_edit(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two = fact("one"), fact("two")
    change(journal, tree, (None, one), (None, two))
    file = memory / path_of(one.id)
    second, third = replace(one, text="second"), replace(one, text="third")
    change(journal, None, (one, second))
    file.write_bytes(encode(second))  # and killed before the mark was set
    change(journal, None, (second, third))
    WorkTree(memory, journal).attach()
    in_step(memory, third, two)
    file.write_bytes(encode(one))  # an old version put back by a person
    change(journal, tree, (third, second))
    assert file.read_bytes() == encode(one)
    assert tree.edited == {path_of(one.id)}


def test_several_commits_are_put_as_one(
    journal: Journal, tree: WorkTree, memory: Path, fact: Make
) -> None:
    one, two, three = fact("one"), fact("two"), fact("three")
    steps = [
        [(None, one), (None, two)],
        [(one, replace(one, text="changed")), (None, three)],
        [(two, None)],
    ]
    puts = []
    for step in steps:
        parent = journal.head
        assert parent is not None
        made = [Change(old, new) for old, new in step]
        commit = journal.commit(made, WHY, AT)
        puts.append(Put(parent, commit, journal.changed(parent, commit), files_of(made)))
    put = together(puts)
    assert {path: (old, new is None) for path, old, new in put.moves} == {
        path_of(one.id): (None, False),
        path_of(two.id): (None, True),
        path_of(three.id): (None, False),
    }
    tree.follow(put)
    in_step(memory, replace(one, text="changed"), three)
    assert tree.at == journal.head
    assert tree.edited == set()


@pytest.mark.parametrize("how", ["git clean", "memory", "all", "contents"])
@pytest.mark.parametrize("then", ["attach", "write"])
def test_a_vanished_folder_is_restored_whole(
    journal: Journal, memory: Path, tmp_path: Path, fact: Make, how: str, then: str
) -> None:
    git(tmp_path, "init", "-q")
    tree = WorkTree(memory, journal)
    tree.attach()
    one, two, three = fact(), fact(), fact()
    change(journal, tree, (None, one), (None, two))
    if how == "git clean":
        git(tmp_path, "clean", "-ffdxq", "-e", "/journal.git")
        assert not memory.exists()
    elif how == "contents":
        for child in memory.iterdir():
            if child.name != ".git":
                shutil.rmtree(child)
    else:
        shutil.rmtree(memory if how == "memory" else memory.parent)
    if then == "attach":
        tree.attach()
        in_step(memory, one, two)
    change(journal, tree, (None, three))
    in_step(memory, one, two, three)
    assert "remember" in git(memory, "log", "--oneline")


def test_a_moved_repository_is_mended_and_keeps_its_place(tmp_path: Path, fact: Make) -> None:
    old, new = tmp_path / "old", tmp_path / "new place"
    journal = Journal(old / ".git" / "braincore" / "journal.git", began=AT)
    tree = WorkTree(old / ".braincore" / "memory", journal)
    tree.attach()
    one = fact("one")
    change(journal, tree, (None, one))
    edited = replace(one, text="not yet in memory/")
    change(journal, None, (one, edited))
    old.rename(new)
    journal = Journal(new / ".git" / "braincore" / "journal.git")
    memory = new / ".braincore" / "memory"
    again = WorkTree(memory, journal)
    again.attach()
    in_step(memory, edited)
    assert again.edited == set()
    assert "remember: one" in git(memory, "log", "--oneline")
    assert len(list((journal.path / "worktrees").iterdir())) == 1


def test_a_copied_repository_has_a_memory_of_its_own(tmp_path: Path, fact: Make) -> None:
    old, new = tmp_path / "old", tmp_path / "copy"
    journal = Journal(old / ".git" / "braincore" / "journal.git", began=AT)
    tree = WorkTree(old / ".braincore" / "memory", journal)
    tree.attach()
    one, two = fact("one"), fact("two")
    change(journal, tree, (None, one))
    shutil.copytree(old, new)
    copy = Journal(new / ".git" / "braincore" / "journal.git")
    second = WorkTree(new / ".braincore" / "memory", copy)
    second.attach()
    change(copy, second, (None, two))
    in_step(new / ".braincore" / "memory", one, two)
    tree.attach()
    in_step(old / ".braincore" / "memory", one)
    assert "two" not in git(old / ".braincore" / "memory", "log", "--oneline")


def test_two_worktrees_of_one_journal_keep_apart(
    journal: Journal, tmp_path: Path, fact: Make
) -> None:
    trees = [WorkTree(tmp_path / name / "memory", journal) for name in ("a", "b")]
    for tree in trees:
        tree.attach()
    one = fact()
    change(journal, trees[0], (None, one))
    in_step(tmp_path / "a" / "memory", one)
    in_step(tmp_path / "b" / "memory")
    trees[1].attach()
    in_step(tmp_path / "b" / "memory", one)
    assert len(list((journal.path / "worktrees").iterdir())) == 2


def test_a_folder_that_cannot_be_made_is_a_store_error(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="can't be used"):
        WorkTree(tmp_path / "file" / "memory", journal).attach()
    with pytest.raises(StoreError, match="can't be used"):
        WorkTree(tmp_path / "file", journal).attach()
