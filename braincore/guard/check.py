"""The verdict on a patch: rules, negative memory and protected files together."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from braincore.guard.negative import Armed, brought_back
from braincore.guard.protected import protected, protected_path
from braincore.model.edits import CheckResult, Edit, Finding
from braincore.rules import verdict
from braincore.rules.schema import Rule

__all__ = ["check_patch", "language_for"]


def language_for(path: str, language_of: Callable[[str], str | None]) -> str | None:
    """The language a file is judged in; a notebook's code cells are Python."""
    return "python" if path.endswith(".ipynb") else language_of(path)


def check_patch(
    edits: Sequence[Edit],
    rules: Sequence[Rule],
    failures: Sequence[Armed],
    language_of: Callable[[str], str | None],
    *,
    by_agent: bool,
    touched: Sequence[str] = (),
) -> CheckResult:
    """Judge what the edits introduce. `by_agent`: the brain's own files are closed to it, those it
    would hit in a way that can't be worked out (`touched`) too."""
    judged = [(edit, language_for(edit.path, language_of)) for edit in edits]
    by_rules = verdict.check(rules, judged)
    more: list[Finding] = []
    for edit, language in judged:
        more += brought_back(edit, language or "", failures)
        if by_agent and (finding := protected(edit)) is not None:
            more.append(finding)
    if by_agent:
        more += [f for f in map(protected_path, touched) if f is not None]
    if not more:
        return by_rules
    links: dict[str, Sequence[str]] = {rule.id: rule.links for rule in rules}
    links |= {f.id: (f.id, f.evidence) for f in failures}
    both = verdict.judge([*by_rules.findings, *more], links)
    return replace(both, notes=tuple(dict.fromkeys((*by_rules.notes, *both.notes))))
