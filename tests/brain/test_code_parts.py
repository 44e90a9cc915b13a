"""A large tree goes into the graph part by part, and nothing that stops it half way shows."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from braincore.brain import codebase
from braincore.errors import StoreError
from braincore.graph import code as graph_code
from braincore.graph.code import CODE, CodeProjection
from braincore.graph.projection import apply_records
from braincore.graph.queries import digest
from braincore.graph.store import GraphStore
from braincore.index.code import Scan
from tests.brain.test_codebase import TRIALS, Tree, about, built_at_once, open_code, tree

__all__ = ["tree"]

FILES = 50


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codebase, "PART", 12)
    monkeypatch.setattr(graph_code, "BULK", 6)


def write(tree: Tree, name: str, step: int = 1) -> None:
    for n in range(0, FILES, step):
        tree.write(
            f"m{n}.py",
            f"import m{(n + 7) % FILES}\nfrom m{(n + 1) % FILES} import {name}\n"
            f"class C{n}:\n    def {name}(self): return {name}()\n"
            f"def {name}(): return C{n}()\n{name}()\n",
        )


def stop_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The projection ends after its so many-th transaction."""
    calls = [0]

    def stopping(name: str) -> None:
        real = getattr(CodeProjection, name)

        def counted(self: CodeProjection, *given: object) -> None:
            real(self, *given)
            calls[0] += 1
            if calls[0] == number:
                raise RuntimeError("killed")

        monkeypatch.setattr(CodeProjection, name, counted)

    for name in ("remove", "nodes", "edges", "finish"):
        stopping(name)


@pytest.mark.parametrize("number", [1, 6] if TRIALS == 1 else [1, 2, 4, 5, 6, 8])
@pytest.mark.parametrize("first", [True, False])
def test_stopped_half_way_it_is_done_again(
    tree: Tree, tmp_path: Path, number: int, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = about("m3.py::f", "m4.py::g", "m5.py", "new.py::x")
    apply_records(tree.graph, [(None, record)], {}, "c")
    write(tree, "f")
    if not first:
        tree.update()
        write(tree, "g", 2)
        (tree.root / "m1.py").unlink()
        (tree.root / "m8.py").unlink()
    before = tree.graph.meta(CODE)
    with monkeypatch.context() as patched:
        patched.setattr(codebase, "PART", 12)
        patched.setattr(graph_code, "BULK", 6)
        stop_at(number, patched)
        with pytest.raises(RuntimeError, match="killed"):
            tree.update()
        assert tree.graph.meta(CODE) == before
    (tree.root / "m7.py").unlink()
    write(tree, "h", 5)
    tree.write("new.py", "def x(): return 1\n")
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path, record)


KILLED = """
import os, signal, sys
from pathlib import Path
from braincore.brain import codebase
from braincore.graph import code
from braincore.graph.store import GraphStore
root, store, number = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
codebase.PART, code.BULK, calls = 12, 6, []
real = GraphStore.load
def dying(*given):
    real(*given)
    calls.append(1)
    if len(calls) == number:
        os.kill(os.getpid(), signal.SIGKILL)
GraphStore.load = dying
graph = GraphStore(store / "graph" / "graph.kuzu")
codebase.Codebase(root, store / "code.db", "project", 1 << 20).update(graph, lambda done: None)
"""


@pytest.mark.parametrize("number", [2, 17] if TRIALS == 1 else [2, 6, 17])
def test_killed_inside_a_transaction_it_is_done_again(
    tree: Tree, tmp_path: Path, number: int
) -> None:
    write(tree, "f")
    tree.code.close()
    tree.graph.close()
    given = [sys.executable, "-c", KILLED, str(tree.root), str(tmp_path), str(number)]
    assert subprocess.run(given, check=False).returncode == -signal.SIGKILL
    tree.graph = GraphStore(tmp_path / "graph" / "graph.kuzu")
    tree.code = open_code(tree.root, tmp_path)
    assert tree.graph.meta(CODE) is None
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)


def test_a_graph_that_is_begun_anew_meanwhile_is_noticed(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, "f")
    real = CodeProjection.edges

    def renewing(self: CodeProjection, *given: object) -> None:
        monkeypatch.undo()
        self._graph.renew()
        real(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(CodeProjection, "edges", renewing)
    with pytest.raises(StoreError, match="built anew"):
        tree.update()
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)


def test_a_file_that_vanishes_meanwhile_is_passed_over(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, "f")
    real = Path.read_bytes

    def vanishing(self: Path) -> bytes:
        if self.name == "m9.py":
            self.unlink()
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", vanishing)
    scan = tree.update()
    assert dict(scan.skipped) == {"m9.py": "No such file or directory"}
    assert len(scan.changed) == FILES - 1


def test_the_same_once_more_writes_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("a.py", "def f(): return g()\ndef g(): return 1\n")
    tree.update()
    tree.write("a.py", "def f(): return g()\ndef g(): return 1\n# more\n")
    queries = []
    real = tree.graph.run
    monkeypatch.setattr(
        tree.graph, "run", lambda query, *given: queries.append(query) or real(query, *given)
    )
    assert tree.update() == Scan(1, ("a.py",), (), ())
    writing = [q for q in queries if any(w in q for w in ("CREATE", "SET", "DELETE"))]
    assert writing == ["MERGE (m:Meta {key: $key}) SET m.value = $value"]


def test_lines_that_move_take_few_statements(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"def f{n}(): return f{n + 1}()\n" for n in range(100))
    tree.write("a.py", text)
    tree.update()
    tree.write("a.py", "import os\n\n" + text)
    queries = []
    real = tree.graph.run
    monkeypatch.setattr(
        tree.graph, "run", lambda query, *given: queries.append(query) or real(query, *given)
    )
    tree.update()
    assert len(queries) < 15
    monkeypatch.undo()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)


def test_symbols_of_a_text_the_index_knows_are_not_extracted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def f(): return 1\n"
    tree.write("a.py", text)
    tree.update()
    fresh = tree.code.symbols_of("a.py", text + "\n")
    with monkeypatch.context() as patched:
        patched.delattr(codebase, "extract")
        assert tree.code.symbols_of("a.py", text + "\n") is fresh
        known = tree.code.symbols_of("a.py", text)
    assert [s.ref for s in known] == ["a.py::f"]
    assert known == tuple(s for s in fresh)
