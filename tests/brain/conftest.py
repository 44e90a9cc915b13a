"""A scratch repository with a brain whose clock the test holds."""

import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from braincore import locate
from braincore.brain import Brain
from braincore.model.records import Record


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Now."""
        return self.now

    def move(self, **by: float) -> None:
        """Move on (or back) by a timedelta's arguments."""
        self.now += timedelta(**by)


@dataclass
class Scratch:
    """An open brain, its clock, its repository."""

    brain: Brain
    clock: Clock
    root: Path

    def git(self, *args: str) -> str:
        """Run git in the repository."""
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        done = subprocess.run(
            ["git", "-C", str(self.root), *who, *args], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        """Commit files (`__` in a name is `/`, the suffix is .py) and give the id."""
        for name, text in files.items():
            path = self.root / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def reopen(self) -> None:
        """Close the brain and open it again."""
        self.brain.close()
        self.brain = Brain(locate.find(self.root), self.clock)

    def state(self) -> tuple[str | None, list[Record]]:
        """The journal's head and every record."""
        return self.brain.keeper.journal.head, sorted(self.brain.table, key=lambda r: r.id)


@pytest.fixture(scope="session")
def close_later() -> Iterator[Callable[[Brain], None]]:
    """Brains are closed behind the tests: most of it is waiting for the disk."""
    closing: list[Future[None]] = []
    with ThreadPoolExecutor(3) as pool:
        yield lambda brain: closing.append(pool.submit(brain.close))
    for one in closing:
        one.result()


@pytest.fixture
def scratch(tmp_path: Path, close_later: Callable[[Brain], None]) -> Iterator[Scratch]:
    """An empty repository with a brain; without vectors, which come whenever they are made."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".braincore").mkdir()
    (tmp_path / ".braincore" / "config.toml").write_text('[recall]\nembedder = "none"\n')
    clock = Clock()
    brain = Brain(locate.find(tmp_path), clock)
    scratch = Scratch(brain, clock, tmp_path)
    yield scratch
    close_later(scratch.brain)


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait until something is true, for things done behind the writers."""

    def wait(ready: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not ready():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)

    return wait
