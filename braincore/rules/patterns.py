"""What ast-grep thinks of a piece of a rule, asked one piece at a time.

ast-grep lets a broken pattern silently match nothing and dies of a stack overflow on a very deep
one, so patterns are parsed here first, as it would parse them.
"""

import re
from collections.abc import Mapping
from typing import Any

from ast_grep_py import SgNode, SgRoot

from braincore.rules.schema import LANGUAGES

__all__ = ["captures", "complaint", "pattern_complaint"]

MAX_PATTERN_CHARS = 2_000
MAX_PATTERN_DEPTH = 150

_METAVARIABLE = re.compile(r"(\${1,3})([A-Z_][A-Z0-9_]*)|\$\$\$")
_CAUSE = re.compile(r"^(?:\d+: |error: )?")


def captures(pattern: str) -> dict[str, bool]:
    """The metavariables a pattern binds: True for a list (`$$$NAME`); `$_NAME` binds none."""
    return {
        match[2]: match[1] == "$$$"
        for match in _METAVARIABLE.finditer(pattern)
        if match[2] and not match[2].startswith("_")
    }


def complaint(language: str, config: Mapping[str, Any]) -> str | None:
    """Why ast-grep refuses `config` (its keys and types being valid); None if it doesn't."""
    try:
        SgRoot("", language).root().find(dict(config))  # type: ignore[call-overload]
    except RuntimeError as error:
        lines = str(error).partition("Stack backtrace")[0].splitlines()
        cause = [line.strip() for line in lines if line.strip()][-1]
        return _CAUSE.sub("", cause).rstrip(".")
    return None


def pattern_complaint(language: str, pattern: str) -> str | None:
    """Why `pattern` can't match code of `language` as its author meant; None if it can."""
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"the pattern is longer than {MAX_PATTERN_CHARS} characters"
    source = _METAVARIABLE.sub(lambda m: m[0].replace("$", LANGUAGES[language]), pattern)
    broken = _broken(SgRoot(source, language).root())
    if broken is not None:
        return broken.format(language=language)
    return complaint(language, {"rule": {"pattern": pattern}})


def _broken(root: SgNode) -> str | None:
    """A syntax error or excessive depth in what ast-grep will look for; see `_sought`."""
    sought = _sought(root)
    above = sought.parent()
    if not sought.is_named() and above is not None and above.kind() == "ERROR":
        return "the pattern doesn't parse as {language}"
    stack = [(sought, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_PATTERN_DEPTH:
            return f"the pattern nests deeper than {MAX_PATTERN_DEPTH} levels"
        if node.kind() == "ERROR" or _missing(node):
            return "the pattern doesn't parse as {language}"
        stack += [(child, depth + 1) for child in node.children()]
    return None


def _sought(root: SgNode) -> SgNode:
    """The node ast-grep takes from a parsed pattern: down while there is a single child.

    What wraps it may be in error, for `$X.f()` alone is no statement in Rust or Java.
    """
    node = root
    while True:
        children = node.children()
        if not children or len(children) > 2 or (len(children) == 2 and not _missing(children[1])):
            return node
        node = children[0]


def _missing(node: SgNode) -> bool:
    """True for a token the parser made up: a leaf without text."""
    span = node.range()
    return node.is_leaf() and span.start.index == span.end.index
