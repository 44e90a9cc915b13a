"""The `paths` of a rule: gitignore-like globs, run by RE2 so that no glob can stall a check."""

from collections.abc import Sequence
from functools import lru_cache

from pathspec import PathSpec, Pattern
from pathspec.patterns.gitignore import GitIgnorePatternError

__all__ = ["glob_complaint", "selects"]


def selects(paths: Sequence[str], path: str) -> bool:
    """True when `path` (repository-relative, `/`) is one the globs choose; no globs: always.

    The last glob that matches decides, `!` takes out; when the first one takes out, everything else
    is in.
    """
    return not paths or _spec(tuple(paths)).match_file(path)


def glob_complaint(glob: str) -> str | None:
    """Why `glob` can't be used; None if it can."""
    if glob.startswith("#"):
        return "it begins with `#`, a comment"
    try:
        _spec((glob,))
    except GitIgnorePatternError:
        return "it is no gitignore pattern"
    return None


@lru_cache(maxsize=256)
def _spec(paths: tuple[str, ...]) -> PathSpec[Pattern]:
    everything_but = ("*",) if paths[0].startswith("!") else ()
    return PathSpec.from_lines("gitignore", (*everything_but, *paths), backend="re2")
