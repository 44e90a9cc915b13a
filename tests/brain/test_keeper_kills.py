"""Killed between any two steps of a write and what follows it, the brain loses nothing it
acknowledged, and graph, keywords and memory/ are in step after the next opening."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest

from braincore import locate
from braincore.brain.keeper import Keeper
from braincore.graph.queries import digest
from braincore.journal.codec import encode, path_of

TRIALS = int(os.environ.get("BRAINCORE_TRIALS", "1"))

STEPS = [
    "journal.store:Journal._grow",
    "journal.store:Journal._commit_tree",
    "model.table:Table.put",
    "model.table:Table.drop",
    "brain.projector:Projector.accept",
    "index.keyword:KeywordIndex.put",
    "journal.worktree:WorkTree.follow",
    "journal.worktree:WorkTree._bring",
    "journal.worktree:write_atomic",
    "brain.projector:apply_records",
    "brain.projector:apply_events",
    "graph.projection:_put",
    "graph.projection:link",
    "graph.projection:_link_new",
    "graph.store:GraphStore.set_meta",
    "graph.store:GraphStore.checkpoint",
    "graph.store:GraphStore._connect",
    "graph.store:GraphStore.renew",
    "brain.projector:load_everything",
    "index.keyword:KeywordIndex.store",
    "index.keyword:KeywordIndex._write_mark",
    "index.keyword:KeywordIndex.settle",
    "journal.events:EventLog.append",
    "journal.events:EventLog.flush",
    "journal.events:os.truncate",
    "index.rows:RowCache.save",
    "index.usage:UsageStore.flush",
]

TAKEN = {
    "drop": 2,
    "link": 3,
    "_link_new": 5,
    "checkpoint": 1,
    "_connect": 1,
    "renew": 1,
    "load_everything": 2,
    "save": 1,
}
"""How often a writer takes a step at least, where that is rarely."""

PROGRAM = """
import os, sys, time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module

from braincore import locate
from braincore.brain import keeper as _, projector
from braincore.brain.keeper import Keeper
from braincore.journal.store import Change, Why
from braincore.model.axes import Channel, EdgeType, EventType, Kind
from braincore.model.records import Edge, Event, Note, Record, new_id

AT = datetime(2026, 3, 1, tzinfo=UTC)
WHY = Why("remember", "maya", "person", "stated")


def make(text, number, kind=Kind.FACT):
    at = AT + timedelta(seconds=number)
    return Record(
        id=new_id(kind, at), kind=kind, text=text, source_ref="user:maya",
        channel=Channel.PERSON, trust=0.9, created_at=at, valid_from=at,
        body=Event(EventType.EDIT) if kind is Kind.EVENT else Note(),
        edges=() if kind is Kind.EVENT else (Edge(EdgeType.ABOUT, f"topic{number % 3}"),),
    )


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
    projector.KEYWORD_SECONDS = projector.CHORE_SECONDS = projector.IDLE_SECONDS = 0.0
    arm(step, when, count)

    def said(*words):
        os.write(acknowledged, (" ".join(words) + "\\n").encode())

    place = locate.find(root)
    keeper = Keeper(place, lambda: datetime.now(UTC))
    keeper.attach(place)
    live = []
    for number in range(8):
        record = make(f"fact number{number}", number)
        keeper.commit([Change(None, record)], WHY)
        said("put", record.id, record.text)
        live.append(record)
        event = make(f"event{number}", number, Kind.EVENT)
        keeper.note([event])
        said("event", event.id)
        if number % 3 == 1:
            new = replace(live[0], text=f"fact changed{number}", edges=())
            keeper.commit([Change(live[0], new)], WHY)
            said("put", new.id, new.text)
            live[0] = new
        if number % 4 == 3:
            gone = live.pop()
            keeper.commit([Change(gone, None)], WHY)
            said("drop", gone.id)
        keeper.usage.count([record.id], AT, abstained=False)
        keeper.graph
    while keeper._projector._unsettled:
        time.sleep(0.01)
    keeper.rebuild()
    keeper.close()
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
    """Runs a writer that dies at the given call of a step. One process holds the imports and forks
    the writers, since starting each would cost a second."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def sound(keeper: Keeper, report: Path) -> None:
    """Everything that was acknowledged is there, and all that is there is in step."""
    records: dict[str, str] = {}
    events = set()
    for line in report.read_text().splitlines():
        verb, record_id, *words = line.split()
        if verb == "event":
            events.add(record_id)
        elif verb == "put":
            records[record_id] = " ".join(words)
        else:
            del records[record_id]
    head = keeper.journal.head
    assert head is not None
    written = {e.record.id: e.record for e in keeper.journal.read(head)}
    assert written == {r.id: r for r in keeper.table}
    # What was under way when it died may be there or not: one change of one record.
    there = {i: r.text for i, r in written.items()}
    assert len(set(there.items()) ^ set(records.items())) <= 2
    assert len(set(there) ^ set(records)) <= 1
    kept = [e.id for e in (*keeper.journal.events(head), *keeper.events.pending)]
    assert len(kept) == len(set(kept))
    assert events <= set(kept)
    assert len(set(kept) - events) <= 1
    memory = keeper.place.memory
    files = {p.relative_to(memory).as_posix(): p.read_bytes() for p in memory.rglob("*.md")}
    assert files == {path_of(r.id): encode(r) for r in written.values()}
    for record in written.values():
        assert keeper.keyword.search(record.text, 100)[0] == record.id
    found = keeper.keyword.search("fact", 100)
    assert sorted(found) == sorted(written)
    assert keeper.problem == ""
    live = digest(keeper.graph)
    keeper.rebuild()
    assert digest(keeper.graph) == live


def opened(root: Path) -> Keeper:
    place = locate.find(root)
    keeper = Keeper(place, lambda: datetime.now(UTC))
    keeper.attach(place)
    return keeper


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_nothing_is_lost(tmp_path: Path, kill: Kill, step: str) -> None:
    for trial in range(TRIALS):
        for when in ("before", "after"):
            if TRIALS == 1 and (STEPS.index(step) % 2 == 0) != (when == "before"):
                continue
            root = tmp_path / f"{when}{trial}"
            pygit2.init_repository(str(root))
            report = tmp_path / f"{when}{trial}.said"
            often = TAKEN.get(step.rpartition(".")[2].rpartition(":")[2], 7)
            count = 1 + (STEPS.index(step) + 3 * trial) % often
            code = kill(root, step, when, count, report)
            assert code == 9
            report.touch()
            keeper = opened(root)
            try:
                sound(keeper, report)
            finally:
                keeper.close()
