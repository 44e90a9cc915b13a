"""`memory/`: the journal's work tree for people, kept in step and never trampled.

A file whose bytes are not what the journal last put there was edited by hand: it is left as it is
and reported. A vanished folder is restored, not taken as mass deletion.
"""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from braincore.disk import write_atomic
from braincore.errors import StoreError
from braincore.journal.store import Files, Journal

__all__ = ["HandEdit", "Moves", "Put", "WorkTree", "together"]

RACY_NS = 2_000_000_000
Moves = Sequence[tuple[str, str | None, str | None]]
"""Path, blob before, blob after."""


@dataclass(frozen=True, slots=True)
class Put:
    """What one commit, or several in a row, made of the files; `files`: the bytes at hand."""

    parent: str
    commit: str
    moves: Moves
    files: Files


def together(puts: Sequence[Put]) -> Put:
    """Several puts as one, so that of each file only the last bytes are written."""
    if len(puts) == 1:
        return puts[0]
    moves: dict[str, tuple[str | None, str | None]] = {}
    files: dict[str, bytes | None] = {}
    for put in puts:
        for path, old, new in put.moves:
            moves[path] = (moves[path][0] if path in moves else old, new)
        files.update(put.files)
    gathered = [(path, old, new) for path, (old, new) in moves.items()]
    return Put(puts[0].parent, puts[-1].commit, gathered, files)


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A file in memory/ that differs from the journal; `data` None when it was deleted."""

    path: str
    data: bytes | None


class WorkTree:
    """The files of one worktree's memory/ folder, and the commit they were last brought to.

    `edited`: paths whose file is not what the journal last put there, as far as was looked.
    """

    def __init__(self, memory: Path, journal: Journal) -> None:
        self.memory = memory
        self.edited: set[str] = set()
        self._journal = journal
        self._admin = journal.path / "worktrees" / self._name()
        self._mark = self._admin / "braincore-head"
        self._stats: dict[str, tuple[int, int, str]] = {}

    def _name(self) -> str:
        """The name of our entry in the journal: the one we had before the repository was moved,
        unless that belongs to a worktree which is still there."""
        try:
            name = Path(os.fsdecode((self.memory / ".git").read_bytes()).strip()).name
            admin = self._journal.path / "worktrees" / name
            other = Path(os.fsdecode((admin / "gitdir").read_bytes()).strip())
        except OSError:
            name, other = "", self.memory
        if name and (other.parent == self.memory or not _points_to(other, admin)):
            return name
        return "w" + str(pygit2.hash(os.fsencode(self.memory)))[:12]

    @property
    def attached(self) -> bool:
        """True while the pointers to the journal are there."""
        return (self.memory / ".git").exists() and (self.memory.parent / ".internal-git").exists()

    def attach(self) -> None:
        """Make `git -C memory log` work, also after the repository was moved or copied, and bring
        the files in step. Raises StoreError."""
        try:
            vanished = not (self.memory / ".git").exists()
            self.memory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._admin.mkdir(parents=True, exist_ok=True, mode=0o700)
            if vanished:
                self._mark.unlink(missing_ok=True)  # until all is restored, nothing is in step
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
        except OSError as error:
            raise StoreError(str(self.memory), str(error)) from None
        self.sync()

    @property
    def at(self) -> str | None:
        """The commit the files were last brought to, if the journal still knows it."""
        commit = self._marked()
        return commit if commit is not None and self._journal.has(commit) else None

    def _marked(self) -> str | None:
        try:
            return self._mark.read_bytes().decode("ascii", "replace").strip()
        except OSError:
            return None

    def _set_mark(self, head: str) -> None:
        """Commit ids have one length, so one write replaces the old one whole."""
        fd = os.open(self._mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, head.encode() + b"\n")
        finally:
            os.close(fd)

    def sync(self) -> None:
        """Bring the folder to the journal's head; hand-edited files are left in place."""
        head = self._journal.tip
        at = self.at
        try:
            vanished = self._empty()
            if at == head and not vanished:
                return
            for stray in self.memory.rglob(".new-*"):
                stray.unlink()
        except OSError as error:
            raise StoreError(str(self.memory), str(error)) from None
        if at is None or vanished:
            self._put([(p, None, b) for p, b in self._journal.blobs(head)], head)
        else:
            self._put(self._journal.changed(at, head), head)

    def _empty(self) -> bool:
        return not any(p.name != ".git" for p in self.memory.iterdir())

    def follow(self, put: Put) -> None:
        """Put the files of what was just committed, whose bytes are at hand; where more is missing
        than that, bring everything in step. Raises StoreError."""
        if not (self.memory / ".git").exists():
            self.attach()
        elif self._marked() == put.parent and not self._empty():
            self._put(put.moves, put.commit, put.files)
        else:
            self.sync()

    def _put(self, moves: Moves, head: str, at_hand: Files | None = None) -> None:
        """Bring files from blob to blob and note where that leads; hand edits stay in place."""
        at_hand = at_hand or {}
        try:
            for path, old, new in moves:
                if not path.endswith(".md"):
                    continue
                if self._bring(path, old, new, at_hand.get(path)) or (
                    (passed := self._passed(path, head)) is not None
                    and self._bring(path, passed, new, at_hand.get(path))
                ):
                    self.edited.discard(path)
                else:
                    self.edited.add(path)
            self._set_mark(head)
        except OSError as error:
            raise StoreError(str(self.memory), str(error)) from None

    def _bring(self, path: str, old: str | None, new: str | None, data: bytes | None) -> bool:
        """Bring one file from blob to blob; False when what lies there was not put by us."""
        file = self.memory / path
        try:
            found = _hash(file)
            if found is not None and found not in (old, new):
                return False
            if new is None:
                file.unlink(missing_ok=True)
            elif found != new:
                write_atomic(file, data if data is not None else self._journal.blob(new))
        except (IsADirectoryError, NotADirectoryError, FileExistsError):
            return False
        return True

    def _passed(self, path: str, head: str) -> str | None:
        """The blob of a file that we put on the way to `head` without noting it (killed, or the
        disk was full) while the journal went on; None when what lies there is somebody's edit."""
        file, at = self.memory / path, self.at
        found = _hash(file) if file.is_file() else None
        if found is None or at is None or found not in self._journal.blobs_between(at, head, path):
            return None
        return found

    def suspects(self) -> set[str]:
        """Paths that may have been edited by hand: changed, new or deleted files. Files whose size
        and time are as at the last look are not read again. Raises StoreError."""
        at = self.at
        if at is None or not self.memory.is_dir():
            return set()
        expected = dict(self._journal.blobs(at))
        seen: dict[str, tuple[int, int, str]] = {}
        try:
            for folder, _, names in os.walk(self.memory):
                for name in names:
                    file = Path(folder, name)
                    if name.endswith(".md") and file.is_file():
                        path = file.relative_to(self.memory).as_posix()
                        seen[path] = self._look(path, file)
        except OSError as error:
            raise StoreError(str(self.memory), str(error)) from None
        self._stats = seen
        if expected and not seen:  # an emptied folder is restored by sync, never a mass deletion
            return set()
        changed = {p for p, (_, _, blob) in seen.items() if expected.get(p) != blob}
        return changed | (expected.keys() - seen.keys())

    def hand_edits(self, suspects: Iterable[str]) -> list[HandEdit]:
        """Those of some paths that do differ from the commit the files were brought to; hold the
        writer's lock. Raises StoreError."""
        at = self.at
        edits = []
        try:
            for path in sorted(suspects) if at is not None else ():
                file = self.memory / path
                data = file.read_bytes() if file.is_file() else None
                if at is not None and data != self._journal.file_at(at, path):
                    edits.append(HandEdit(path, data))
        except OSError as error:
            raise StoreError(str(self.memory), str(error)) from None
        self.edited = {e.path for e in edits}
        return edits

    def _look(self, path: str, file: Path) -> tuple[int, int, str]:
        stat = file.stat()
        known = self._stats.get(path)
        if known is not None and known[:2] == (stat.st_mtime_ns, stat.st_size):
            return known
        # a change within the step of the file system's clock would bear the same time
        settled = time.time_ns() - stat.st_mtime_ns > RACY_NS
        blob = str(pygit2.hash(file.read_bytes()))
        return (stat.st_mtime_ns if settled else 0), stat.st_size, blob


def _points_to(pointer: Path, admin: Path) -> bool:
    """True when a `.git` file names this entry of the journal."""
    try:
        return os.fsdecode(pointer.read_bytes()).strip() == f"gitdir: {admin}"
    except OSError:
        return False


def _hash(file: Path) -> str | None:
    if not os.path.lexists(file):  # most are new, and an exception costs more than this look
        return None
    try:
        return str(pygit2.hash(file.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
