"""From findings to verdict and repair plan."""

from collections.abc import Callable

import pytest

from braincore.model.axes import Severity
from braincore.model.edits import Edit, Finding, Verdict
from braincore.rules.introduced import introduced
from braincore.rules.match import MAX_STRUCTURAL_CHARS
from braincore.rules.schema import Rule
from braincore.rules.verdict import check, judge, repaired

MakeRule = Callable[..., Rule]


def finding(
    severity: str, repair: str = "", fixed: str | None = None, path: str = "a.py", line: int = 1
) -> Finding:
    return Finding("r", Severity(severity), "m", "because", path, line, "bad()", repair, fixed)


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([], Verdict.ALLOW),
        ([finding("info")], Verdict.ALLOW),
        ([finding("low")], Verdict.WARN),
        ([finding("info"), finding("medium")], Verdict.WARN),
        ([finding("high", "words")], Verdict.DENY),
        ([finding("critical", fixed="good()")], Verdict.DENY),
        ([finding("high")], Verdict.ABSTAIN),
        ([finding("critical"), finding("low", "words")], Verdict.ABSTAIN),
        ([finding("high"), finding("high", "words", line=2)], Verdict.DENY),
    ],
)
def test_the_verdict_follows_severity_and_repair(findings: list[Finding], verdict: Verdict) -> None:
    result = judge(findings)
    assert result.verdict is verdict
    assert set(result.findings) == set(findings)


def test_the_plan_is_in_order_of_path_and_line_with_its_evidence() -> None:
    result = judge(
        [
            finding("high", "do this", path="b.py"),
            finding("critical", "", "good()", line=9),
            finding("high", "gone", "", line=3),
            finding("low", "not now"),
        ],
        {"r": ("dec-1", "fail-2")},
    )
    assert [(step.path, step.line, step.change) for step in result.repair_plan] == [
        ("a.py", 3, "delete `bad()`"),
        ("a.py", 9, "replace `bad()` with `good()`"),
        ("b.py", 1, "do this"),
    ]
    assert {step.evidence for step in result.repair_plan} == {"dec-1, fail-2"}
    assert {step.why for step in result.repair_plan} == {"because"}


def test_without_links_the_rule_is_the_evidence() -> None:
    assert judge([finding("high", "x")]).repair_plan[0].evidence == "rule r"


def test_a_blocking_finding_without_repair_is_named() -> None:
    (note,) = judge([finding("high", line=4)]).notes
    assert note.startswith("a.py:4: no repair for `r`")


def test_a_warning_has_a_plan_too() -> None:
    assert judge([finding("low", "words")]).repair_plan[0].change == "words"


def rejudged(rules: list[Rule], after: str) -> Finding:
    edit = Edit("a.py", None, after)
    return repaired(rules, edit, "python", introduced(rules, edit, "python")[0])


def test_a_good_fix_stays(make_rule: MakeRule) -> None:
    rule = make_rule("rule: {pattern: eval($X)}\nfix: lit($X)\n")
    assert rejudged([rule], "eval(x)\n").fixed == "lit(x)"


@pytest.mark.parametrize(
    "fix",
    ["exec($X)", "eval(f($X))", "lit($X"],
    ids=["breaks another rule", "cures nothing", "doesn't parse"],
)
def test_a_fix_that_is_no_cure_gives_way_to_the_words(make_rule: MakeRule, fix: str) -> None:
    rules = [
        make_rule(f"rule: {{pattern: eval($X)}}\nfix: {fix}\nrepair: words\n"),
        make_rule("rule: {pattern: exec($X)}\n", ident="no-exec"),
    ]
    found = rejudged(rules, "eval(x)\n")
    assert (found.fixed, found.repair) == (None, "words")


def test_a_fix_may_break_a_rule_that_only_warns(make_rule: MakeRule) -> None:
    rules = [
        make_rule("rule: {pattern: eval($X)}\nfix: exec($X)\n"),
        make_rule("rule: {pattern: exec($X)}\n", ident="no-exec", severity="low"),
    ]
    assert rejudged(rules, "eval(x)\n").fixed == "exec(x)"


def test_check_does_it_all(make_rule: MakeRule) -> None:
    rule = make_rule("rule: {pattern: eval($X)}\nfix: lit($X)\nlinks: [dec-1]\n")
    edits = [
        (Edit("a.py", "eval(a)\n", "eval(a)\neval(b)\n"), "python"),
        (Edit("b.md", None, "eval(b)\n"), None),
    ]
    result = check([rule], edits)
    assert result.verdict is Verdict.DENY
    (step,) = result.repair_plan
    assert (step.line, step.change, step.evidence) == (
        2,
        "replace `eval(b)` with `lit(b)`",
        "dec-1",
    )


def test_check_abstains_when_the_only_fix_is_no_cure(make_rule: MakeRule) -> None:
    rule = make_rule("rule: {pattern: eval($X)}\nfix: eval(($X))\n")
    result = check([rule], [(Edit("a.py", None, "eval(b)\n"), "python")])
    assert (result.verdict, result.repair_plan) == (Verdict.ABSTAIN, ())


def test_check_says_what_it_did_not_judge(no_eval: Rule) -> None:
    edit = Edit("a.py", None, "#" * (MAX_STRUCTURAL_CHARS + 1))
    result = check([no_eval], [(edit, "python")])
    assert result.verdict is Verdict.ALLOW
    assert "did not look at it" in result.notes[0]
