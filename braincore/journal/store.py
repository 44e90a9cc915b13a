"""The internal git: one commit a change, read back as records.

Bare repository `journal.git`; one ref per state of mind. The tree is three levels deep by the
random end of the id, so a commit costs the same at 100 and at 100,000 records.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType, SortMode

from braincore.errors import StoreError
from braincore.journal.codec import decode, decode_json, encode, path_of
from braincore.model.records import Record
from braincore.model.times import iso, parse_time

__all__ = ["Change", "Entry", "Journal", "Loaded", "Why"]

MAIN_REF = "refs/heads/main"


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

    def __init__(self, path: Path, ref: str = MAIN_REF, *, fsync: bool = False) -> None:
        self.path = path
        self.ref = ref
        pygit2.settings.owner_validation = False
        pygit2.settings.enable_fsync_gitdir(fsync)
        try:
            if not (path / "HEAD").exists():
                self._create(path)
            self._repo = pygit2.Repository(str(path))
        except (pygit2.GitError, OSError) as error:
            raise StoreError(str(path), str(error)) from None
        if self.head is None:
            self._commit_tree(
                self._repo.TreeBuilder().write(),
                "begin the journal\n",
                datetime.now(UTC),
            )

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
        found = self._repo.references.get(self.ref)
        return str(found.target) if found is not None else None

    def commit(self, changes: Sequence[Change], why: Why, at: datetime) -> str:
        """Write record changes as one commit; returns its id. Durable when it returns.

        Raises StoreError (disk full, read-only); then nothing was changed.
        """
        files: dict[str, bytes | None] = {}
        ids = []
        for change in changes:
            record = change.new or change.old
            assert record is not None
            ids.append(record.id)
            files[path_of(record.id)] = encode(change.new) if change.new is not None else None
        first = changes[0].new or changes[0].old
        assert first is not None
        subject = first.title or first.text
        return self.write(files, _message(why, subject, ids, at), at)

    def write(self, files: Mapping[str, bytes | None], message: str, at: datetime) -> str:
        """Write files (None removes) as one commit; returns its id."""
        try:
            head = self.head
            tree = self._repo[head].peel(pygit2.Tree) if head is not None else None
            split = {tuple(path.split("/")): data for path, data in files.items()}
            return self._commit_tree(self._grow(tree, split) or self._empty(), message, at)
        except (pygit2.GitError, OSError) as error:
            raise StoreError(str(self.path), str(error)) from None

    def _empty(self) -> pygit2.Oid:
        return self._repo.TreeBuilder().write()

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
        sign = pygit2.Signature("braincore", "braincore@localhost", int(at.timestamp()), 0)
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
        stack: list[tuple[str, pygit2.Tree]] = [("", self._repo[commit].peel(pygit2.Tree))]
        while stack:
            prefix, tree = stack.pop()
            for entry in tree:
                path = f"{prefix}{entry.name}"
                if isinstance(entry, pygit2.Tree):
                    if path != "events":
                        stack.append((path + "/", entry))
                elif path.endswith(".md"):
                    yield path, str(entry.id)

    def blob(self, blob_id: str) -> bytes:
        """The bytes of a blob."""
        return bytes(self._repo[blob_id].peel(pygit2.Blob).data)

    @staticmethod
    def blob_of(data: bytes) -> str:
        """The blob id that these bytes have or would have."""
        return str(pygit2.hash(data))

    def parent(self, commit: str) -> str | None:
        """The first parent of a commit, or None."""
        parents = self._repo[commit].peel(pygit2.Commit).parent_ids
        return str(parents[0]) if parents else None

    def has(self, commit: str) -> bool:
        """True when the commit is known and an ancestor of, or equal to, the head."""
        head = self.head
        if head is None or commit not in self._repo:
            return False
        if self._repo[commit].type != ObjectType.COMMIT:
            return False
        return commit == head or self._repo.descendant_of(head, commit)

    def changed(self, old: str, new: str) -> Iterator[tuple[str, str | None, str | None]]:
        """Path, old blob and new blob of each file that differs between two commits."""
        diff = self._repo.diff(old, new, context_lines=0)
        zero = "0" * 40
        for delta in diff.deltas:
            before, after = str(delta.old_file.id), str(delta.new_file.id)
            yield (
                delta.new_file.path,
                None if before == zero else before,
                None if after == zero else after,
            )

    def file_at(self, commit: str, path: str) -> bytes | None:
        """The bytes of one file in a commit, or None."""
        tree = self._repo[commit].peel(pygit2.Tree)
        try:
            return bytes(tree[path].peel(pygit2.Blob).data)
        except KeyError:
            return None

    def events(self, commit: str) -> Iterator[Record]:
        """Every event record of a commit, file by file in order of time."""
        root = self._repo[commit].peel(pygit2.Tree)
        if "events" not in root:
            return
        stack: list[tuple[str, pygit2.Object]] = [("events", root["events"])]
        while stack:
            path, node = stack.pop()
            if isinstance(node, pygit2.Tree):
                stack.extend((f"{path}/{e.name}", e) for e in sorted(node, key=_name, reverse=True))
            else:
                yield from decode_lines(bytes(node.peel(pygit2.Blob).data), path)

    def log(self, limit: int = 0) -> Iterator[Entry]:
        """The newest commits first; all when `limit` is 0."""
        head = self.head
        if head is None:
            return
        for number, commit in enumerate(self._repo.walk(head, SortMode.TOPOLOGICAL)):
            if limit and number >= limit:
                return
            yield _entry(commit)

    def as_of(self, at: datetime) -> str | None:
        """The newest commit not later than `at`, by the journal's own time."""
        return next((e.commit for e in self.log() if e.at <= at), None)

    def close(self) -> None:
        """Let go of the repository."""
        self._repo.free()


def decode_lines(data: bytes, path: str) -> Iterable[Record]:
    """The records of a JSON lines file."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield decode_json(line, path, number)


def _name(entry: pygit2.Object) -> str:
    return str(entry.name)


def _message(why: Why, subject: str, ids: Sequence[str], at: datetime) -> str:
    first = " ".join(subject.split())[:72]
    return (
        f"{why.verb}: {first}\n\nWhy: {' '.join(why.why.split())}\nWho: {why.who}\n"
        f"Channel: {why.channel}\nRecords: {' '.join(ids)}\nAt: {iso(at)}\n"
    )


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
