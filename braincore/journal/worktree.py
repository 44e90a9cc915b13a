"""`memory/`: the journal's work tree for people, kept in step and never trampled.

A file whose bytes are not what the journal last put there was edited by hand: it is left as it is
and reported. A vanished folder is restored, not taken as mass deletion.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from braincore.disk import write_atomic
from braincore.errors import StoreError
from braincore.journal.store import Journal

__all__ = ["WorkTree"]


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A file in memory/ that differs from the journal; `data` None when it was deleted."""

    path: str
    data: bytes | None


class WorkTree:
    """The files of one worktree's memory/ folder, and the commit they were last brought to."""

    def __init__(self, memory: Path, journal: Journal) -> None:
        self.memory = memory
        self._journal = journal
        self._name = "w" + pygit2.hash(os.fsencode(memory)).__str__()[:12]
        self._admin = journal.path / "worktrees" / self._name
        self._mark = self._admin / "braincore-head"

    def attach(self) -> None:
        """Make `git -C memory log` work, also after the repository was moved or copied."""
        self.memory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._admin.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path, text in (
            (self._admin / "HEAD", f"ref: {self._journal.ref}\n"),
            (self._admin / "commondir", "../..\n"),
            (self._admin / "gitdir", f"{self.memory / '.git'}\n"),
            (self.memory / ".git", f"gitdir: {self._admin}\n"),
            (self.memory.parent / ".internal-git", f"{self._journal.path}\n"),
        ):
            data = os.fsencode(text)
            if not path.exists() or path.read_bytes() != data:
                write_atomic(path, data)

    @property
    def at(self) -> str | None:
        """The commit the files were last brought to, if the journal still knows it."""
        try:
            commit = self._mark.read_text().strip()
        except OSError:
            return None
        return commit if commit and self._journal.has(commit) else None

    def put(self, changed: Iterable[tuple[str, str | None, str | None]], head: str) -> list[str]:
        """Bring files from old blob to new blob; returns the hand-edited ones, left in place."""
        kept = []
        try:
            for path, old, new in changed:
                if not path.endswith(".md"):
                    continue
                file = self.memory / path
                found = _hash(file)
                if found is not None and found not in (old, new):
                    kept.append(path)
                elif new is None:
                    file.unlink(missing_ok=True)
                elif found != new:
                    write_atomic(file, self._journal.blob(new))
            write_atomic(self._mark, head.encode() + b"\n")
        except OSError as error:
            raise StoreError(str(self.memory), str(error)) from None
        return kept

    def written(self, files: Mapping[str, bytes | None], head: str) -> None:
        """Put the files of a commit just made, whose bytes are at hand."""
        for path, data in files.items():
            file = self.memory / path
            if data is None:
                file.unlink(missing_ok=True)
            else:
                write_atomic(file, data)
        write_atomic(self._mark, head.encode() + b"\n")

    def sync(self) -> list[str]:
        """Bring the folder to the journal's head; returns hand-edited files, left in place."""
        head = self._journal.head
        assert head is not None
        at = self.at
        vanished = not any(p.name != ".git" for p in self.memory.iterdir())
        if at is None or vanished:
            everything = ((p, None, b) for p, b in self._journal.blobs(head))
            return self.put(everything, head)
        if at == head:
            return []
        return self.put(self._journal.changed(at, head), head)

    def hand_edits(self) -> list[HandEdit]:
        """Files that differ from the commit they were brought to, new and deleted ones too."""
        at = self.at
        if at is None or not self.memory.is_dir():
            return []
        expected = dict(self._journal.blobs(at))
        edits = []
        seen = set()
        for file in self.memory.rglob("*.md"):
            path = file.relative_to(self.memory).as_posix()
            seen.add(path)
            if file.is_file() and _hash(file) != expected.get(path):
                edits.append(HandEdit(path, file.read_bytes()))
        gone = expected.keys() - seen
        if seen or not expected:  # an emptied folder is restored by sync, never a mass deletion
            edits.extend(HandEdit(path, None) for path in sorted(gone))
        return edits


def _hash(file: Path) -> str | None:
    try:
        return str(pygit2.hash(file.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
