"""Words a text must contain before a structural rule can match it: a cheap way not to parse."""

import re
from collections.abc import Mapping

__all__ = ["needles"]

Words = frozenset[str]
"""Alternatives: a text that contains none of them can't match. Empty: nothing is known."""

_NONE: Words = frozenset()
_METAVARIABLE = re.compile(r"\${1,3}[A-Za-z_][A-Za-z0-9_]*|\$\$\$")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_ALTERNATIVES = re.compile(r"\^?\(?(?:\?:)?(\w+(?:\|\w+)*)\)?\$?")
_LAST_GROUP = re.compile(r"(?<!\\)\((?:\?:)?(\w+(?:\|\w+)*)\)\$?$")
_FLAGS = re.compile(r"\(\?[a-zA-Z-]*[ixU]")
_CLASS_OR_ESCAPE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]")
_GROUPED = re.compile(r"\([^()]*\)")
_PREFIX = re.compile(r"\^?(\w{3,})(?![\w?*{])")


def needles(
    rule: Mapping[str, object],
    constraints: Mapping[str, object] | None,
    utils: Mapping[str, object] | None,
    bound: Mapping[str, bool],
) -> Words:
    """The words of which every match contains at least one; empty when none can be derived.

    Sound, not complete: only what every match must contain counts. So `any` takes the words of all
    its branches and gives up if one has none; `not` says nothing; a constraint counts only when its
    variable is bound in every match.
    """
    candidates = [_words(rule, utils or {}, 0)]
    for name, constraint in (constraints or {}).items():
        if bound.get(name) is False and isinstance(constraint, Mapping):
            candidates.append(_words(constraint, utils or {}, 0))
    return _best(candidates)


def _best(candidates: list[Words]) -> Words:
    known = [words for words in candidates if words]
    return min(known, key=lambda words: (len(words), -min(map(len, words))), default=_NONE)


def _words(rule: Mapping[str, object], utils: Mapping[str, object], depth: int) -> Words:
    candidates: list[Words] = []
    for key, value in rule.items():
        if key == "pattern" and isinstance(value, str):
            # The default strictness compares every token of the pattern with the code.
            words = _WORD.findall(_METAVARIABLE.sub(" ", value))
            candidates.append(frozenset({max(words, key=len)}) if words else _NONE)
        elif key == "regex" and isinstance(value, str):
            candidates.append(_regex_words(value))
        elif key in ("inside", "has", "precedes", "follows") and isinstance(value, Mapping):
            candidates.append(_words(value, utils, depth))
        elif key == "all" and isinstance(value, list):
            candidates += [_words(branch, utils, depth) for branch in value]
        elif key == "any" and isinstance(value, list):
            branches = [_words(branch, utils, depth) for branch in value]
            candidates.append(_NONE if _NONE in branches else _NONE.union(*branches))
        elif key == "matches" and isinstance(value, str) and depth < 20:
            named = utils.get(value)
            if isinstance(named, Mapping):
                candidates.append(_words(named, utils, depth + 1))
    return _best(candidates)


def _regex_words(regex: str) -> Words:
    """The words of `one|two`, of a last group as in `\\.(one|two)$`, or the first of `^word…`."""
    whole = _ALTERNATIVES.fullmatch(regex)
    if whole is not None:
        return frozenset(whole[1].split("|"))
    if _FLAGS.search(regex) or _has_alternatives(regex):
        return _NONE
    last, first = _LAST_GROUP.search(regex), _PREFIX.match(regex)
    if last is not None:
        return frozenset(last[1].split("|"))
    return frozenset({first[1]}) if first is not None else _NONE


def _has_alternatives(regex: str) -> bool:
    """True when a `|` stands outside every group; in doubt, as in nested classes, True."""
    outside = _GROUPED.sub("", _CLASS_OR_ESCAPE.sub("", regex))
    while (shorter := _GROUPED.sub("", outside)) != outside:
        outside = shorter
    return "|" in outside
