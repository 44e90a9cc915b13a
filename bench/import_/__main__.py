"""`python -m bench.import_`: records a second into one store, as it grows.

Vectors are off: they follow at the pace of their model, which bench.recall measures.
"""

import sys
import time
from collections.abc import Iterator
from itertools import islice

from bench.measure import Bench, Figure, say
from bench.scratch import repository, statements
from braincore.brain import Brain, Caller, Imported, Statement, open_brain
from braincore.model.axes import Channel

PERSON = Caller(Channel.PERSON, "bench")
BUDGET = 1.0
"""Milliseconds a record: a thousand a second."""
PART = 2000
"""Lines of one request of `braincore import`."""


def lines(texts: Iterator[str], count: int) -> list[Imported]:
    """Statements as they come from a file, most of them with a target."""
    return [
        Imported(number, Statement(text, target="_".join(text.split()[:2]).lower()[:80]))
        for number, text in enumerate(islice(texts, count), 1)
        if len(text) > 8
    ]


def step(bench: Bench, brain: Brain, texts: Iterator[str], name: str, count: int) -> None:
    """Import so many, until graph and keywords on disk have them."""
    given = lines(texts, count)
    before = len(brain.table)
    wall, cpu, thread = time.perf_counter(), time.process_time(), time.thread_time()
    for first in range(0, len(given), PART):
        brain.import_records(given[first : first + PART], PERSON, "bench.jsonl")
    acknowledged = (time.perf_counter() - wall, time.thread_time() - thread)
    _ = brain.keeper.graph
    while brain.keeper.keyword.waiting:
        time.sleep(0.01)
    walls, spent = time.perf_counter() - wall, time.process_time() - cpu
    stored = len(brain.table) - before
    bench.found(f"{name}_at", before)
    bench.figure(
        f"{name}_acknowledged",
        Figure(
            acknowledged[1] / stored * 1000,
            "ms CPU",
            note=f"{stored} records beside {before}; wall {acknowledged[0] / stored * 1000:.3f}",
        ),
    )
    bench.figure(
        f"{name}_projected",
        Figure(
            spent / stored * 1000,
            "ms CPU",
            None,
            "",
            BUDGET,
            note=f"whole process, graph, keywords and memory/; wall {walls / stored * 1000:.3f}, "
            f"{stored / spent:.0f} records a CPU second, {stored / walls:.0f} a second",
        ),
    )


def again(bench: Bench, brain: Brain, texts: Iterator[str]) -> None:
    """Import what is there already, and write one record beside the many."""
    given = lines(texts, bench.size("again", 2000, 500))
    brain.import_records(given, PERSON, "bench.jsonl")
    _ = brain.keeper.graph
    thread = time.thread_time()
    done = brain.import_records(given, PERSON, "bench.jsonl")
    spent = time.thread_time() - thread
    if done.duplicates != len(given):
        say(f"only {done.duplicates} of {len(given)} were known again")
    bench.figure("known_already", Figure(spent / len(given) * 1000, "ms CPU", None, "", BUDGET))


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("import_", "How many records a second an import stores.")
    texts = statements(bench.data)
    with repository() as place:
        (place.brain / "config.toml").write_text('[recall]\nembedder = "none"\n', encoding="utf-8")
        brain = open_brain(str(place.root))
        try:
            brain.attach()
            _ = brain.keeper.graph, brain.keeper.keyword
            step(bench, brain, texts, "first", bench.size("first", 1000, 200))
            step(bench, brain, texts, "middle", bench.size("middle", 9000, 1000))
            step(bench, brain, texts, "last", bench.size("last", 90_000, 4000))
            again(bench, brain, texts)
        finally:
            brain.close()
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
