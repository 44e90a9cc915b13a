"""What an edit touches: the lines it changes and the definitions whose callers may break."""

import difflib
import re
from collections.abc import Sequence

from braincore.model.edits import Edit
from braincore.model.symbols import Symbol

__all__ = ["broken_signatures", "changed_lines", "defined_on"]

MAX_CELLS = 4_000_000
"""Lines before times lines after that are compared one by one; more counts as one change."""

_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|async|public|private|protected|static|abstract|readonly|get|set)\s+)*"
    r"(?:(?:def|class|function\*?|interface|type|const|let|enum|namespace)\s+([\w$]+)"
    r"|([\w$]+)\s*\([^)]*\)?[^;]*\{?\s*$)"
)


def _middle(one: Sequence[str], two: Sequence[str]) -> tuple[int, int, int]:
    """Equal lines at the start, and the ends of what lies between them and the equal end."""
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    return head, len(one) - tail, len(two) - tail


def changed_lines(edit: Edit) -> set[int]:
    """The lines of the text before, from 1, that an edit changes or inserts at."""
    one, two = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    head, end_one, end_two = _middle(one, two)
    if head == end_one == end_two:
        return set()
    cells = (end_one - head) * (end_two - head)
    if cells == 0 or cells > MAX_CELLS:  # lines that only come or only go need no comparison
        return set(range(head + 1, max(end_one, head + 1) + 1))
    out: set[int] = set()
    matcher = difflib.SequenceMatcher(None, one[head:end_one], two[head:end_two], autojunk=False)
    for tag, i1, i2, _, _ in matcher.get_opcodes():
        if tag != "equal":
            out.update(range(head + i1 + 1, head + max(i2, i1 + 1) + 1))
    return out


def defined_on(edit: Edit, lines: set[int]) -> set[str]:
    """The last names of what the changed lines look like they define: cheap, before parsing."""
    before = (edit.before or "").splitlines()
    found = (_DEFINITION.match(before[n - 1]) for n in lines if n <= len(before))
    return {m[1] or m[2] for m in found if m is not None}


def broken_signatures(before: Sequence[Symbol], after: Sequence[Symbol]) -> list[Symbol]:
    """Symbols of the text before that are gone, or whose signature breaks its callers now."""
    now: dict[str, set[str]] = {}
    for symbol in after:
        now.setdefault(symbol.qualified_name, set()).add(symbol.signature_hash)
    kinds = ("function", "method", "class")
    return [
        s
        for s in before
        if s.kind in kinds and s.signature_hash not in now.get(s.qualified_name, set())
    ]
