"""A shell command line as a tree of values."""

from dataclasses import dataclass

from braincore.errors import InvalidInput

__all__ = [
    "DEEPEST",
    "Assignment",
    "Case",
    "For",
    "Function",
    "Group",
    "Heredoc",
    "If",
    "Joint",
    "Node",
    "Opaque",
    "Part",
    "Pipeline",
    "Redirect",
    "Script",
    "ShellSyntax",
    "Simple",
    "Substitution",
    "Text",
    "Variable",
    "While",
    "Word",
]

DEEPEST = 30
"""Levels of nesting that are followed; more is refused rather than run out of stack."""


class ShellSyntax(InvalidInput):
    """A command that can't be parsed."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the command can't be parsed: {problem}", "Check its quotes.")


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; `quoted` text is no pattern and is not split."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${name}`."""

    name: str
    raw: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)` or backquotes."""

    body: "Script"
    raw: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expansion that is not followed."""

    raw: str


Part = Text | Variable | Substitution | Opaque
Word = tuple[Part, ...]


@dataclass(slots=True)
class Heredoc:
    """A here-document; its text is filled in where its lines are read."""

    delimiter: str
    literal: bool
    tabs: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection; `fd` is what is written before the operator, or empty."""

    fd: str
    operator: str
    target: Word
    heredoc: Heredoc | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value` or, with `adds`, `name+=value`."""

    name: str
    value: Word
    adds: bool


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`(…)`, when `apart`, or `{ …; }`."""

    body: "Script"
    apart: bool
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with their bodies, and the `else` part."""

    arms: tuple[tuple["Script", "Script"], ...]
    otherwise: "Script"
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`; no words: the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: "Script"
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class While:
    """`while`, or `until`."""

    until: bool
    condition: "Script"
    body: "Script"
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The bodies of a `case`; its patterns are not compared."""

    bodies: tuple["Script", ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function's definition."""

    name: str
    body: "Node"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`."""

    stages: tuple["Node", ...]
    negated: bool


Node = Simple | Group | If | For | While | Case | Function
Joint = tuple[str, Pipeline]
"""`;`, `&&` or `||` before the pipeline, and the pipeline."""
Script = tuple[Joint, ...]
