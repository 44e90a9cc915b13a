"""Words, quotes, expansions and redirections of a shell command line.

Expansions are kept as they are written: nothing is expanded or run here.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from braincore.guard.shell_tree import (
    Heredoc,
    Opaque,
    Part,
    Redirect,
    Script,
    ShellSyntax,
    Substitution,
    Text,
    Variable,
    Word,
)

__all__ = ["PLAIN", "WordReader"]

_REDIRECT = re.compile(r"(\d+|\{\w+\})?(<<<|<<-|<<|<>|<&|<|&>>|&>|>>|>\||>&|>)")
PLAIN = re.compile(r"""[^ \t\n;&|()<>'"$`\\]+""")
_DOUBLE = re.compile(r'[^"$`\\]+')
_NAME = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_SPECIAL = re.compile(r"\$[0-9@*#?!$-]")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_CHARS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ANSI_CHARS |= {"e": "\x1b", "E": "\x1b"}
_HEREDOC_ESCAPE = re.compile(r"\\([$`\\\n])")
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_TOKEN = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|.""", re.DOTALL)


@dataclass(slots=True)
class WordReader(ABC):
    """Reads a source from `at` on; `pending` are here-documents whose lines are still to come."""

    source: str
    depth: int = 0
    at: int = 0
    pending: list[Heredoc] = field(default_factory=list)

    @abstractmethod
    def nested(self, *stops: str) -> Script:
        """The commands up to one of the reserved words, a `)`, a `;;` or the end."""

    @abstractmethod
    def inner(self, source: str) -> Script:
        """The commands of a source of its own, one level deeper."""

    def _expect(self, word: str) -> None:
        self._blank(newlines=True)
        if not self.source.startswith(word, self.at):
            raise ShellSyntax(f"`{word}` is missing")
        self.at += len(word)

    def _blank(self, newlines: bool = False) -> None:
        """Skip blanks and comments and, with `newlines`, line ends and the here-documents there."""
        source = self.source
        while self.at < len(source):
            char = source[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\\" and source.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#" and (self.at == 0 or source[self.at - 1] in " \t\n;&|()"):
                end = source.find("\n", self.at)
                self.at = len(source) if end < 0 else end
            elif char == "\n" and newlines:
                self.at += 1
                self._heredocs()
            else:
                return

    def _heredocs(self) -> None:
        for heredoc in self.pending:
            lines: list[str] = []
            while self.at < len(self.source):
                end = self.source.find("\n", self.at)
                end = len(self.source) if end < 0 else end
                line = self.source[self.at : end]
                self.at = min(end + 1, len(self.source))
                line = line.lstrip("\t") if heredoc.tabs else line
                if line == heredoc.delimiter:
                    break
                lines.append(line + "\n")
            text = "".join(lines)
            if not heredoc.literal:
                text = _HEREDOC_ESCAPE.sub(lambda m: "" if m[1] == "\n" else str(m[1]), text)
            heredoc.text = text
        self.pending.clear()

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while True:
            self._blank()
            redirect = self._redirect()
            if redirect is None:
                return tuple(redirects)
            redirects.append(redirect)

    def _redirect(self) -> Redirect | None:
        found = _REDIRECT.match(self.source, self.at)
        if found is None or (
            found[1] is None and self.source[self.at : self.at + 2] in ("<(", ">(")
        ):
            return None
        self.at = found.end()
        self._blank()
        start = self.at
        target = self._word()
        heredoc = None
        if found[2] in ("<<", "<<-"):
            raw = self.source[start : self.at]
            delimiter = "".join(p.text if isinstance(p, Text) else p.raw for p in target)
            literal = any(char in raw for char in "'\"\\")
            heredoc = Heredoc(delimiter, literal, found[2] == "<<-")
            self.pending.append(heredoc)
        return Redirect(found[1] or "", found[2], target, heredoc)

    def _word(self) -> Word:
        parts: list[Part] = []
        source = self.source
        start = self.at
        while self.at < len(source):
            char = source[self.at]
            plain = PLAIN.match(source, self.at)
            if plain is not None:
                parts.append(Text(plain[0]))
                self.at = plain.end()
            elif char == "\\":
                if source[self.at + 1 : self.at + 2] != "\n":
                    parts.append(Text(source[self.at + 1 : self.at + 2], True))
                self.at += 2
            elif char == "'":
                parts.append(Text(self._until_quote(), True))
            elif char == '"':
                self._double(parts)
            elif char == "$" and source.startswith("$'", self.at):
                parts.append(Text(self._ansi(), True))
            elif char == "$" and source.startswith('$"', self.at):
                self.at += 1
            elif char == "$":
                parts.append(self._dollar(False))
            elif char == "`":
                parts.append(self._backquote(False))
            elif char == "(" and parts and source[self.at - 1] in "@?*+!":
                end = self._balanced(self.at)
                parts.append(Opaque(source[self.at : end]))
                self.at = end
            elif char in "<>" and self.at == start and source[self.at + 1 : self.at + 2] == "(":
                self.at += 2
                self.nested()
                self._expect(")")
                parts.append(Opaque(source[start : self.at]))
            else:
                break
        if self.at == start:
            raise ShellSyntax("a word is missing")
        return tuple(parts)

    def _until_quote(self) -> str:
        end = self.source.find("'", self.at + 1)
        if end < 0:
            raise ShellSyntax("a quote is not closed")
        text = self.source[self.at + 1 : end]
        self.at = end + 1
        return text

    def _ansi(self) -> str:
        closed = _ANSI_QUOTED.match(self.source, self.at)
        if closed is None:
            raise ShellSyntax("a quote is not closed")
        self.at = closed.end()

        def char(found: re.Match[str]) -> str:
            code = found[1]
            if code[0] in "xu" and len(code) > 1:
                return chr(int(code[1:], 16))
            if code[0] in "01234567":
                return chr(int(code, 8) & 255)
            return _ANSI_CHARS.get(code, code if code in "\\'\"?" else "\\" + code)

        return _ANSI.sub(char, closed[1])

    def _double(self, parts: list[Part]) -> None:
        self.at += 1
        parts.append(Text("", True))
        while True:
            char = self.source[self.at : self.at + 1]
            plain = _DOUBLE.match(self.source, self.at)
            if plain is not None:
                parts.append(Text(plain[0], True))
                self.at = plain.end()
            elif char == '"':
                self.at += 1
                return
            elif char == "\\":
                after = self.source[self.at + 1 : self.at + 2]
                if after != "\n":
                    parts.append(
                        Text(after if after in ('"', "$", "`", "\\") else char + after, True)
                    )
                self.at += 2
            elif char == "$":
                parts.append(self._dollar(True))
            elif char == "`":
                parts.append(self._backquote(True))
            else:
                raise ShellSyntax("a quote is not closed")

    def _dollar(self, quoted: bool) -> Part:
        start = self.at
        name = _NAME.match(self.source, start)
        special = _SPECIAL.match(self.source, start)
        if name is not None:
            self.at = name.end()
            return Variable(name[1] or name[2], name[0], quoted)
        if special is not None:
            self.at = special.end()
            return Opaque(special[0])
        if self.source.startswith("$((", start):
            end = self._balanced(start + 1)
            if self.source[end - 2 : end] == "))":
                self.at = end
                return Opaque(self.source[start:end])
        if self.source.startswith("$(", start):
            self.at += 2
            body = self.nested()
            self._expect(")")
            return Substitution(body, self.source[start : self.at], quoted)
        if self.source.startswith("${", start):
            self.at = self._balanced(start + 1)
            return Opaque(self.source[start : self.at])
        self.at += 1
        return Text("$", quoted)

    def _backquote(self, quoted: bool) -> Part:
        found = _BACKQUOTED.match(self.source, self.at)
        if found is None:
            raise ShellSyntax("a backquote is not closed")
        self.at = found.end()
        body = self.inner(re.sub(r"\\([\\`$])", r"\1", found[1]))
        return Substitution(body, found[0], quoted)

    def _balanced(self, start: int) -> int:
        """Where the bracket that opens at `start` is closed, counting quotes and brackets."""
        pairs = {"(": ")", "{": "}"}
        open_, close = self.source[start], pairs[self.source[start]]
        depth = 0
        for found in _TOKEN.finditer(self.source, start):
            depth += (found[0] == open_) - (found[0] == close)
            if depth == 0:
                return found.end()
        raise ShellSyntax(f"`{close}` is missing")
