"""The vector index above its size, with hnswlib: it finds what the exact one finds."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from braincore.index import hnsw, vectors
from braincore.index.embed import Identity, MiniLM, Vectors
from braincore.index.vectors import VectorIndex

MODEL = Identity("a-model", "w1", 32)


@pytest.fixture
def opened() -> Iterator[list[VectorIndex]]:
    """Indexes whose builders end with the test."""
    found: list[VectorIndex] = []
    yield found
    for index in found:
        index.close()


def clustered(count: int, dimensions: int, seed: int) -> Vectors:
    """Unit rows around centres that don't depend on the seed, as texts lie around topics."""
    centres = np.random.default_rng(0).standard_normal((500, dimensions))
    own = np.random.default_rng(seed)
    rows = centres[own.integers(0, 500, count)] + 0.5 * own.standard_normal((count, dimensions))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def names(first: int, until: int) -> list[tuple[str, str]]:
    """Ids and hashes."""
    return [(f"r{at:06}", f"h{at}") for at in range(first, until)]


def settle(index: VectorIndex) -> None:
    """Wait until the graph has every row."""
    while (builder := index._builder) is not None:
        builder.join()
    assert index._graph_ready
    assert index._graph is not None
    assert index._graph.covered == len(index._rows.alive)


def agree(found: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> None:
    """The same ids in order; how rows were picked may change the last bit of a cosine."""
    assert [i for i, _ in found] == [i for i, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-6)


def recall(index: VectorIndex, questions: Vectors, limit: int = 10) -> float:
    """The part of the exact answer that the graph finds."""
    everything = list(index.made_of())
    parts = []
    for question in questions:
        exact = {i for i, _ in index.search(question, limit, among=everything)}
        found = index._search_graph(index._rows, question, limit)
        assert found is not None
        assert len(found) == len(exact)
        parts.append(len(exact & {i for i, _ in found}) / len(exact))
    return float(np.mean(parts))


def built(folder: Path, opened: list[VectorIndex], count: int = 3000) -> VectorIndex:
    """An index with a graph."""
    index = VectorIndex(folder, MODEL, hnsw_from=1000)
    opened.append(index)
    index.put(names(0, count), clustered(count, 32, 1))
    settle(index)
    return index


def test_recall_at_10_of_20000_rows(tmp_path: Path, opened: list[VectorIndex]) -> None:
    index = VectorIndex(tmp_path, Identity("a-model", "w1", 384))
    opened.append(index)
    index.put(names(0, 20_000), clustered(20_000, 384, 1))
    settle(index)
    assert recall(index, clustered(200, 384, 2)) >= 0.99


def test_recall_on_sentences(tmp_path: Path, opened: list[VectorIndex]) -> None:
    model = MiniLM()
    words = "billing search login cache queue parser deploy report image invoice".split()
    stores = "Postgres Redis Kafka SQLite S3 Elasticsearch RabbitMQ DynamoDB MySQL Mongo".split()
    why = ["since it is fast", "for the audit", "after the outage", "by decision of the team"]
    texts = [
        f"{w} {v} {s} {y}" for w in words for v in ("uses", "left") for s in stores for y in why
    ]
    index = VectorIndex(tmp_path, model.identity, hnsw_from=100)
    opened.append(index)
    index.put(names(0, len(texts)), model.embed(texts))
    settle(index)
    questions = model.embed([f"why does {w} need {s}?" for w in words for s in stores[:4]])
    assert recall(index, questions) >= 0.99


def test_below_its_size_there_is_no_graph(tmp_path: Path, opened: list[VectorIndex]) -> None:
    index = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    opened.append(index)
    index.put(names(0, 999), clustered(999, 32, 1))
    assert index._graph is None
    index.put(names(999, 1000), clustered(1, 32, 2))
    settle(index)


def test_a_filter_is_exact(tmp_path: Path, opened: list[VectorIndex]) -> None:
    index = built(tmp_path, opened)
    few = [f"r{at:06}" for at in range(0, 3000, 100)]
    for question in clustered(20, 32, 2):
        cosines = index.cosine(question, few)
        wanted = sorted(few, key=lambda i: (-cosines[i], i))[:10]
        assert [i for i, _ in index.search(question, 10, among=few)] == wanted


@pytest.mark.parametrize("limit", [1, 10, hnsw.MOST, hnsw.MOST + 1, 3000, 5000])
def test_as_many_come_as_were_asked_for(
    tmp_path: Path, opened: list[VectorIndex], limit: int
) -> None:
    index = built(tmp_path, opened)
    assert len(index.search(clustered(1, 32, 2)[0], limit)) == min(limit, 3000)


def test_scores_are_the_exact_ones(tmp_path: Path, opened: list[VectorIndex]) -> None:
    index = built(tmp_path, opened)
    question = clustered(1, 32, 2)[0]
    for record_id, score in index.search(question, 50):
        assert index.cosine(question, [record_id])[record_id] == pytest.approx(score, abs=1e-6)


def test_dropped_rows_are_gone_and_come_back_when_put_again(
    tmp_path: Path, opened: list[VectorIndex]
) -> None:
    index = built(tmp_path, opened)
    question = clustered(1, 32, 2)[0]
    best = [i for i, _ in index.search(question, 300)]
    index.drop(best[:200])
    assert [i for i, _ in index.search(question, 100)] == best[200:]
    kept = clustered(3000, 32, 1)
    index.put([(i, "again") for i in best[:200]], kept[[int(i[1:]) for i in best[:200]]])
    assert [i for i, _ in index.search(question, 300)] == best
    settle(index)
    assert [i for i, _ in index.search(question, 300)] == best
    index.put([(best[0], "far")], -question[None])
    assert [i for i, _ in index.search(question, 5)] == best[1:6]
    settle(index)
    assert [i for i, _ in index.search(question, 5)] == best[1:6]


def test_it_grows_beyond_its_first_room(tmp_path: Path, opened: list[VectorIndex]) -> None:
    index = built(tmp_path, opened, 1000)
    for first in range(1000, 6000, 1000):
        index.put(names(first, first + 1000), clustered(1000, 32, first))
    settle(index)
    assert len(index) == 6000
    assert recall(index, clustered(50, 32, 2)) >= 0.99


def test_after_most_rows_were_dropped_it_is_built_anew(
    tmp_path: Path, opened: list[VectorIndex]
) -> None:
    index = built(tmp_path, opened)
    index.save()
    before = index._graph
    index.drop([f"r{at:06}" for at in range(1800)])
    settle(index)
    assert index._graph is not before
    assert index._rows.gaps == 0
    assert recall(index, clustered(50, 32, 2)) >= 0.99
    index.save()
    again = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    opened.append(again)
    assert again._graph_ready
    question = clustered(1, 32, 2)[0]
    agree(again.search(question, 20), index.search(question, 20))


def test_a_saved_graph_is_used_and_brought_up_to_date(
    tmp_path: Path, opened: list[VectorIndex]
) -> None:
    index = built(tmp_path, opened)
    assert index.dirty
    index.save()
    assert not index.dirty
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted(
        [hnsw.GRAPH, hnsw.NOTE, vectors.ROWS]
    )
    written = (tmp_path / hnsw.GRAPH).stat().st_mtime_ns
    index.put(names(3000, 3020), clustered(20, 32, 3))
    index.drop(["r000005", "r000006"])
    settle(index)
    index.save()
    assert (tmp_path / hnsw.GRAPH).stat().st_mtime_ns == written  # so few rows are added on opening
    again = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    opened.append(again)
    assert again._graph_ready
    settle(again)
    assert not again.dirty
    assert recall(again, clustered(50, 32, 2)) >= 0.99
    for question in clustered(20, 32, 3):
        agree(again.search(question, 10), index.search(question, 10))


def damaged(raw: bytes) -> Iterator[bytes]:
    """Cut short, empty, and with one byte changed at each of many places."""
    yield b""
    yield raw[: len(raw) // 2]
    yield raw[:-1]
    yield raw + b"\0"
    own = np.random.default_rng(5)
    for at in [*range(0, min(200, len(raw)), 7), *own.integers(0, len(raw), 40).tolist()]:
        changed = bytearray(raw)
        changed[at] ^= int(own.integers(1, 256))
        yield bytes(changed)


@pytest.mark.parametrize("name", [hnsw.GRAPH, hnsw.NOTE])
def test_a_damaged_graph_counts_as_none_and_is_built_anew(
    tmp_path: Path, opened: list[VectorIndex], name: str
) -> None:
    index = built(tmp_path, opened, 1000)
    index.save()
    question = clustered(1, 32, 2)[0]
    wanted = index.search(question, 10)
    raw = (tmp_path / name).read_bytes()
    for changed in damaged(raw):
        (tmp_path / name).write_bytes(changed)
        assert hnsw.Graph.load(tmp_path, index._rows.generation, 32, 1000) is None
    (tmp_path / name).unlink()
    again = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    opened.append(again)
    assert len(again) == 1000
    agree(again.search(question, 10), wanted)
    settle(again)
    agree(again.search(question, 10), wanted)
    again.save()
    assert hnsw.Graph.load(tmp_path, again._rows.generation, 32, 1000) is not None


def test_the_graph_of_other_rows_is_not_used(tmp_path: Path, opened: list[VectorIndex]) -> None:
    built(tmp_path / "one", opened, 1000).save()
    built(tmp_path / "two", opened, 1000).save()
    for name in (hnsw.GRAPH, hnsw.NOTE):
        (tmp_path / "two" / name).replace(tmp_path / "one" / name)
    again = VectorIndex(tmp_path / "one", MODEL, hnsw_from=1000)
    opened.append(again)
    assert again.dirty
    settle(again)
    again.save()
    assert hnsw.Graph.load(tmp_path / "one", again._rows.generation, 32, 1000) is not None


def test_a_graph_ahead_of_its_rows_is_never_used_again(
    tmp_path: Path, opened: list[VectorIndex]
) -> None:
    """An older file of rows comes back: the slots that follow will hold something else."""
    index = built(tmp_path, opened, 1000)
    index.save()
    older = (tmp_path / vectors.ROWS).read_bytes()
    index.put(names(1000, 2000), clustered(1000, 32, 3))
    settle(index)
    index.save()
    (tmp_path / vectors.ROWS).write_bytes(older)
    again = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    opened.append(again)
    again.put([(f"x{at}", "h") for at in range(1000)], clustered(1000, 32, 4))
    again.close()
    again.save()
    last = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    opened.append(last)
    settle(last)
    assert recall(last, clustered(50, 32, 4)) >= 0.99


def test_compact_leaves_nothing_of_dropped_rows_in_the_files(
    tmp_path: Path, opened: list[VectorIndex]
) -> None:
    index = built(tmp_path, opened, 1500)
    index.save()
    secret = index._rows.vectors(np.array([7]))
    assert secret.tobytes() in (tmp_path / hnsw.GRAPH).read_bytes()
    index.drop(["r000007"])
    index.compact()
    index.save()
    for file in tmp_path.iterdir():
        assert secret.tobytes() not in file.read_bytes()
    settle(index)
    index.save()
    assert secret.tobytes() not in (tmp_path / hnsw.GRAPH).read_bytes()


def test_without_hnswlib_the_exact_search_answers(
    tmp_path: Path, opened: list[VectorIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = built(tmp_path, opened)
    index.save()
    monkeypatch.setattr(hnsw, "available", lambda: False)
    again = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    assert again._graph is None
    everything = list(again.made_of())
    for question in clustered(20, 32, 2):
        agree(again.search(question, 10), again.search(question, 10, among=everything))


def test_searches_go_on_beside_changes_builds_and_saves(
    tmp_path: Path, opened: list[VectorIndex]
) -> None:
    """Rows that stay are always found, no id twice, and no dropped one once its drop is done."""
    index = VectorIndex(tmp_path, MODEL, hnsw_from=500)
    opened.append(index)
    stay = clustered(400, 32, 1)
    index.put([(f"stay{at:03}", "1") for at in range(400)], stay)
    wrong: list[object] = []
    asked = [0, 0, 0]
    gone: set[str] = set()
    done = threading.Event()

    def ask(own: int) -> None:
        at = own
        while not done.is_set():
            before = set(gone)
            found = [i for i, _ in index.search(stay[at % 400], 5)]
            if f"stay{at % 400:03}" not in found or len(set(found)) != 5 or before & set(found):
                wrong.append((at, found))
            at += 7
            asked[own] += 1

    askers = [threading.Thread(target=ask, args=(own,), daemon=True) for own in range(3)]
    for asker in askers:
        asker.start()
    for turn in range(30):
        index.put([(f"t{turn}-{at}", "1") for at in range(100)], clustered(100, 32, turn + 9))
        if turn >= 3:
            dead = [f"t{turn - 3}-{at}" for at in range(0, 100, 2)]
            index.drop(dead)
            gone.update(dead)
        if turn % 4 == 0:
            index.save()
        time.sleep(0.01)
    settle(index)
    done.set()
    for asker in askers:
        asker.join()
    assert not wrong
    assert min(asked) > 0
    index.save()
    again = VectorIndex(tmp_path, MODEL, hnsw_from=500)
    opened.append(again)
    assert again.made_of() == index.made_of()


def test_close_ends_a_build(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, MODEL, hnsw_from=1000)
    index.put(names(0, 20_000), clustered(20_000, 32, 1))
    index.close()
    assert index._builder is None
    assert not index._graph_ready
    assert len(index.search(clustered(1, 32, 2)[0], 10)) == 10
    index.save()
    assert [f.name for f in tmp_path.iterdir()] == [vectors.ROWS]
