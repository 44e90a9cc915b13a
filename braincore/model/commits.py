"""A commit of the project that is remembered, as far as evidence is asked of it."""

from dataclasses import dataclass

__all__ = ["CommitFacts"]


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """Full id, message, and the paths it changed against its first parent."""

    sha: str
    message: str
    paths: tuple[str, ...]
