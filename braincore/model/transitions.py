"""Who may move a record from one state to another (docs/formulas.md shows the same table)."""

from dataclasses import dataclass

from braincore.model.axes import Lifecycle, TruthStatus

__all__ = ["LIFECYCLE", "TRUTH", "Transition", "may_move"]


@dataclass(frozen=True, slots=True)
class Transition:
    """One allowed move: from, to, and who or what makes it."""

    old: str
    new: str
    by: str


_L, _T = Lifecycle, TruthStatus

LIFECYCLE: tuple[Transition, ...] = (
    Transition(_L.STAGING, _L.WORKING, "intake: every validation passed and at least one edge"),
    Transition(_L.STAGING, _L.ARCHIVED, "verify loop at TTL; a person"),
    Transition(_L.WORKING, _L.CONSOLIDATED, "verify loop: confirmed, linked, scores of SPEC §6"),
    Transition(_L.WORKING, _L.STAGING, "maintenance: unconfirmed, past its TTL, score below .55"),
    Transition(_L.WORKING, _L.ARCHIVED, "maintenance: unconfirmed at TTL; a person"),
    Transition(_L.CONSOLIDATED, _L.ARCHIVED, "maintenance: effective confidence; a person"),
    Transition(_L.ARCHIVED, _L.WORKING, "restore"),
)

TRUTH: tuple[Transition, ...] = (
    Transition(_T.HYPOTHESIS, _T.CANDIDATE, "a source was given"),
    Transition(_T.HYPOTHESIS, _T.CONFIRMED, "a person, or verified evidence"),
    Transition(_T.CANDIDATE, _T.CONFIRMED, "a person, verified evidence, two independent sources"),
    Transition(_T.CANDIDATE, _T.CONTRADICTED, "contradiction that supersession can't settle"),
    Transition(_T.CONFIRMED, _T.CONTRADICTED, "contradiction that supersession can't settle"),
    Transition(_T.CONTRADICTED, _T.CONFIRMED, "a person accepts the review"),
    Transition(_T.CONTRADICTED, _T.CANDIDATE, "a person rejects the review"),
    Transition(_T.HYPOTHESIS, _T.DEPRECATED, "superseded"),
    Transition(_T.CANDIDATE, _T.DEPRECATED, "superseded"),
    Transition(_T.CONFIRMED, _T.DEPRECATED, "superseded"),
    Transition(_T.CONTRADICTED, _T.DEPRECATED, "superseded"),
    Transition(_T.DEPRECATED, _T.CONFIRMED, "undo of a supersession"),
    Transition(_T.DEPRECATED, _T.CANDIDATE, "undo of a supersession"),
)


def may_move(old: Lifecycle | TruthStatus, new: Lifecycle | TruthStatus) -> bool:
    """True when the table allows the move (staying is always allowed)."""
    table = LIFECYCLE if isinstance(old, Lifecycle) else TRUTH
    return old == new or any(t.old == old and t.new == new for t in table)
