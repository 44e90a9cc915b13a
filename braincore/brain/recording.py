"""The verbs that write: remember, decide, outcome, fail."""

from collections.abc import Sequence
from dataclasses import replace

from braincore.brain.parts import Parts
from braincore.code import language_of
from braincore.errors import InvalidInput, UnknownReference
from braincore.guard.negative import MIN_TOKENS, solid_tokens
from braincore.intake import build, validate
from braincore.intake.evidence import Verified, parse_range, verify
from braincore.intake.redact import redact, redact_value
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.intake.trust import source_class
from braincore.journal.store import Change
from braincore.lifecycle.scores import Usage, memory_score, memory_terms, settled_lifecycle
from braincore.model.axes import EdgeType, EventOutcome, EventType, Kind, Lifecycle, TruthStatus
from braincore.model.outcomes import Conflict, Stored
from braincore.model.records import Decision, Edge, Event, Fragment, Record, new_id
from braincore.model.refs import RefType, file_ref, ref_type
from braincore.model.said import STATED

__all__ = ["Recording"]


WEAKER = (
    "what is on record is confirmed or trusted more: cite evidence that can be verified "
    "(--source commit:SHA or file:PATH), or ask a person to decide"
)


class Recording(Parts):
    """What enters long-term memory, checked before and inside the critical section."""

    def remember(self, given: Statement, caller: Caller) -> Stored:
        """Store a statement, or strengthen the record that already says it."""
        given = redact_value(given)
        validate.check_text(given)
        target = self._known_target(given.target)
        source = self._verified(given.source, given.text, target, caller)
        symbols = self._symbol_edges((*given.symbols, target), EdgeType.ABOUT)
        with self.keeper.lock:
            record = build.build_statement(
                replace(given, target=target), caller, source, symbols, self.table, self.clock()
            )
            return self._store(record, caller, "remember", "stated")

    def _store(self, record: Record, caller: Caller, verb: str, why: str) -> Stored:
        """Commit a new record, or a further source for an equal one."""
        old = validate.duplicate(record, self.table)
        if old is not None:
            stronger = self._settled(build.strengthened(old, record))
            if stronger != old:
                self._commit([Change(old, stronger)], caller, verb, "said again")
            return Stored(stronger, duplicate=True)
        record = self._settled(record)
        self._commit([Change(None, record)], caller, verb, why)
        return Stored(record)

    def _settled(self, record: Record) -> Record:
        """The record where its scores put it: working, or consolidated at once."""
        terms = memory_terms(record, Usage(), len(record.edges), self.clock())
        reviewed = bool(self.table.open_reviews(record.id))
        where = settled_lifecycle(record, memory_score(terms), under_review=reviewed)
        return replace(record, lifecycle=where) if where is not record.lifecycle else record

    def decide(self, given: DecisionInput, caller: Caller) -> Stored | Conflict:
        """Store a decision with its causal chain, or say which decisions it conflicts with."""
        given = redact_value(given)
        validate.check_decision(given)
        target = self._known_target(given.target)
        given = replace(given, target=target)
        source = self._verified(given.source, given.decision, target, caller)
        symbols = self._symbol_edges((*given.governs, target), EdgeType.GOVERNS)
        with self.keeper.lock:
            old = self._to_supersede(given)
            record = build.build_decision(given, caller, source, symbols, self.table, self.clock())
            if old is None and (same := validate.duplicate(record, self.table)) is not None:
                return Stored(same, duplicate=True)
            if old is None and not given.coexists:
                found = validate.conflicts(given, self.table)
                if found:
                    return Conflict(tuple(found))
            if old is not None and not validate.may_supersede(record, old):
                return Conflict((old,), WEAKER)
            record = self._settled(record)
            changes = [Change(None, record)]
            if old is not None:
                ended = replace(
                    old,
                    superseded_by=(*old.superseded_by, record.id),
                    valid_until=record.valid_from,
                    truth_status=TruthStatus.DEPRECATED,
                )
                changes.append(Change(old, ended))
            self._commit(changes, caller, "decide", given.title)
            self._note(EventType.DECISION, EventOutcome.NEUTRAL, record, caller)
            return Stored(record)

    def _to_supersede(self, given: DecisionInput) -> Record | None:
        if not given.supersedes:
            return None
        old = self.table.get(given.supersedes)
        if old is None or not isinstance(old.body, Decision):
            near = [r.id for r, _ in self.table.decisions()][-3:]
            raise UnknownReference("decision", given.supersedes, near)
        if old.superseded_by:
            raise InvalidInput(
                f"{old.id} is superseded already, by {', '.join(old.superseded_by)}",
                "Supersede the decision that is in force.",
            )
        return old

    def outcome(self, record_id: str, text: str, caller: Caller) -> Stored:
        """Add what became of a decision to its chain."""
        text = redact(validate.clean(text, "outcome"))
        with self.keeper.lock:
            old = self.table.get(record_id)
            if old is None or not isinstance(old.body, Decision):
                raise UnknownReference("decision", record_id)
            told = f"{old.body.outcome}\n{text}" if old.body.outcome else text
            new = replace(old, body=replace(old.body, outcome=told))
            self._commit([Change(old, new)], caller, "outcome", text)
            return Stored(new)

    def fail(self, given: FailureInput, caller: Caller) -> Stored:
        """Store a failure; its evidence must exist. With a fragment it can stop an edit."""
        given = redact_value(given)
        validate.check_failure(given)
        target = self._known_target(given.target)
        evidence = verify(given.evidence, given.fix, target, self.code.files)
        fragment, places_verified = self._fragment(given.fragment, evidence)
        evidence = replace(evidence, verified=evidence.verified or places_verified)
        symbols = self._symbol_edges((target,), EdgeType.ABOUT)
        with self.keeper.lock:
            record = build.build_failure(
                replace(given, target=target),
                caller,
                evidence,
                fragment,
                symbols,
                self.table,
                self.clock(),
            )
            stored = self._store(record, caller, "fail", given.why)
            if not stored.duplicate:
                self._note(EventType.ERROR, EventOutcome.FAILURE, record, caller)
        notes: tuple[str, ...] = ()
        if fragment is None:
            notes = (
                "No --fragment: this failure informs recall and `why`, but can't stop an edit.",
            )
        return replace(stored, notes=notes)

    def _fragment(self, ref: str, evidence: Verified) -> tuple[Fragment | None, bool]:
        """The fragment of `FILE[:L1-L2]`, and whether the evidence touches its file."""
        if not ref:
            return None, False
        path, first, last = parse_range(ref)
        inside = self._inside(path)
        text = self.code.files.text(inside) if inside is not None else _outside_text(path)
        if text is None:
            raise UnknownReference("file", path, self.code.files.near_paths(path))
        lines = text.splitlines(keepends=True)
        if first > len(lines):
            raise InvalidInput(f"{path} has {len(lines)} lines", "Give a range inside the file.")
        part = redact("".join(lines[first - 1 : last]) if first else text)
        language = language_of(path) or ""
        if solid_tokens(part, language) < MIN_TOKENS:
            raise InvalidInput(
                f"the fragment {part.strip()!r} is too short to be told again",
                f"Take more of the code that broke: at least {MIN_TOKENS} tokens.",
            )
        known = inside is not None and not self.code.files.is_ignored(inside)
        named = evidence.places if evidence.source_ref.startswith("commit:") else ()
        same = [p for p in named if language_of(p) == (language or None)]
        places = (inside,) if known and inside is not None else tuple(same)
        touches = bool(places) and set(places) <= set(evidence.places)
        return Fragment(part, language, places), touches

    def _inside(self, path: str) -> str | None:
        """A path given relative to the root or absolute, as repository path; None when outside."""
        disk = self.code.files.path(path)
        if disk is None:
            return None
        return disk.relative_to(self.place.root).as_posix()

    def _known_target(self, target: str) -> str:
        """A target in full form when it names a symbol; unknown symbols are refused."""
        validate.check_target(target)
        if "::" in target and ref_type(target) is RefType.SYMBOL:
            return self.code.symbol(target)
        return target.strip()

    def _symbol_edges(self, refs: Sequence[str], kind: EdgeType) -> list[Edge]:
        """Edges to symbols and paths, which must exist; entity names among them are passed over."""
        out = []
        for ref in refs:
            if not ref:
                continue
            is_code = "::" in ref or self.code.files.path(ref) is not None
            if is_code or (kind is EdgeType.GOVERNS and ref != refs[-1]):
                full = self.code.symbol(ref)
                out.append(Edge(kind, full if "::" in full else file_ref(full), STATED))
        return out

    def _verified(self, source: str, text: str, target: str, caller: Caller) -> Verified:
        if not source:
            return Verified(caller.ref, False)
        source_class(source)
        return verify(source, text, target, self.code.files)

    def _note(self, kind: EventType, outcome: EventOutcome, about: Record, caller: Caller) -> None:
        """An event beside a change; written ahead, committed in a batch."""
        at = self.table.next_time(self.clock())
        self.keeper.note(
            [
                Record(
                    id=new_id(Kind.EVENT, at),
                    kind=Kind.EVENT,
                    text=about.title or about.text[:200],
                    source_ref=caller.ref,
                    channel=caller.channel,
                    trust=about.trust,
                    created_at=at,
                    valid_from=at,
                    body=Event(kind, outcome, session=caller.session),
                    lifecycle=Lifecycle.WORKING,
                    target=about.target,
                    namespace=about.namespace,
                )
            ]
        )


def _outside_text(path: str) -> str | None:
    from braincore.index.outside import read_text

    return read_text(path)
