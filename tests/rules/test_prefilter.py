"""Words that every match must contain: sound first, useful second."""

import pytest
import yaml

from braincore.rules.prefilter import needles

TABLE = [
    ("{pattern: eval($X)}", {"eval"}),
    ("{pattern: $X == None}", {"None"}),
    ("{pattern: $F($X)}", set()),
    ("{pattern: a.b($X)}", set()),
    ("{pattern: {context: eval($X), strictness: signature}}", set()),
    ("{kind: call}", set()),
    ("{not: {pattern: eval($X)}}", set()),
    ("{kind: call, has: {pattern: shell=True}}", {"shell"}),
    ("{any: [{pattern: eval($X)}, {pattern: exec($X)}]}", {"eval", "exec"}),
    ("{any: [{pattern: eval($X)}, {kind: call}]}", set()),
    (
        "{all: [{kind: call}, {pattern: evaluate($X)}, {any: [{regex: a}, {regex: b}]}]}",
        {"evaluate"},
    ),
    ("{matches: u}", {"named"}),
    ("{regex: ^(eval|exec)$}", {"eval", "exec"}),
    ("{regex: 'eval|exec'}", {"eval", "exec"}),
    ("{regex: '^(builtins\\.)?(eval|exec)$'}", {"eval", "exec"}),
    ("{regex: '\\.(get|post)$'}", {"get", "post"}),
    ("{regex: '^except\\s*:'}", {"except"}),
    ("{regex: '^excepts?'}", set()),
    ("{regex: 'a|^(eval)$'}", set()),
    ("{regex: '(?i)^(eval)$'}", set()),
    ("{regex: '(?i:x)(eval)$'}", set()),
    ("{regex: '(eval)?$'}", set()),
    ("{regex: '^async|await\\s'}", set()),
    ("{regex: '[|](eval)$'}", {"eval"}),
]


@pytest.mark.parametrize(("rule", "words"), TABLE, ids=[rule for rule, _ in TABLE])
def test_words_of_a_rule(rule: str, words: set[str]) -> None:
    utils = {"u": {"pattern": "named($X)"}}
    assert needles(yaml.load(rule, Loader=yaml.CSafeLoader), None, utils, {}) == words


def test_a_constraint_counts_when_its_variable_is_always_bound() -> None:
    rule, constraints = {"pattern": "$F($X)"}, {"F": {"regex": "^eval$"}}
    assert needles(rule, constraints, None, {"F": False, "X": False}) == {"eval"}
    assert needles(rule, constraints, None, {"X": False}) == set()
