"""sed's and Perl's regular expressions and replacements, as RE2 understands them.

RE2 runs in linear time, so no expression in a command can stall a hook. What it has no equal for
(back-references, look-around, GNU's odder escapes) is Untranslatable: the edit is then not judged
beforehand, which is better than judging a wrong one.
"""

import re
from collections.abc import Callable, Iterator
from typing import Protocol

import re2

from braincore.errors import InvalidInput

__all__ = [
    "Expression",
    "Match",
    "Untranslatable",
    "compile_perl",
    "compile_posix",
    "expand",
    "matches",
    "template",
]


class Untranslatable(InvalidInput):
    """A script that can't be worked out; `what` is the part that has no equal."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "What it writes is judged after the fact.")
        self.what = what


class Match(Protocol):
    """The part of RE2's match that is used here."""

    def group(self, number: int, /) -> str | None: ...
    def start(self) -> int: ...
    def end(self) -> int: ...


class Expression(Protocol):
    """A compiled expression."""

    @property
    def groups(self) -> int: ...
    def search(self, text: str, /) -> Match | None: ...
    def finditer(self, text: str, /) -> Iterator[Match]: ...


Template = tuple[str | int, ...]
"""Literal text and group numbers, in turn."""

_ASSERTIONS = (r"\b", r"\B", r"\<", r"\>")
_SAME = frozenset("wWsSbBntfrv")
_CLASS = re.compile(r"\[\^?\]?(?:\[:[a-z]+:\]|[^\]\[]|\[(?![:.=]))*\]")
_INTERVAL = re.compile(r"\d{1,3}(?:,\d{0,3})?|,\d{1,3}")
_WORDLIKE = re.compile(r"\w|\\w")


def _compiled(pattern: str, ignore_case: bool, longest: bool) -> Expression:
    options = re2.Options()
    options.log_errors = False
    options.longest_match = longest
    options.case_sensitive = not ignore_case
    compiler: Callable[..., Expression] = re2.compile
    try:
        return compiler(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as problem:
        raise Untranslatable(f"the regular expression {pattern!r}") from problem


def compile_posix(source: str, *, extended: bool, ignore_case: bool = False) -> Expression:
    """A POSIX basic or extended expression, with GNU's additions, for text without line ends."""
    if not source:
        raise Untranslatable("an empty regular expression")
    pattern = "".join(_posix_parts(source, extended))
    return _compiled(pattern, ignore_case, longest=True)


def _posix_parts(source: str, extended: bool) -> Iterator[str]:
    at = 0
    opening = True  # nothing yet that a `*` could repeat, and `^` is an anchor here
    while at < len(source):
        char, pair = source[at], source[at : at + 2]
        if char == "\\" and len(pair) < 2:
            raise Untranslatable("a backslash at the end of an expression")
        token = pair if char == "\\" else char
        special = _operator(token, extended)
        if char == "[":
            found = _CLASS.match(source, at)
            if found is None:
                raise Untranslatable(f"the bracket {source[at : at + 20]!r}")
            yield _bracket(found[0])
            at, opening = found.end(), False
        elif special in ("(", "|"):
            yield special
            at, opening = at + len(token), True
        elif special == "{":
            closing = "}" if extended else r"\}"
            end = source.find(closing, at)
            body = source[at + len(token) : end] if end >= 0 else ""
            if opening or _INTERVAL.fullmatch(body) is None:
                raise Untranslatable(f"the interval {source[at : at + 20]!r}")
            yield f"{{{'0' + body if body.startswith(',') else body}}}"
            at = end + len(closing)
        elif special is not None:
            if opening and special in "*+?":
                if extended or special != "*":
                    raise Untranslatable(f"{token} with nothing to repeat")
                special = r"\*"
            yield special
            at, opening = at + len(token), False
        elif token == "^" and (extended or opening):
            yield "^"
            at += 1
        elif token == "$" and (extended or _closing(source, at + 1)):
            yield "$"
            at += 1
        else:
            yield _escape(source, at, token) if len(token) == 2 else re.escape(token)
            if token in _ASSERTIONS and source[at + 2 : at + 3] in ("*", "+", "?", "{", "\\"):
                raise Untranslatable(f"{token} repeated")
            at, opening = at + len(token), False


def _operator(token: str, extended: bool) -> str | None:
    """The operator a token stands for; extended ones are plain, basic ones have a backslash."""
    if token in ("*", "."):
        return token
    if extended:
        return token if token in tuple("(){|+?") else None
    return token[1:] if token in (r"\(", r"\)", r"\{", r"\|", r"\+", r"\?") else None


def _closing(source: str, at: int) -> bool:
    return at == len(source) or source.startswith((r"\)", r"\|"), at)


def _escape(source: str, at: int, token: str) -> str:
    char = token[1]
    if char == "<" and _WORDLIKE.match(source, at + 2):
        return r"\b"
    if char == ">" and at and (source[at - 1].isalnum() or source[at - 1] == "_"):
        return r"\b"
    if char in _SAME:
        return token
    if char == "\n":
        return r"\n"
    if char.isalnum() or char in "<>'`":
        raise Untranslatable(f"the escape {token}")
    return re.escape(char)


def _bracket(text: str) -> str:
    """A bracket expression: there, a backslash stands for itself unless GNU gives it a meaning."""
    inner = text[1:-1]
    negated = inner.startswith("^")
    inner = inner.removeprefix("^")
    escaped = re.sub(r"\\(?![nt])", r"\\\\", inner)
    escaped = re.sub(r"\[(?!:)", r"\\[", escaped)
    if escaped.startswith("]"):
        escaped = "\\" + escaped
    return f"[{'^' if negated else ''}{escaped}]"


def compile_perl(source: str, flags: str, *, whole: bool) -> Expression:
    """A Perl expression for a line with its line end or, with `whole`, for a whole file."""
    if re.search(r"(?<!\\)[$@](?=[A-Za-z_{(\[&])", source) or not source:
        raise Untranslatable("a Perl expression with a variable in it")
    many = "m" in flags
    parts: list[str] = []
    in_class = False
    for token in re.findall(r"\\.|\[\^?\]?|.", source, re.DOTALL):
        if in_class:
            in_class = token != "]"
        elif token[0] == "[":
            in_class = True
        elif token == "^":
            token = "(?m:^)" if many else r"\A"
        elif token == "$":
            if whole and not many:
                raise Untranslatable("`$` for the end of a whole file")
            token = "(?m:$)"
        parts.append(token)
    inline = "(?s)" if "s" in flags else ""
    if "x" in flags:
        raise Untranslatable("the flag x")
    return _compiled(inline + "".join(parts), "i" in flags, longest=False)


_SED_REPLACEMENT = re.compile(r"\\(\n|.)|(&)", re.DOTALL)
_PERL_REPLACEMENT = re.compile(r"\\(.)|\$(?:\{(\d)\}|(\d)(?!\d)|(&))|([$@][\w{(\[])", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def template(source: str, *, perl: bool = False) -> Template:
    """A replacement, parsed: literal text, and the numbers of the groups to put in (0: all)."""
    parts: list[str | int] = []
    end = 0
    for found in (_PERL_REPLACEMENT if perl else _SED_REPLACEMENT).finditer(source):
        parts.append(source[end : found.start()])
        end = found.end()
        char = found[1]
        if char is None:
            if perl and found[5]:
                raise Untranslatable("a replacement with a variable in it")
            digit = (found[2] or found[3]) if perl else None
            parts.append(int(digit) if digit else 0)
        elif char.isdigit():
            parts.append(int(char))
        elif char in _CONTROL:
            parts.append(_CONTROL[char])
        elif char.isalpha():
            raise Untranslatable(f"\\{char} in a replacement")
        else:
            parts.append(char)
    parts.append(source[end:])
    return tuple(part for part in parts if part != "")


def expand(parts: Template, match: Match) -> str:
    """The replacement for one match."""
    return "".join(p if isinstance(p, str) else match.group(p) or "" for p in parts)


def matches(expression: Expression, text: str) -> Iterator[Match]:
    """All matches from left to right, an empty one right after another match left out."""
    last_end = -1
    for found in expression.finditer(text):
        if found.end() > found.start() or found.start() != last_end:
            yield found
        last_end = found.end()
