"""From findings to a verdict and a repair plan (SPEC §8).

Critical or high: the code is not written. With a repair for at least one of those findings the
verdict is deny and the plan says what to change; with none it is abstain. Medium and low warn; info
is only listed. A fix is offered only after it was judged itself: one that doesn't cure its finding,
doesn't parse, or breaks a blocking rule gives way to the words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from braincore.model.axes import Severity
from braincore.model.edits import CheckResult, Edit, Finding, RepairStep, Verdict
from braincore.rules.introduced import introduced_by_patch
from braincore.rules.match import matches, syntax_errors, unjudged
from braincore.rules.schema import Rule

__all__ = ["check", "judge", "repaired"]

MAX_FIXES_JUDGED = 50


def check(rules: Sequence[Rule], edits: Sequence[tuple[Edit, str | None]]) -> CheckResult:
    """The verdict of `rules` on a patch: edits with their languages, judged by what they add."""
    by_path = {edit.path: (edit, language) for edit, language in edits}
    found = []
    fixes = 0
    for finding in introduced_by_patch(rules, edits):
        if finding.fixed is not None:
            fixes += 1
            if fixes > MAX_FIXES_JUDGED:
                finding = replace(finding, fixed=None)
            else:
                finding = repaired(rules, *by_path[finding.path], finding)
        found.append(finding)
    notes = [unjudged(rules, e.path, language, e.after or "") for e, language in edits]
    links = {rule.id: rule.links for rule in rules}
    return judge(found, links, [note for note in notes if note is not None])


def judge(
    findings: Sequence[Finding],
    links: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> CheckResult:
    """The verdict on introduced findings. `links`: rule id → ids of the records it rests on."""
    ordered = tuple(sorted(findings, key=lambda f: (f.path, f.line, f.source)))
    blocking = [finding for finding in ordered if finding.severity.blocks]
    planned = blocking or [f for f in ordered if f.severity is not Severity.INFO]
    plan = tuple(_step(f, links or {}) for f in planned if _repairable(f))
    said = list(notes)
    if blocking:
        verdict = Verdict.DENY if plan else Verdict.ABSTAIN
        said += [
            f"{f.path}:{f.line}: no repair for `{f.source}` is known; ask a person."
            for f in blocking
            if not _repairable(f)
        ]
    else:
        verdict = Verdict.WARN if planned else Verdict.ALLOW
    return CheckResult(verdict, ordered, plan, tuple(said))


def repaired(rules: Sequence[Rule], edit: Edit, language: str | None, finding: Finding) -> Finding:
    """`finding` with its fix if applying that is a cure, else without it, left to the words."""
    if finding.fixed is None or edit.after is None:
        return finding
    now = matches(rules, edit.path, language, edit.after)
    match = next((match for match in now if match.finding == finding), None)
    if match is None:
        return replace(finding, fixed=None)
    text = edit.after[: match.start] + finding.fixed + edit.after[match.end :]
    count = Counter(other.finding.source for other in now)
    then = Counter(
        other.finding.source
        for other in matches(rules, edit.path, language, text)
        if other.finding.severity.blocks or other.finding.source == finding.source
    )
    cured = then[finding.source] < count[finding.source]
    clean = all(number <= count[source] for source, number in then.items())
    if cured and clean and syntax_errors(language, text) <= syntax_errors(language, edit.after):
        return finding
    return replace(finding, fixed=None)


def _repairable(finding: Finding) -> bool:
    return bool(finding.repair) or finding.fixed is not None


def _step(finding: Finding, links: Mapping[str, Sequence[str]]) -> RepairStep:
    if finding.fixed == "":
        change = f"delete `{finding.snippet}`"
    elif finding.fixed is not None:
        change = f"replace `{finding.snippet}` with `{finding.fixed}`"
    else:
        change = finding.repair
    evidence = ", ".join(links.get(finding.source, ())) or f"rule {finding.source}"
    return RepairStep(finding.path, finding.line, change, finding.why, evidence)
