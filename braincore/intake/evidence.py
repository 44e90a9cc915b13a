"""Does the evidence exist, and does it speak of the target? (SPEC §2: only verified evidence lifts)

The repository is asked through the `Project` protocol; nothing here touches it.
"""

import re
from dataclasses import dataclass
from typing import Protocol

from braincore.errors import InvalidInput, UnknownReference
from braincore.model.commits import CommitFacts
from braincore.model.words import content_words, name_key, quoted, stem, words

__all__ = ["Project", "Verified", "parse_range", "verify"]


class Project(Protocol):
    """The repository that is remembered, as far as intake asks it."""

    def commit(self, sha: str) -> CommitFacts | None:
        """The commit of a full or short id or ref name, or None."""

    def text(self, path: str) -> str | None:
        """The text of a repository-relative file in the worktree, or None."""

    def near_paths(self, path: str) -> list[str]:
        """Existing paths that are spelled alike."""

    def symbols(self, path: str) -> list[str] | None:
        """The qualified names defined in a file, or None when it isn't there."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The source in full form; whether it holds what it is cited for; places it points at."""

    source_ref: str
    verified: bool
    places: tuple[str, ...] = ()


def verify(source_ref: str, text: str, target: str, project: Project) -> Verified:
    """Look the source up. Raises UnknownReference when a commit, test or file does not exist."""
    kind, _, rest = source_ref.partition(":")
    match kind:
        case "commit":
            found = project.commit(rest)
            if found is None:
                raise UnknownReference("commit", rest)
            return Verified(f"commit:{found.sha}", _touches(found, target, project), found.paths)
        case "test":
            path = rest.partition("::")[0]
            _test_exists(rest, project)
            # Only a run that the owner saw verifies; that the test exists doesn't.
            return Verified(source_ref, False, (path,))
        case "file":
            path, first, last = parse_range(rest)
            content = project.text(path)
            if content is None:
                raise UnknownReference("file", path, project.near_paths(path))
            lines = content.splitlines()
            part = "\n".join(lines[first - 1 : last]) if first else content
            return Verified(source_ref, _holds(part, text), (path,))
        case _:
            return Verified(source_ref, False)


def parse_range(ref: str) -> tuple[str, int, int]:
    """`path#L10-L20`, `path:10-20` or `path` as path, first and last line (0, 0: the whole file).

    Raises InvalidInput when the last line comes before the first.
    """
    m = re.fullmatch(r"(.+?)(?:#|:)L?(\d+)(?:\s*[-–:]\s*L?(\d+))?", ref)
    if m is None:
        return ref, 0, 0
    first = int(m[2])
    last = int(m[3] or first)
    if first < 1 or last < first:
        raise InvalidInput(f"{ref!r} is not a range of lines", "Write FILE:10-20, first line ≥ 1.")
    return m[1], first, last


def _touches(commit: CommitFacts, target: str, project: Project) -> bool:
    """A commit touches a target when it changed its file, or speaks of all its words."""
    path, _, _ = target.partition("::")
    if path in commit.paths or any(p.startswith(f"{path.rstrip('/')}/") for p in commit.paths):
        return True
    if "/" in target or "::" in target or not target:
        return False
    said = content_words(commit.message) | {
        stem(w) for p in commit.paths for w in words(p.replace("_", " "))
    }
    wanted = content_words(name_key(target).replace("_", " "))
    return bool(wanted) and wanted <= said


def _holds(part: str, text: str) -> bool:
    """A range holds the quote: each quoted string of the text, or the text itself. A name in
    backticks alone is no quote: it stands in the file whatever is said about it."""
    flat = " ".join(part.split()).casefold()
    quotes = quoted(text)
    wanted = quotes if any(len(q.split()) > 1 for q in quotes) else [text.rstrip(".")]
    return all(" ".join(q.split()).casefold() in flat for q in wanted)


def _test_exists(node_id: str, project: Project) -> None:
    path, _, inner = node_id.partition("::")
    symbols = project.symbols(path)
    if symbols is None:
        if project.text(path) is None:
            raise UnknownReference("test file", path, project.near_paths(path))
        return
    name = inner.partition("[")[0].replace("::", ".")
    if name and name not in symbols:
        near = [f"{path}::{s.replace('.', '::')}" for s in symbols if "test" in s.lower()][:3]
        raise UnknownReference("test", node_id, near)
