"""Which files a shell command would change, and how, as far as that can be told beforehand.

The command is walked, not run: redirections, here-documents and the commands in `commands` work on
an overlay; what every other command does is not known, and no guess is made. Where a condition
decides, all ways are taken. What is mentioned only (in quotes, as an argument) isn't done.
"""

import re
from collections.abc import Callable, Sequence

from braincore.guard.commands import COMMANDS
from braincore.guard.overlay import LARGEST_TEXT, UNSEEN, Overlay, Read, ToolEdits
from braincore.guard.session import DONE, UNSURE, Outcome, Session, Stdin, Value
from braincore.guard.shell_syntax import parse
from braincore.guard.shell_tree import (
    Case,
    For,
    Function,
    Group,
    If,
    Node,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    Variable,
    Word,
)
from braincore.guard.wrappers import wrapped

__all__ = ["LONGEST_COMMAND", "MOST_STEPS", "argv_edits", "shell_edits"]

LONGEST_COMMAND = 1_000_000
MOST_STEPS = 5_000
"""Simple commands that are followed in one call, loops and functions unrolled."""

_DEEPEST = 6
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_PATTERN = re.compile(r"[*?\[]|\{[^}]*,[^}]*\}|\{[^}]*\.\.[^}]*\}")


def shell_edits(command: str, *, root: str, cwd: str, read: Read) -> ToolEdits:
    """The edits that running `command` in `cwd` would make; never raises."""
    overlay = Overlay(root, read)
    _Shell(overlay, cwd).source(command, Stdin())
    return overlay.result()


def argv_edits(argv: Sequence[str], *, root: str, cwd: str, read: Read) -> ToolEdits:
    """The same for a command given as a list of words (`["bash", "-lc", "…"]`)."""
    overlay = Overlay(root, read)
    if sum(map(len, argv)) > LONGEST_COMMAND:
        overlay.note("the command is too long to follow")
    elif argv:
        _Shell(overlay, cwd).call([Value(word) for word in argv], Stdin())
    return overlay.result()


class _Shell(Session):
    """A shell's state: folder, variables, functions."""

    def __init__(self, overlay: Overlay, cwd: str | None) -> None:
        super().__init__(overlay, cwd)
        self.variables: dict[str, str | None] = {}
        self.functions: dict[str, Node] = {}
        self.depth = 0
        self.steps = [0]
        self.folders: list[str | None] = []

    def _copy(self) -> "_Shell":
        copy = _Shell(self.overlay, self.cwd)
        copy.variables = dict(self.variables)
        copy.functions = dict(self.functions)
        copy.depth, copy.steps = self.depth, self.steps
        return copy

    def source(self, command: str, stdin: Stdin) -> Outcome:
        """Follow a command line."""
        if len(command) > LONGEST_COMMAND or self.depth >= _DEEPEST:
            self.overlay.note("the command is too long or too deeply nested to follow")
            return Outcome()
        script, problem = parse(command)
        self.depth += 1
        outcome = self.script(script, stdin)
        self.depth -= 1
        if problem is not None:
            self.overlay.note(str(problem))
            return Outcome()
        return outcome

    def script(self, script: Script, stdin: Stdin) -> Outcome:
        """Follow a list; what comes after `&&` and `||` too, unless it is known not to run."""
        ok: bool | None = True
        outs: list[str | None] = []
        for joint, pipeline in script:
            if (joint == "&&" and ok is False) or (joint == "||" and ok is True):
                continue
            outcome = self._pipeline(pipeline, stdin)
            ok = outcome.ok
            outs.append(outcome.out)
        return Outcome(ok, _joined(outs))

    def _pipeline(self, pipeline: Pipeline, stdin: Stdin) -> Outcome:
        if len(pipeline.stages) == 1:
            outcome = self._node(pipeline.stages[0], stdin)
        else:
            outcome = DONE
            for stage in pipeline.stages:
                outcome = self._copy()._node(stage, stdin)
                stdin = Stdin(outcome.out)
        if pipeline.negated and outcome.ok is not None:
            return Outcome(not outcome.ok, outcome.out)
        return outcome

    def _tired(self) -> bool:
        self.steps[0] += 1
        if self.steps[0] > MOST_STEPS:
            self.overlay.note("the command has too many steps to follow all of them")
        return self.steps[0] > MOST_STEPS

    def _node(self, node: Node, stdin: Stdin) -> Outcome:
        if self._tired():
            return Outcome()
        if isinstance(node, Function):
            self.functions[node.name] = node.body
            return DONE
        if isinstance(node, Simple):
            return self._simple(node, stdin)
        return self._redirected(node.redirects, stdin, lambda given: self._compound(node, given))

    def _compound(self, node: Node, stdin: Stdin) -> Outcome:
        if isinstance(node, Group):
            return (self._copy() if node.apart else self).script(node.body, stdin)
        if isinstance(node, If):
            return self._if(node, stdin)
        if isinstance(node, Case):
            return self._either([*node.bodies, ()], stdin)
        if isinstance(node, For):
            outs: list[str | None] = []
            for value in [Value("$@", False)] if node.words is None else self._words(node.words):
                if self._tired():
                    break
                self.variables[node.name] = value.text if value.exact else None
                outs.append(self.script(node.body, stdin).out)
            return Outcome(None, _joined(outs))
        if isinstance(node, (Simple, Function)):
            return self._node(node, stdin)
        if self.script(node.condition, stdin).ok is node.until:
            return DONE
        self.script(node.body, stdin)
        return Outcome(None, None)

    def _if(self, node: If, stdin: Stdin) -> Outcome:
        ways: list[Script] = []
        for condition, body in node.arms:
            ok = self.script(condition, stdin).ok
            if ok is not False:
                ways.append(body)
            if ok is True:
                break
        else:
            ways.append(node.otherwise)
        return self.script(ways[0], stdin) if len(ways) == 1 else self._either(ways, stdin)

    def _either(self, ways: Sequence[Script], stdin: Stdin) -> Outcome:
        """Follow scripts of which one will run, each from the same state."""
        base = self.overlay.state()
        states = []
        cwd = self.cwd
        outs: set[str | None] = set()
        folders = set()
        for way in ways:
            self.overlay.restore(base)
            self.cwd = cwd
            outs.add(self.script(way, Stdin(stdin.text)).out)
            states.append(self.overlay.state())
            folders.add(self.cwd)
        self.overlay.merge(base, states)
        self.cwd = folders.pop() if len(folders) == 1 else None
        return Outcome(None, outs.pop() if len(outs) == 1 else None)

    def _simple(self, node: Simple, stdin: Stdin) -> Outcome:
        argv = self._words(node.words)
        if not argv:
            for assignment in node.assignments:
                value = self._word(assignment.value)
                before = self.variables.get(assignment.name, "") if assignment.adds else ""
                known = before is not None and value.exact
                self.variables[assignment.name] = f"{before}{value.text}" if known else None
            return self._redirected(
                node.redirects, stdin, lambda given: Outcome(True, given.take())
            )
        return self._redirected(node.redirects, stdin, lambda given: self.call(argv, given))

    def _redirected(
        self, redirects: Sequence[Redirect], stdin: Stdin, run: Callable[[Stdin], Outcome]
    ) -> Outcome:
        """Run with redirections: open the files in order, then write what is printed."""
        out: tuple[str, Value] | None = None
        dropped = False
        for redirect in redirects:
            operator = redirect.operator
            if redirect.heredoc is not None:
                stdin = Stdin(redirect.heredoc.text) if redirect.fd in ("", "0") else stdin
                continue
            value = self._word(redirect.target)
            if operator == "<<<":
                stdin = Stdin(value.text + "\n")
            elif operator in ("<", "<>"):
                content = self.content(value)
                stdin = Stdin(content if isinstance(content, str) else None)
            elif operator == ">&" and (value.text.isdigit() or value.text == "-"):
                dropped = redirect.fd in ("", "1") and value.text != "1"
                out = None if dropped else out
            elif operator != "<&":
                if redirect.fd not in ("", "1"):
                    continue
                path = self.path(value)
                out, dropped = None if path is None else (path, value), path is None
                if path is not None and (
                    operator not in (">>", "&>>") or self.overlay.read(path) is None
                ):
                    self.overlay.write(path, "")
        outcome = run(stdin)
        if out is None:
            return Outcome(outcome.ok, "") if dropped else outcome
        path, value = out
        if path.startswith("/dev/"):
            return outcome if path == "/dev/stdout" else Outcome(outcome.ok, "")
        if not self.overlay.exists(path):
            return Outcome(outcome.ok, "")
        if outcome.out is None:
            self.overlay.note(f"{value.text}: what is written to it is not known beforehand")
            if self.overlay.read(path) == "":
                self.overlay.write(path, UNSEEN)
        else:
            self.overlay.append(path, outcome.out)
        return Outcome(outcome.ok, "")

    def call(self, argv: Sequence[Value], stdin: Stdin) -> Outcome:
        """Run a command by its words."""
        name = argv[0].text if argv[0].exact else ""
        if name in self.functions and self.depth < _DEEPEST:
            self.depth += 1
            outcome = self._node(self.functions[name], stdin)
            self.depth -= 1
            return outcome
        name = name.rpartition("/")[2]
        argv = [Value(name), *argv[1:]]
        if name in _SHELLS:
            return self._shell(argv, stdin)
        if name in ("cd", "pushd", "popd"):
            return self._cd(argv)
        if name == "eval":
            exact = all(value.exact for value in argv)
            text = " ".join(value.text for value in argv[1:])
            return self.source(text, stdin) if exact else Outcome()
        if name in ("export", "local", "declare", "readonly", "typeset"):
            for value in argv[1:]:
                key, equals, text = value.text.partition("=")
                if equals:
                    self.variables[key] = text if value.exact else None
            return DONE
        if name in ("read", "unset"):
            self.variables.update({value.text: None for value in argv[1:]})
            stdin.take()
            return UNSURE
        inner = wrapped(name, argv)
        if inner is not None:
            return self._wrapper(name, inner, stdin)
        command = COMMANDS.get(name)
        return Outcome() if command is None else command(self, argv, stdin)

    def _wrapper(self, name: str, inner: Sequence[Value], stdin: Stdin) -> Outcome:
        """`sudo`, `env`, `xargs`, `find -exec` and their like: the command they run."""
        if not inner:
            return Outcome()
        if self.depth >= _DEEPEST:
            return Outcome()
        self.depth += 1
        if name == "xargs":
            text = stdin.take()
            more = [Value("what xargs is given", False)]
            if text is not None and not any(char in text for char in "'\"\\"):
                more = [Value(word) for word in text.split()]
            inner = [*inner, *more]
        outcome = self.call(inner, stdin)
        self.depth -= 1
        return outcome

    def _shell(self, argv: Sequence[Value], stdin: Stdin) -> Outcome:
        """`bash -c '…'`, or a script on standard input; a script in a file is not read."""
        words = [value.text for value in argv]
        for at, word in enumerate(words[1:], 1):
            if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word):
                script = argv[at + 1] if at + 1 < len(argv) else Value("")
                return self._copy().source(script.text, stdin)
            if not word.startswith(("-", "+")):
                return Outcome()
        text = stdin.take()
        return Outcome() if text is None else self._copy().source(text, Stdin())

    def _cd(self, argv: Sequence[Value]) -> Outcome:
        if argv[0].text == "popd":
            self.cwd = self.folders.pop() if self.folders else None
            return DONE
        if argv[0].text == "pushd":
            self.folders.append(self.cwd)
        operands = [value for value in argv[1:] if value.text != "--"]
        target = operands[0] if operands else Value("~", False)
        absolute = target.text.startswith("/")
        if not target.exact or target.text == "-" or (self.cwd is None and not absolute):
            self.cwd = None
        else:
            self.cwd = self.overlay.absolute(target.text, self.cwd or "/")
        return DONE

    def _words(self, words: Sequence[Word]) -> list[Value]:
        """Words as they are after expansion; an unquoted expansion alone is split at blanks."""
        values: list[Value] = []
        for word in words:
            value = self._word(word)
            only = word[0] if len(word) == 1 else None
            if isinstance(only, (Variable, Substitution)) and not only.quoted and value.exact:
                values += [self._matched(Value(part)) for part in value.text.split()]
            else:
                values.append(value)
        return values

    def _matched(self, value: Value) -> Value:
        return Value(value.text, not _PATTERN.search(value.text))

    def _word(self, word: Word) -> Value:
        """One word; what can't be expanded stays as it is written, and the word isn't exact."""
        texts: list[str] = []
        exact = True
        bare = "".join(part.text for part in word if isinstance(part, Text) and not part.quoted)
        first = word[0] if word else None
        if isinstance(first, Text) and not first.quoted and first.text.startswith("~"):
            exact = False
        if _PATTERN.search(bare):
            exact = False
        for part in word:
            known: str | None = None
            if isinstance(part, Text):
                known = part.text
            elif isinstance(part, Variable):
                known = self.variables.get(part.name)
                if known is None and part.name == "PWD" and "PWD" not in self.variables:
                    known = self.cwd
            elif isinstance(part, Substitution):
                known = self._copy().script(part.body, Stdin()).out
                known = None if known is None else known.rstrip("\n")
            exact = exact and known is not None
            texts.append(known if known is not None else _raw(part))
            if not self.overlay.afford(len(texts[-1])):
                return Value("", False)
        return Value("".join(texts), exact)


def _raw(part: Text | Variable | Substitution | Opaque) -> str:
    return part.text if isinstance(part, Text) else part.raw


def _joined(outs: Sequence[str | None]) -> str | None:
    known = [out for out in outs if out is not None]
    if len(known) < len(outs) or sum(map(len, known)) > LARGEST_TEXT:
        return None
    return "".join(known)
