"""`python -m bench.vectors`: exact search and hnswlib as the number of vectors grows."""

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.measure import Bench, Figure, interleave, median, say, spent_in
from braincore.index.embed import Identity, MiniLM, Vectors
from braincore.index.vectors import VectorIndex

DIMENSIONS = 384
QUESTIONS = 200
SIZES = {"small": (10_000, 1_000), "middle": (20_000, 2_000), "large": (100_000, 5_000)}
"""Full size and the size with --quick."""


def generated(count: int, seed: int) -> Vectors:
    """Unit rows around topics in a space of 64 directions, with noise in all."""
    fixed, own = np.random.default_rng(0), np.random.default_rng(seed)
    topics = fixed.standard_normal((500, 64), dtype=np.float32)
    directions = fixed.standard_normal((64, DIMENSIONS), dtype=np.float32)
    inner = topics[own.integers(0, 500, count)]
    inner = inner + 0.6 * own.standard_normal((count, 64), dtype=np.float32)
    rows = inner @ directions + 1.5 * own.standard_normal((count, DIMENSIONS), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def from_texts(folder: Path) -> tuple[Vectors, Vectors]:
    """Rows and questions from a folder's text files, a statement a line; each tenth asks."""
    lines: dict[str, None] = {}
    for file in sorted(f for f in folder.rglob("*") if f.is_file()):
        found = file.read_text(encoding="utf-8", errors="replace").splitlines()
        lines.update(dict.fromkeys(line.strip() for line in found if line.strip()))
    rows = MiniLM().embed(list(lines))
    asked = np.arange(len(rows)) % 10 == 9
    return rows[~asked], rows[asked][:QUESTIONS]


def opened(folder: Path, dimensions: int, hnsw_from: int) -> tuple[float, float]:
    """CPU in ms to open an index in a fresh process, and the MB that it grew by."""
    arguments = [str(folder), str(dimensions), str(hnsw_from)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.vectors.opened", *arguments], capture_output=True, check=True
    )
    cpu, grown = done.stdout.split()
    return float(cpu), float(grown)


def wait_for_graph(index: VectorIndex) -> None:
    """Until the builder is through."""
    while (builder := index._builder) is not None:
        builder.join()


def measure(bench: Bench, name: str, rows: Vectors, questions: Vectors) -> None:
    """All figures of one size."""
    say(f"{name}: {len(rows)} rows")
    names = [(f"fact_{at:026}", f"{at:064x}") for at in range(len(rows))]
    identity = Identity("bench", "", rows.shape[1])
    with tempfile.TemporaryDirectory() as temp:
        exact = VectorIndex(Path(temp, "exact"), identity, hnsw_from=sys.maxsize)
        put = spent_in(lambda: exact.put(names, rows))
        bench.figure(f"{name}_put", Figure(put, "ms"))
        bench.figure(f"{name}_save", Figure(spent_in(exact.save), "ms", note="CPU"))
        load, grown = opened(Path(temp, "exact"), rows.shape[1], sys.maxsize)
        bench.figure(f"{name}_load", Figure(load, "ms", budget=1000))
        bench.figure(f"{name}_exact_rss", Figure(grown, "MB"))

        def asked(index: VectorIndex) -> Callable[[], float]:
            turn = iter(np.tile(np.arange(len(questions)), 100))
            return lambda: spent_in(lambda: index.search(questions[next(turn)], 10))

        if importlib.util.find_spec("hnswlib") is None:
            times = interleave(len(questions), asked(exact))
            bench.figure(
                f"{name}_exact_p50", Figure(median(times[0]), "ms", note="hnswlib is not installed")
            )
            return
        graph = VectorIndex(Path(temp, "graph"), identity, hnsw_from=1)
        began = time.process_time()
        graph.put(names, rows)
        wait_for_graph(graph)
        built = time.process_time() - began
        bench.figure(f"{name}_hnsw_build", Figure(built * 1000, "ms", note="CPU, in background"))
        mine, theirs = interleave(len(questions), asked(graph), asked(exact))
        bench.figure(
            f"{name}_hnsw_p50", Figure(median(mine), "ms", median(theirs), "the exact search")
        )
        hits = wanted = 0
        for question in questions:
            right = {i for i, _ in exact.search(question, 10)}
            hits += len(right & {i for i, _ in graph.search(question, 10)})
            wanted += len(right)
        missed = 1 - hits / wanted
        bench.figure(
            f"{name}_missed_at_10", Figure(missed, "", budget=0.01, note="1 − recall@10 to exact")
        )
        graph.save()
        graph.close()
        load, grown = opened(Path(temp, "graph"), rows.shape[1], 1)
        bench.figure(f"{name}_hnsw_load", Figure(load, "ms", budget=1000, note="rows included"))
        bench.figure(f"{name}_hnsw_rss", Figure(grown, "MB", note="rows included"))


def main() -> int:
    """Measure, report."""
    bench = Bench("vectors", __doc__ or "")
    if bench.data is not None:
        rows, questions = from_texts(bench.data)
        bench.found("rows", len(rows))
        measure(bench, "data", rows, questions)
        return bench.report()
    for name, (full, quick) in SIZES.items():
        count = bench.size(name, full, quick)
        measure(bench, name, generated(count, 1), generated(QUESTIONS, 2))
    return bench.report()


if __name__ == "__main__":
    raise SystemExit(main())
