"""Rule files: every mistake is one clear error at its place, and the other files still load."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.model.axes import Severity
from braincore.rules.load import load_cases, load_rules
from braincore.rules.schema import LANGUAGES

HEAD = """\
id: no-eval
message: eval is forbidden
why: it runs anything
severity: high
category: security
languages: [python]
"""
GOOD = HEAD.replace("no-eval", "good") + "rule:\n  pattern: eval($X)\n"
RULE = HEAD + "rule:\n"


def head(**changes: str) -> str:
    """HEAD and a rule with some lines changed; an empty value takes the line out."""
    lines = [line for line in HEAD.splitlines() if line.split(":")[0] not in changes]
    lines += [f"{key}: {value}" for key, value in changes.items() if value]
    return "\n".join(lines) + "\nrule: {pattern: eval($X)}\n"


BROKEN = {
    "empty file": ("", 1, "the file is empty"),
    "only a comment": ("# later\n", 1, "the file is empty"),
    "a list": ("- a\n", 1, "the file must be a mapping, not a list"),
    "tab indentation": (HEAD + "rule:\n\tpattern: a\n", 8, "not valid YAML: found character"),
    "unclosed bracket": (HEAD + "paths: [a, b\n", 8, "not valid YAML: did not find expected"),
    "colon in plain text": (HEAD + "repair: use: this\n", 7, "not valid YAML: mapping values"),
    "control character": (HEAD + "repair: a\x00b\n", 7, "not valid YAML: control characters"),
    "not UTF-8": (HEAD + "repair: a\udcffb\n", 7, "the file is not valid UTF-8"),
    "conflict markers": ("<" * 7 + " HEAD\nid: a\n", 2, "not valid YAML: mapping values"),
    "duplicate key": (HEAD + "why: again\n", 7, "the key `why` is written twice"),
    "duplicate nested key": (
        RULE + "  pattern: eval($X)\n  pattern: exec($X)\n",
        9,
        "the key `pattern` is written twice",
    ),
    "alias": (HEAD + "links: &a [x]\npaths: *a\n", 8, "aliases are not supported"),
    "python tag": (HEAD + "repair: !!python/name:os.system x\n", 7, "the tag tag:yaml.org"),
    "private tag": (HEAD + "repair: !secret x\n", 7, "the tag !secret is not supported"),
    "two documents": (GOOD + "---\n" + GOOD, 9, "a second document begins here"),
    "too deep": (HEAD + "rule: " + "[" * 60 + "]" * 60 + "\n", 7, "nested deeper than 40"),
    "too long": (HEAD + "repair: " + "x" * 70_000, 1, "longer than 64000 characters"),
    "key that is no text": (HEAD + "yes: 1\n", 7, "a key must be plain text"),
    "unknown key": (head(severty="high"), 7, "unknown key `severty` in a rule"),
    "missing why": (head(why=""), 1, "`why` is missing"),
    "message is a number": (head(message="42"), 6, "`message` must be text, but YAML reads `42`"),
    "message is a list": (head(message="[a]"), 6, "`message` must be text, not a list"),
    "empty message": (head(message='""'), 6, "`message` is empty"),
    "unknown severity": (head(severity="hgih"), 6, "unknown severity `hgih`"),
    "unknown category": (head(category="style"), 6, "unknown category `style`"),
    "unknown language": (head(languages="[python, cobol]"), 6, "unknown language `cobol`"),
    "language by its short name": (head(languages="[py]"), 6, "unknown language `py`"),
    "languages is text": (head(languages="python"), 6, "`languages` must be a list, not text"),
    "bad id": (head(id="No Eval"), 6, "`No Eval` is no rule id"),
    "bad glob": (HEAD + "regex: a\npaths:\n  - src/**\n  - '!'\n", 10, "`!` can't be used as a"),
    "glob that is a comment": (HEAD + "regex: a\npaths: ['#x']\n", 8, "`#x` can't be used as a"),
    "neither rule nor regex": (HEAD, 1, "neither `rule` nor `regex`"),
    "both rule and regex": (RULE + "  kind: call\nregex: a\n", 9, "both `rule` and `regex`"),
    "layers": (HEAD + "layers: [a, b]\n", 7, "`layers` is not supported yet"),
    "structural without languages": (head(languages=""), 6, "a structural `rule` needs"),
    "constraints without rule": (
        HEAD + "regex: a\nconstraints: {}\n",
        8,
        "`constraints` without `rule`",
    ),
    "regex with look-ahead": (HEAD + "regex: a(?=b)\n", 7, "`regex` can't be used: invalid perl"),
    "regex unclosed": (HEAD + "regex: a(b\n", 7, "`regex` can't be used: missing )"),
    "regex that matches nothing": (HEAD + "regex: a*\n", 7, "it matches the empty text"),
    "rule is text": (HEAD + "rule: eval($X)\n", 7, "`rule` must be a mapping, not text"),
    "rule is empty": (HEAD + "rule: {}\n", 7, "`rule` has no matcher"),
    "unknown rule key": (RULE + "  patern: eval($X)\n", 8, "unknown key `patern` in `rule`"),
    "unknown key in a relation": (
        RULE + "  kind: call\n  inside:\n    kind: module\n    stopby: end\n",
        11,
        "unknown key `stopby` in `inside`",
    ),
    "range": (
        RULE + "  kind: call\n  range: {start: 1}\n",
        9,
        "`range` is not supported",
    ),
    "fix inside the rule": (
        RULE + "  pattern: eval($X)\n  fix: f($X)\n",
        9,
        "unknown key `fix` in `rule`",
    ),
    "empty pattern": (RULE + "  pattern: ' '\n", 8, "`pattern` is empty"),
    "pattern unclosed": (RULE + "  pattern: eval($X\n", 8, "the pattern doesn't parse as python"),
    "pattern of a mere clause": (
        RULE + "  pattern: 'except: pass'\n",
        8,
        "the pattern doesn't parse as python",
    ),
    "pattern of two statements": (RULE + "  pattern: a(); b()\n", 8, "Multiple AST nodes"),
    "pattern is a number": (RULE + "  pattern: 1\n", 8, "`pattern` must be text, but YAML"),
    "pattern in the wrong language": (
        RULE.replace("[python]", "[python, javascript]") + "  pattern: 'not $X'\n",
        8,
        "the pattern doesn't parse as javascript",
    ),
    "pattern too deep": (
        RULE + "  pattern: " + "f(" * 400 + ")" * 400 + "\n",
        8,
        "the pattern nests deeper than",
    ),
    "pattern without context": (
        RULE + "  pattern: {selector: call}\n",
        8,
        "`pattern` has no `context`",
    ),
    "selector that selects nothing": (
        RULE + "  pattern: {context: 'x = 1', selector: call}\n",
        8,
        "selector `call` matches no node",
    ),
    "unknown strictness": (
        RULE + "  pattern: {context: x, strictness: strict}\n",
        8,
        "unknown strictness `strict`",
    ),
    "lone metavariable": (RULE + "  pattern: $X\n", 8, "the rule matches every piece of code"),
    "only not": (RULE + "  not: {kind: call}\n", 8, "the rule matches every piece of code"),
    "unknown kind": (RULE + "  kind: function\n", 8, "Kind `function` is invalid"),
    "bad regex on a node": (RULE + "  regex: (a\n", 8, "`regex`: unclosed group"),
    "any without list": (RULE + "  any: {kind: call}\n", 8, "`any` must be a list"),
    "all with nothing": (RULE + "  all: []\n", 8, "`all` is an empty list"),
    "error in a branch": (
        RULE + "  any:\n    - kind: call\n    - knd: call\n",
        10,
        "unknown key `knd` in `any`",
    ),
    "stopBy misspelt": (
        RULE + "  kind: call\n  has: {kind: string, stopBy: ned}\n",
        9,
        "`stopBy` must be `neighbor`, `end` or a rule",
    ),
    "unknown field": (
        RULE + "  kind: call\n  has:\n    field: func\n    kind: string\n",
        10,
        "`field`: ",
    ),
    "field where it can't be": (
        RULE + "  kind: call\n  precedes: {field: body, kind: call}\n",
        9,
        "`field` can't be used in `precedes`",
    ),
    "bad position": (RULE + "  kind: call\n  nthChild: 0\n", 9, "`nthChild` is no position"),
    "unknown util": (RULE + "  matches: literal\n", 8, "`matches` names `literal`"),
    "util in a circle": (
        RULE + "  matches: a\nutils:\n  a: {any: [{matches: a}]}\n",
        8,
        "cyclic dependency",
    ),
    "constraint of nothing": (
        RULE + "  pattern: eval($X)\nconstraints:\n  Y: {kind: call}\n",
        10,
        "`constraints` speaks of $Y",
    ),
    "fix with an unbound variable": (
        RULE + "  pattern: eval($X)\nfix: literal_eval($Y)\n",
        9,
        "`fix` uses $Y, which isn't always bound",
    ),
    "fix bound in one branch only": (
        RULE + "  any:\n    - pattern: eval($X)\n    - pattern: exec($Y)\nfix: f($X)\n",
        11,
        "`fix` uses $X, which isn't always bound",
    ),
    "fix with the wrong sign": (
        RULE + "  pattern: eval($$$ARGS)\nfix: f($ARGS)\n",
        9,
        "`fix` uses $ARGS, bound with another sign",
    ),
    "fix of a regex": (
        HEAD + "regex: a(?P<B>b)\nfix: $C\n",
        8,
        "`fix` uses $C, which isn't always bound",
    ),
    "links is a mapping": (HEAD + "regex: a\nlinks: {a: b}\n", 8, "`links` must be a list"),
}


@pytest.mark.parametrize(("text", "line", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_one_error_at_its_line(text: str, line: int, message: str) -> None:
    rule_set = load_rules([("rules/a.yml", text), ("rules/good.yml", GOOD)])
    assert [rule.id for rule in rule_set.rules] == ["good"]
    assert len(rule_set.errors) == 1, [str(error) for error in rule_set.errors]
    error = rule_set.errors[0]
    assert (error.path, error.line) == ("rules/a.yml", line)
    assert message in error.message
    assert error.hint
    assert error.column >= 1
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (head(severty="high"), "Did you mean `severity`?"),
        (head(severity="hgih"), "Did you mean `high`?"),
        (head(languages="[pyton]"), "Did you mean `python`?"),
        (head(languages="[js]"), "Did you mean `javascript`?"),
        (RULE + "  patern: eval($X)\n", "Did you mean `pattern`?"),
        (RULE + "  kind: call\n  inside: {kind: module, stopby: end}\n", "Did you mean `stopBy`?"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_one(text: str, hint: str) -> None:
    assert load_rules([("a.yml", text)]).errors[0].hint == hint


def test_every_mistake_of_a_file_is_reported() -> None:
    text = "id: A\nmessage: 1\nwhy: w\nseverity: x\ncategory: x\nlanguages: [x]\n"
    errors = load_rules([("a.yml", text + "rule: {kind: call}\nfoo: 1\n")]).errors
    assert sorted(error.line for error in errors) == [1, 2, 4, 5, 6, 8]


def test_of_two_equal_ids_the_first_stays() -> None:
    second = GOOD.replace("eval is forbidden", "another")
    rule_set = load_rules([("a.yml", GOOD), ("b.yml", "# again\n" + second)])
    assert [rule.origin for rule in rule_set.rules] == ["a.yml"]
    (error,) = rule_set.errors
    assert (error.path, error.line, error.column) == ("b.yml", 2, 5)
    assert "already taken by a.yml:1" in error.message


def test_a_whole_rule() -> None:
    text = """\
id: no-eval
message: >-
  eval of
  anything
why: w
severity: critical
category: anti-pattern
languages: [python, tsx]
paths: ["src/**", "!src/x.py"]
rule: {pattern: $F($X), nthChild: 1}
constraints: {F: {regex: ^eval$}}
utils: {u: {kind: string}}
fix: f($X)
repair: in words
links: [dec-1, fail-2]
"""
    rule_set = load_rules([("a.yml", text)])
    assert not rule_set.errors
    (rule,) = rule_set.rules
    assert rule.message == "eval of anything"
    assert rule.severity is Severity.CRITICAL
    assert rule.languages == ("python", "tsx")
    assert rule.paths == ("src/**", "!src/x.py")
    assert rule.rule == {"pattern": "$F($X)", "nthChild": 1}
    assert rule.constraints == {"F": {"regex": "^eval$"}}
    assert rule.links == ("dec-1", "fail-2")
    assert rule.fix == "f($X)"
    assert rule.needles == {"eval"}


def test_crlf_bom_and_non_ascii_load() -> None:
    text = "\ufeff" + GOOD.replace("eval is forbidden", "café 😀").replace("\n", "\r\n")
    rule_set = load_rules([("a.yml", text)])
    assert not rule_set.errors
    assert rule_set.rules[0].message == "café 😀"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_listed_language_has_a_grammar(language: str) -> None:
    text = head(languages=f"[{language}]").replace("{pattern: eval($X)}", "{regex: ^a$}")
    assert not load_rules([("a.yml", text)]).errors


@pytest.mark.parametrize(
    ("language", "pattern"),
    [
        ("rust", "$X.unwrap()"),
        ("java", "$X.f()"),
        ("go", "fmt.Println($$$A)"),
        ("c", "gets($X);"),
        ("csharp", "foo($X)"),
        ("php", "eval($X)"),
        ("kotlin", "$X!!"),
        ("ruby", "eval($X)"),
        ("tsx", "<div a={$X} />"),
        ("bash", "rm -rf $X"),
        ("css", "a { color: $X; }"),
        ("python", '""'),
        ("javascript", "``"),
    ],
)
def test_good_patterns_of_many_languages_load(language: str, pattern: str) -> None:
    text = head(languages=f"[{language}]").replace("{pattern: eval($X)}", "")
    rule_set = load_rules([("a.yml", f"{text}  pattern: '{pattern}'\n")])
    assert not rule_set.errors, str(rule_set.errors[0])


def test_case_files_are_not_rules() -> None:
    assert load_rules([("a.cases.yml", "hit: []\n"), ("b.cases.yaml", "}")]).errors == ()


def test_case_files() -> None:
    text = """\
hit:
  - eval(x)
  - {path: a.py, code: eval(y), language: python, fixed: f(y)}
ok:
  - before: eval(a)
    after: eval(b)
"""
    cases = load_cases("a.cases.yml", text)
    assert cases.errors == ()
    assert [case.after for case in cases.hit] == ["eval(x)", "eval(y)"]
    assert (cases.hit[1].path, cases.hit[1].fixed) == ("a.py", "f(y)")
    assert (cases.ok[0].before, cases.ok[0].line) == ("eval(a)", 5)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hit: x\n", 1, "`hit` must be a list"),
        ("hits: []\n", 1, "unknown key `hits`"),
        ("ok:\n  - 1\n", 2, "an example must be text"),
        ("ok:\n  - {code: a, after: b}\n", 2, "an example needs its code once"),
        ("ok:\n  - {before: a}\n", 2, "an example needs its code once"),
        ("ok:\n  - {cod: a}\n", 2, "unknown key `cod`"),
        ("- a\n", 1, "the file must be a mapping"),
    ],
)
def test_broken_case_files(text: str, line: int, message: str) -> None:
    (error,) = load_cases("a.cases.yml", text).errors
    assert error.line == line
    assert message in error.message


@settings(deadline=None, max_examples=150)
@given(
    place=st.integers(0, len(GOOD) - 1),
    junk=st.sampled_from(
        ["", "\n", ":", "- ", "[", "{", "'", "&a ", "*a", "!x ", "\t", "\0", "é", "$"]
    ),
)
def test_a_damaged_file_never_raises_and_never_fails_silently(place: int, junk: str) -> None:
    damaged = GOOD[:place] + junk + GOOD[place + 1 :]
    rule_set = load_rules([("a.yml", damaged), ("b.yml", head(id="other"))])
    assert "other" in [rule.id for rule in rule_set.rules] or rule_set.errors
    assert len(rule_set.rules) == 2 or rule_set.errors
