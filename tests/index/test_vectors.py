"""The vector index without hnswlib: what is found, what is refused, and threads."""

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.errors import InvalidInput
from braincore.index.embed import Identity, Vectors
from braincore.index.vectors import BLOCK, GAPS, VectorIndex

MODEL = Identity("a-model", "w1", 3)
NORTH, EAST, UP = np.eye(3, dtype=np.float32)


def rows(*vectors: object) -> Vectors:
    """Vectors scaled to length 1."""
    found = np.array(vectors, np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def filled(folder: Path) -> VectorIndex:
    """Three rows: north, nearly north, east."""
    index = VectorIndex(folder, MODEL)
    index.put([("n", "1"), ("m", "1"), ("e", "1")], rows([1, 0, 0], [3, 4, 0], [0, 1, 0]))
    return index


def test_the_nearest_come_first_with_their_cosine(tmp_path: Path) -> None:
    index = filled(tmp_path)
    found = index.search(NORTH, 10)
    assert [record_id for record_id, _ in found] == ["n", "m", "e"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.6, 0.0], abs=1e-3)
    assert index.search(NORTH, 1) == found[:1]
    assert index.search(NORTH, 0) == []
    assert len(index) == 3


def test_equal_rows_come_by_id_whatever_the_limit(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, MODEL)
    index.put([(name, "1") for name in "dbca"], rows(*[[1, 0, 0]] * 4))
    assert [i for i, _ in index.search(NORTH, 4)] == list("abcd")
    assert [i for i, _ in index.search(NORTH, 2)] == list("ab")


def test_among_bounds_what_may_be_found(tmp_path: Path) -> None:
    index = filled(tmp_path)
    assert [i for i, _ in index.search(NORTH, 10, among=["e", "m", "nobody"])] == ["m", "e"]
    assert index.search(NORTH, 10, among=[]) == []


def test_cosine_of_ids_that_other_lists_brought(tmp_path: Path) -> None:
    found = filled(tmp_path).cosine(EAST, ["e", "nobody", "m", "e"])
    assert found == pytest.approx({"m": 0.8, "e": 1.0}, abs=1e-3)
    assert filled(tmp_path / "other").cosine(EAST, []) == {}


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, MODEL)
    assert index.search(NORTH, 5) == []
    assert index.search(NORTH, 5, among=["a"]) == []
    assert index.cosine(NORTH, ["a"]) == {}
    assert dict(index.made_of()) == {}
    assert not index.dirty
    index.put([], np.zeros((0, 3), np.float32))
    index.drop(["nobody"])
    assert not index.dirty


def test_put_replaces_and_drop_takes_out(tmp_path: Path) -> None:
    index = filled(tmp_path)
    assert index.has("n", "1")
    assert not index.has("n", "2")
    assert not index.has("nobody", "1")
    index.put([("n", "2")], rows([0, 0, 1]))
    assert index.has("n", "2")
    assert not index.has("n", "1")
    assert len(index) == 3
    assert index.search(UP, 1)[0][0] == "n"
    assert [i for i, _ in index.search(NORTH, 1)] == ["m"]
    index.drop(["n", "m"])
    assert [i for i, _ in index.search(NORTH, 5)] == ["e"]
    assert dict(index.made_of()) == {"e": "1"}
    index.put([("n", "3")], rows([1, 0, 0]))
    assert [i for i, _ in index.search(NORTH, 5)] == ["n", "e"]


def test_of_an_id_given_twice_the_last_counts(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, MODEL)
    index.put([("a", "1"), ("a", "2")], rows([1, 0, 0], [0, 1, 0]))
    assert len(index) == 1
    assert index.has("a", "2")
    assert [i for i, _ in index.search(NORTH, 5)] == ["a"]
    assert index.cosine(EAST, ["a"])["a"] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((1, 4), np.float32),
        np.zeros((2, 3), np.float32),
        np.zeros(3, np.float32),
        np.array([[np.nan, 0, 0]], np.float32),
        np.array([[np.inf, 0, 0]], np.float32),
    ],
)
def test_vectors_that_do_not_fit_change_nothing(tmp_path: Path, vectors: Vectors) -> None:
    index = filled(tmp_path)
    before = index.search(NORTH, 10)
    with pytest.raises(InvalidInput, match="Embed with the model"):
        index.put([("x", "1")], vectors)
    assert index.search(NORTH, 10) == before
    assert not index.has("x", "1")


def test_rows_over_several_blocks_are_all_found(tmp_path: Path) -> None:
    count = 2 * BLOCK + 10
    index = VectorIndex(tmp_path, MODEL)
    turn = np.linspace(0, 0.8, count)
    turn[-1] = 1
    index.put([("first", "1")], rows([0, 0, 1]))
    index.put([(f"{at:05}", "1") for at in range(count)], rows(*((1 - t, t, 0) for t in turn)))
    last = f"{count - 1:05}"
    assert index.search(EAST, 1)[0][0] == last
    assert index.search(UP, 1)[0][0] == "first"
    few = ["00000", f"{BLOCK + 1:05}", last]
    assert [i for i, _ in index.search(EAST, 5, among=few)] == few[::-1]
    assert set(index.cosine(EAST, few)) == set(few)
    assert len(index.search(NORTH, count * 2)) == count + 1


def test_many_replacements_take_no_room(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, MODEL)
    names = [(f"{at}", "1") for at in range(GAPS)]
    for _ in range(12):
        index.put(names, rows(*[[1, 0, 0]] * GAPS))
    assert len(index) == GAPS
    assert len(index._rows.blocks) == 1
    index.save()
    assert (tmp_path / "vectors.rows").stat().st_size < 3 * GAPS * (12 + 16)
    assert len(VectorIndex(tmp_path, MODEL)) == GAPS


step = st.tuples(
    st.sampled_from(["put", "drop", "save", "reopen", "compact"]),
    st.lists(st.sampled_from("abcdefgh"), max_size=4),
    st.integers(0, 359),
)


@settings(deadline=None)
@given(steps=st.lists(step, max_size=25))
def test_it_agrees_with_a_plain_dict_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str], int]]
) -> None:
    folder = tmp_path_factory.mktemp("index")
    index = VectorIndex(folder, MODEL)
    plain: dict[str, tuple[str, Vectors]] = {}
    for what, names, angle in steps:
        turn = np.radians(angle)
        vector = rows([np.cos(turn), np.sin(turn), 0.5])[0]
        if what == "put":
            index.put([(name, str(angle)) for name in names], np.tile(vector, (len(names), 1)))
            plain |= {name: (str(angle), vector) for name in names}
        elif what == "drop":
            index.drop(names)
            plain = {name: row for name, row in plain.items() if name not in names}
        elif what == "compact":
            index.compact()
        else:
            index.save()
            assert not index.dirty
            if what == "reopen":
                index = VectorIndex(folder, MODEL)
        assert dict(index.made_of()) == {name: made_of for name, (made_of, _) in plain.items()}
        wanted = {name: float(row @ EAST) for name, (_, row) in plain.items()}
        assert dict(index.search(EAST, 99)) == pytest.approx(wanted, abs=1e-3)
        assert index.cosine(EAST, "abcdefgh") == pytest.approx(wanted, abs=1e-3)


def test_searches_beside_changes_see_each_row_once_and_right(tmp_path: Path) -> None:
    """Each id has two vectors in turn, and the hash says which: no search mixes them up."""
    index = VectorIndex(tmp_path, MODEL)
    names = [f"{at:03}" for at in range(200)]
    index.put([(name, "n") for name in names], rows(*[[1, 0, 0]] * 200))
    wrong: list[object] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            found = index.search(NORTH, 500)
            scores = {round(score) for _, score in found}
            if sorted(i for i, _ in found) != names or len(scores) != 1:
                wrong.append(found)
            if {round(s) for s in index.cosine(NORTH, names).values()} - {0, 1}:
                wrong.append("cosine")
            if len(index.made_of()) != 200:
                wrong.append("made_of")

    askers = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    for asker in askers:
        asker.start()
    for turn in range(60):
        vector = [0, 1, 0] if turn % 2 == 0 else [1, 0, 0]
        index.put([(name, "en"[turn % 2]) for name in names], rows(*[vector] * 200))
        if turn % 10 == 0:
            index.save()
    done.set()
    for asker in askers:
        asker.join()
    assert not wrong
