"""Edits and what is said about them: the values that rules and guard exchange (SPEC §8)."""

from dataclasses import dataclass
from enum import StrEnum

from braincore.model.axes import Severity

__all__ = ["CheckResult", "Edit", "Finding", "RepairStep", "Verdict"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One file before and after. `path` is repository-relative with `/`; `before` None: the file is
    new; `after` None: it is deleted. Texts are as decoded, line ends untouched."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an edit introduces. `source` is a rule id or a record id; `line` counts from 1 in
    the text after the edit; `snippet` is the offending text (≤ 200 characters)."""

    source: str
    severity: Severity
    message: str
    why: str
    path: str
    line: int
    snippet: str
    repair: str = ""
    fixed: str | None = None


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One step of a repair plan: what to change, where, why, on what evidence."""

    path: str
    line: int
    change: str
    why: str
    evidence: str


class Verdict(StrEnum):
    """What becomes of an edit; deny and abstain keep it from being written."""

    ALLOW = "allow"
    WARN = "warn"
    DENY = "deny"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict on a whole patch, with its findings, repair plan and notes to the reader."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    repair_plan: tuple[RepairStep, ...] = ()
    notes: tuple[str, ...] = ()
