"""The file of rows: what it keeps, and that nothing in it can do harm."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.errors import StoreError
from braincore.index.embed import Identity
from braincore.index.vectors import ROWS, VectorIndex

MODEL = Identity("a-model", "w1", 4)


def saved(folder: Path) -> VectorIndex:
    """Fifty rows, five of them dropped again, on disk."""
    index = VectorIndex(folder, MODEL)
    vectors = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index.put([(f"fact_é{at}", f"hash{at}") for at in range(50)], vectors)
    index.drop([f"fact_é{at}" for at in range(5)])
    index.save()
    return index


def test_what_was_saved_answers_the_same_to_the_last_bit(tmp_path: Path) -> None:
    before = saved(tmp_path)
    after = VectorIndex(tmp_path, MODEL)
    question = np.array([0.5, 0.5, 0.5, 0.5], np.float32)
    assert after.search(question, 50) == before.search(question, 50)
    assert after.made_of() == before.made_of()
    assert len(after) == 45
    assert not after.dirty


def test_saving_without_a_change_writes_nothing(tmp_path: Path) -> None:
    index = saved(tmp_path)
    (tmp_path / ROWS).unlink()
    index.save()
    assert not (tmp_path / ROWS).exists()
    index.drop(["fact_é7"])
    assert index.dirty
    index.save()
    assert (tmp_path / ROWS).exists()


def test_the_file_is_the_owners_alone_and_nothing_else_is_left(tmp_path: Path) -> None:
    saved(tmp_path / "new")
    assert [f.name for f in (tmp_path / "new").iterdir()] == [ROWS]
    assert (tmp_path / "new" / ROWS).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_dropped_rows_leave_nothing_in_the_file(tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, MODEL)
    vector = np.array([[0.25, 0.5, 0.75, 0.35]], np.float32)
    index.put([("secret_one", "secret_hash")], vector)
    index.put([("other", "h")], np.array([[1, 0, 0, 0]], np.float32))
    index.save()
    raw = (tmp_path / ROWS).read_bytes()
    parts = [b"secret_one", b"secret_hash", vector.tobytes()]
    assert all(part in raw for part in parts)
    index.drop(["secret_one"])
    index.save()
    raw = (tmp_path / ROWS).read_bytes()
    assert not any(part in raw for part in parts)
    index.compact()
    assert len(index._rows.ids) == 1


@pytest.mark.parametrize(
    "other",
    [
        Identity("b-model", "w1", 4),
        Identity("a-model", "w2", 4),
        Identity("a-model", "w1", 2),
        Identity("a-model", "w1", 8),
    ],
)
def test_vectors_of_another_model_count_as_none(tmp_path: Path, other: Identity) -> None:
    saved(tmp_path)
    index = VectorIndex(tmp_path, other)
    assert len(index) == 0
    vector = np.eye(1, other.dimensions, dtype=np.float32)
    index.put([("a", "1")], vector)
    index.save()
    assert VectorIndex(tmp_path, other).search(vector[0], 3) == [("a", 1.0)]
    assert len(VectorIndex(tmp_path, MODEL)) == 0


def test_a_file_of_another_format_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("braincore.index.vectors.FORMAT", 2)
        saved(tmp_path)
    assert len(VectorIndex(tmp_path, MODEL)) == 0


def usable(folder: Path, raw: bytes) -> None:
    """A file with these bytes counts as none, and the folder can be used again."""
    (folder / ROWS).write_bytes(raw)
    index = VectorIndex(folder, MODEL)
    assert len(index) == 0
    index.put([("a", "1")], np.eye(1, 4, dtype=np.float32))
    index.save()
    assert VectorIndex(folder, MODEL).has("a", "1")


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_a_damaged_file_counts_as_none(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("index")
    saved(folder)
    raw = bytearray((folder / ROWS).read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    how = data.draw(st.sampled_from(["flip", "cut", "more"]))
    if how == "flip":
        raw[at] ^= data.draw(st.integers(1, 255))
    elif how == "cut":
        del raw[at:]
    else:
        raw[at:at] = data.draw(st.binary(min_size=1, max_size=3))
    usable(folder, bytes(raw))


@pytest.mark.parametrize("raw", [b"", b"\n", b"0" * 64 + b"\n", json.dumps({}).encode()])
def test_a_file_of_something_else_counts_as_none(tmp_path: Path, raw: bytes) -> None:
    usable(tmp_path, raw)


def test_what_a_crash_left_behind_is_passed_over(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / ".new-abc").write_bytes(b"half a fi")
    assert len(VectorIndex(tmp_path, MODEL)) == 45


def test_a_place_that_can_not_be_written_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    index = saved(tmp_path / "index")
    (tmp_path / "index" / ROWS).unlink()
    (tmp_path / "index" / ROWS).mkdir()
    index.drop(["fact_é9"])
    with pytest.raises(StoreError, match="index"):
        index.save()
    assert index.dirty
    with pytest.raises(StoreError, match=ROWS):
        VectorIndex(tmp_path / "index", MODEL)
    (tmp_path / "index" / ROWS).rmdir()
    index.save()
    assert len(VectorIndex(tmp_path / "index", MODEL)) == 44
