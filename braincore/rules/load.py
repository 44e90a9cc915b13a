"""From the texts of rule and case files to values; every mistake becomes an error with its place.

A file with a mistake yields no rule, and never keeps another file from loading.
"""

import re
from collections.abc import Iterable

import yaml

from braincore.model.axes import Severity
from braincore.rules.document import Document, nearest, place, plain
from braincore.rules.fixes import variables
from braincore.rules.globs import glob_complaint
from braincore.rules.prefilter import needles
from braincore.rules.regexes import groups, regex_complaint
from braincore.rules.schema import (
    CASES_SUFFIXES,
    CATEGORIES,
    LANGUAGE_ALIASES,
    LANGUAGES,
    Case,
    CaseSet,
    Rule,
    RuleError,
    RuleSet,
)
from braincore.rules.structure import Bound, check_structure

__all__ = ["load_cases", "load_rules"]

_REQUIRED = ("id", "message", "why", "severity", "category")
_KEYS = (
    *_REQUIRED,
    "languages",
    "paths",
    "rule",
    "constraints",
    "utils",
    "regex",
    "layers",
    "fix",
    "repair",
    "links",
)
_CASE_KEYS = ("path", "code", "before", "after", "language", "fixed")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

Fields = dict[str, tuple[yaml.Node, yaml.Node]]


def load_rules(files: Iterable[tuple[str, str]]) -> RuleSet:
    """The rules of `(path, text)` files; case files are skipped. Of equal ids the first stays."""
    rules: dict[str, Rule] = {}
    errors: list[RuleError] = []
    for path, text in files:
        if path.endswith(CASES_SUFFIXES):
            continue
        document = Document(path, text)
        rule = _rule(document) if document.root is not None else None
        errors += document.errors
        if rule is None or document.errors:
            continue
        first = rules.setdefault(rule.id, rule)
        if first is not rule:
            errors.append(
                RuleError(
                    path,
                    rule.line,
                    rule.column,
                    f"the id `{rule.id}` is already taken by {first.origin}:{first.line}",
                    "This rule was left out: give it an id of its own.",
                )
            )
    return RuleSet(tuple(rules.values()), tuple(errors))


def _rule(document: Document) -> Rule | None:
    assert document.root is not None
    fields = document.fields(document.root)
    document.known(document.root, _KEYS, "a rule")
    if "layers" in fields:
        document.report(
            fields["layers"][0],
            "`layers` is not supported yet",
            "Use `rule` or `regex` with `paths` instead.",
        )
    for key in _REQUIRED:
        if key not in fields:
            document.report(document.root, f"`{key}` is missing", f"Add a line `{key}: …`.")
    texts = {key: _text(document, fields, key) for key in (*_REQUIRED, "repair", "fix", "regex")}
    severity = _choice(document, fields, "severity", texts["severity"], [*Severity])
    category = _choice(document, fields, "category", texts["category"], CATEGORIES)
    if texts["id"] is not None and not _ID.fullmatch(texts["id"]):
        hint = "Use small letters, digits and single dashes, as in `bare-except`."
        document.report(fields["id"][1], f"`{texts['id']}` is no rule id", hint)
    languages = _languages(document, fields)
    paths = _paths(document, fields)
    links = _list(document, fields, "links")
    bound = _matcher(document, fields, texts["regex"], languages)
    if bound is not None and texts["fix"] is not None:
        _check_fix(document, fields["fix"][1], texts["fix"], bound, "regex" in fields)
    if document.errors:
        return None
    values = {
        key: plain(fields[key][1]) for key in ("rule", "constraints", "utils") if key in fields
    }
    structure = {key: value for key, value in values.items() if isinstance(value, dict)}
    line, column = place(fields["id"][1])
    return Rule(
        id=texts["id"] or "",
        message=" ".join((texts["message"] or "").split()),
        why=" ".join((texts["why"] or "").split()),
        severity=Severity(severity),
        category=category,
        languages=tuple(languages),
        paths=paths,
        rule=structure.get("rule"),
        constraints=structure.get("constraints"),
        utils=structure.get("utils"),
        regex=texts["regex"],
        fix=texts["fix"],
        repair=" ".join((texts["repair"] or "").split()),
        links=tuple(link for link, _ in links),
        needles=needles(
            structure["rule"], structure.get("constraints"), structure.get("utils"), bound or {}
        )
        if "rule" in structure
        else frozenset(),
        origin=document.path,
        line=line,
        column=column,
    )


def _text(document: Document, fields: Fields, key: str) -> str | None:
    return document.string(fields[key][1], f"`{key}`") if key in fields else None


def _list(document: Document, fields: Fields, key: str) -> list[tuple[str, yaml.Node]]:
    return (document.strings(fields[key][1], f"`{key}`") or []) if key in fields else []


def _choice(
    document: Document, fields: Fields, key: str, value: str | None, known: Iterable[str]
) -> str:
    choices = [str(choice) for choice in known]
    if value is not None and value not in choices:
        hint = nearest(value, choices, f"One of {', '.join(choices)}.")
        document.report(fields[key][1], f"unknown {key} `{value}`", hint)
    return value or ""


def _languages(document: Document, fields: Fields) -> list[str]:
    """The known languages of the list; the others are reported."""
    known: list[str] = []
    for name, node in _list(document, fields, "languages"):
        if name in LANGUAGES:
            known.append(name)
            continue
        alias = LANGUAGE_ALIASES.get(name.lower(), name)
        hint = nearest(alias, LANGUAGES, f"One of {', '.join(LANGUAGES)}.")
        document.report(node, f"unknown language `{name}`", hint)
    return known


def _paths(document: Document, fields: Fields) -> tuple[str, ...]:
    paths = _list(document, fields, "paths")
    for glob, node in paths:
        problem = glob_complaint(glob)
        if problem is not None:
            hint = "Write it like a line of .gitignore, as in `src/**/*.py`."
            document.report(node, f"`{glob}` can't be used as a glob: {problem}", hint)
    return tuple(glob for glob, _ in paths)


def _matcher(
    document: Document, fields: Fields, regex: str | None, languages: list[str]
) -> Bound | None:
    """Check `rule` or `regex`; return what a match binds, None when there is no single one."""
    assert document.root is not None
    for key in ("constraints", "utils"):
        if key in fields and "rule" not in fields:
            hint = "It only says more about a structural `rule`."
            document.report(fields[key][0], f"`{key}` without `rule`", hint)
    if "rule" in fields and "regex" in fields:
        hint = "Keep one; a regex on a node goes inside `rule`."
        document.report(fields["regex"][0], "both `rule` and `regex`", hint)
    elif "regex" in fields:
        return _check_regex(document, fields["regex"][1], regex)
    elif "rule" in fields:
        if languages:
            constraints, utils = (
                fields[key][1] if key in fields else None for key in ("constraints", "utils")
            )
            return check_structure(
                document, fields["rule"][1], constraints, utils, tuple(languages)
            )
        named = fields.get("languages")
        if named is None or named[1].value == []:
            hint = "Add `languages: [python]`, or whatever it is written for."
            document.report(fields["rule"][0], "a structural `rule` needs `languages`", hint)
    elif "layers" not in fields:
        hint = "Add `rule:` (ast-grep) or `regex:` (RE2)."
        document.report(document.root, "neither `rule` nor `regex`", hint)
    return None


def _check_regex(document: Document, node: yaml.Node, regex: str | None) -> Bound | None:
    if regex is None:
        return None
    problem = regex_complaint(regex)
    if problem is not None:
        hint = "RE2 syntax: no look-around, no back-references; `(?m)` lets ^ and $ match lines."
        document.report(node, f"`regex` can't be used: {problem}", hint)
        return None
    return dict.fromkeys(groups(regex), False)


def _check_fix(
    document: Document, node: yaml.Node, fix: str, bound: Bound, from_regex: bool
) -> None:
    source = "regex" if from_regex else "pattern"
    for name, is_list in variables(fix):
        sign = "$$$" if is_list else "$"
        if name not in bound:
            unbound = f"(?P<{name}>…)" if from_regex else f"{sign}{name}"
            hint = f"Every match must bind it: put `{unbound}` in the {source}."
            document.report(node, f"`fix` uses {sign}{name}, which isn't always bound", hint)
        elif bound[name] is not is_list:
            hint = f"Write {'$$$' if bound[name] else '$'}{name}, as where it is bound."
            document.report(node, f"`fix` uses {sign}{name}, bound with another sign", hint)


def load_cases(path: str, text: str) -> CaseSet:
    """The examples of one case file: `hit` and `ok`, each a list of code or of mappings."""
    document = Document(path, text)
    if document.root is None:
        return CaseSet(errors=tuple(document.errors))
    document.known(document.root, ("hit", "ok"), "a case file")
    lists: dict[str, tuple[Case, ...]] = {}
    for key, (_, node) in document.fields(document.root).items():
        if not isinstance(node, yaml.SequenceNode):
            document.report(node, f"`{key}` must be a list", "Begin each example with `- `.")
            continue
        cases = [_case(document, item) for item in node.value]
        lists[key] = tuple(case for case in cases if case is not None)
    return CaseSet(lists.get("hit", ()), lists.get("ok", ()), tuple(document.errors))


def _case(document: Document, node: yaml.Node) -> Case | None:
    line, _ = place(node)
    if not isinstance(node, yaml.MappingNode):
        code = document.string(node, "an example")
        return None if code is None else Case(code, line=line)
    fields = document.fields(node)
    if not document.known(node, _CASE_KEYS, "an example"):
        return None
    if ("code" in fields) == ("after" in fields) or ("before" in fields) != ("after" in fields):
        hint = "Give `code`, or `before` and `after`."
        document.report(node, "an example needs its code once", hint)
        return None
    texts = {key: _text(document, fields, key) for key in _CASE_KEYS}
    after = texts["code"] or texts["after"]
    if after is None:
        return None
    return Case(after, texts["before"], texts["path"], texts["language"], texts["fixed"], line)
