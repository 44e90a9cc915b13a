"""Where things lie: the worktree, the store shared by all worktrees, the socket.

Imports only the standard library, since the thin clients use it too.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from braincore.errors import InvalidInput, NotARepository, NotInitialised

__all__ = ["IGNORED", "Place", "find", "find_initialised", "socket_path"]

IGNORED = """# config.toml and rules/ are the team's; the rest is made anew from the journal
/.internal-git
/memory/
"""
"""What `.braincore/.gitignore` says, so that no record gets into the project's own commits."""


@dataclass(frozen=True, slots=True)
class Place:
    """One worktree and the store it shares: all paths absolute and resolved."""

    root: Path
    git_dir: Path
    common_dir: Path

    @property
    def store(self) -> Path:
        """`<git common dir>/braincore`: out of reach of `git clean -fdx`."""
        return self.common_dir / "braincore"

    @property
    def brain(self) -> Path:
        """`<worktree>/.braincore`: config, rules, and memory/ for people."""
        return self.root / ".braincore"

    @property
    def memory(self) -> Path:
        """The journal's work tree, one Markdown file a record."""
        return self.brain / "memory"


def _git_dir(dot_git: Path) -> Path | None:
    if dot_git.is_dir():
        return dot_git if (dot_git / "HEAD").is_file() else None
    try:
        pointer = dot_git.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
    if not pointer.startswith("gitdir:"):
        return None
    target = dot_git.parent / pointer.removeprefix("gitdir:").strip()
    return target.resolve() if target.is_dir() else None


def _common_dir(git_dir: Path) -> Path:
    try:
        text = (git_dir / "commondir").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return git_dir
    return (git_dir / text.strip()).resolve()


def find(start: str | os.PathLike[str]) -> Place:
    """The worktree that `start` lies in. Raises NotARepository, or InvalidInput for a bare one."""
    try:
        here = Path(start).resolve()
        exists = here.exists()
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{start} can't be followed: {error}", "Choose another path.") from None
    if not exists:
        raise InvalidInput(f"{start} does not exist", "Check the path after -C.")
    for folder in (here, *here.parents):
        git_dir = _git_dir(folder / ".git")
        if git_dir is not None:
            return Place(folder, git_dir, _common_dir(git_dir))
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and folder.name != ".git":
            raise InvalidInput(
                f"{folder} is a bare repository", "Run braincore in a worktree of it instead."
            )
    raise NotARepository(str(here))


def find_initialised(start: str | os.PathLike[str]) -> Place:
    """As `find`, and the repository has a brain; else NotInitialised."""
    place = find(start)
    if not (place.store / "journal.git").is_dir():
        raise NotInitialised(str(place.root))
    return place


def socket_path(store: Path) -> Path:
    """A short private path for the store's socket: Unix sockets allow about 100 bytes."""
    digest = hashlib.sha256(os.fsencode(store)).hexdigest()[:16]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = Path(runtime) if runtime and len(runtime) < 60 and os.path.isdir(runtime) else None
    if base is None:
        uid = os.getuid() if hasattr(os, "getuid") else 0
        temp = os.environ.get("TMPDIR", "/tmp")
        base = Path(temp if len(temp) < 60 else "/tmp") / f"braincore-{uid}"
    else:
        base = base / "braincore"
    return base / f"{digest}.sock"
