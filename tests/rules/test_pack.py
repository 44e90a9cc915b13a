"""The shipped rules: each is complete and does what the cases beside it say."""

from collections.abc import Callable

import pytest

from braincore.model.edits import Edit, Verdict
from braincore.rules.cases import run_cases
from braincore.rules.load import load_cases, load_rules
from braincore.rules.schema import CASES_SUFFIXES, CaseSet, Rule
from braincore.rules.verdict import check


def test_every_rule_passes_its_cases(
    pack: tuple[Rule, ...], pack_files: list[tuple[str, str]]
) -> None:
    texts = dict(pack_files)
    failures = []
    for rule in pack:
        path = rule.origin.removesuffix(".yml") + CASES_SUFFIXES[0]
        cases = load_cases(path, texts[path])
        failures += run_cases(rule, cases)
        if min(len(cases.hit), len(cases.ok)) < 3:
            failures.append(f"{rule.id}: fewer than three hits or oks")
    assert failures == []


def test_every_rule_is_complete_and_in_its_place(pack: tuple[Rule, ...]) -> None:
    assert len(pack) >= 10
    for rule in pack:
        assert rule.origin == f"rules/{rule.category}/{rule.id}.yml"
        assert rule.fix or rule.repair
        assert rule.why.count(".") >= 1


def test_every_case_file_has_its_rule(pack_files: list[tuple[str, str]]) -> None:
    paths = {path for path, _ in pack_files}
    for path in paths:
        if path.endswith(CASES_SUFFIXES[0]):
            assert path.replace(CASES_SUFFIXES[0], ".yml") in paths


def test_no_rule_is_hit_by_the_files_of_the_pack(
    pack: tuple[Rule, ...], pack_files: list[tuple[str, str]]
) -> None:
    rules_only = [(path, text) for path, text in pack_files if not path.endswith(CASES_SUFFIXES)]
    for path, text in rules_only:
        assert check(pack, [(Edit(path, None, text), "yaml")]).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("path", "language", "code", "verdict"),
    [
        ("a.py", "python", "eval(x)\n", Verdict.DENY),
        ("a.js", "javascript", "eval(x);\n", Verdict.DENY),
        ("a.txt", None, "<<<<<<< HEAD\n", Verdict.DENY),
        ("a.py", "python", "yaml.load(x)\n", Verdict.WARN),
        ("a.py", "python", "def f(a=[]): pass\n", Verdict.WARN),
        ("a.sh", "bash", 'echo "rm -rf /; eval(x)"\n', Verdict.ALLOW),
        ("a.py", "python", "print('eval(x)')  # eval(x)\n", Verdict.ALLOW),
        ("a.md", None, "Title\n=======\n", Verdict.ALLOW),
    ],
)
def test_verdicts_of_the_pack(
    pack: tuple[Rule, ...], path: str, language: str | None, code: str, verdict: Verdict
) -> None:
    assert check(pack, [(Edit(path, None, code), language)]).verdict is verdict


def test_the_ten_old_evals(pack: tuple[Rule, ...]) -> None:
    old = "".join(f"eval(x{i})\n" for i in range(10))
    for after, verdict in [
        (old + "y = 1\n", Verdict.ALLOW),
        (old + "eval(y)\n", Verdict.DENY),
        (old[10:], Verdict.ALLOW),
    ]:
        assert check(pack, [(Edit("a.py", old, after), "python")]).verdict is verdict


def test_a_key_is_found_but_not_shown(pack: tuple[Rule, ...]) -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + "A" * 32
    code = f"{'-' * 5}BEGIN PRIVATE KEY{'-' * 5}\n{body}\n"
    result = check(pack, [(Edit("deploy/key.pem", None, code), None)])
    assert result.verdict is Verdict.DENY
    assert body[:8] not in str(result)


def test_run_cases_says_what_failed(no_eval: Rule, make_rule: Callable[..., Rule]) -> None:
    text = "hit:\n  - f(x)\n  - {code: eval(x), fixed: y}\nok:\n  - eval(x)\n"
    assert run_cases(no_eval, load_cases("c", text)) == [
        "no-eval: hit on line 2 isn't found",
        "no-eval: ok on line 5 is found: 'eval(x)'",
        "no-eval: the fix on line 3 gives None",
    ]
    assert run_cases(no_eval, load_cases("c", "hit: 1\n"))[0].startswith("c:1:6: `hit` must be")
    assert run_cases(no_eval, CaseSet()) == []


def test_the_pack_loads_without_errors(pack_files: list[tuple[str, str]]) -> None:
    assert [str(error) for error in load_rules(pack_files).errors] == []
