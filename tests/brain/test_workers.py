"""Worker processes change who does the work, never what comes of it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from braincore.brain import workers
from braincore.brain.workers import MANY, packed
from braincore.code.worker import Job, pack_all
from braincore.model.packed import unpack_references, unpack_symbols

JOBS: list[Job] = [
    (f"m{n}.py", "python", f"from m{n + 1} import f\ndef f{n}(): return f()\n".encode())
    for n in range(MANY + 10)
]


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    real, found = workers._spawned, list[subprocess.Popen[bytes]]()

    def noting() -> subprocess.Popen[bytes] | None:
        worker = real()
        assert worker is not None
        found.append(worker)
        return worker

    monkeypatch.setattr(workers, "_spawned", noting)
    return found


def test_many_files_are_as_each_alone(spawned: list[subprocess.Popen[bytes]]) -> None:
    assert list(packed(JOBS, "p")) == pack_all("p", JOBS)
    assert len(spawned) == workers.WORKERS
    assert all(w.returncode is not None for w in spawned)


def test_few_files_need_no_process(spawned: list[subprocess.Popen[bytes]]) -> None:
    assert list(packed(JOBS[: MANY - 1], "p")) == pack_all("p", JOBS[: MANY - 1])
    assert not spawned


def test_a_worker_that_dies_costs_nothing(spawned: list[subprocess.Popen[bytes]]) -> None:
    found = []
    for n, one in enumerate(packed(JOBS, "p")):
        found.append(one)
        if n == 20:
            spawned[0].kill()
        if n == 60:
            spawned[1].kill()
    assert found == pack_all("p", JOBS)


@pytest.mark.parametrize("command", ["no-such-program", "sleep"])
def test_workers_that_do_not_start_cost_nothing(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", command)
    assert list(packed(JOBS, "p")) == pack_all("p", JOBS)


def test_workers_leave_when_the_work_is_dropped(spawned: list[subprocess.Popen[bytes]]) -> None:
    coming = packed(JOBS, "p")
    next(coming)
    assert isinstance(coming, Iterator)
    coming.close()  # type: ignore[attr-defined]
    assert all(w.returncode is not None for w in spawned)


def test_a_worker_leaves_when_its_owner_is_gone() -> None:
    worker = workers._spawned()
    assert worker is not None
    with worker:
        assert worker.stdin is not None
        worker.stdin.close()
        assert worker.wait(20) == 0


def test_the_folder_it_happens_to_be_in_holds_no_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    test_a_worker_leaves_when_its_owner_is_gone()


def test_what_is_packed_is_unpacked(tmp_path: Path) -> None:
    from braincore.code import extract

    text = "class A(B):\n    x = 1\n    def f(self) -> 'é': return self.g()\n".encode()
    file = extract("é.py", text, "python")
    one = pack_all("", [("é.py", "python", text)])[0]
    assert unpack_symbols("é.py", "python", one.symbols) == file.symbols
    assert unpack_references(one.references) == file.references
    assert one.total == len(file.symbols)
