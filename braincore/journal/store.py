"""The internal git: one commit a change, read back as records.

Bare repository `journal.git`; one ref per state of mind. The tree is three levels deep by the
random end of the id, so a commit costs the same at 100 and at 100,000 records.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType, RepositoryOpenFlag, SortMode

from braincore.errors import StoreError
from braincore.journal.bulk import Pack, grow, sweep
from braincore.journal.codec import decode, decode_json, encode, path_of
from braincore.model.records import Record
from braincore.model.times import iso, parse_time

__all__ = ["Change", "Entry", "Files", "Journal", "Loaded", "Why", "files_of"]

MAIN_REF = "refs/heads/main"
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of the first, empty commit where nothing else is said."""
PACKED = 50
"""A commit of so many files or more is written as one pack."""

Files = Mapping[str, bytes | None]
"""Paths in the journal's tree and their new bytes; None removes."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_COMMIT_ID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Why:
    """What a commit says about itself: who, by which channel, the verb, and why."""

    verb: str
    who: str
    channel: str
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    """One record before and after; `new` None means it is gone."""

    old: Record | None
    new: Record | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log. `records` are the ids the commit touched."""

    commit: str
    at: datetime
    verb: str
    who: str
    channel: str
    why: str
    subject: str
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A record file of the journal: its path in the tree, blob id and record."""

    path: str
    blob: str
    record: Record


class Journal:
    """The journal of one repository, on one ref. One writer at a time (the caller's lock)."""

    def __init__(
        self,
        path: Path,
        ref: str = MAIN_REF,
        *,
        fsync: bool = False,
        began: datetime = BEGINNING,
    ) -> None:
        self.path = path
        self.ref = ref
        self._fsync = fsync
        pygit2.settings.owner_validation = False
        pygit2.settings.enable_fsync_gitdir(fsync)
        with self._guarded():
            if not (path / "HEAD").exists():
                self._create(path)
            # Without NO_SEARCH a damaged journal would have git find the project's own repository.
            flags = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.BARE
            self._repo = pygit2.Repository(str(path), flags)
            sweep(path / "objects")
            if self.head is None:
                message = f"begin the journal\n\nAt: {iso(began)}\n"
                self._commit_tree(self._empty(), message, began)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """What git or the disk refuses is a StoreError; a missing object raises KeyError there."""
        try:
            yield
        except (pygit2.GitError, OSError, KeyError) as error:
            raise StoreError(str(self.path), str(error)) from None

    @staticmethod
    def _create(path: Path) -> None:
        """A bare repository, made aside and renamed, so a half-made one is never met."""
        fresh = path.with_name(path.name + ".new")
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        repo = pygit2.init_repository(str(fresh), bare=True, initial_head="main")
        repo.config["core.autocrlf"] = "false"
        repo.config["gc.auto"] = "0"
        fresh.chmod(0o700)
        fresh.rename(path)

    @property
    def head(self) -> str | None:
        """The id of the newest commit, or None before the first."""
        with self._guarded():
            found = self._repo.references.get(self.ref)
            return str(found.target) if found is not None else None

    @property
    def tip(self) -> str:
        """The id of the newest commit. Raises StoreError when there is none any more."""
        head = self.head
        if head is None:
            raise StoreError(str(self.path), "its branch is gone")
        return head

    def commit(
        self, changes: Sequence[Change], why: Why, at: datetime, files: Files | None = None
    ) -> str:
        """Write record changes as one commit; returns its id. Durable when it returns. `files`:
        what `files_of` makes of the changes, for callers that have it.

        Raises StoreError (disk full, read-only); then nothing was changed.
        """
        ids = [_either(change).id for change in changes]
        first = _either(changes[0])
        message = _message(why, first.title or first.text, ids)
        return self.write(files if files is not None else files_of(changes), message, at)

    def write(self, files: Files, message: str, at: datetime) -> str:
        """Write files as one commit; returns its id. The trailer `At` is added: the given time, or
        just after the commit before when the clock was set back."""
        with self._guarded():
            head = self._repo.references[self.ref].peel(pygit2.Commit)
            at = max(at, _entry(head).at + timedelta(microseconds=1))
            split = {tuple(path.split("/")): data for path, data in files.items()}
            if len(files) >= PACKED:
                tree = self._packed(head.peel(pygit2.Tree), split)
            else:
                tree = self._grow(head.peel(pygit2.Tree), split) or self._empty()
            return self._commit_tree(tree, f"{message}At: {iso(at)}\n", at)

    def _empty(self) -> pygit2.Oid:
        return self._repo.TreeBuilder().write()

    def _packed(
        self, tree: pygit2.Tree, files: Mapping[tuple[str, ...], bytes | None]
    ) -> pygit2.Oid:
        """The tree with `files` put in, written as one pack."""
        pack = Pack()
        made = grow(self._repo, pack, tree.id, list(files.items()))
        if made is None:
            return self._empty()
        pack.write(self.path / "objects", fsync=self._fsync)
        return pygit2.Oid(raw=made)

    def _grow(
        self, tree: pygit2.Tree | None, files: Mapping[tuple[str, ...], bytes | None]
    ) -> pygit2.Oid | None:
        """The tree with `files` put in; None when it came out empty."""
        builder = self._repo.TreeBuilder(tree) if tree is not None else self._repo.TreeBuilder()
        folders: dict[str, dict[tuple[str, ...], bytes | None]] = {}
        for parts, data in files.items():
            if len(parts) > 1:
                folders.setdefault(parts[0], {})[parts[1:]] = data
            elif data is not None:
                builder.insert(parts[0], self._repo.create_blob(data), FileMode.BLOB)
            elif builder.get(parts[0]) is not None:
                builder.remove(parts[0])
        for name, inner in folders.items():
            child = builder.get(name)
            grown = self._grow(child if isinstance(child, pygit2.Tree) else None, inner)
            if grown is not None:
                builder.insert(name, grown, FileMode.TREE)
            elif child is not None:
                builder.remove(name)
        return builder.write() if len(builder) else None

    def _commit_tree(self, tree: pygit2.Oid, message: str, at: datetime) -> str:
        # git keeps whole seconds in 32 bits here; the exact time is in the trailer
        seconds = min(max(int(at.timestamp()), 0), 2**32 - 1)
        sign = pygit2.Signature("braincore", "braincore@localhost", seconds, 0)
        head = self.head
        made = self._repo.create_commit(
            self.ref, sign, sign, message, tree, [head] if head is not None else []
        )
        return str(made)

    def read(self, commit: str, known: Mapping[str, Record] | None = None) -> Iterator[Loaded]:
        """Every record of a commit's tree. `known` maps blob ids to records already parsed."""
        cache = known or {}
        for path, blob in self.blobs(commit):
            record = cache.get(blob)
            if record is None:
                record = decode(self.blob(blob), path)
            yield Loaded(path, blob, record)

    def blobs(self, commit: str) -> Iterator[tuple[str, str]]:
        """Path and blob id of every record file of a commit."""
        with self._guarded():
            root = self._repo[commit].peel(pygit2.Tree)
        stack: list[tuple[str, pygit2.Tree]] = [("", root)]
        while stack:
            prefix, tree = stack.pop()
            with self._guarded():
                entries = list(tree)
            for entry in entries:
                path = f"{prefix}{entry.name}"
                if isinstance(entry, pygit2.Tree):
                    if path != "events":
                        stack.append((path + "/", entry))
                elif path.endswith(".md"):
                    yield path, str(entry.id)

    def blob(self, blob_id: str) -> bytes:
        """The bytes of a blob."""
        with self._guarded():
            return bytes(self._repo[blob_id].peel(pygit2.Blob).data)

    @staticmethod
    def blob_of(data: bytes) -> str:
        """The blob id that these bytes have or would have."""
        return str(pygit2.hash(data))

    def parent(self, commit: str) -> str | None:
        """The first parent of a commit, or None."""
        with self._guarded():
            parents = self._repo[commit].peel(pygit2.Commit).parent_ids
            return str(parents[0]) if parents else None

    def has(self, commit: str) -> bool:
        """True when the commit is known and an ancestor of, or equal to, the head."""
        head = self.head
        if head is None or _COMMIT_ID.fullmatch(commit) is None:
            return False
        if commit == head:
            return True
        with self._guarded():
            if commit not in self._repo or self._repo[commit].type != ObjectType.COMMIT:
                return False
            return bool(self._repo.descendant_of(head, commit))

    def changed(self, old: str, new: str) -> list[tuple[str, str | None, str | None]]:
        """Path, old blob and new blob of each file that differs between two commits."""
        with self._guarded():
            diff = self._repo.diff(old, new, context_lines=0)
            found = [
                (str(d.new_file.path), str(d.old_file.id), str(d.new_file.id)) for d in diff.deltas
            ]
        zero = "0" * 40
        return [(p, a if a != zero else None, b if b != zero else None) for p, a, b in found]

    def blobs_between(self, old: str, new: str, path: str) -> set[str]:
        """Every blob that a path had after one commit, up to and with another."""
        with self._guarded():
            walker = self._repo.walk(new, SortMode.TOPOLOGICAL)
            walker.hide(old)
            trees = [commit.tree for commit in walker]
            return {str(tree[path].id) for tree in trees if path in tree}

    def file_at(self, commit: str, path: str) -> bytes | None:
        """The bytes of one file in a commit, or None."""
        with self._guarded():
            tree = self._repo[commit].peel(pygit2.Tree)
            if path not in tree:
                return None
            return bytes(tree[path].peel(pygit2.Blob).data)

    def events(self, commit: str) -> Iterator[Record]:
        """Every event record of a commit, file by file in order of time."""
        with self._guarded():
            root = self._repo[commit].peel(pygit2.Tree)
            stack: list[tuple[str, pygit2.Object]] = []
            if "events" in root:
                stack.append(("events", root["events"]))
        while stack:
            path, node = stack.pop()
            if isinstance(node, pygit2.Tree):
                with self._guarded():
                    inner = sorted(node, key=_name, reverse=True)
                stack.extend((f"{path}/{e.name}", e) for e in inner)
            else:
                yield from decode_lines(self.blob(str(node.id)), path)

    def log(self, limit: int = 0) -> Iterator[Entry]:
        """The newest commits first; all when `limit` is 0."""
        for number, commit in enumerate(self._walk()):
            if limit and number >= limit:
                return
            yield _entry(commit)

    def _walk(self) -> Iterator[pygit2.Commit]:
        head = self.head
        if head is None:
            return
        with self._guarded():
            yield from self._repo.walk(head, SortMode.TOPOLOGICAL)

    def as_of(self, at: datetime) -> str | None:
        """The newest commit not later than `at`, by the journal's own time."""
        second = at.timestamp()
        for commit in self._walk():
            if commit.commit_time <= max(second, 0) and _entry(commit).at <= at:
                return str(commit.id)
        return None

    def close(self) -> None:
        """Let go of the repository."""
        self._repo.free()


def files_of(changes: Sequence[Change]) -> dict[str, bytes | None]:
    """The files of the journal's tree that record changes write or remove."""
    return {path_of(_either(c).id): encode(c.new) if c.new is not None else None for c in changes}


def _either(change: Change) -> Record:
    record = change.new or change.old
    assert record is not None
    return record


def decode_lines(data: bytes, path: str) -> Iterable[Record]:
    """The records of a JSON lines file."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield decode_json(line, path, number)


def _name(entry: pygit2.Object) -> str:
    return str(entry.name)


def _message(why: Why, subject: str, ids: Sequence[str]) -> str:
    return (
        f"{why.verb}: {one_line(subject)[:72]}\n\nWhy: {one_line(why.why)}\n"
        f"Who: {one_line(why.who)}\nChannel: {why.channel}\nRecords: {' '.join(ids)}\n"
    )


def one_line(text: str) -> str:
    """A text as one line of a commit message: git ends one at a NUL, and a line is a trailer."""
    spaced = " ".join(_CONTROL.sub(" ", text).split())
    return spaced.encode("utf-8", "replace").decode()


def _entry(commit: pygit2.Commit) -> Entry:
    lines = commit.message.split("\n")
    trailers = dict(line.split(": ", 1) for line in lines[2:] if ": " in line)
    verb, _, subject = lines[0].partition(": ")
    at = trailers.get("At")
    return Entry(
        str(commit.id),
        parse_time(at) if at else datetime.fromtimestamp(commit.commit_time, UTC),
        verb,
        trailers.get("Who", "braincore"),
        trailers.get("Channel", "owner"),
        trailers.get("Why", ""),
        subject,
        tuple(trailers.get("Records", "").split()),
    )
