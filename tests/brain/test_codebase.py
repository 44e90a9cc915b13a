"""The code in index and graph: however it got there, it is the code of the working tree."""

import os
import random
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest

from braincore.brain.codebase import Codebase
from braincore.code.worker import Job
from braincore.errors import StoreError, UnknownReference
from braincore.graph.projection import apply_records
from braincore.graph.queries import Neighbour, dependents, digest, neighbours
from braincore.graph.store import GraphStore
from braincore.index.code import CodeIndex, Scan
from braincore.model.axes import Channel, EdgeType, Kind
from braincore.model.packed import Packed
from braincore.model.records import Edge, Note, Record, new_id

TRIALS = int(os.environ.get("BRAINCORE_TRIALS", "1"))
AT = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Tree:
    """A repository, its code index and its graph."""

    root: Path
    code: Codebase
    graph: GraphStore

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def update(self) -> Scan:
        return self.code.update(self.graph, lambda done: None)

    def around(self, ref: str) -> set[tuple[str, str, str]]:
        return {(n.relation, n.direction, n.ref) for n in neighbours(self.graph, ref)}

    def symbols(self) -> list[tuple[str, str]]:
        rows = self.graph.run(
            "MATCH (s:Symbol) WHERE s.indexed RETURN s.ref, s.kind ORDER BY s.ref"
        )
        return [(r, k) for r, k in rows]


def open_code(root: Path, store: Path) -> Codebase:
    return Codebase(root, store / "code.db", "project", 1 << 20)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    root = tmp_path / "repo"
    pygit2.init_repository(str(root))
    made = Tree(root, open_code(root, tmp_path), GraphStore(tmp_path / "graph" / "graph.kuzu"))
    yield made
    made.code.close()
    made.graph.close()


def about(*refs: str) -> Record:
    return Record(
        id=new_id(Kind.FACT, AT),
        kind=Kind.FACT,
        text="x",
        source_ref="user:maya",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=AT,
        valid_from=AT,
        body=Note(),
        edges=tuple(Edge(EdgeType.ABOUT, r) for r in refs),
    )


def built_at_once(tree: Tree, tmp_path: Path, *records: Record) -> str:
    folder = tmp_path / "full"
    shutil.rmtree(folder, ignore_errors=True)
    graph = GraphStore(folder / "graph.kuzu")
    code = open_code(tree.root, folder)
    apply_records(graph, [(None, r) for r in records], {}, "c")
    code.update(graph, lambda done: None)
    found = digest(graph)
    code.close()
    graph.close()
    return found


NAMES = ["f", "g", "Base", "Child"]
PATHS = [
    *("app.py", "pkg/__init__.py", "pkg/util.py", "pkg/sub/deep.py", "café.py"),
    *("web/a.ts", "web/b.ts"),
]
ODD_PATHS = [
    *("a -> b.py", "café.py", "it's.py", 'say "hi".py', "c#/x.py", "back\\slash.py", "a,b.py"),
    *("BOSS血条.py", " lead.py", "$x.py", "%s.py", "{a}.py", "[a].py"),
]


def random_python(pick: random.Random) -> str:
    modules = ["pkg.util", "pkg", "pkg.sub.deep", "app", "café", "os"]
    lines = []
    for _ in range(pick.randrange(3)):
        lines.append(f"from {pick.choice(modules)} import {pick.choice(NAMES)}")
    for _ in range(pick.randrange(4)):
        name, used = pick.choice(NAMES), pick.choice(NAMES)
        if name[0].isupper():
            parent = pick.choice(["", "(Base)", "(Child)"])
            lines += [f"class {name}{parent}:", f"    def m(self): return {used}()"]
        else:
            lines += [
                f"def {name}(a, b={pick.randrange(3)}):",
                f"    return {pick.choice(NAMES)}()",
            ]
    return "\n".join([*lines, f"{pick.choice(NAMES)}()" if pick.random() < 0.3 else "", ""])


def random_typescript(pick: random.Random) -> str:
    lines = [f'import {{ {pick.choice(NAMES)} }} from "./{pick.choice("abc")}";']
    for _ in range(pick.randrange(3)):
        lines.append(f"export function {pick.choice(NAMES)}() {{ return {pick.choice(NAMES)}(); }}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(3 * TRIALS))
def test_incremental_is_as_full(tree: Tree, tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    record = about("pkg/util.py::f", "pkg/util.py", "./app.py", "app.py::Base", "gone.py::x")
    apply_records(tree.graph, [(None, record)], {}, "c")
    for _ in range(5):
        for _ in range(pick.randint(1, 4)):
            path = pick.choice(PATHS)
            file = tree.root / path
            action = pick.random()
            if action < 0.6 or not file.exists():
                make = random_typescript if path.endswith(".ts") else random_python
                tree.write(path, make(pick))
            elif action < 0.8:
                file.unlink()
            else:
                target = tree.root / pick.choice(PATHS)
                if target.suffix == file.suffix:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    file.rename(target)
        if pick.random() < 0.8:
            tree.update()
        if pick.random() < 0.2:
            tree.code.close()
            tree.code = open_code(tree.root, tmp_path)
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path, record)
    for relation in ("DEFINES", "CALLS", "IMPORTS", "INHERITS"):
        forth = tree.graph.run(f"MATCH (a)-[:{relation}]->(b) RETURN count(*)")
        back = tree.graph.run(f"MATCH (a)<-[:{relation}]-(b) RETURN count(*)")
        assert forth == back


def test_many_files_at_once_are_as_one_by_one(tree: Tree, tmp_path: Path) -> None:
    for n in range(70):
        tree.write(
            f"m{n}.py", f"from m{n + 1} import f{n + 1}\ndef f{n}():\n    return f{n + 1}()\n"
        )
        if n in (0, 5):
            tree.update()
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)
    assert set(dependents(tree.graph, "m69.py::f69")) >= {"m68.py::f68", "m67.py::f67"}


def test_twins_are_kept_apart(tree: Tree) -> None:
    tree.write(
        "a.py",
        "class A:\n"
        "    @property\n    def x(self): return 1\n"
        "    @x.setter\n    def x(self, v): f()\n"
        "try:\n    def f(): return 1\nexcept ImportError:\n    def f(a): return 2\n",
    )
    tree.update()
    assert tree.symbols() == [
        ("a.py::A", "class"),
        ("a.py::A.x", "getter"),
        ("a.py::A.x#2", "setter"),
        ("a.py::f", "function"),
        ("a.py::f#2", "function"),
    ]
    ids = tree.graph.run("MATCH (s:Symbol) RETURN DISTINCT s.node_id")
    assert len(ids) == 5


def test_a_deleted_file_has_no_symbols_any_more(tree: Tree) -> None:
    tree.write("a.py", "def f(): return 1\n")
    tree.write("b.py", "from a import f\ndef g(): return f()\n")
    tree.update()
    assert ("CALLS", "out", "a.py::f") in tree.around("b.py::g")
    (tree.root / "a.py").unlink()
    scan = tree.update()
    assert (scan.changed, scan.removed) == ((), ("a.py",))
    assert tree.symbols() == [("b.py::g", "function")]
    assert tree.around("b.py::g") == {("DEFINES", "in", "b.py")}
    assert tree.code.is_stale("a.py::f")
    with pytest.raises(UnknownReference):
        tree.code.symbol("f")
    tree.write("a.py", "def f(): return 1\n")
    tree.update()
    assert ("CALLS", "out", "a.py::f") in tree.around("b.py::g")


def test_odd_paths_are_paths_like_any_other(tree: Tree, tmp_path: Path) -> None:
    for path in ODD_PATHS:
        tree.write(path, "def f(): return g()\ndef g(): return 1\n")
    tree.update()
    for path in ODD_PATHS:
        f = f"{path}::f"
        assert ("CALLS", "out", f"{path}::g") in tree.around(f)
        assert Neighbour("DEFINES", "out", f, f) in neighbours(tree.graph, path)
        assert tree.code.symbol(f) == f
    assert digest(tree.graph) == built_at_once(tree, tmp_path)
    for n in range(60):
        tree.write(f"more/m{n}.py", "def f(): return 1\n")
    assert digest(tree.graph) != built_at_once(tree, tmp_path)
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)


def test_an_edit_of_the_same_size_in_the_same_moment_is_seen(tree: Tree) -> None:
    for n in range(20):
        name = "fg"[n % 2]
        tree.write("a.py", f"def {name}(): return 1\n")
        tree.update()
        assert tree.symbols() == [(f"a.py::{name}", "function")]


def test_unchanged_files_are_not_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("a.py", "def f(): return 1\n")
    os.utime(tree.root / "a.py", (1_700_000_000, 1_700_000_000))
    assert tree.update().changed == ("a.py",)

    def refuse(self: Path) -> bytes:
        raise AssertionError(f"{self} was read")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert tree.update() == Scan(1, (), (), ())


def test_a_graph_that_was_lost_is_filled_again(tree: Tree, tmp_path: Path) -> None:
    tree.write("a.py", "def f(): return g()\ndef g(): return 1\n")
    tree.update()
    before = digest(tree.graph)
    tree.graph.renew()
    tree.update()
    assert digest(tree.graph) == before


@pytest.mark.parametrize("how", ["deleted", "garbage"])
def test_an_index_that_was_lost_is_built_again(tree: Tree, tmp_path: Path, how: str) -> None:
    tree.write("a.py", "def f(): return g()\ndef g(): return 1\n")
    tree.write("b.py", "def h(): return 1\n")
    tree.update()
    tree.code.close()
    (tree.root / "b.py").unlink()
    for file in tmp_path.glob("code.db*"):
        file.unlink()
    if how == "garbage":
        (tmp_path / "code.db").write_bytes(b"not a database at all" * 100)
    tree.code = open_code(tree.root, tmp_path)
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)


def test_a_scan_that_dies_half_way_is_made_up_for(
    tmp_path: Path, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index commits every 200 files; what is committed must reach the graph in the end."""
    for n in range(210):
        tree.write(f"m{n:03}.py", f"from m{(n + 1) % 210:03} import f\ndef f(): return f()\n")
    tree.update()
    for n in range(210):
        tree.write(f"m{n:03}.py", f"from m{(n + 1) % 210:03} import g\ndef g(): return g()\n")
    calls = [0]

    def dying(jobs: Iterable[Job]) -> Iterator[Packed]:
        for one in real(jobs):
            calls[0] += 1
            if calls[0] > 203:
                raise RuntimeError("killed")
            yield one

    real = tree.code._packed
    monkeypatch.setattr(tree.code, "_packed", dying)
    with pytest.raises(RuntimeError):
        tree.update()
    tree.code._index._db.rollback()  # what a kill would do
    monkeypatch.undo()
    tree.update()
    assert digest(tree.graph) == built_at_once(tree, tmp_path)


def test_big_binary_and_unreadable_files_are_skipped_with_a_reason(tree: Tree) -> None:
    tree.write("big.py", "x = 1\n" * 300_000)
    tree.write("ok.py", "x = 1\n")
    (tree.root / "binary.py").write_bytes(b"\x00\x01\x02")
    (tree.root / "link.py").symlink_to(tree.root / "ok.py")
    (tree.root / "loop").symlink_to(tree.root)
    scan = tree.update()
    assert scan.changed == ("ok.py",)
    assert dict(scan.skipped) == {
        "big.py": "larger than 1,048,576 bytes",
        "binary.py": "binary",
    }


def test_an_index_that_cannot_be_opened_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="can't be used"):
        CodeIndex(tmp_path / "file" / "code.db")
    (tmp_path / "code.db").mkdir()
    with pytest.raises(StoreError, match="can't be used"):
        CodeIndex(tmp_path / "code.db")
