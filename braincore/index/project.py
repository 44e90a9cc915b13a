"""The repository that is remembered: its commits, and the files of one worktree."""

import difflib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from braincore.errors import StoreError
from braincore.model.commits import CommitFacts

__all__ = ["ProjectFiles", "make_repository"]

MAX_FILE = 1 << 20
"""Bytes of a file that is read as text or indexed; minified bundles and data are larger."""

PASSED_OVER = frozenset(
    {".git", ".braincore", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox"}
)


class ProjectFiles:
    """Commits and files, as far as braincore asks. `decode` turns bytes into text."""

    def __init__(
        self,
        root: Path,
        decode: Callable[[bytes], str],
        symbols_of: Callable[[str, bytes], list[str] | None],
    ) -> None:
        self.root = root
        self._decode = decode
        self._symbols_of = symbols_of

    def _repo(self) -> pygit2.Repository:
        return pygit2.Repository(str(self.root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)

    def user_name(self) -> str:
        """The git user of this repository, or `someone`."""
        try:
            return str(self._repo().config["user.name"]).strip() or "someone"
        except (KeyError, pygit2.GitError):
            return "someone"

    def branch(self) -> str:
        """The checked-out branch, `(detached)`, or `(unborn)`."""
        repo = self._repo()
        if repo.head_is_unborn:
            return "(unborn)"
        return "(detached)" if repo.head_is_detached else str(repo.head.shorthand)

    def commit(self, sha: str) -> CommitFacts | None:
        """The commit of a full or short id or a ref name, or None when there is none.

        In a shallow clone a commit whose parent is missing shows no changed paths.
        """
        repo = self._repo()
        try:
            found = repo.revparse_single(sha).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError, pygit2.InvalidSpecError):
            return None
        return CommitFacts(str(found.id), str(found.message), _changed(repo, found))

    def path(self, path: str) -> Path | None:
        """The file on disk, or None when it leads out of the worktree or is no regular file."""
        try:
            if not os.path.isfile(os.path.join(self.root, path)):  # most names are none: be quick
                return None
            disk = (self.root / path).resolve()
            if not disk.is_relative_to(self.root) or not disk.is_file():
                return None
        except (OSError, RuntimeError, ValueError):
            return None
        return disk

    def text(self, path: str) -> str | None:
        """The text of a repository-relative file, or None when there is none to read."""
        data = self.data(path)
        return self._decode(data) if data is not None else None

    def data(self, path: str) -> bytes | None:
        """The bytes of a file of up to 1 MiB, or None."""
        disk = self.path(path)
        try:
            if disk is None or disk.stat().st_size > MAX_FILE:
                return None
            return disk.read_bytes()
        except OSError:
            return None

    def symbols(self, path: str) -> list[str] | None:
        """The qualified names a file defines, or None when it isn't there or isn't code."""
        data = self.data(path)
        return self._symbols_of(path, data) if data is not None else None

    def near_paths(self, path: str) -> list[str]:
        """Up to three existing paths that are spelled alike."""
        everything = [str(entry.path) for entry in self._repo().index]
        name = os.path.basename(path)
        same = [p for p in everything if os.path.basename(p) == name]
        return (same or difflib.get_close_matches(path, everything, 3, 0.6))[:3]

    def is_ignored(self, path: str) -> bool:
        """True when gitignore passes the path over."""
        try:
            return bool(self._repo().path_is_ignored(path))
        except (KeyError, pygit2.GitError):
            return False

    def files(self) -> Iterator[tuple[str, Path]]:
        """Tracked and untracked files, ignored ones left out; links and nested repositories are
        not followed. Names that are not UTF-8 are passed over."""
        repo = self._repo()
        tracked = {str(entry.path) for entry in repo.index}
        folders_with_tracked = {p for path in tracked for p in _parents(path)}
        stack: list[tuple[str, Path]] = [("", self.root)]
        while stack:
            prefix, folder = stack.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda e: e.name)
            except OSError:
                continue
            for entry in entries:
                path = prefix + entry.name
                if not _encodes(path) or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name in PASSED_OVER or os.path.exists(f"{entry.path}/.git"):
                        continue
                    if path in folders_with_tracked or not repo.path_is_ignored(path + "/"):
                        stack.append((path + "/", Path(entry.path)))
                elif entry.is_file(follow_symlinks=False) and (
                    path in tracked or not repo.path_is_ignored(path)
                ):
                    yield path, Path(entry.path)


def make_repository(root: Path) -> None:
    """An empty git repository, for doctor and demos. Raises StoreError."""
    try:
        pygit2.init_repository(str(root), initial_head="main")
    except (pygit2.GitError, OSError) as error:
        raise StoreError(str(root), str(error)) from None


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _encodes(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _changed(repo: pygit2.Repository, commit: pygit2.Commit) -> tuple[str, ...]:
    try:
        parent = commit.parents[0].peel(pygit2.Tree) if commit.parent_ids else None
    except (KeyError, pygit2.GitError):
        return ()
    if commit.type != ObjectType.COMMIT:
        return ()
    tree = commit.peel(pygit2.Tree)
    diff = tree.diff_to_tree(parent) if parent is not None else tree.diff_to_tree()
    paths = {str(d.old_file.path) for d in diff.deltas} | {
        str(d.new_file.path) for d in diff.deltas
    }
    return tuple(sorted(paths))
