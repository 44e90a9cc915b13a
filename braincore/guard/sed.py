"""sed, as far as what it does to a file can be worked out beforehand.

Understood: `s` with its flags g, i, p and a number, `d`, `p`, `q`, `a`, `i`, `c`, `y`; addresses by
line, `$`, expression, range, `!`; `{…}`. The rest (hold space, branches, `e`, `w`) is
Untranslatable. GNU's reading is taken where GNU and BSD differ, but for `-i ''`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from braincore.guard.regex import (
    Expression,
    Template,
    Untranslatable,
    compile_posix,
    expand,
    matches,
    template,
)

__all__ = ["MOST_LINES", "Step", "parse_script", "run_script"]

MOST_LINES = 100_000
"""Lines a file may have; a larger one would hold the hook up."""

_BLANK = " \t\n;"
_BY_TEXT = -1


@dataclass(frozen=True, slots=True)
class _Address:
    line: int = 0
    step: int = 0
    last: bool = False
    expression: Expression | None = None
    more: int | None = None


@dataclass(slots=True)
class Step:
    """One command of a script, with the state of its range."""

    name: str
    first: _Address | None = None
    until: _Address | None = None
    negated: bool = False
    expression: Expression | None = None
    template: Template = ()
    text: str = ""
    every: bool = False
    nth: int = 1
    prints: bool = False
    block: "list[Step]" = field(default_factory=list)
    ends_at: int | None = None
    """The last line of the range that is open; `_BY_TEXT` if an expression ends it."""
    closed: bool = False


class _Script:
    """A script being parsed."""

    def __init__(self, source: str, extended: bool) -> None:
        self.source = source
        self.at = 0
        self.extended = extended

    def _peek(self) -> str:
        return self.source[self.at : self.at + 1]

    def _skip(self, chars: str) -> None:
        while self._peek() and self._peek() in chars:
            self.at += 1

    def steps(self, depth: int = 0) -> Iterator[Step]:
        while True:
            self._skip(_BLANK)
            if not self._peek():
                if depth:
                    raise Untranslatable("a `{` without its `}`")
                return
            if self._peek() == "#":
                end = self.source.find("\n", self.at)
                self.at = len(self.source) if end < 0 else end
                continue
            if self._peek() == "}" and depth:
                self.at += 1
                return
            yield self._step(depth)

    def _step(self, depth: int) -> Step:
        step = Step("")
        step.first = self._address()
        self._skip(" \t")
        if step.first is not None and self._peek() == ",":
            self.at += 1
            self._skip(" \t")
            step.until = self._address(second=True)
            if step.until is None:
                raise Untranslatable("a range without an end")
        self._skip(" \t")
        while self._peek() == "!":
            step.negated = True
            self.at += 1
            self._skip(" \t")
        step.name = self._peek()
        self.at += 1
        if step.name == "s":
            self._substitution(step)
        elif step.name == "y":
            self._transliteration(step)
        elif step.name and step.name in "aic":
            step.text = self._text()
        elif step.name == "{" and depth < 20:
            step.block = list(self.steps(depth + 1))
        elif not step.name or step.name not in "dpq":
            raise Untranslatable(f"sed's command {step.name or 'that is missing'}")
        if step.name not in tuple("aic{"):
            self._skip(" \t")
            if self._peek() and self._peek() not in ";\n}#":
                raise Untranslatable(f"sed's {step.name} followed by {self._peek()!r}")
        return step

    def _number(self) -> int:
        start = self.at
        self._skip("0123456789")
        if not 0 < self.at - start < 10:
            raise Untranslatable("a line number in a sed address")
        return int(self.source[start : self.at])

    def _address(self, second: bool = False) -> _Address | None:
        char = self._peek()
        if char.isdigit() and char.isascii():
            line = self._number()
            if self._peek() == "~":
                self.at += 1
                return _Address(line=line, step=self._number())
            return _Address(line=line)
        if char == "$":
            self.at += 1
            return _Address(last=True)
        if second and char == "+":
            self.at += 1
            return _Address(more=self._number())
        if char == "/" or (char == "\\" and len(self.source) > self.at + 1):
            self.at += 1 if char == "/" else 2
            source = self._until(self.source[self.at - 1], expression=True)
            ignore = self._peek() == "I"
            self.at += ignore
            return _Address(
                expression=compile_posix(source, extended=self.extended, ignore_case=ignore)
            )
        return None

    def _until(self, delimiter: str, expression: bool = False) -> str:
        """The text up to the delimiter; inside it, `\\` and the delimiter mean the delimiter."""
        parts: list[str] = []
        bracket = -1
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "\\" and bracket < 0 and self.at + 1 < len(self.source):
                after = self.source[self.at + 1]
                literal = after == delimiter and not (after == "&" and not expression)
                parts.append(after if literal else char + after)
                self.at += 2
                continue
            self.at += 1
            if expression and char == "[" and bracket < 0:
                bracket = self.at + (self._peek() == "^")
            elif char == "]" and bracket >= 0 and self.at - 1 > bracket:
                bracket = -1
            elif char == delimiter and bracket < 0:
                return "".join(parts)
            parts.append(char)
        raise Untranslatable(f"a sed expression without its closing {delimiter}")

    def _substitution(self, step: Step) -> None:
        delimiter = self._peek()
        if not delimiter or delimiter in "\n\\":
            raise Untranslatable("sed's s without a delimiter")
        self.at += 1
        source = self._until(delimiter, expression=True)
        step.template = template(self._until(delimiter))
        ignore = False
        while self._peek() and self._peek() not in "; \t\n}#":
            flag = self._peek()
            if flag.isdigit() and flag.isascii():
                step.nth = self._number()
                continue
            self.at += 1
            if flag == "g":
                step.every = True
            elif flag == "p":
                step.prints = True
            elif flag in "iI":
                ignore = True
            else:
                raise Untranslatable(f"the flag {flag} of sed's s")
        step.expression = compile_posix(source, extended=self.extended, ignore_case=ignore)
        if any(isinstance(part, int) and part > step.expression.groups for part in step.template):
            raise Untranslatable("a group that the expression doesn't have")

    def _transliteration(self, step: Step) -> None:
        delimiter = self._peek()
        self.at += 1
        pairs = [self._until(delimiter), self._until(delimiter)] if delimiter else ["\\", ""]
        if "\\" in pairs[0] + pairs[1] or len(pairs[0]) != len(pairs[1]):
            raise Untranslatable("sed's y with escapes or of unequal length")
        step.text = "".join(a + b for a, b in zip(*pairs, strict=True))

    def _text(self) -> str:
        """The text of `a`, `i` or `c`: to the end of the line that no backslash continues."""
        self._skip(" \t")
        if self._peek() == "\\":
            self.at += 1
            start = self.at
            self._skip(" \t")
            if self._peek() == "\n":
                self.at += 1
            else:
                self.at = start
        parts: list[str] = []
        while self._peek() not in ("", "\n"):
            char = self._peek()
            self.at += 1
            if char == "\\":
                char = self._peek()
                self.at += 1
                if char.isalnum() and char not in "tn":
                    raise Untranslatable(f"\\{char} in sed's text")
                char = {"t": "\t", "n": "\n"}.get(char, char)
            parts.append(char)
        return "".join(parts) + "\n"


def parse_script(source: str, *, extended: bool) -> list[Step]:
    """A script's commands; Untranslatable if one of them is not understood."""
    return list(_Script(source, extended).steps())


class _Run:
    """One pass of a script over a text."""

    def __init__(self, steps: Sequence[Step], lines: Sequence[str], quiet: bool) -> None:
        self.steps, self.lines, self.quiet = steps, lines, quiet
        self.out: list[str] = []
        self.space = ""
        self.number = 0
        self.after: list[str] = []
        self.stopped = False

    def text(self) -> str:
        for step in _all(self.steps):
            from_start = step.first == _Address() and step.until is not None
            step.ends_at = _BY_TEXT if from_start else None
            step.closed = False
        for number, line in enumerate(self.lines, 1):
            self.number, self.space, self.after = number, line.removesuffix("\n"), []
            end = line[len(self.space) :]
            if self._do(self.steps, end) and not self.quiet:
                self._put(self.space + end)
            for text in self.after:
                self._put(text)
            if self.stopped:
                break
        return "".join(self.out)

    def _put(self, text: str) -> None:
        if self.out and not self.out[-1].endswith("\n"):
            self.out.append("\n")
        self.out.append(text)

    def _do(self, steps: Sequence[Step], end: str) -> bool:
        """Run the commands on the pattern space; False if it was deleted."""
        for step in steps:
            if self._selected(step) == step.negated:
                continue
            if step.name == "s":
                if self._substitute(step) and step.prints:
                    self._put(self.space + end)
            elif step.name == "y":
                pairs = step.text
                table = str.maketrans(pairs[::2], pairs[1::2])
                self.space = self.space.translate(table)
            elif step.name == "p":
                self._put(self.space + end)
            elif step.name == "i":
                self._put(step.text)
            elif step.name == "a":
                self.after.append(step.text)
            elif step.name == "d":
                return False
            elif step.name == "c":
                if step.until is None or step.negated or step.ends_at is None:
                    self._put(step.text)
                return False
            elif step.name == "q":
                self.stopped = True
                return True
            elif not self._do(step.block, end):
                return False
            elif self.stopped:
                return True
        return True

    def _is(self, address: _Address) -> bool:
        if address.expression is not None:
            return address.expression.search(self.space) is not None
        if address.last:
            return self.number == len(self.lines)
        if address.step:
            return self.number >= address.line and not (self.number - address.line) % address.step
        return self.number == address.line

    def _selected(self, step: Step) -> bool:
        if step.first is None:
            return True
        if step.until is None:
            return self._is(step.first)
        if step.ends_at is None:
            return self._begins(step, step.first, step.until)
        end = step.ends_at
        if self._is(step.until) if end == _BY_TEXT else self.number >= end:
            step.ends_at, step.closed = None, True
        return end == _BY_TEXT or self.number <= end

    def _begins(self, step: Step, first: _Address, until: _Address) -> bool:
        """Does a range begin here? One by line number also begins late, but never twice."""
        by_number = first.expression is None and not first.last and not first.step
        if by_number and (step.closed or self.number < first.line):
            return False
        if not by_number and not self._is(first):
            return False
        if until.expression is not None:
            step.ends_at = _BY_TEXT
            return True
        end = len(self.lines) if until.last else until.line
        end = end if until.more is None else self.number + until.more
        if self.number < end:
            step.ends_at = end
            return True
        step.closed = True
        return not by_number or self.number == first.line or self.number <= end

    def _substitute(self, step: Step) -> bool:
        assert step.expression is not None
        parts: list[str] = []
        end = 0
        changed = False
        for count, found in enumerate(matches(step.expression, self.space), 1):
            if count < step.nth:
                continue
            parts.append(self.space[end : found.start()] + expand(step.template, found))
            end = found.end()
            changed = True
            if not step.every:
                break
        if changed:
            self.space = "".join(parts) + self.space[end:]
        return changed


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _all(step.block)


def run_script(steps: Sequence[Step], text: str, *, quiet: bool = False) -> str:
    """What sed prints for the text, or leaves in the file with `-i`."""
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    if len(lines) > MOST_LINES:
        raise Untranslatable("a file of that many lines")
    try:
        return _Run(steps, lines, quiet).text()
    except UnicodeEncodeError as problem:
        raise Untranslatable("a text that isn't Unicode") from problem
