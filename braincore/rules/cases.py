"""The examples beside a rule, run against it."""

from collections.abc import Sequence

from braincore.model.edits import Edit, Finding
from braincore.rules.introduced import introduced
from braincore.rules.match import matches
from braincore.rules.schema import Case, CaseSet, Rule

__all__ = ["run_cases"]


def run_cases(rule: Rule, cases: CaseSet) -> list[str]:
    """One line for each example that doesn't come out as its list says; empty: all is well."""
    failures = [str(error) for error in cases.errors]
    failures += [
        f"{rule.id}: hit on line {case.line} isn't found"
        for case in cases.hit
        if not _found(rule, case)
    ]
    failures += [
        f"{rule.id}: ok on line {case.line} is found: {found[0].snippet!r}"
        for case in cases.ok
        if (found := _found(rule, case))
    ]
    failures += [
        f"{rule.id}: the fix on line {case.line} gives {fixed!r}"
        for case in cases.hit
        if case.fixed is not None and (fixed := _fixed(rule, case)) != case.fixed
    ]
    return failures


def _where(rule: Rule, case: Case) -> tuple[str, str | None]:
    language = case.language or (rule.languages[0] if rule.languages else None)
    return case.path or "example", language


def _found(rule: Rule, case: Case) -> Sequence[Finding]:
    path, language = _where(rule, case)
    return introduced([rule], Edit(path, case.before, case.after), language)


def _fixed(rule: Rule, case: Case) -> str | None:
    path, language = _where(rule, case)
    for match in matches([rule], path, language, case.after):
        if match.finding.fixed is not None:
            return case.after[: match.start] + match.finding.fixed + case.after[match.end :]
    return None
