"""What an edit introduces, apart from the debt that was there before it.

The first edit to a legacy file must not be refused for its ten old violations, and the eleventh
must be. So the findings of the text before are taken from those of the text after, as multisets of
(rule, matched text with white space collapsed): a finding that merely moved, or was reindented or
given other line ends, cancels.

What is left are findings whose text is new. One of them may still be an old one, changed in place
(`eval(x)` became `eval(y)`, or another line of a matched block was edited). It counts as old when a
finding of the same rule vanished from the very lines this one stands on: as long as the findings of
a rule inside a changed hunk don't grow in number, the edit didn't make matters worse. A finding
that vanished elsewhere excuses nothing.

Of findings with equal text, those on added or changed lines are taken as the new ones, so that the
line reported is the one just written.
"""

import difflib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from braincore.model.edits import Edit, Finding
from braincore.rules.match import Match, matches
from braincore.rules.schema import Rule

__all__ = ["introduced", "introduced_by_patch"]

MAX_DIFF_CELLS = 4_000_000

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines `before_first` to `before_end` became `after_first` to `after_end` (half open)."""

    before_first: int
    before_end: int
    after_first: int
    after_end: int


def introduced(rules: Sequence[Rule], edit: Edit, language: str | None) -> list[Finding]:
    """The findings that `edit` adds to its file; all of them when the file is new."""
    return introduced_by_patch(rules, [(edit, language)])


def introduced_by_patch(
    rules: Sequence[Rule], edits: Sequence[tuple[Edit, str | None]]
) -> list[Finding]:
    """The findings that several edits, each with its language, add together.

    A finding that leaves one file and turns up unchanged in another was moved, not introduced:
    renaming or splitting a legacy file brings no new debt.
    """
    changed = [(edit, language) for edit, language in edits if edit.before != edit.after]
    news = [matches(rules, edit.path, language, edit.after or "") for edit, language in changed]
    hit = {match.finding.source for new in news for match in new}
    suspects = [rule for rule in rules if rule.id in hit]
    added: list[tuple[Match, Key]] = []
    removed: Counter[Key] = Counter()
    for (edit, language), new in zip(changed, news, strict=True):
        old = matches(suspects, edit.path, language, edit.before or "")
        left, gone = _difference(edit, new, old)
        added += [(match, _key(match, edit.after or "")) for match in left]
        removed += Counter(_key(match, edit.before or "") for match in gone)
    introduced_here = []
    for match, key in added:
        if removed[key]:
            removed[key] -= 1
        else:
            introduced_here.append(match.finding)
    return introduced_here


def _difference(edit: Edit, new: list[Match], old: list[Match]) -> tuple[list[Match], list[Match]]:
    """The matches that only the text after has, and those that only the text before has."""
    if not new or not old:
        return new, old
    before, after = edit.before or "", edit.after or ""
    hunks = _hunks(before, after)
    added = _surplus(new, after, old, before, [(h.after_first, h.after_end) for h in hunks])
    gone = _surplus(old, before, new, after, [(h.before_first, h.before_end) for h in hunks])
    return _unpaired(added, gone, hunks)


def _key(match: Match, text: str) -> Key:
    return match.finding.source, " ".join(text[match.start : match.end].split())


def _surplus(
    ours: list[Match],
    our_text: str,
    theirs: list[Match],
    their_text: str,
    changed: list[tuple[int, int]],
) -> list[Match]:
    """The matches of `ours` in excess of `theirs`, key by key, those on changed lines first."""
    others = Counter(_key(match, their_text) for match in theirs)
    by_key: dict[Key, list[Match]] = defaultdict(list)
    for match in ours:
        by_key[_key(match, our_text)].append(match)
    left: list[Match] = []
    for key, group in by_key.items():
        excess = len(group) - others[key]
        if excess > 0:
            group.sort(key=lambda m: (not _on(m, changed), -m.start))
            left += group[:excess]
    left.sort(key=lambda match: (match.start, match.end, match.finding.source))
    return left


def _on(match: Match, lines: list[tuple[int, int]]) -> bool:
    return any(first <= match.last_line and match.first_line < end for first, end in lines)


def _unpaired(
    added: list[Match], gone: list[Match], hunks: list[_Hunk]
) -> tuple[list[Match], list[Match]]:
    """Both lists without the pairs of one rule that touch the same hunk."""
    waiting: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, match in reversed(list(enumerate(gone))):
        for number, hunk in enumerate(hunks):
            if _touches(match, hunk.before_first, hunk.before_end):
                waiting[match.finding.source, number].append(index)
    paired: set[int] = set()
    left: list[Match] = []
    for match in added:
        partner = None
        for number, hunk in enumerate(hunks):
            if _touches(match, hunk.after_first, hunk.after_end):
                queue = waiting[match.finding.source, number]
                while queue and queue[-1] in paired:
                    queue.pop()
                if queue:
                    partner = queue.pop()
                    break
        if partner is None:
            left.append(match)
        else:
            paired.add(partner)
    return left, [match for index, match in enumerate(gone) if index not in paired]


def _touches(match: Match, first: int, end: int) -> bool:
    """True when the match overlaps the lines, or holds the place where there are none."""
    if first == end:
        return match.first_line < first <= match.last_line
    return first <= match.last_line and match.first_line < end


def _hunks(before: str, after: str) -> list[_Hunk]:
    """The changed places, line by line; what is too much to compare is one hunk."""
    old = [line.rstrip() for line in before.split("\n")]
    new = [line.rstrip() for line in after.split("\n")]
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old_middle) * len(new_middle) > MAX_DIFF_CELLS:
        return [_Hunk(head, len(old) - tail, head, len(new) - tail)]
    opcodes = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes()
    return [
        _Hunk(head + i1, head + i2, head + j1, head + j2)
        for tag, i1, i2, j1, j2 in opcodes
        if tag != "equal"
    ]
