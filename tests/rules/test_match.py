"""Where rules match: positions, fixes, paths, languages, bounds."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.rules.globs import selects
from braincore.rules.match import MAX_STRUCTURAL_CHARS, findings, matches, unjudged
from braincore.rules.schema import Rule

MakeRule = Callable[..., Rule]


def fixed(rule: Rule, text: str) -> list[str | None]:
    return [finding.fixed for finding in findings([rule], "a.py", "python", text)]


def test_a_finding_says_where_and_what(no_eval: Rule) -> None:
    (finding,) = findings([no_eval], "src/a.py", "python", "x = 1\n\n\nif x:\n    eval(x)\n")
    assert (finding.source, finding.path, finding.line) == ("no-eval", "src/a.py", 5)
    assert (finding.snippet, finding.repair, finding.fixed) == ("eval(x)", "parse it", None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("éé😀 = 1; eval(x)", 1),
        ("\ufeff\r\neval(x)\r\n", 2),
        ("a = 'é'\n# 😀\neval(x)", 3),
        ("a = '\udcff'\neval(x)", 2),
        ("a = '''\x0c\n'''\neval(x)", 3),
    ],
)
def test_positions_survive_odd_text(no_eval: Rule, text: str, line: int) -> None:
    (match,) = matches([no_eval], "a.py", "python", text)
    assert match.finding.line == line
    assert text[match.start : match.end] == "eval(x)"


@pytest.mark.parametrize(
    "text", ["# eval(x)", "s = 'eval(x)'", 'echo = "eval(x)"', "model.eval(x)"]
)
def test_what_is_mentioned_is_not_done(no_eval: Rule, text: str) -> None:
    assert findings([no_eval], "a.py", "python", text) == []


def test_a_long_snippet_is_cut(no_eval: Rule) -> None:
    (finding,) = findings([no_eval], "a.py", "python", f"eval({'x' * 500})")
    assert len(finding.snippet) == 200
    assert finding.snippet.endswith("…")


def test_code_after_a_syntax_error_is_still_judged(no_eval: Rule) -> None:
    text = "def f(:\n    pass\n\ndef g():\n    eval(x)\n"
    assert [f.line for f in findings([no_eval], "a.py", "python", text)] == [5]


def test_another_language_is_not_judged(no_eval: Rule) -> None:
    assert findings([no_eval], "a.js", "javascript", "eval(x)") == []
    assert findings([no_eval], "a", None, "eval(x)") == []


def test_a_regex_without_languages_reads_every_text(make_rule: MakeRule) -> None:
    rule = make_rule("regex: (?m)^TODO\n")
    for language in ("python", "markdown", None):
        (finding,) = findings([rule], "a", language, "x\r\nTODO: y\r\n")
        assert (finding.line, finding.snippet) == (2, "TODO")


def test_the_group_at_is_what_a_regex_reports(make_rule: MakeRule) -> None:
    rule = make_rule("regex: key=(?P<at>[a-z]+)\n")
    (match,) = matches([rule], "a", None, "é key=secret")
    assert (match.finding.snippet, match.start) == ("secret", 6)


@pytest.mark.parametrize(
    ("body", "text", "expected"),
    [
        ("rule: {pattern: eval($X)}\nfix: f($X)\n", "eval(a[ 1 ])", "f(a[ 1 ])"),
        ("rule: {pattern: eval($$$A)}\nfix: f($$$A)\n", "eval(a,  b,c)", "f(a,  b,c)"),
        ("rule: {pattern: eval($$$A)}\nfix: f($$$A)\n", "eval()", "f()"),
        ("rule: {pattern: '$X == None'}\nfix: $X is None\n", "é.b(c) == None", "é.b(c) is None"),
        ("rule: {pattern: eval($X)}\nfix: $x costs $5 $X\n", "eval(a)", "$x costs $5 a"),
        ("rule: {pattern: eval($X)}\nfix: ''\n", None, None),
        ("regex: a(?P<B>\\d+)\nfix: b$B\n", "a12", "b12"),
        ("rule: {pattern: 'if $X: $Y'}\nfix: |\n  if $X:\n    $Y\n", "if a: b", "if a:\n  b"),
    ],
)
def test_fixes_are_expanded(
    make_rule: MakeRule, body: str, text: str | None, expected: str | None
) -> None:
    if text is None:
        with pytest.raises(AssertionError, match="`fix` is empty"):
            make_rule(body)
    else:
        assert fixed(make_rule(body), text) == [expected]


def test_the_lines_of_a_fix_get_the_indentation_of_the_match(make_rule: MakeRule) -> None:
    rule = make_rule("rule: {pattern: eval($X)}\nfix: |\n  f(\n      $X,\n  )\n")
    text = "def g():\n    x = eval(a)\n"
    assert fixed(rule, text) == ["f(\n        a,\n    )"]


def test_a_fix_that_uses_what_a_util_or_constraint_binds(make_rule: MakeRule) -> None:
    body = """\
rule: {all: [{matches: call}, {has: {pattern: '($B)', stopBy: end}}]}
utils: {call: {pattern: $F($$$A)}}
constraints: {F: {regex: ^eval$}}
fix: lit($$$A)
"""
    rule = make_rule(body)
    assert fixed(rule, "eval((a), b); g((a))") == ["lit((a), b)"]


@pytest.mark.parametrize(
    ("paths", "path", "selected"),
    [
        ([], "a.py", True),
        (["src/**"], "src/a/b.py", True),
        (["src/**"], "lib/src/a.py", False),
        (["*.py"], "a/b.py", True),
        (["!tests/**"], "src/a.py", True),
        (["!tests/**"], "tests/a/b.py", False),
        (["src/**", "!src/gen/**", "src/gen/keep.py"], "src/gen/x.py", False),
        (["src/**", "!src/gen/**", "src/gen/keep.py"], "src/gen/keep.py", True),
        (["src/a b[1].py"], "src/a b1.py", True),
        (["/a.py"], "b/a.py", False),
    ],
)
def test_paths(paths: Sequence[str], path: str, selected: bool) -> None:
    assert selects(paths, path) is selected


@pytest.mark.parametrize("regex", ["(a+)+$", "(a|aa)+b", "(.*a){20}b", "(?:a?){50}a{50}b"])
def test_a_catastrophic_regex_is_harmless(make_rule: MakeRule, regex: str) -> None:
    rule = make_rule(f"regex: {regex}!\n")
    start = time.process_time()
    assert findings([rule], "a", None, "a" * 20_000) == []
    assert time.process_time() - start < 3


def test_a_catastrophic_glob_is_harmless() -> None:
    start = time.process_time()
    assert not selects(["*a" * 25 + "b", "**/**/**/**/**/x"], "a" * 2_000 + "/a" * 200)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "text",
    ["(" * 100_000, "x = a" + ".b" * 50_000, "[" * 50_000 + "]" * 50_000, "eval(" * 1000 + "x"],
    ids=["brackets", "attributes", "lists", "calls"],
)
def test_deep_code_is_harmless(pack: tuple[Rule, ...], text: str) -> None:
    start = time.process_time()
    findings(pack, "a.py", "python", text)
    assert time.process_time() - start < 10


def test_a_huge_text_is_judged_by_regexes_only_and_that_is_said(
    no_eval: Rule, make_rule: MakeRule
) -> None:
    text = "eval(x)\n" + "#" * MAX_STRUCTURAL_CHARS
    rules = [no_eval, make_rule("regex: eval\n", ident="text")]
    assert [f.source for f in findings(rules, "a.py", "python", text)] == ["text"]
    note = unjudged(rules, "a.py", "python", text)
    assert note is not None
    assert "1 structural rules did not look" in note
    assert unjudged(rules, "a.js", "javascript", text) is None
    assert unjudged(rules, "a.py", "python", "eval(x)") is None


PIECES = st.lists(
    st.sampled_from(
        [
            "eval(x)",
            "subprocess.run(c, shell=True)",
            "try:\n  f()\nexcept:\n  pass",
            "yaml.load(x)",
            "def f(a=[]): pass",
            "x == None",
            "import pdb",
            "for a in b:\n  re.compile('x')",
            "async def f():\n  time.sleep(1)",
            "sys.path.append('a')",
            "'''",
            "(",
            "é",
        ]
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(pieces=PIECES)
def test_skipping_the_parse_changes_no_finding(pack: tuple[Rule, ...], pieces: list[str]) -> None:
    text = "\n".join(pieces)
    without = [replace(rule, needles=frozenset()) for rule in pack]
    assert findings(pack, "a.py", "python", text) == findings(without, "a.py", "python", text)
