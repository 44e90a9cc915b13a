"""`python -m bench.write`: one durable write, acknowledged and projected, as the brain grows."""

import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from bench.measure import Bench, Figure, interleave, median, p95, say, spent_in
from bench.scratch import generate_records, repository, statements, store_records
from braincore import client
from braincore.brain import Brain, open_brain
from braincore.intake.statement import Caller, Statement
from braincore.locate import Place
from braincore.model.axes import Channel

PERSON = Caller(Channel.PERSON, "bench")
WINDOW = 100


class PlainGit:
    """The baseline: one blob committed at the same depth of a tree that grows alike."""

    def __init__(self, path: Path) -> None:
        self._repo = pygit2.init_repository(str(path), bare=True, initial_head="main")
        self._head: list[pygit2.Oid] = []
        self._sign = pygit2.Signature("bench", "bench@localhost")

    def write(self, name: str, data: bytes) -> None:
        """Commit one file as `facts/<c>/<c>/<name>.md`."""
        repo = self._repo
        above = []
        tree = repo[self._head[0]].peel(pygit2.Tree) if self._head else None
        for part in ("facts", name[-1], name[-2]):
            builder = repo.TreeBuilder(tree) if tree is not None else repo.TreeBuilder()
            above.append((builder, part))
            found = builder.get(part)
            tree = found if isinstance(found, pygit2.Tree) else None
        last = repo.TreeBuilder(tree) if tree is not None else repo.TreeBuilder()
        last.insert(f"{name}.md", repo.create_blob(data), FileMode.BLOB)
        made = last.write()
        for builder, part in reversed(above):
            builder.insert(part, made, FileMode.TREE)
            made = builder.write()
        sign = self._sign
        self._head = [
            repo.create_commit("refs/heads/main", sign, sign, "a fact\n", made, self._head)
        ]


class PlainRows:
    """The other baseline: one row inserted and committed in SQLite, as durable as the journal."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute("CREATE TABLE fact (id TEXT PRIMARY KEY, data BLOB)")

    def write(self, name: str, data: bytes) -> None:
        """Insert one row and commit it."""
        self._db.execute("INSERT INTO fact VALUES (?, ?)", (name, data))
        self._db.commit()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


class Growth:
    """Writes one after another, each until the graph has it, beside both baselines."""

    def __init__(self, brain: Brain, folder: Path, texts: Iterator[str]) -> None:
        self._brain = brain
        self._texts = texts
        self._git = PlainGit(folder / "plain.git")
        self._rows = PlainRows(folder / "plain.db")
        self.acknowledged: list[float] = []
        self.projected: list[float] = []
        self.git: list[float] = []
        self.rows: list[float] = []

    def step(self) -> None:
        """One write and its baselines."""
        text = next(self._texts)
        began, thread = time.process_time(), time.thread_time()
        record = self._brain.remember(Statement(text, target=_target(text)), PERSON).record
        self.acknowledged.append((time.thread_time() - thread) * 1000)
        _ = self._brain.keeper.graph
        self.projected.append((time.process_time() - began) * 1000)
        data = text.encode() * 6
        self.git.append(spent_in(lambda: self._git.write(record.id, data)))
        self.rows.append(spent_in(lambda: self._rows.write(record.id, data)))

    def close(self) -> None:
        """Let go of the baselines."""
        self._rows.close()


def _target(text: str) -> str:
    return "_".join(text.split()[:2]).lower() if len(text) > 8 else ""


def around(values: list[float], place: int, window: int) -> list[float]:
    """The values of the writes around a record number."""
    first = max(0, min(place - window // 2, len(values) - window))
    return values[first : first + window]


def growth(bench: Bench, brain: Brain, folder: Path, texts: Iterator[str]) -> None:
    """The cost of a write, and of a late one over an early one."""
    count = bench.size("records_written", 5000, 1000)
    grown = Growth(brain, folder, texts)
    for number in range(count):
        grown.step()
        if (number + 1) % 500 == 0:
            say(f"{number + 1} written, p50 {median(grown.acknowledged[-WINDOW:]):.2f} ms")
    grown.close()
    window = min(WINDOW, max(2, count // 4))
    git, rows = median(grown.git), median(grown.rows)
    bench.figure(
        "acknowledged",
        Figure(
            median(grown.acknowledged),
            "ms CPU",
            git,
            "pygit2 commit of one blob in such a tree",
            3.0,
            note=f"p95 {p95(grown.acknowledged):.2f}; SQLite insert and commit {rows:.3f}",
        ),
    )
    bench.figure(
        "projected",
        Figure(
            median(grown.projected),
            "ms CPU",
            git + rows,
            "that commit and a SQLite insert",
            8.0,
            note=f"whole process, until the graph has it; p95 {p95(grown.projected):.2f}",
        ),
    )
    for name, values in (
        ("acknowledged", grown.acknowledged),
        ("projected", grown.projected),
        ("plain_git", grown.git),
    ):
        early, late = (median(around(values, at, window)) for at in (100, count))
        bench.figure(
            f"{name}_late_over_early",
            Figure(
                late,
                "ms CPU",
                early,
                "around record 100",
                None if name == "plain_git" else 1.3,
                of_ratio=True,
                note=f"around record {count}",
            ),
        )


def batches(bench: Bench, brain: Brain, texts: Iterator[str]) -> None:
    """Writes in a row: graph and keywords follow in batches, so that each costs less."""
    count = bench.size("records_in_a_row", 500, 100)

    def in_a_row() -> None:
        for text in (next(texts) for _ in range(count)):
            brain.remember(Statement(text, target=_target(text)), PERSON)
        _ = brain.keeper.graph
        while brain.keeper.keyword.waiting:
            time.sleep(0.05)

    spent = spent_in(in_a_row, time.process_time) / count
    bench.figure(
        "projected_in_a_row",
        Figure(spent, "ms CPU", None, "", 8.0, note="for each, keyword index on disk included"),
    )


def synced(bench: Bench, brain: Brain, texts: Iterator[str]) -> None:
    """The same write with and without fsync of the journal's objects, taking turns."""

    def write(fsync: bool) -> Callable[[], float]:
        def once() -> float:
            pygit2.settings.enable_fsync_gitdir(fsync)
            statement = Statement(next(texts))
            began, thread = time.perf_counter(), time.thread_time()
            brain.remember(statement, PERSON)
            walls[fsync].append((time.perf_counter() - began) * 1000)
            spent = (time.thread_time() - thread) * 1000
            _ = brain.keeper.graph
            return spent

        return once

    walls: dict[bool, list[float]] = {True: [], False: []}
    with_it, without = interleave(bench.size("fsync_pairs", 200, 40), write(True), write(False))
    pygit2.settings.enable_fsync_gitdir(brain.config.fsync)
    bench.figure(
        "acknowledged_fsync",
        Figure(median(with_it), "ms CPU", median(without), "without fsync", 3.0),
    )
    bench.figure(
        "acknowledged_fsync_wall",
        Figure(median(walls[True]), "ms", median(walls[False]), "without fsync"),
    )


def reopened(bench: Bench, place: Place) -> None:
    """Open a store of that size again: table and projections ready, beside reading its blobs."""

    def ours() -> None:
        brain = open_brain(str(place.root))
        _ = brain.keeper.graph, brain.keeper.keyword
        opened.append(brain)

    def blobs() -> None:
        repo = pygit2.Repository(str(place.store / "journal.git"))
        stack = [repo[repo.references["refs/heads/main"].target].peel(pygit2.Tree)]
        while stack:
            for entry in stack.pop():
                if isinstance(entry, pygit2.Tree):
                    stack.append(entry)
                else:
                    bytes(entry.data)
        repo.free()

    opened: list[Brain] = []

    def once() -> float:
        spent = spent_in(ours, time.process_time)
        opened.pop().close()
        return spent

    say("opening once, for the projections")
    once()
    ready, read = interleave(
        bench.size("reopenings", 5, 2), once, lambda: spent_in(blobs, time.process_time)
    )
    bench.figure(
        "reopen",
        Figure(median(ready), "ms CPU", median(read), "reading every blob with pygit2"),
    )


def memory(bench: Bench, place: Place) -> None:
    """Resident memory of a fresh owner that answered a question, beside one with nothing stored."""

    def resident(at: Place) -> float:
        client.ask(at, "recall", {"query": "how many rows may a node merge?"})
        answer = client.ask(at, "status", {})
        assert answer is not None
        records.append(answer.body["records"])
        client.stop(at)
        return float(answer.body["rss_mb"])

    records: list[int] = []
    with repository() as empty:
        least = resident(empty)
    value = resident(place)
    bench.found("records_at_rss", records[-1])
    bench.figure("owner_rss", Figure(value, "MB", least, "an owner with an empty journal", 200.0))


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("write", "What a durable write costs.")
    texts = statements(bench.data)
    with repository() as place:
        brain = open_brain(str(place.root))
        try:
            brain.attach()
            _ = brain.keeper.graph, brain.keeper.keyword
            growth(bench, brain, place.root.parent, texts)
            batches(bench, brain, texts)
            synced(bench, brain, texts)
            have = len(brain.table)
        finally:
            brain.close()
        want = bench.size("records", 10_000, 2000)
        say(f"filling up to {want} records")
        store_records(place, generate_records(max(0, want - have), []))
        for folder in ("graph", "index"):  # filling them in bulk is quicker than replaying
            shutil.rmtree(place.store / folder, ignore_errors=True)
        reopened(bench, place)
        memory(bench, place)
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
