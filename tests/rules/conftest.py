"""Rules for the tests of this folder: made from a few lines, or the shipped ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from braincore.rules.load import load_rules
from braincore.rules.schema import Rule

PACK = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="session")
def pack_files() -> list[tuple[str, str]]:
    """Every file of the shipped pack: path from the repository's root, text."""
    return [
        (path.relative_to(PACK.parent).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(PACK.glob("*/*.yml"))
    ]


@pytest.fixture(scope="session")
def pack(pack_files: list[tuple[str, str]]) -> tuple[Rule, ...]:
    """The shipped rules."""
    rule_set = load_rules(pack_files)
    assert not rule_set.errors
    return rule_set.rules


@pytest.fixture(scope="session")
def make_rule() -> Callable[..., Rule]:
    """A rule from its matching part in YAML; the rest has defaults."""

    def make(body: str, ident: str = "no-eval", severity: str = "high") -> Rule:
        languages = "" if "languages:" in body or "\nregex:" in f"\n{body}" else "[python]"
        head = f"id: {ident}\nmessage: m\nwhy: w\nseverity: {severity}\ncategory: security\n"
        if languages:
            head += f"languages: {languages}\n"
        rule_set = load_rules([("test.yml", head + body)])
        assert not rule_set.errors, [str(error) for error in rule_set.errors]
        return rule_set.rules[0]

    return make


@pytest.fixture(scope="session")
def no_eval(make_rule: Callable[..., Rule]) -> Rule:
    """High: every call of eval, with words for a repair."""
    return make_rule("rule: {pattern: eval($X)}\nrepair: parse it\n")
