"""The files a tool call would change, kept as a layer over what is on disk.

Nothing here touches the disk: the caller's `read` answers for what exists, and what the call writes
is kept in memory, so a later step of the same call sees what an earlier one wrote.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from braincore.guard.notebook import code_of
from braincore.model.edits import Edit

__all__ = ["LARGEST_TEXT", "UNSEEN", "Content", "Overlay", "Read", "ToolEdits", "Unseen"]

LARGEST_TEXT = 8_000_000
"""Characters that one call may go through in all; what is beyond is not followed, so that a command
cannot hold a hook up (`cat f f > g`, repeated)."""

Read = Callable[[str], str | None]

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Unseen(Enum):
    """The content of a file that was written, but with what can't be known before it runs."""

    UNSEEN = "unseen"


UNSEEN = Unseen.UNSEEN
Content = str | Unseen | None


@dataclass(frozen=True, slots=True)
class ToolEdits:
    """What a tool call would do: one `Edit` a path, in the order the files are first touched.

    `outside` are the absolute paths it writes outside the repository, which are not judged, and
    `settings` those of their edits whose text before is known;
    `unknown` says, in words for a note, which of its writes could not be worked out; `touched` are
    the paths in the repository that such a write hits: files with unknown content, folders moved or
    removed.
    """

    edits: tuple[Edit, ...] = ()
    outside: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    settings: tuple[Edit, ...] = ()


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path


def _normal(path: str) -> str:
    path = posixpath.normpath(_slashed(path))
    if path.startswith("//"):
        path = path[1:]
    return path[0].upper() + path[1:] if path[1:3] == ":/" else path


class Overlay:
    """A repository's files as they would be after the steps so far.

    `read` is asked for repository-relative paths (with `/`) inside `root` and for absolute ones
    outside it. Paths are handed in and out of this class absolute and normalised.
    """

    def __init__(self, root: str, read: Read) -> None:
        self.root = _normal(root)
        self._read = read
        self._before: dict[str, str | None] = {}
        self._now: dict[str, Content] = {}
        self._reasons: dict[str, None] = {}
        self._spent = 0
        self._guesses: dict[str, str] = {}
        self._touched: dict[str, None] = {}

    def absolute(self, path: str, cwd: str) -> str | None:
        """`path` seen from `cwd`, absolute and normalised; None, with a note, if it is no path."""
        if not path or "\0" in path:
            self.note("a path is empty or has a NUL in it")
            return None
        path = _slashed(path)
        if path.startswith("/") or _DRIVE.match(path):
            return _normal(path)
        return _normal(f"{_slashed(cwd)}/{path}")

    def relative(self, path: str) -> str | None:
        """The repository-relative form of an absolute path; None outside the repository."""
        root = self.root if self.root.endswith("/") else self.root + "/"
        return path[len(root) :] if path.startswith(root) and path != root else None

    def shown(self, path: str) -> str:
        """The path as a note shows it: relative when it is inside the repository."""
        return self.relative(path) or path

    def read(self, path: str) -> Content:
        """The content of the file at an absolute path as the steps so far leave it."""
        self._settle(path)
        content = self._now[path] if path in self._now else self._on_disk(path)
        return UNSEEN if isinstance(content, str) and not self.afford(len(content)) else content

    def afford(self, characters: int) -> bool:
        """Take characters from what one call may go through; False, with a note, if it is spent."""
        self._spent += characters
        if self._spent > LARGEST_TEXT:
            self.note("the call goes through too much text to be followed to its end")
        return self._spent <= LARGEST_TEXT

    def write(self, path: str, content: Content) -> None:
        """Make `content` the content of the file; None deletes it.

        Devices are no files: what is written to `/dev/null` and its like is dropped.
        """
        if path.startswith("/dev/"):
            return
        self._settle(path)
        if isinstance(content, str) and len(content) > LARGEST_TEXT:
            self.note(f"{self.shown(path)}: the text written to it is too long to judge")
            content = UNSEEN
        self._on_disk(path)
        self._now[path] = content

    def append(self, path: str, content: str | Unseen) -> None:
        """Add to the file's end; what is already known of it stays known if `content` isn't."""
        now = self.read(path)
        if isinstance(content, str):
            self.write(path, UNSEEN if isinstance(now, Unseen) else (now or "") + content)
        elif now is None:
            self.write(path, UNSEEN)

    def exists(self, path: str) -> bool:
        """Is there a file at an absolute path?"""
        return (self._now[path] if path in self._now else self._on_disk(path)) is not None

    def guess_folder(self, path: str, place: str) -> None:
        """Remember that `path` was taken for a folder when a file was put at `place` in it.

        If `path` is then used as a file, it was one, and what was put there is its content.
        """
        self._guesses[path] = place

    def _settle(self, path: str) -> None:
        place = self._guesses.pop(path, None)
        if place is not None and place in self._now:
            self._on_disk(path)
            self._now[path] = self._now.pop(place)

    def touch(self, path: str) -> None:
        """Say that the folder at an absolute path goes, with whatever is in it."""
        name = "." if path == self.root else self.relative(path)
        if name is not None:
            self._touched[name] = None

    def note(self, reason: str) -> None:
        """Say why something that may be written could not be worked out."""
        self._reasons[reason] = None

    def state(self) -> Mapping[str, Content]:
        """The changed files now, to come back to with `restore`."""
        return dict(self._now)

    def restore(self, state: Mapping[str, Content]) -> None:
        """Go back to a state; notes stay."""
        self._now = dict(state)

    def merge(self, base: Mapping[str, Content], branches: Sequence[Mapping[str, Content]]) -> None:
        """Take what each of several branches did; only one of them will run, nobody knows which.

        A file that more than one changes, differently, is taken from the last, with a note.
        """
        merged = dict(base)
        changed: set[str] = set()
        for branch in branches:
            for path, content in branch.items():
                if path in base and base[path] == content:
                    continue
                if path in changed and merged[path] != content:
                    self.note(f"{self.shown(path)}: what is written depends on a condition")
                merged[path] = content
                changed.add(path)
        self._now = merged

    def result(self) -> ToolEdits:
        """What all steps together change."""
        edits: list[Edit] = []
        outside: list[str] = []
        settings: list[Edit] = []
        for path, after in self._now.items():
            name = self.relative(path)
            before = self._before[path]
            if name is None:
                outside.append(path)
                if before is not None:
                    settings.append(Edit(path, before, after if isinstance(after, str) else None))
            elif isinstance(after, Unseen):
                self._touched[name] = None
            else:
                if name.endswith(".ipynb"):
                    try:
                        before, after = code_of(before), code_of(after)
                    except ValueError as problem:
                        self.note(f"{name}: {problem}")
                        continue
                if before != after:
                    edits.append(Edit(name, before, after))
        return ToolEdits(
            tuple(edits),
            tuple(outside),
            tuple(self._reasons),
            tuple(self._touched),
            tuple(settings),
        )

    def _on_disk(self, path: str) -> str | None:
        if path.startswith("/dev/"):
            return ""
        if path not in self._before:
            self._before[path] = self._read(self.relative(path) or path)
        return self._before[path]
