"""Killed at any step of an import, a batch is there whole or not at all, what was acknowledged is
there, and importing the file again adds just the rest."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
import pytest

from braincore import locate
from braincore.brain import Brain, Caller, Imported, Statement
from braincore.graph.queries import digest
from braincore.journal.codec import encode, path_of
from braincore.model.axes import Channel

TRIALS = int(os.environ.get("BRAINCORE_TRIALS", "1"))

BATCH = 105
BATCHES = 2
PERSON = Caller(Channel.PERSON, "ann")

STEPS = {
    "journal.bulk:Pack.write": 2,
    "journal.bulk:_put": 4,
    "journal.store:Journal._commit_tree": 2,
    "model.table:Table.put": 200,
    "brain.projector:Projector.accept": 2,
    "journal.worktree:write_atomic": 200,
    "brain.projector:add_records": 2,
    "graph.store:GraphStore.load": 6,
    "graph.bulk:stub": 6,
    "graph.store:GraphStore.set_meta": 2,
    "graph.store:GraphStore.checkpoint": 1,
    "index.keyword:KeywordIndex.store": 2,
    "index.keyword:KeywordIndex._write_mark": 2,
}
"""How often a step is taken at least."""


def lines() -> list[Imported]:
    return [
        Imported(n + 1, Statement(f"Machine {n} runs Linux {n % 7}", target=f"machine_{n}"))
        for n in range(BATCH * BATCHES)
    ]


PROGRAM = """
import os, sys, time
from importlib import import_module

sys.path.insert(0, sys.argv[1])
from test_import_kills import BATCH, PERSON, lines

from braincore import locate
from braincore.brain import Brain, projector


def arm(step, when, count):
    module, _, name = step.partition(":")
    owner = import_module(f"braincore.{module}")
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    real, left = getattr(owner, last), [count]

    def deadly(*given, **named):
        left[0] -= 1
        now = not left[0]
        if now and when == "before":
            os._exit(9)
        out = real(*given, **named)
        if now:
            os._exit(9)
        return out

    setattr(owner, last, deadly)


def run(root, step, when, count, acknowledged):
    projector.KEYWORD_SECONDS = projector.IDLE_SECONDS = 0.0
    brain = Brain(locate.find(root))
    brain.attach()
    brain.keeper.graph, brain.keeper.keyword
    arm(step, when, count)
    for first in range(0, len(lines()), BATCH):
        brain.import_records(lines()[first : first + BATCH], PERSON, "x.jsonl")
        os.write(acknowledged, b"batch\\n")
        brain.keeper.graph
        while brain.keeper.keyword.waiting:
            time.sleep(0.01)
    while brain.keeper._projector._unsettled:
        time.sleep(0.01)
    brain.close()
    os._exit(3)


for line in sys.stdin:
    root, step, when, count, report = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        try:
            run(root, step, when, int(count), os.open(report, os.O_WRONLY | os.O_CREAT))
        finally:
            import traceback
            traceback.print_exc()
            os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

Kill = Callable[[Path, str, str, int, Path], int]


@pytest.fixture(scope="module")
def kill() -> Iterator[Kill]:
    """Runs an import that dies at the given call of a step."""
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None

        def run(root: Path, step: str, when: str, count: int, report: Path) -> int:
            assert parent.stdin is not None
            assert parent.stdout is not None
            parent.stdin.write(f"{root}\t{step}\t{when}\t{count}\t{report}\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield run
        parent.stdin.close()
        assert parent.wait() == 0


def sound(brain: Brain) -> None:
    """Graph, keywords and memory/ are what the journal says."""
    keeper = brain.keeper
    head = keeper.journal.head
    assert head is not None
    written = {e.record.id: e.record for e in keeper.journal.read(head)}
    assert written == {r.id: r for r in keeper.table}
    keyword = keeper.keyword
    with keeper.lock:
        assert sorted(keyword.search("linux", 2000)) == sorted(written)
    live = digest(keeper.graph)
    memory = keeper.place.memory
    files = {p.relative_to(memory).as_posix(): p.read_bytes() for p in memory.rglob("*.md")}
    assert files == {path_of(r.id): encode(r) for r in written.values()}
    assert keeper.problem == ""
    keeper.rebuild()
    assert digest(keeper.graph) == live
    assert not list((keeper.journal.path / "objects" / "pack").glob("tmp_*"))


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_a_batch_is_whole_or_not_there(
    tmp_path: Path, kill: Kill, step: str
) -> None:
    number = list(STEPS).index(step)
    for trial in range(TRIALS):
        for when in ("before", "after"):
            if TRIALS == 1 and (number % 2 == 0) != (when == "before"):
                continue
            root, report = tmp_path / f"{when}{trial}", tmp_path / f"{when}{trial}.said"
            pygit2.init_repository(str(root))
            count = 1 + (number + 1 + 37 * trial) % STEPS[step]
            assert kill(root, step, when, count, report) == 9
            acknowledged = report.read_text().count("batch")
            brain = Brain(locate.find(root))
            try:
                brain.attach()
                there = len(brain.table)
                assert there in (acknowledged * BATCH, (acknowledged + 1) * BATCH)
                sound(brain)
                again = brain.import_records(lines(), PERSON, "x.jsonl")
                assert again.duplicates == there
                assert len(brain.table) == BATCH * BATCHES
                sound(brain)
            finally:
                brain.close()


def test_what_a_crash_left_half_written_is_swept(tmp_path: Path) -> None:
    pygit2.init_repository(str(tmp_path))
    brain = Brain(locate.find(tmp_path))
    folder = brain.keeper.journal.path / "objects" / "pack"
    brain.close()
    folder.mkdir(exist_ok=True)
    (folder / "tmp_braincore_pack-0.pack").write_bytes(b"PACK")
    Brain(locate.find(tmp_path)).close()
    assert not list(folder.iterdir())
