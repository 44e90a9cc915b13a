"""Code, 26 to 33, as far as the code index goes, through the command line."""

import json
from typing import Any

import pytest

TWINS = (
    "class Point:\n"
    "    @property\n    def x(self):\n        return self._x\n\n"
    "    @x.setter\n    def x(self, value):\n        self._x = value\n\n\n"
    "try:\n    def load(path):\n        return 1\n"
    "except ImportError:\n    def load(path, mode):\n        return 2\n\n\n"
    "def first():\n    def inner():\n        return 1\n    return inner\n\n\n"
    "def second():\n    def inner():\n        return 2\n    return inner\n"
)


def symbols(brain: Any) -> int:
    brain.run("index")
    return int(brain.json("status")["symbols"])


def test_what_only_looks_alike_is_counted_apart(shared: Any) -> None:
    before = symbols(shared)
    shared.write({"foo-bar.py": TWINS, "foo_bar.py": TWINS})
    # Point, x twice, load twice, first, second and the inner of each: nine a file.
    assert symbols(shared) - before == 18
    assert shared.json("rebuild")["equal"] is True


@pytest.mark.parametrize(
    "name", ["café.py", "a -> b.py", "tab\tname.py", "BOSS血条.py", "cafe\u0301.py", 'q"uote.py']
)
def test_odd_names_are_names_like_any_other(shared: Any, name: str) -> None:
    shared.write({name: "def odd_one(x):\n    return x\n"})
    shared.run("index")
    assert shared.json("related", f"{name}::odd_one")["ref"] == f"{name}::odd_one"
    stored = shared.json(
        "remember", "The odd one returns what it got", "--symbol", f"{name}::odd_one"
    )
    assert stored["outcome"] == "stored"


@pytest.mark.parametrize("text", ["utf-16", "utf-8-sig", "crlf"])
def test_encodings_and_line_ends_change_no_symbol(shared: Any, text: str) -> None:
    code = "def plain(x):\n    return x\n"
    raw = code.replace("\n", "\r\n").encode() if text == "crlf" else code.encode(text)
    shared.write({f"enc_{text}.py": raw})
    shared.run("index")
    assert shared.json("related", f"enc_{text}.py::plain")["ref"] == f"enc_{text}.py::plain"


def test_a_syntax_error_costs_itself_and_is_said(shared: Any) -> None:
    before = symbols(shared)
    errors = shared.json("status")["files_with_syntax_errors"]
    good = "".join(f"def f{n}(x):\n    return x\n\n\n" for n in range(20))
    shared.write({"broken.py": good + "def broken(:\n    pass\n\n\n" + good.replace("f", "g")})
    shared.write({"fine.py": "def fine():\n    return 1\n"})
    assert symbols(shared) - before >= 21
    assert shared.json("status")["files_with_syntax_errors"] == errors + 1


def test_after_rename_revert_and_delete_nothing_old_is_left(shared: Any) -> None:
    before = symbols(shared)
    code = "def old_name(x):\n    return x\n"
    shared.write({"moves.py": code})
    shared.run("index")
    shared.write({"moves.py": code.replace("old_name", "new_name")})
    shared.run("index")
    assert "old_name" in shared.error("related", "moves.py::old_name")
    shared.write({"moves.py": code})
    shared.run("index")
    assert "new_name" in shared.error("related", "moves.py::new_name")
    (shared.root / "moves.py").rename(shared.root / "moved.py")
    shared.run("index")
    assert shared.json("related", "moved.py::old_name")["ref"] == "moved.py::old_name"
    assert shared.error("related", "moves.py::old_name")
    (shared.root / "moved.py").unlink()
    assert symbols(shared) == before
    assert shared.error("related", "moved.py::old_name")


def test_bundles_binaries_and_litter_do_not_hold_the_index_up(shared: Any) -> None:
    before = symbols(shared)
    bundle = "!function(e){" + "var a=function(t){return t+1};" * 160_000 + "}();"
    shared.write({"bundle.min.js": bundle, "data.py": b"\0\xff" * 2_500_000})
    # A query over so many bare tokens took minutes, and every edit passed unjudged meanwhile.
    litter = {"brackets.js": "[", "braces.ts": "{ \n", "parens.py": "(", "bangs.tsx": "!"}
    shared.write({name: token * 300_000 for name, token in litter.items()})
    shared.write({"after.py": "def after():\n    return 1\n"})
    assert symbols(shared) - before >= 1
    assert shared.json("related", "after.py::after")["ref"] == "after.py::after"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("缓存使用内存数据库", "缓存"),
        ("部署脚本在夜间运行", "部署脚本"),
        ("キャッシュは夜に消える", "キャッシュ"),
        ("parseHttpHeader splits at the colon", "http header"),
        ("Миграции запускаются вручную", "миграция"),
        ("Резервные копии лежат в подвале", "резервная копия"),
    ],
)
def test_words_of_every_script_find_what_is_on_record(shared: Any, said: str, asked: str) -> None:
    kept = shared.remember(said)
    answer = shared.json("recall", asked)
    known = {r["id"] for r in (*answer["facts"], *answer["rejected"])}
    assert kept in known, json.dumps(answer, ensure_ascii=False)
