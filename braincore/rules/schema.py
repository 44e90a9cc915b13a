"""What a rule file, its case file and what is wrong with them become: plain values (SPEC §8)."""

from collections.abc import Mapping
from dataclasses import dataclass

from braincore.model.axes import Severity

__all__ = [
    "CASES_SUFFIXES",
    "CATEGORIES",
    "LANGUAGES",
    "LANGUAGE_ALIASES",
    "Case",
    "CaseSet",
    "Rule",
    "RuleError",
    "RuleSet",
]

CATEGORIES = ("architecture", "code", "security", "performance", "anti-pattern")

CASES_SUFFIXES = (".cases.yml", ".cases.yaml")

LANGUAGES: Mapping[str, str] = {
    "bash": "$",
    "c": "\U00010000",
    "cpp": "\U00010000",
    "csharp": "µ",
    "css": "_",
    "dart": "$",
    "elixir": "µ",
    "go": "µ",
    "haskell": "µ",
    "hcl": "µ",
    "html": "z",
    "java": "$",
    "javascript": "$",
    "json": "$",
    "kotlin": "µ",
    "lua": "$",
    "nix": "_",
    "php": "µ",
    "python": "µ",
    "ruby": "µ",
    "rust": "µ",
    "scala": "$",
    "solidity": "$",
    "swift": "µ",
    "tsx": "$",
    "typescript": "$",
    "yaml": "$",
}
"""The languages ast-grep can parse, each with the character it puts for `$` while it parses a
pattern (`$` is no identifier character in most grammars)."""

LANGUAGE_ALIASES: Mapping[str, str] = {
    "c#": "csharp",
    "c++": "cpp",
    "cs": "csharp",
    "golang": "go",
    "js": "javascript",
    "jsx": "javascript",
    "kt": "kotlin",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "terraform": "hcl",
    "ts": "typescript",
}
"""Other names people write, only to suggest the right one."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule, valid: its pattern parses, its fix is bound, its globs compile.

    Exactly one of `rule` (an ast-grep rule object, with `constraints` and `utils` beside it) and
    `regex` (RE2) is set. No `languages`: every text file, which only a regex may have. `paths` are
    gitignore-like globs where the last that matches decides; none: everywhere. `fix` is a template
    over what the pattern binds, `repair` says it in words, `links` are record ids. `needles` is
    derived: a text that contains none of them can't match (empty: nothing is known). `line` and
    `column` are those of the id in `origin`.
    """

    id: str
    message: str
    why: str
    severity: Severity
    category: str
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    rule: Mapping[str, object] | None = None
    constraints: Mapping[str, object] | None = None
    utils: Mapping[str, object] | None = None
    regex: str | None = None
    fix: str | None = None
    repair: str = ""
    links: tuple[str, ...] = ()
    needles: frozenset[str] = frozenset()
    origin: str = ""
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class RuleError:
    """One thing wrong in a rule or case file. `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}. {self.hint}"


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules that loaded, in the order of their files, and what kept the others from it."""

    rules: tuple[Rule, ...] = ()
    errors: tuple[RuleError, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One example. `before` None: the whole text is judged; else only what `after` adds to it.

    `path` and `language` None: those of the rule. `fixed`: the text once the first finding's fix is
    applied. `line` is where the example stands in its file.
    """

    after: str
    before: str | None = None
    path: str | None = None
    language: str | None = None
    fixed: str | None = None
    line: int = 1


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The examples a rule must hit and those it must leave alone."""

    hit: tuple[Case, ...] = ()
    ok: tuple[Case, ...] = ()
    errors: tuple[RuleError, ...] = ()
