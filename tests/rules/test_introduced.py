"""What an edit introduces, and what was there before it (REPORTED 7)."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.model.edits import Edit
from braincore.rules.introduced import introduced, introduced_by_patch
from braincore.rules.schema import Rule

TEN = "".join(f"def f{i}(x):\n    return eval(x{i})\n\n" for i in range(10))
SAME = "def f(x):\n    eval(x)\n" * 10


def lines(rule: Rule, before: str | None, after: str | None) -> list[int]:
    return [f.line for f in introduced([rule], Edit("a.py", before, after), "python")]


@pytest.mark.parametrize("old", [TEN, SAME], ids=["ten kinds", "ten times the same"])
def test_old_debt_is_not_introduced(no_eval: Rule, old: str) -> None:
    assert lines(no_eval, old, old + "y = 1\n") == []
    assert lines(no_eval, old, "import os\n" + old) == []
    assert lines(no_eval, old, old.replace("def", "async def")) == []


def test_the_eleventh_is(no_eval: Rule) -> None:
    assert lines(no_eval, TEN, TEN + "eval(new)\n") == [31]
    assert lines(no_eval, TEN, "eval(new)\n" + TEN) == [1]


@pytest.mark.parametrize("at", range(0, 21, 4))
def test_the_eleventh_of_the_same_text_is_found_on_its_line(no_eval: Rule, at: int) -> None:
    old = SAME.splitlines(keepends=True)
    new = [*old[:at], "z = 1\n", "eval(x)\n", *old[at:]]
    assert lines(no_eval, SAME, "".join(new)) == [at + 2]


def test_removing_is_not_introducing(no_eval: Rule) -> None:
    assert lines(no_eval, TEN, TEN[60:]) == []
    assert lines(no_eval, TEN, "") == []
    assert lines(no_eval, TEN, None) == []


def test_everything_in_a_new_file_is(no_eval: Rule) -> None:
    assert len(lines(no_eval, None, TEN)) == 10


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("eval(x)\n", "eval(y)\n"),
        ("a = eval(x)\nb = 1\n", "a = eval( x , y)\nb = 2\n"),
        ("eval(x)\n", "if a:\n    eval(x)\n"),
        ("eval(x)\n", "eval(\n    x\n)\n"),
        ("eval(x)\r\ny = 1\r\n", "eval(x)\ny = 2\n"),
        ("def f():\n    eval(x)\ndef g(): pass\n", "def g(): pass\ndef f():\n    eval(x)\n"),
        ("eval(x)\neval(y)\n", "eval(y2)\neval(x2)\n"),
        ("eval(\n    a,\n    b,\n)\n", "eval(\n    a,\n    new,\n    b,\n)\n"),
    ],
    ids=["argument", "line", "reindented", "reflowed", "line ends", "moved", "both", "inside"],
)
def test_an_old_one_changed_in_place_is_not_introduced(
    make_rule: Callable[..., Rule], before: str, after: str
) -> None:
    rule = make_rule("rule: {pattern: eval($$$X)}\n")
    assert lines(rule, before, after) == []


def test_more_than_vanished_on_the_same_lines_is_introduced(no_eval: Rule) -> None:
    assert lines(no_eval, "a = eval(x)\n", "a = eval(y)\nb = eval(z)\n") == [2]


def test_one_that_vanished_elsewhere_excuses_nothing(no_eval: Rule) -> None:
    before = "eval(x)\n" + "y = 1\n" * 5 + "z = 2\n"
    after = "pass\n" + "y = 1\n" * 5 + "eval(z)\n"
    assert lines(no_eval, before, after) == [7]


def test_another_rule_excuses_nothing(no_eval: Rule, make_rule: Callable[..., Rule]) -> None:
    no_exec = make_rule("rule: {pattern: exec($X)}\n", ident="no-exec")
    edit = Edit("a.py", "eval(x)\n", "exec(x)\n")
    found = introduced([no_eval, no_exec], edit, "python")
    assert [finding.source for finding in found] == ["no-exec"]


def test_a_line_that_becomes_wrong_by_what_is_around_it_is_introduced(
    make_rule: Callable[..., Rule],
) -> None:
    rule = make_rule(
        "languages: [javascript]\n"
        "rule: {pattern: f($X), inside: {kind: for_statement, stopBy: end}}\n"
    )
    before = "{\nf(x)\n}\n"
    edit = Edit("a.js", before, "for (;;) " + before)
    assert [f.line for f in introduced([rule], edit, "javascript")] == [2]


def test_what_does_not_parse_is_judged_by_what_does(no_eval: Rule) -> None:
    assert lines(no_eval, "x = 1\n", "x = (\n\ndef f():\n    eval(x)\n") == [4]


def test_a_file_that_moves_brings_no_debt(no_eval: Rule) -> None:
    moved = [
        (Edit("old.py", TEN, None), "python"),
        (Edit("new.py", None, TEN + "eval(new)\n"), "python"),
    ]
    found = introduced_by_patch([no_eval], moved)
    assert [(f.path, f.snippet) for f in found] == [("new.py", "eval(new)")]


def test_a_big_rewrite_is_quick(no_eval: Rule) -> None:
    before = "\n".join(f"eval(a{i})" for i in range(4_000))
    after = "\n".join(f"eval(b{i})" for i in range(4_001))
    start = time.process_time()
    assert len(lines(no_eval, before, after)) == 1
    assert time.process_time() - start < 10


FRAGMENTS = st.lists(
    st.sampled_from(
        ["eval(x)\n", "eval(y)\n", "x = 1\n", "def f(a=[]):\n", "    eval(x)\n", "(\n", "'''\n"]
    ),
    max_size=12,
).map("".join)


@settings(deadline=None, max_examples=100)
@given(text=FRAGMENTS)
def test_no_change_introduces_nothing(pack: tuple[Rule, ...], text: str) -> None:
    assert introduced(pack, Edit("a.py", text, text), "python") == []
    crlf = text.replace("\n", "\r\n")
    assert introduced(pack, Edit("a.py", text, crlf), "python") == []


@settings(deadline=None, max_examples=100)
@given(before=FRAGMENTS, after=FRAGMENTS)
def test_never_more_than_is_there_never_fewer_than_the_growth(
    no_eval: Rule, before: str, after: str
) -> None:
    old = len(lines(no_eval, None, before))
    new = len(lines(no_eval, None, after))
    assert max(0, new - old) <= len(lines(no_eval, before, after)) <= new
