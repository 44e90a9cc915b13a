"""The façade: one repository's brain and every verb it has.

Composes journal, table, graph, indexes, rules and guard; nothing else does.
"""

from collections.abc import Callable
from datetime import datetime

from braincore import locate
from braincore.brain.asking import Asking, RecallInput
from braincore.brain.editing import Editing
from braincore.brain.importing import Importing
from braincore.brain.noting import Noting
from braincore.brain.parts import wall_clock
from braincore.brain.waits import noting_waits, waiting
from braincore.gate import advice
from braincore.graph import queries
from braincore.index.project import make_repository
from braincore.intake.imported import Imported, ImportReport, Rejected
from braincore.intake.redact import redact
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.intake.validate import check_claim
from braincore.journal.store import Entry
from braincore.recall.about import Fit
from braincore.recall.rank import Terms, explain

__all__ = [
    "Brain",
    "Caller",
    "DecisionInput",
    "Entry",
    "FailureInput",
    "Fit",
    "ImportReport",
    "Imported",
    "RecallInput",
    "Rejected",
    "Statement",
    "Terms",
    "advice",
    "check_claim",
    "explain",
    "make_repository",
    "noting_waits",
    "open_brain",
    "redact",
    "waiting",
]


class Brain(Importing, Asking, Editing, Noting):
    """One open brain. Every verb may be called from any thread."""

    def digest(self) -> str:
        """The digest of the whole graph, everything acknowledged in it."""
        return queries.digest(self.keeper.graph)

    def rebuild(self) -> tuple[str, str]:
        """Fill graph and indexes anew; digest of the journal's part before and after."""
        self.index()
        before = queries.digest(self.keeper.graph)
        self.keeper.rebuild()
        self.index()
        return before, queries.digest(self.keeper.graph)


def open_brain(start: str, *, clock: Callable[[], datetime] = wall_clock) -> "Brain":
    """The brain of the repository that `start` lies in; made if there is none yet.

    For tests, doctor and the owner process: only one process may hold a brain (see serve.owner).
    """
    return Brain(locate.find(start), clock)
