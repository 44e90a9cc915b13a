"""Where rules match a text: one parse for all of them, and as few rules as possible."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ast_grep_py import SgNode, SgRoot

from braincore.model.edits import Finding
from braincore.rules.fixes import expand
from braincore.rules.globs import selects
from braincore.rules.regexes import AT, compiled
from braincore.rules.schema import LANGUAGES, Rule

__all__ = ["MAX_STRUCTURAL_CHARS", "Match", "findings", "matches", "syntax_errors", "unjudged"]

MAX_STRUCTURAL_CHARS = 2_000_000
MAX_SNIPPET_CHARS = 200


@dataclass(frozen=True, slots=True)
class Match:
    """A finding with its place: characters `start` to `end` of the text, lines from 0."""

    finding: Finding
    start: int
    end: int
    first_line: int
    last_line: int


def findings(rules: Sequence[Rule], path: str, language: str | None, text: str) -> list[Finding]:
    """Everything in `text` that a rule forbids, in the order of the text.

    `language` is a name of `LANGUAGES`, or None when it isn't known: then only regexes for every
    file apply. Structural rules don't look at texts over `MAX_STRUCTURAL_CHARS`: see `unjudged`.
    """
    return [match.finding for match in matches(rules, path, language, text)]


def matches(rules: Sequence[Rule], path: str, language: str | None, text: str) -> list[Match]:
    """As `findings`, with places."""
    applicable = [rule for rule in rules if _applies(rule, path, language)]
    if not applicable:
        return []
    # What was decoded with surrogate escapes isn't UTF-8; `?` keeps the offsets.
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
    newlines: list[int] | None = None
    found: list[Match] = []
    root: SgNode | None = None
    for rule in applicable:
        if rule.regex is not None:
            spans = _regex_spans(rule, clean)
        elif len(clean) <= MAX_STRUCTURAL_CHARS and _possible(rule, clean):
            if root is None:
                root = SgRoot(clean, language or "").root()
            spans = _structural_spans(rule, root, text)
        else:
            continue
        for start, end, fixed in spans:
            if newlines is None:
                newlines = [newline.start() for newline in re.finditer("\n", clean)]
            first = bisect_right(newlines, start - 1)
            last = bisect_right(newlines, max(start, end - 1) - 1)
            finding = _finding(rule, path, first + 1, clean[start:end], fixed)
            found.append(Match(finding, start, end, first, last))
    found.sort(key=lambda match: (match.start, match.end, match.finding.source))
    return found


def unjudged(rules: Sequence[Rule], path: str, language: str | None, text: str) -> str | None:
    """The note to give when structural rules apply to `path` but the text is too long for them."""
    if len(text) <= MAX_STRUCTURAL_CHARS:
        return None
    skipped = sum(rule.rule is not None and _applies(rule, path, language) for rule in rules)
    if not skipped:
        return None
    return (
        f"{path} is longer than {MAX_STRUCTURAL_CHARS:,} characters: "
        f"{skipped} structural rules did not look at it."
    )


def syntax_errors(language: str | None, text: str) -> int:
    """How many places of `text` don't parse; 0 when it isn't judged structurally."""
    if language is None or language not in LANGUAGES or len(text) > MAX_STRUCTURAL_CHARS:
        return 0
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return len(SgRoot(clean, language).root().find_all(kind="ERROR"))


def _applies(rule: Rule, path: str, language: str | None) -> bool:
    if rule.languages and language not in rule.languages:
        return False
    return selects(rule.paths, path)


def _possible(rule: Rule, text: str) -> bool:
    return not rule.needles or any(needle in text for needle in rule.needles)


Span = tuple[int, int, str | None]
"""Start, end and what the fix would put there."""


def _regex_spans(rule: Rule, text: str) -> Iterator[Span]:
    expression = compiled(rule.regex or "")
    group = expression.groupindex.get(AT, 0)
    for match in expression.finditer(text):
        start, end = match.span(group)
        if start < 0 or start == end:
            continue
        fixed = None
        if rule.fix is not None:
            indent = _indent(text, start)
            fixed = expand(rule.fix, indent, partial(_group, match))
        yield start, end, fixed


def _group(match: Any, name: str, _: bool) -> str:
    return match.group(name) or ""


def _structural_spans(rule: Rule, root: SgNode, text: str) -> Iterator[Span]:
    config: dict[str, object] = {"rule": rule.rule}
    if rule.constraints is not None:
        config["constraints"] = rule.constraints
    if rule.utils is not None:
        config["utils"] = rule.utils
    seen: set[tuple[int, int]] = set()
    for node in root.find_all(config):  # type: ignore[call-overload]
        start, end = _span(node)
        if start == end or (start, end) in seen:
            continue
        seen.add((start, end))
        fixed = None
        if rule.fix is not None:
            fixed = expand(
                rule.fix,
                _indent(text, start),
                partial(_bound, node, text),
            )
        yield start, end, fixed


def _bound(node: SgNode, text: str, name: str, is_list: bool) -> str | None:
    """The source of what `$name` or `$$$name` bound in a match."""
    if is_list:
        nodes = node.get_multiple_matches(name)
        return text[_span(nodes[0])[0] : _span(nodes[-1])[1]] if nodes else ""
    one = node.get_match(name)
    return None if one is None else text[slice(*_span(one))]


def _span(node: SgNode) -> tuple[int, int]:
    span = node.range()
    return span.start.index, span.end.index


def _indent(text: str, start: int) -> str:
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return line[: len(line) - len(line.lstrip())]


def _finding(rule: Rule, path: str, line: int, snippet: str, fixed: str | None) -> Finding:
    if len(snippet) > MAX_SNIPPET_CHARS:
        snippet = snippet[: MAX_SNIPPET_CHARS - 1] + "…"
    return Finding(
        source=rule.id,
        severity=rule.severity,
        message=rule.message,
        why=rule.why,
        path=path,
        line=line,
        snippet=snippet,
        repair=rule.repair,
        fixed=fixed,
    )
