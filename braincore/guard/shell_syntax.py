"""The shell's grammar: a command line as a tree.

Written out here because a command's here-documents are what matters most, and they begin on one
line and are read on another. Nothing is expanded or run.
"""

import re

from braincore.guard.shell_tree import (
    DEEPEST,
    Assignment,
    Case,
    For,
    Function,
    Group,
    If,
    Joint,
    Node,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    ShellSyntax,
    Simple,
    Text,
    While,
    Word,
)
from braincore.guard.shell_words import PLAIN, WordReader

__all__ = ["parse"]

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_RESERVED = re.compile(r"(?:[a-z]+|[{}!]|\[\[|\]\])(?=[ \t\n;&|()<>]|$)")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_TEST_END = re.compile(r"[ \t\n]\]\](?=[ \t\n;&|)]|$)")
_CASE_END = re.compile(r";;&?|;&")


def parse(source: str) -> tuple[Script, ShellSyntax | None]:
    """The commands of the source; with a problem, those before it, which the shell would run."""
    parser = _Parser(source)
    joints: list[Joint] = []
    problem: ShellSyntax | None = None
    try:
        parser.script(frozenset(), joints)
        if parser.at < len(source):
            raise ShellSyntax(f"unexpected {source[parser.at]!r}")
    except ShellSyntax as error:
        problem = error
    return tuple(joints), problem


class _Parser(WordReader):
    __slots__ = ()

    def script(self, stops: frozenset[str], joints: list[Joint]) -> None:
        """Add the commands up to one of the reserved words, a `)`, a `;;` or the end."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ShellSyntax("it is nested too deeply")
        joint = ";"
        while True:
            self._blank(newlines=True)
            if self._ended(stops):
                break
            joints.append((joint, self._pipeline()))
            self._blank()
            pair = self.source[self.at : self.at + 2]
            if pair in ("&&", "||"):
                joint = pair
                self.at += 2
            elif pair != ";;" and pair[:1] in (";", "&"):
                joint = ";"
                self.at += 1
            elif pair[:1] == "\n":
                joint = ";"
            elif not self._ended(stops):
                raise ShellSyntax(f"unexpected {pair[:1]!r}")
        self.depth -= 1

    def inner(self, source: str) -> Script:
        parser = _Parser(source, self.depth)
        body = parser.nested()
        if parser.at < len(source):
            raise ShellSyntax("what is between backquotes")
        return body

    def nested(self, *stops: str) -> Script:
        joints: list[Joint] = []
        self.script(frozenset(stops), joints)
        return tuple(joints)

    def _ended(self, stops: frozenset[str]) -> bool:
        if self.at >= len(self.source) or self.source[self.at] == ")":
            return True
        return self.source.startswith(";;", self.at) or self._reserved() in stops

    def _reserved(self) -> str:
        found = _RESERVED.match(self.source, self.at)
        return found[0] if found else ""

    def _pipeline(self) -> Pipeline:
        negated = False
        while (word := self._reserved()) in ("!", "time"):
            negated ^= word == "!"
            self.at += len(word)
            self._blank()
            if word == "time" and self.source.startswith("-p ", self.at):
                self.at += 3
        stages = [self._command()]
        while True:
            self._blank()
            bar = self.source.startswith("|", self.at)
            if not bar or self.source.startswith("||", self.at):
                return Pipeline(tuple(stages), negated)
            self.at += 2 if self.source.startswith("|&", self.at) else 1
            self._blank(newlines=True)
            stages.append(self._command())

    def _command(self) -> Node:
        self._blank()
        if self.source.startswith("((", self.at):
            end = self._balanced(self.at)
            if self.source[end - 2 : end] == "))":
                self.at = end
                return Simple((), (), self._redirects())
        if self.source.startswith("(", self.at):
            self.at += 1
            body = self.nested()
            self._expect(")")
            return Group(body, True, self._redirects())
        word = self._reserved()
        if word == "{":
            self.at += 1
            body = self.nested("}")
            self._expect("}")
            return Group(body, False, self._redirects())
        if word == "if":
            return self._if()
        if word in ("for", "select"):
            return self._for(word)
        if word in ("while", "until"):
            self.at += len(word)
            condition = self.nested("do")
            return While(word == "until", condition, self._do(), self._redirects())
        if word == "case":
            return self._case()
        if word == "[[":
            closing = _TEST_END.search(self.source, self.at)
            if closing is None:
                raise ShellSyntax("`]]` is missing")
            self.at = closing.end()
            return Simple((), ((Text("[["),),), self._redirects())
        if word == "function":
            self.at += len(word)
            self._blank()
            return self._function(self._bare())
        return self._simple()

    def _if(self) -> If:
        arms: list[tuple[Script, Script]] = []
        self.at += len("if")
        while True:
            condition = self.nested("then")
            self._expect("then")
            arms.append((condition, self.nested("elif", "else", "fi")))
            word = self._reserved()
            if word != "elif":
                break
            self.at += len(word)
        otherwise: Script = ()
        if word == "else":
            self.at += len(word)
            otherwise = self.nested("fi")
        self._expect("fi")
        return If(tuple(arms), otherwise, self._redirects())

    def _for(self, word: str) -> For:
        self.at += len(word)
        self._blank()
        words: list[Word] | None = None
        if self.source.startswith("((", self.at):
            self.at = self._balanced(self.at)
            name = ""
        else:
            name = self._bare()
            self._blank(newlines=True)
            if self._reserved() == "in":
                self.at += 2
                words = []
                self._blank()
                while self.source[self.at : self.at + 1] not in ("", ";", "\n", "&"):
                    words.append(self._word())
                    self._blank()
        self._blank()
        if self.source.startswith(";", self.at):
            self.at += 1
        body = self._do()
        return For(name, None if words is None else tuple(words), body, self._redirects())

    def _do(self) -> Script:
        self._expect("do")
        body = self.nested("done")
        self._expect("done")
        return body

    def _case(self) -> Case:
        self.at += len("case")
        self._blank()
        self._word()
        self._expect("in")
        bodies: list[Script] = []
        while True:
            self._blank(newlines=True)
            if self._reserved() == "esac" or self.at >= len(self.source):
                break
            if self.source.startswith("(", self.at):
                self.at += 1
            while not self.source.startswith(")", self.at):
                self._blank()
                self._word()
                self._blank()
                if self.source.startswith("|", self.at):
                    self.at += 1
            self.at += 1
            bodies.append(self.nested("esac"))
            found = _CASE_END.match(self.source, self.at)
            self.at = found.end() if found else self.at
        self._expect("esac")
        return Case(tuple(bodies), self._redirects())

    def _function(self, name: str) -> Function:
        parens = _FUNCTION.match(self.source, self.at)
        self.at = parens.end() if parens else self.at
        self._blank(newlines=True)
        self.depth += 1
        if self.depth > DEEPEST:
            raise ShellSyntax("it is nested too deeply")
        body = self._command()
        self.depth -= 1
        return Function(name, body)

    def _bare(self) -> str:
        found = PLAIN.match(self.source, self.at)
        if found is None:
            raise ShellSyntax("a name is missing")
        self.at = found.end()
        return found[0]

    def _simple(self) -> Node:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        start = self.at
        while self.at < len(self.source):
            self._blank()
            redirect = self._redirect()
            if redirect is not None:
                redirects.append(redirect)
                continue
            if self.source[self.at : self.at + 1] in ("", "\n", ";", "&", "|", ")"):
                break
            assigned = None if words else _ASSIGNMENT.match(self.source, self.at)
            if assigned is not None:
                self.at = assigned.end()
                assignments.append(Assignment(assigned[1], self._value(), assigned[2] == "+"))
                continue
            words.append(self._word())
            only = words[0][0] if len(words) == 1 and len(words[0]) == 1 else None
            if isinstance(only, Text) and not redirects and _FUNCTION.match(self.source, self.at):
                return self._function(only.text)
        if self.at == start:
            raise ShellSyntax(f"unexpected {self.source[start : start + 1]!r}")
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def _value(self) -> Word:
        if self.source.startswith("(", self.at):
            end = self._balanced(self.at)
            raw = self.source[self.at : end]
            self.at = end
            return (Opaque(raw),)
        if self.source[self.at : self.at + 1] in ("", " ", "\t", "\n", ";", "&", "|", ")"):
            return ()
        return self._word()
