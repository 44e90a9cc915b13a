"""Evidence exists, or is refused with near names; it verifies only what it speaks of."""

from dataclasses import dataclass, field

import pytest

from braincore.errors import InvalidInput, UnknownReference
from braincore.intake.evidence import parse_range, verify
from braincore.model.commits import CommitFacts

SHA = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
TEXT = "import os\n\nmax_retries = 3\n\ndef connect():\n    return os\n"


@dataclass
class FakeProject:
    """A repository of one commit, one file of code, one test file."""

    commits: dict[str, CommitFacts] = field(
        default_factory=lambda: {
            "abc": CommitFacts(SHA, "Give the pool a limit", ("src/pool.py", "README.md"))
        }
    )
    texts: dict[str, str] = field(
        default_factory=lambda: {"src/pool.py": TEXT, "tests/test_pool.py": "", "notes.txt": "x"}
    )
    names: dict[str, list[str]] = field(
        default_factory=lambda: {
            "src/pool.py": ["connect"],
            "tests/test_pool.py": ["test_limit", "TestPool", "TestPool.test_fork"],
        }
    )

    def commit(self, sha: str) -> CommitFacts | None:
        """As ProjectFiles."""
        return self.commits.get(sha)

    def text(self, path: str) -> str | None:
        """As ProjectFiles."""
        return self.texts.get(path)

    def near_paths(self, path: str) -> list[str]:
        """As ProjectFiles."""
        return [p for p in self.texts if p.rpartition("/")[2] == path.rpartition("/")[2]]

    def symbols(self, path: str) -> list[str] | None:
        """As ProjectFiles."""
        return self.names.get(path)


PROJECT = FakeProject()


@pytest.mark.parametrize(
    ("target", "touches"),
    [
        ("src/pool.py", True),
        ("src/pool.py::connect", True),
        ("src", True),
        ("src/", True),
        ("README.md", True),
        ("pool", True),
        ("pool_limit", True),
        ("Pool limits", True),
        ("src/other.py", False),
        ("src/other.py::connect", False),
        ("sr", False),
        ("retry", False),
        ("pool_timeout", False),
        ("", False),
    ],
)
def test_a_commit_verifies_what_it_touches(target: str, touches: bool) -> None:
    found = verify("commit:abc", "The pool is limited.", target, PROJECT)
    assert found.verified is touches
    assert found.source_ref == f"commit:{SHA}"
    assert found.places == ("src/pool.py", "README.md")


def test_a_missing_commit_is_refused() -> None:
    with pytest.raises(UnknownReference, match=r"No commit 'fff' exists. Check the spelling."):
        verify("commit:fff", "x", "pool", PROJECT)


@pytest.mark.parametrize(
    ("source", "text", "holds"),
    [
        ("file:src/pool.py#L3", "The pool says `max_retries = 3`.", True),
        ("file:src/pool.py#L1-L6", "max_retries = 3", True),
        ("file:src/pool.py:3-3", 'It says "max_retries  =  3" there.', True),
        ("file:src/pool.py", "MAX_RETRIES = 3.", True),
        ("file:src/pool.py#L5-L6", "The pool says `max_retries = 3`.", False),
        ("file:src/pool.py#L3", "The pool says `max_retries = 5`.", False),
        ("file:src/pool.py", "`max_retries = 3` and `min_retries = 1` are set.", False),
        ("file:src/pool.py", "The pool retries three times.", False),
        # A name stands in the file whatever is said about it.
        ("file:src/pool.py", "`connect` never blocks.", False),
        ("file:src/pool.py#L900", "max_retries = 3", False),
    ],
)
def test_a_file_verifies_what_its_range_quotes(source: str, text: str, holds: bool) -> None:
    found = verify(source, text, "pool", PROJECT)
    assert found.verified is holds
    assert found.places == ("src/pool.py",)


def test_a_missing_file_is_refused_with_near_names() -> None:
    with pytest.raises(UnknownReference, match=r"Did you mean src/pool\.py\?"):
        verify("file:lib/pool.py#L1", "x", "", PROJECT)


@pytest.mark.parametrize(
    "node",
    [
        "tests/test_pool.py",
        "tests/test_pool.py::test_limit",
        "tests/test_pool.py::test_limit[two]",
        "tests/test_pool.py::TestPool::test_fork",
        "notes.txt",
    ],
)
def test_an_existing_test_is_accepted_but_verifies_nothing(node: str) -> None:
    found = verify(f"test:{node}", "x", "pool", PROJECT)
    assert found.source_ref == f"test:{node}"
    assert not found.verified


def test_a_missing_test_is_refused_with_near_names() -> None:
    with pytest.raises(UnknownReference, match="TestPool::test_fork"):
        verify("test:tests/test_pool.py::test_gone", "x", "", PROJECT)
    with pytest.raises(UnknownReference, match=r"tests/test_pool\.py"):
        verify("test:test_pool.py::test_limit", "x", "", PROJECT)


@pytest.mark.parametrize(
    "source", ["user:ann", "agent:codex/1", "url:https://x.example", "import:x"]
)
def test_other_sources_verify_nothing(source: str) -> None:
    found = verify(source, "x", "pool", PROJECT)
    assert (found.source_ref, found.verified, found.places) == (source, False, ())


@pytest.mark.parametrize(
    ("ref", "parsed"),
    [
        ("a.py", ("a.py", 0, 0)),
        ("a.py#L10", ("a.py", 10, 10)),
        ("a.py#L10-L20", ("a.py", 10, 20)),
        ("a.py#L10-20", ("a.py", 10, 20)),
        ("a.py:10-20", ("a.py", 10, 20)),
        ("a.py:10:20", ("a.py", 10, 20)),
        ("dir/b c.py:7", ("dir/b c.py", 7, 7)),
        ("C#/a.cs", ("C#/a.cs", 0, 0)),
    ],
)
def test_ranges(ref: str, parsed: tuple[str, int, int]) -> None:
    assert parse_range(ref) == parsed


@pytest.mark.parametrize("ref", ["a.py#L20-L10", "a.py:0-3"])
def test_ranges_that_are_none(ref: str) -> None:
    with pytest.raises(InvalidInput, match="is not a range of lines"):
        parse_range(ref)
