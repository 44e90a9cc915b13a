"""The verb that takes many statements at once: a batch is one commit.

What needs no lock is done without it (redaction, evidence, encoding), building takes it for short
slices, and the commit for as long as one pack takes to write: other clients are served in between.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from braincore.brain.recording import Recording
from braincore.errors import InvalidInput
from braincore.index.project import ProjectFiles
from braincore.intake import build, validate
from braincore.intake.evidence import Verified, verify
from braincore.intake.imported import (
    Imported,
    ImportReport,
    Rejected,
    as_imported,
    known,
    outlived,
)
from braincore.intake.redact import redact, redact_value
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.intake.trust import source_class
from braincore.journal.store import Change, Why, files_of
from braincore.model.ahead import Ahead
from braincore.model.axes import EdgeType, Lifecycle, TruthStatus
from braincore.model.commits import CommitFacts
from braincore.model.outcomes import Conflict
from braincore.model.records import Edge, Fragment, Record

__all__ = ["Importing"]

BATCH = 1000
"""Lines of one commit: enough to spread its cost, few enough to hold the lock but a moment."""
SLICE = 50
"""Lines that are built in one hold of the lock."""
NEAR_NAMES = 20
"""So many unknown paths get near ones named; looking for them takes a while."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class _Ready:
    """A line with all that could be found out about it without the lock."""

    line: Imported
    source: Verified
    symbols: Sequence[Edge]
    fragment: Fragment | None = None


class _Batch:
    """What one commit will hold, built ahead of it."""

    def __init__(self, ahead: Ahead, head: str | None) -> None:
        self.ahead = ahead
        self.head = head
        self.before: dict[str, Record] = {}
        self.met: dict[str, Record | None] = {}
        self.repeated = 0
        self.rejected: list[Rejected] = []


class Importing(Recording):
    """Statements, decisions and failures from a file."""

    def import_records(
        self, lines: Sequence[Imported], caller: Caller, name: str, *, batch: int = BATCH
    ) -> ImportReport:
        """Store what the lines of a file say, through the intake of every other statement; what is
        on record already is left as it is. `name`: that of the file.

        A line that can't be stored is reported and the others go in. Each batch is durable or not
        there at all. Raises StoreError; then the batches before are stored.
        """
        source = f"import:{redact(name).strip() or 'stdin'}"
        asked = _Asked(self.code.files)
        stored = repeated = 0
        rejected: list[Rejected] = []
        for part in _parts(lines, batch):
            ready, refused = self._prepared(part, source, caller, asked)
            rejected += refused
            for some in self._runs(ready):
                done = self._import(some, source, caller)
                stored += done.stored
                repeated += done.duplicates
                rejected += done.rejected
        rejected.sort(key=lambda r: r.line)
        return ImportReport(stored, repeated, rejected)

    @staticmethod
    def _runs(ready: Sequence[_Ready]) -> Iterator[Sequence[_Ready]]:
        """Lines that go in together: a decision that supersedes another one goes by itself."""
        run: list[_Ready] = []
        for one in ready:
            given = one.line.given
            if isinstance(given, DecisionInput) and given.supersedes:
                yield run
                yield [one]
                run = []
            else:
                run.append(one)
        yield run

    def _import(self, ready: Sequence[_Ready], source: str, caller: Caller) -> ImportReport:
        if not ready:
            return ImportReport(0, 0, ())
        given = ready[0].line.given
        if len(ready) == 1 and isinstance(given, DecisionInput) and given.supersedes:
            return self._succeed(ready[0].line.line, given, source, caller)
        batch = self._drafted(ready, source, caller)
        why = Why("import", caller.ref, str(caller.channel), f"{source}, {len(ready)} lines")
        changes = self._changes(batch)
        files = files_of(changes)
        with self.keeper.lock:
            if batch.head != self.keeper.journal.head and not self._holds_still(batch):
                batch = self._drafted(ready, source, caller)
                changes = self._changes(batch)
                files = files_of(changes)
            if changes:
                self.keeper.commit(changes, why, files, batch.ahead.all_keys())
        new = sum(c.old is None for c in changes)
        return ImportReport(new, batch.repeated, batch.rejected)

    def _succeed(
        self, line: int, given: DecisionInput, source: str, caller: Caller
    ) -> ImportReport:
        """A decision that ends another one: both are changed in one commit, as `decide` does."""
        try:
            done = self.decide(replace(given, source=given.source or source), caller)
        except InvalidInput as error:
            return ImportReport(0, 0, [Rejected(line, str(error))])
        if isinstance(done, Conflict):
            return ImportReport(0, 0, [Rejected(line, _conflict(done.conflicts, done.reason))])
        return ImportReport(int(not done.duplicate), int(done.duplicate), ())

    # — without the lock —

    def _prepared(
        self, lines: Sequence[Imported], source: str, caller: Caller, asked: "_Asked"
    ) -> tuple[list[_Ready], list[Rejected]]:
        ready, rejected = [], []
        for line in lines:
            try:
                if isinstance(line.given, Statement):
                    validate.check_text(
                        line.given
                    )  # redaction reads all of a text, whatever its size
                ready.append(self._ready(redact_value(line), source, asked))
            except InvalidInput as error:
                rejected.append(Rejected(line.line, str(error)))
        return ready, rejected

    def _ready(self, line: Imported, source: str, asked: "_Asked") -> _Ready:
        given = line.given
        match given:
            case Statement():
                validate.check_text(given)
                target = self._known_target(given.target)
                found = self._cited(given.source or source, given.text, target, asked)
                symbols = self._symbol_edges((*given.symbols, target), EdgeType.ABOUT)
                since = given.valid_from or line.stated
                if target != given.target or since != given.valid_from:
                    line = replace(line, given=replace(given, target=target, valid_from=since))
                return _Ready(line, found, symbols)
            case DecisionInput():
                validate.check_decision(given)
                target = self._known_target(given.target)
                found = self._cited(given.source or source, given.decision, target, asked)
                symbols = self._symbol_edges((*given.governs, target), EdgeType.GOVERNS)
                return _Ready(replace(line, given=replace(given, target=target)), found, symbols)
            case FailureInput():
                validate.check_failure(given)
                target = self._known_target(given.target)
                found = verify(given.evidence, given.fix, target, asked)
                fragment, touched = self._fragment(given.fragment, found)
                found = replace(found, verified=found.verified or touched)
                symbols = self._symbol_edges((target,), EdgeType.ABOUT)
                given = replace(given, target=target, source=given.source or source)
                return _Ready(replace(line, given=given), found, symbols, fragment)

    @staticmethod
    def _cited(source: str, text: str, target: str, asked: "_Asked") -> Verified:
        source_class(source)
        return verify(source, text, target, asked)

    # — with the lock, a slice at a time —

    def _drafted(self, ready: Sequence[_Ready], source: str, caller: Caller) -> _Batch:
        with self.keeper.lock:
            batch = _Batch(Ahead(self.table), self.keeper.journal.head)
        for some in _parts(ready, SLICE):
            with self.keeper.lock:
                for one in some:
                    try:
                        self._draft(one, batch, source, caller)
                    except InvalidInput as error:
                        batch.rejected.append(Rejected(one.line.line, str(error)))
        return batch

    def _draft(self, one: _Ready, batch: _Batch, source: str, caller: Caller) -> None:
        ahead, line = batch.ahead, one.line
        if line.id and ahead.get(line.id) is not None:
            batch.repeated += 1
            return
        record = as_imported(self._built(one, ahead, caller), source, verified=one.source.verified)
        old = known(record, ahead)
        if old is not None:
            batch.repeated += 1
            self._repeat(old, record, batch)
            return
        if rivals := self._rivals_of(line.given, ahead):
            batch.rejected.append(Rejected(line.line, _conflict(rivals, "")))
            return
        if outlived(record, line.stated, ahead):
            record = replace(record, lifecycle=Lifecycle.STAGING)
        ahead.put(self._settled(record))

    @staticmethod
    def _rivals_of(given: object, ahead: Ahead) -> list[Record]:
        if not isinstance(given, DecisionInput) or given.coexists:
            return []
        return validate.conflicts(given, ahead)

    def _built(self, one: _Ready, ahead: Ahead, caller: Caller) -> Record:
        now, given = self.clock(), one.line.given
        match given:
            case Statement():
                return build.build_statement(given, caller, one.source, one.symbols, ahead, now)
            case DecisionInput():
                return build.build_decision(given, caller, one.source, one.symbols, ahead, now)
            case FailureInput():
                return build.build_failure(
                    given, caller, one.source, one.fragment, one.symbols, ahead, now
                )

    def _repeat(self, old: Record, again: Record, batch: _Batch) -> None:
        """A further source strengthens what is on record; the same one once more changes nothing,
        so that a file may be imported as often as one likes."""
        if old.superseded_by or old.lifecycle is Lifecycle.ARCHIVED:
            return
        heard = again.source_ref in (old.source_ref, *old.sources)
        if heard and again.trust <= old.trust and again.truth_status is not TruthStatus.CONFIRMED:
            return
        stronger = build.strengthened(old, again)
        if replace(stronger, edges=old.edges) == old:
            return
        if not batch.ahead.holds(old.id):
            batch.before[old.id] = old
        batch.ahead.put(self._settled(stronger))

    def _changes(self, batch: _Batch) -> list[Change]:
        return [Change(batch.before.get(record.id), record) for record in batch.ahead]

    def _holds_still(self, batch: _Batch) -> bool:
        """True when what others wrote meanwhile changes nothing about a batch."""
        if any(self.table.get(i) is not old for i, old in batch.before.items()):
            return False
        return all(
            record.id in batch.before
            or (
                not self.table.same_key(record.kind, batch.ahead.keys(record.id).text)
                and not self._rivals(record)
            )
            for record in batch.ahead
        )

    def _rivals(self, record: Record) -> bool:
        """True when a decision about the same target is on record, and has to be looked at."""
        return bool(record.title) and bool(self.table.decided(record.target))


class _Asked:
    """The repository, asked once for what many lines cite (see intake.evidence.Project)."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._commits: dict[str, CommitFacts | None] = {}
        self._texts: dict[str, str | None] = {}
        self._symbols: dict[str, list[str] | None] = {}
        self._near: dict[str, list[str]] = {}

    def commit(self, sha: str) -> CommitFacts | None:
        """The commit of an id, or None."""
        if sha not in self._commits:
            self._commits[sha] = self._files.commit(sha)
        return self._commits[sha]

    def text(self, path: str) -> str | None:
        """The text of a file, or None."""
        if path not in self._texts:
            self._texts[path] = self._files.text(path)
        return self._texts[path]

    def near_paths(self, path: str) -> list[str]:
        """Paths spelled alike, for the first that are unknown."""
        if path not in self._near and len(self._near) < NEAR_NAMES:
            self._near[path] = self._files.near_paths(path)
        return self._near.get(path, [])

    def symbols(self, path: str) -> list[str] | None:
        """The names a file defines, or None."""
        if path not in self._symbols:
            self._symbols[path] = self._files.symbols(path)
        return self._symbols[path]


def _conflict(rivals: Sequence[Record], reason: str) -> str:
    ids = ", ".join(r.id for r in rivals[:3])
    why = reason or "it answers the same problem: say that it `supersedes` it, or `coexists`"
    return f"it conflicts with {ids}; {why}"


def _parts(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[at : at + size] for at in range(0, len(items), size))
