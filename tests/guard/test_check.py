"""Rules, failures and protected files come to one verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.code import language_of
from braincore.guard.check import check_patch, language_for
from braincore.guard.negative import Armed
from braincore.guard.tools import edits_of
from braincore.model.edits import CheckResult, Edit, Verdict
from braincore.rules.load import load_rules

RULES = load_rules(
    [
        (
            "eval.yml",
            "id: eval-found\nmessage: eval\nwhy: runs code\nseverity: high\ncategory: security\n"
            "languages: [python]\nrule: {pattern: eval($X)}\nrepair: parse it\n"
            "links: [decision-1]\n",
        ),
        (
            "print.yml",
            "id: print-found\nmessage: print\nwhy: noise\nseverity: low\ncategory: code\n"
            "languages: [python]\nrule: {pattern: print($X)}\n",
        ),
        (
            "magic.yml",
            "id: magic-found\nmessage: magic\nwhy: no way out\nseverity: critical\n"
            "category: code\nlanguages: [python]\nrule: {pattern: magic($X)}\n",
        ),
    ]
)
FAILURE = Armed(
    "failure-1",
    "Leak",
    "no close",
    "with open",
    "commit:abc",
    "python",
    ("a.py",),
    "h = open(p)\nuse(h)\n",
)


def judge(*edits: Edit, by_agent: bool = True) -> CheckResult:
    assert not RULES.errors
    return check_patch(edits, RULES.rules, [FAILURE], language_of, by_agent=by_agent)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ("x = 1\n", Verdict.ALLOW),
        ("print(x)\n", Verdict.WARN),
        ("eval(x)\n", Verdict.DENY),
        ("magic(x)\n", Verdict.ABSTAIN),
        ("magic(x)\neval(x)\n", Verdict.DENY),
        ("h = open(p)\nuse(h)\n", Verdict.DENY),
    ],
)
def test_the_worst_finding_decides(after: str, verdict: Verdict) -> None:
    assert judge(Edit("a.py", None, after)).verdict is verdict


def test_the_repair_plan_names_the_evidence() -> None:
    result = judge(Edit("a.py", "x = 1\n", "eval(x)\nh = open(p)\nuse(h)\n"))
    assert [(s.line, s.change) for s in result.repair_plan] == [
        (1, "parse it"),
        (2, "keep the fix: with open"),
    ]
    assert "decision-1" in result.repair_plan[0].evidence
    assert "commit:abc" in result.repair_plan[1].evidence


def test_a_patch_is_judged_as_a_whole() -> None:
    moved = judge(Edit("old.py", "eval(x)\n", None), Edit("new.py", None, "eval(x)\n"))
    assert moved.verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("path", "before", "after", "denied"),
    [
        (".braincore/memory/facts/a/b/x.md", "a", "b", True),
        (".braincore/memory/facts/new.md", None, "b", True),
        (".braincore/config.toml", "", "[hook]\nfail_closed = false\n", True),
        (".braincore/rules/mine.yml", None, "id: x\n", False),
        (".braincore/rules/mine.yml", "id: x\n", "id: y\n", True),
        (".braincore/rules/mine.yml", "id: x\n", None, True),
        (".claude/settings.local.json", '{"c": "hook_client.py"}', "{}", True),
        (
            ".claude/settings.local.json",
            '{"c": "hook_client.py"}',
            '{"c": "hook_client.py "}',
            False,
        ),
        (".claude/settings.json", "{}", '{"model": "x"}', False),
        ("docs/config.toml", "a", "b", False),
    ],
)
def test_what_only_a_person_may_change(
    path: str, before: str | None, after: str | None, denied: bool
) -> None:
    edit = Edit(path, before, after)
    assert (judge(edit).verdict is Verdict.DENY) is denied
    assert judge(edit, by_agent=False).verdict is Verdict.ALLOW


def test_a_notebook_is_judged_as_python() -> None:
    assert language_for("n.ipynb", language_of) == "python"
    assert judge(Edit("n.ipynb", "", "eval(x)")).verdict is Verdict.DENY


@given(st.text(max_size=300))
def test_an_edit_that_changes_nothing_is_allowed(text: str) -> None:
    assert judge(Edit("a.py", text, text)).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("rm -rf .braincore", True),
        ("rm -rf .braincore/rules", True),
        ("rm -rf .git/braincore", True),
        ("rm -r .git", True),
        ("rm -rf .", True),
        ("mv .braincore /tmp/away", True),
        ("curl -o .braincore/rules/mine.yml https://example.org/x", True),
        ("sort -o .braincore/config.toml other", True),
        ("echo 'rm -rf .braincore'", False),
        ("rm -rf build", False),
        ("rm -rf ../elsewhere/.braincore", False),
        ("ls .braincore", False),
    ],
)
def test_an_agent_does_not_remove_the_brain(command: str, denied: bool) -> None:
    found = edits_of(
        "Bash", {"command": command}, root="/repo", cwd="/repo", read=lambda path: None
    )
    result = check_patch(
        found.edits, RULES.rules, [], language_of, by_agent=True, touched=found.touched
    )
    assert (result.verdict is Verdict.DENY) is denied
    allowed = check_patch(
        found.edits, RULES.rules, [], language_of, by_agent=False, touched=found.touched
    )
    assert allowed.verdict is Verdict.ALLOW
