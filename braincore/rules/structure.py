"""Validation of the ast-grep part of a rule file, on YAML nodes, so that errors have positions.

ast-grep itself ignores keys it doesn't know in some places and accepts rules that match nothing or
everything; what it would swallow is refused here.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from braincore.rules.document import Document, nearest, plain
from braincore.rules.patterns import captures, complaint, pattern_complaint

__all__ = ["check_structure"]

_RELATIONS = ("inside", "has", "precedes", "follows")
_MATCHERS = ("pattern", "kind", "regex", "nthChild", *_RELATIONS, "all", "any", "not", "matches")
_STRICTNESS = ("cst", "smart", "ast", "relaxed", "signature")
_UNSUPPORTED = {"range": "A rule about fixed positions can't be reused; use pattern or kind."}
_LONE = re.compile(r"\${1,3}[A-Z_][A-Z0-9_]*")

Bound = dict[str, bool]
"""Metavariables that every match binds; True for a list of nodes."""


def check_structure(
    document: Document,
    rule: yaml.Node,
    constraints: yaml.Node | None,
    utils: yaml.Node | None,
    languages: tuple[str, ...],
) -> Bound:
    """Report what is wrong with a structural rule; return what its matches bind."""
    before = len(document.errors)
    checker = _Checker(document, languages)
    if utils is not None:
        checker.utils(utils)
    bound = checker.rule(rule, "rule")
    if constraints is not None:
        checker.constraints(constraints)
    if len(document.errors) > before:
        return bound
    if not _selective(plain(rule)):
        document.report(
            rule,
            "the rule matches every piece of code",
            "Add a `pattern` or `kind` beside `not`; a lone `$X` selects nothing.",
        )
        return bound
    config: dict[str, Any] = {"rule": plain(rule)}
    if constraints is not None:
        config["constraints"] = plain(constraints)
    if utils is not None:
        config["utils"] = plain(utils)
    checker.ask(rule, "rule", lambda language: complaint(language, config))
    return bound


class _Checker:
    def __init__(self, document: Document, languages: tuple[str, ...]) -> None:
        self.document = document
        self.languages = languages
        self.bound_by: dict[str, Bound] = {}
        self.mentioned: set[str] = set()

    def ask(self, node: yaml.Node, what: str, question: Callable[[str], str | None]) -> None:
        """Put a question to ast-grep for each language; report its first complaint."""
        for language in self.languages:
            answer = question(language)
            if answer is not None:
                self.document.report(
                    node,
                    f"`{what}`: {answer}",
                    f"It must be valid in every language listed; {language} refuses it.",
                )
                return

    def utils(self, node: yaml.Node) -> None:
        mapping = self.document.mapping(node, "utils")
        if mapping is None:
            return
        fields = self.document.fields(mapping)
        self.bound_by = {name: {} for name in fields}
        for name, (_, value) in fields.items():
            self.bound_by[name] = self.rule(value, f"utils.{name}")

    def constraints(self, node: yaml.Node) -> None:
        mapping = self.document.mapping(node, "constraints")
        if mapping is None:
            return
        for name, (key, value) in self.document.fields(mapping).items():
            if name not in self.mentioned:
                self.document.report(
                    key,
                    f"`constraints` speaks of ${name}, which no pattern binds",
                    nearest(name, self.mentioned, "Use the name without `$`."),
                )
            self.rule(value, f"constraints.{name}")

    def rule(self, node: yaml.Node, where: str, relation: str | None = None) -> Bound:
        """Check one rule object; return what it binds whenever it matches."""
        mapping = self.document.mapping(node, f"`{where}`")
        if mapping is None:
            return {}
        fields = self.document.fields(mapping)
        allowed = (*_MATCHERS, *(("stopBy", "field") if relation else ()))
        for key in [key for key in fields if key in _UNSUPPORTED]:
            hint = _UNSUPPORTED[key]
            self.document.report(fields.pop(key)[0], f"`{key}` is not supported", hint)
        strangers = [key for key in fields if key not in allowed]
        for key in strangers:
            self.document.report(
                fields.pop(key)[0],
                f"unknown key `{key}` in `{where}`",
                nearest(key, allowed, f"Known keys: {', '.join(allowed)}."),
            )
        if not strangers and not any(key in _MATCHERS for key in fields):
            self.document.report(
                node, f"`{where}` has no matcher", f"Give one of {', '.join(_MATCHERS)}."
            )
        bound: Bound = {}
        for key, (key_node, value) in fields.items():
            bound |= self._matcher(key, key_node, value, relation)
        return bound

    def _matcher(
        self, key: str, key_node: yaml.Node, value: yaml.Node, relation: str | None
    ) -> Bound:
        if key == "pattern":
            return self._pattern(value)
        if key in _RELATIONS:
            return self.rule(value, key, relation=key)
        if key in ("all", "any"):
            return self._composite(key, value)
        if key == "not":
            self.rule(value, "not")
        elif key == "nthChild":
            self._nth_child(value)
        elif key == "matches":
            return self._reference(value)
        elif key == "stopBy":
            self._stop_by(value)
        elif key == "field":
            self._field(key_node, value, relation)
        else:
            text = self.document.string(value, f"`{key}`")
            if text is not None:
                self.ask(value, key, lambda lang: complaint(lang, {"rule": {key: text}}))
        return {}

    def _pattern(self, node: yaml.Node) -> Bound:
        if isinstance(node, yaml.MappingNode):
            return self._contextual(node)
        text = self.document.string(node, "`pattern`")
        if text is None:
            return {}
        self.ask(node, "pattern", lambda language: pattern_complaint(language, text))
        return self._mention(text)

    def _contextual(self, node: yaml.MappingNode) -> Bound:
        if not self.document.known(node, ("context", "selector", "strictness"), "`pattern`"):
            return {}
        fields = self.document.fields(node)
        if "context" not in fields:
            self.document.report(
                node, "`pattern` has no `context`", "Write the code around it as `context: …`."
            )
            return {}
        texts = {key: self.document.string(value, key) for key, (_, value) in fields.items()}
        context, strictness = texts["context"], texts.get("strictness", "smart")
        if context is None or None in texts.values():
            return {}
        if strictness not in _STRICTNESS:
            self.document.report(
                fields["strictness"][1],
                f"unknown strictness `{strictness}`",
                nearest(strictness or "", _STRICTNESS, f"One of {', '.join(_STRICTNESS)}."),
            )
            return {}

        def question(language: str) -> str | None:
            # A context may be several statements; only what the selector picks must be one node.
            whole = pattern_complaint(language, context)
            if whole is not None and not ("selector" in texts and whole.startswith("Multiple")):
                return whole
            return complaint(language, {"rule": {"pattern": texts}})

        self.ask(node, "pattern", question)
        return self._mention(context)

    def _mention(self, pattern: str) -> Bound:
        bound = captures(pattern)
        self.mentioned |= {name for name, is_list in bound.items() if not is_list}
        return bound

    def _composite(self, key: str, node: yaml.Node) -> Bound:
        if not isinstance(node, yaml.SequenceNode):
            self.document.report(node, f"`{key}` must be a list", "Begin each rule with `- `.")
            return {}
        if not node.value:
            self.document.report(node, f"`{key}` is an empty list", "List at least one rule.")
            return {}
        branches = [self.rule(item, key) for item in node.value]
        if key == "all":
            return {name: many for branch in branches for name, many in branch.items()}
        first, *others = branches
        return {
            name: many
            for name, many in first.items()
            if all(other.get(name) is many for other in others)
        }

    def _reference(self, node: yaml.Node) -> Bound:
        name = self.document.string(node, "`matches`")
        if name is not None and name not in self.bound_by:
            self.document.report(
                node,
                f"`matches` names `{name}`, which `utils` doesn't define",
                nearest(name, self.bound_by, "Define it under the top-level key `utils`."),
            )
        return self.bound_by.get(name or "", {})

    def _nth_child(self, node: yaml.Node) -> None:
        value = plain(node)
        if isinstance(node, yaml.MappingNode):
            if not self.document.known(node, ("position", "ofRule", "reverse"), "`nthChild`"):
                return
            fields = self.document.fields(node)
            if "ofRule" in fields:
                self.rule(fields["ofRule"][1], "nthChild.ofRule")
            reverse = plain(fields["reverse"][1]) if "reverse" in fields else False
            position = plain(fields["position"][1]) if "position" in fields else None
            valid = isinstance(reverse, bool) and _is_position(position)
        else:
            valid = _is_position(value)
        if not valid:
            self.document.report(
                node,
                "`nthChild` is no position",
                "Write a number from 1, or a formula like `2n+1`.",
            )
        elif not isinstance(node, yaml.MappingNode):
            self.ask(node, "nthChild", lambda lang: complaint(lang, {"rule": {"nthChild": value}}))

    def _stop_by(self, node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            self.rule(node, "stopBy")
        elif node.value not in ("neighbor", "end"):
            self.document.report(
                node,
                "`stopBy` must be `neighbor`, `end` or a rule",
                "`end` looks all the way; `neighbor`, the default, one step.",
            )

    def _field(self, key: yaml.Node, value: yaml.Node, relation: str | None) -> None:
        name = self.document.string(value, "`field`")
        if relation not in ("inside", "has"):
            self.document.report(key, f"`field` can't be used in `{relation}`", "Leave it out.")
        elif name is not None:
            config = {"rule": {"has": {"field": name, "pattern": "$X"}}}
            self.ask(value, "field", lambda language: complaint(language, config))


def _is_position(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return (isinstance(value, int) and 0 < value < 10_000) or (
        isinstance(value, str) and 0 < len(value) < 20
    )


def _selective(rule: object) -> bool:
    """False for a rule object that any node satisfies, or all but some."""
    if not isinstance(rule, Mapping):
        return True
    for key, value in rule.items():
        if key == "pattern":
            if not isinstance(value, str) or not _LONE.fullmatch(value.strip()):
                return True
        elif key == "any":
            if all(_selective(branch) for branch in value):
                return True
        elif key == "all":
            if any(_selective(branch) for branch in value):
                return True
        elif key != "not":
            return True
    return False
