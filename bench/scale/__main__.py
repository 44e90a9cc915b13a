"""`python -m bench.scale`: everything at 1,000, 10,000 and 100,000 records, and how it grows."""

import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from bench.measure import Bench, Figure, median, p95, say, spent_in
from bench.processes import cpu_of, disk_of, profiled, resident
from bench.recall.lists import Control
from bench.scratch import owner_seconds, repository, statements
from bench.stores import PERSON, brain_of, embedder, import_all, settled, vectors_made
from bench.write.__main__ import PlainGit
from braincore import client
from braincore.brain import Brain, DecisionInput, RecallInput, Statement, open_brain
from braincore.errors import StoreError
from braincore.locate import Place
from braincore.model.outcomes import Abstain, Answer
from braincore.model.records import Alternative

SENTENCE = re.compile(r"Node (\d+) may (\w+) up to \d+ rows of a (\w+) for each (\w+) before")
AGAIN = 30
"""So often is an action repeated that is looked at more closely."""


class Growth:
    """Figures of one quantity at several sizes: the baseline of each is the smallest one's."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._first: dict[str, tuple[str, float]] = {}
        self.level = ""

    def note(
        self, name: str, value: float, unit: str, budget: float | None = None, note: str = ""
    ) -> None:
        """Note a figure at the level that is measured."""
        where, first = self._first.setdefault(name, (self.level, value))
        here = where == self.level
        self._bench.figure(
            f"{name}_{self.level}",
            Figure(
                value,
                unit,
                None if here else first,
                "" if here else f"the same at {where}",
                budget,
                note=note,
            ),
        )

    def failed(self, name: str, unit: str, budget: float | None, why: str) -> None:
        """Note that there is no figure at this level, and why."""
        say(f"{name}: {why}")
        self._bench.figure(
            f"{name}_{self.level}", Figure(None, unit, None, "", budget, note=f"failed: {why}")
        )

    def kept(
        self,
        name: str,
        value: float,
        unit: str,
        budget: float | None,
        again: Callable[[], object],
        note: str = "",
        *,
        own: bool = False,
    ) -> None:
        """The same for a figure with a budget; when it is missed, the note says where the time
        goes, of the calling thread (`own`) or of all."""
        if budget is not None and value > budget:
            say(f"{name}: {value:.1f} over {budget:g}, looking where")
            note = "; ".join(filter(None, (note, profiled(again, own=own))))
        self.note(name, value, unit, budget, note)


def lines(texts: Sequence[str]) -> list[Statement | DecisionInput]:
    """Statements, one in ten a decision."""
    out: list[Statement | DecisionInput] = []
    for number, text in enumerate(texts):
        if number % 10:
            out.append(Statement(text, target="_".join(text.split()[:2]).lower()))
            continue
        found = SENTENCE.match(text)
        assert found is not None
        node, verb, one, two = found.groups()
        out.append(
            DecisionInput(
                f"Node {node} may {verb} each {one}",
                f"Which node has the {one} {node} to {verb}?",
                (Alternative("all of them", f"two of them met at one {two}"),),
                text,
                f"A queue of the {two} costs less than locks",
                target=f"node_{node}",
            )
        )
    return out


def questions(texts: Sequence[str], count: int) -> list[str]:
    """Half of them name a node, half could mean many; no two alike."""
    chance = random.Random(13)
    out: dict[str, None] = {}
    while len(out) < min(count, len(texts)):
        found = SENTENCE.match(chance.choice(texts))
        assert found is not None
        node, verb, one, two = found.groups()
        vague = f"which node may {verb} the rows of a {one} for each {two}?"
        out[f"how many rows of a {one} may node {node} {verb}?" if len(out) % 2 else vague] = None
    return list(out)


def imported(grown: Growth, brain: Brain, texts: Sequence[str]) -> None:
    """Import all of them; each costs so much until it is stored, and until all has followed."""
    given = lines(texts)
    began, cpu = time.perf_counter(), time.process_time()
    stored = import_all(brain, given, "scale")
    wall, spent = time.perf_counter() - began, (time.process_time() - cpu) * 1000
    if stored != len(texts):
        raise SystemExit(f"{stored} of {len(texts)} lines became records")
    settled(brain)
    followed = (time.process_time() - cpu) * 1000
    more = [Statement(text.replace("Node ", "Host ")) for text in texts[:1000]]
    grown.kept(
        "import",
        spent / stored,
        "ms CPU a record",
        1.0,
        lambda: import_all(brain, more, "more"),
        f"{1000 * stored / spent:.0f} a second of CPU, {stored / wall:.0f} by the wall clock; what "
        "graph and keywords did meanwhile is in it",
    )
    grown.note("import_followed", followed / stored, "ms CPU a record", None, "until all have it")


def written(grown: Growth, brain: Brain, texts: Iterator[str], rounds: int) -> None:
    """One write after another, each until it is acknowledged and until the graph has it."""
    plain = PlainGit(brain.place.root.parent / "plain.git")

    def once() -> None:
        text = next(texts).replace("Node ", "Shard ")
        statement = Statement(text)
        git.append(spent_in(lambda: plain.write(f"{len(git):08d}", text.encode() * 6)))
        began, thread = time.process_time(), time.thread_time()
        brain.remember(statement, PERSON)
        acknowledged.append((time.thread_time() - thread) * 1000)
        _ = brain.keeper.graph
        projected.append((time.process_time() - began) * 1000)

    def again() -> None:
        for _ in range(AGAIN):
            once()

    git: list[float] = []
    acknowledged: list[float] = []
    projected: list[float] = []
    for _ in range(rounds):
        once()
    first, whole = median(acknowledged), median(projected)
    note = f"p95 {p95(acknowledged):.1f}; a plain pygit2 commit, taking turns, {median(git):.1f}"
    grown.kept("acknowledged", first, "ms CPU", 3.0, again, note, own=True)
    note = f"whole process; p95 {p95(projected):.1f}"
    grown.kept("projected", whole, "ms CPU", 8.0, again, note)


def recalled(
    grown: Growth, brain: Brain, asked: Sequence[str], name: str, budget: float | None, note: str
) -> None:
    """CPU of questions that were not asked before; an abstain writes its task too."""

    def once(text: str) -> float:
        return spent_in(lambda: found.append(brain.recall(RecallInput(text), PERSON)))

    found: list[Answer | Abstain] = []
    once("is anybody there?")
    found.clear()
    times = [once(text) for text in asked]
    for what, kind in (("answered", Answer), ("abstained, which writes a task", Abstain)):
        some = [t for t, f in zip(times, found, strict=True) if isinstance(f, kind)]
        if some:
            note += f"; {len(some)} {what}: p50 {median(some):.1f}, p95 {p95(some):.1f}"
    fresh = [text.replace("rows", "lines") for text in asked[:AGAIN]]
    grown.note(f"recall_{name}_p50", median(times), "ms CPU", None, note)
    again: Callable[[], object] = lambda: [once(text) for text in fresh]  # noqa: E731
    grown.kept(f"recall_{name}_p95", p95(times), "ms CPU", budget, again, note, own=True)


def fts(texts: Sequence[str], asked: Sequence[str]) -> str:
    """What the same questions cost SQLite's full text search over the same texts."""
    control = Control({str(number): text for number, text in enumerate(texts)})
    times = [spent_in(lambda q=q: control.search(q)) for q in asked]  # type: ignore[misc]
    control.close()
    return f"SQLite FTS5 over the same texts p50 {median(times):.1f}, p95 {p95(times):.1f}"


def rebuilt(grown: Growth, brain: Brain, budget: float | None) -> None:
    """`rebuild`: graph and indexes from the journal, both digests included."""
    began = time.perf_counter()
    try:
        spent = spent_in(brain.rebuild, time.process_time)
    except StoreError as error:  # what else there is to measure at this size is measured still
        grown.failed("rebuild", "s CPU", budget, str(error))
        return
    note = f"wall {time.perf_counter() - began:.1f} s"
    grown.kept("rebuild", spent / 1000, "s CPU", budget, brain.rebuild, note)


def started(grown: Growth, place: Place, name: str, query: str, budget: float | None) -> None:
    """A cold owner until its first answer, and what it holds then."""
    client.stop(place)
    began = time.perf_counter()
    client.ask(place, "recall", {"query": query})
    wall = (time.perf_counter() - began) * 1000
    found = owner_seconds(place)
    assert found is not None
    spent = cpu_of(found[0])

    def opened() -> None:
        brain = open_brain(str(place.root))
        brain.recall(RecallInput(query), PERSON)
        brain.close()

    held = resident(found[0])
    client.stop(place)
    grown.kept(
        f"start_{name}",
        spent,
        "ms CPU",
        None,
        opened,
        f"owner's CPU from its start until the first recall was answered; wall {wall:.0f}",
    )
    grown.note(f"owner_rss_{name}", held, "MB", budget, "after its first answer")


def disk(grown: Growth, place: Place) -> None:
    """Megabytes of each part."""
    vectors = disk_of(place.store / "index" / "vectors")
    grown.note("disk_journal", disk_of(place.store / "journal.git"), "MB")
    grown.note("disk_graph", disk_of(place.store / "graph"), "MB")
    grown.note("disk_index", disk_of(place.store / "index") - vectors, "MB")
    grown.note("disk_vectors", vectors, "MB")
    grown.note("disk_memory", disk_of(place.memory), "MB", None, "memory/, for people")


def level(bench: Bench, grown: Growth, count: int) -> None:
    """Everything at one size."""
    grown.level = f"{count // 1000}k" if count % 1000 == 0 else str(count)
    say(f"— {grown.level} records —")
    source = statements(None)
    texts = list(islice(source, count))
    asked = questions(texts, bench.size("questions", 200, 60))
    at_10k = count <= 10_000
    with repository() as place:
        embedder(place, "none")
        with brain_of(place) as brain:
            imported(grown, brain, texts)
            written(grown, brain, source, bench.size("writes", 100, 30))
            settled(brain)
            note = fts(texts, asked)
            recalled(grown, brain, asked, "keyword", 4.0 if at_10k else None, note)
            rebuilt(grown, brain, 60.0)
        started(grown, place, "keyword", asked[0], 200.0 if at_10k else None)
        embedder(place, "minilm")
        with brain_of(place) as brain:
            spent = spent_in(lambda: vectors_made(brain, count), time.process_time)
            grown.note("vectors", spent / count, "ms CPU a record", None, "all were made")
            recalled(grown, brain, asked, "model", 15.0 if at_10k else None, "query embedded too")
        started(grown, place, "model", asked[0], 400.0 if at_10k else None)
        disk(grown, place)


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("scale", "How everything grows with the number of records.")
    if bench.data is not None:
        say("the texts are generated, so that sizes are alike: --data changes nothing")
    grown = Growth(bench)
    sizes = [("small", 1000, 1000), ("middle", 10_000, 5000)]
    if not bench.quick:
        sizes.append(("large", 100_000, 100_000))
    for name, full, quick in sizes:
        level(bench, grown, bench.size(name, full, quick))
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
