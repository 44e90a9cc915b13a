"""The façade: one repository's brain, and every verb it has.

Composes journal, table, graph, indexes, rules and guard; nothing else does.
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from braincore import locate
from braincore.code import language_of
from braincore.codebase import Codebase
from braincore.config import Config, parse_config
from braincore.errors import BraincoreError, InvalidInput, UnknownReference
from braincore.gate.tasks import open_or_bump
from braincore.graph import queries
from braincore.guard.check import check_patch
from braincore.guard.negative import MIN_TOKENS, Armed, solid_tokens
from braincore.index.code import Scan
from braincore.index.rulefiles import RuleFiles
from braincore.intake import build, validate
from braincore.intake.evidence import Verified, parse_range, verify
from braincore.intake.redact import redact, redact_value
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.journal.store import Change, Entry, Why
from braincore.keeper import Keeper
from braincore.lifecycle.scores import Usage, memory_score, memory_terms, settled_lifecycle
from braincore.locate import Place
from braincore.model.axes import EdgeType, EventOutcome, EventType, Kind, Lifecycle, TruthStatus
from braincore.model.edits import CheckResult, Edit, Verdict
from braincore.model.outcomes import Abstain, Answer, Conflict, Stored
from braincore.model.records import Decision, Edge, Event, Fragment, Record, new_id
from braincore.model.refs import RefType, file_ref, path_of_ref, ref_type
from braincore.model.said import STATED
from braincore.model.table import Table
from braincore.model.words import content_words, search_terms
from braincore.recall.question import parse_question
from braincore.recall.search import Query, search
from braincore.rules.load import load_rules
from braincore.rules.schema import RuleError, RuleSet

__all__ = ["Brain", "RecallInput", "open_brain"]


@dataclass(frozen=True, slots=True)
class RecallInput:
    """One question. `as_of`: what was believed then; `valid_at`: what held then; never mixed."""

    text: str
    target: str = ""
    symbols: tuple[str, ...] = ()
    limit: int = 5
    offset: int = 0
    as_of: datetime | None = None
    valid_at: datetime | None = None
    allow_uncertainty: bool = False
    namespace: str = "main"


def wall_clock() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


def open_brain(start: str, *, clock: Callable[[], datetime] = wall_clock) -> "Brain":
    """The brain of the repository that `start` lies in; made if there is none yet.

    For tests, doctor and the owner process: only one process may hold a brain (see serve.owner).
    """
    return Brain(locate.find(start), clock)


class Brain:
    """One open brain. Every verb may be called from any thread."""

    def __init__(self, place: Place, clock: Callable[[], datetime] = wall_clock) -> None:
        self.place = place
        self.clock = clock
        self._rule_files = RuleFiles(place.brain, place.store / "mirror")
        self._rules_lock = threading.Lock()
        self._stamp: object = None
        self._rules = RuleSet((), ())
        self.config = Config()
        self.config_problem = ""
        self._refresh_rules()
        self.keeper = Keeper(place, clock, fsync=self.config.fsync)
        self.code = Codebase(
            place.root,
            place.store / "index" / "code.db",
            str(place.store),
            self.config.max_file_bytes,
        )
        self._armed: dict[str, tuple[Record, Armed | None]] = {}

    @property
    def table(self) -> Table:
        """The record table; hold `keeper.lock` while using it."""
        return self.keeper.table

    def close(self) -> None:
        """Bring everything to disk and let go of the store."""
        self.keeper.close()
        self.code.close()

    # — worktree —

    def attach(self) -> list[str]:
        """Make memory/ and the pointers to the journal, or restore them after `git clean`.

        Returns the rules and config files that were brought back.
        """
        gone = not (self.place.memory / ".git").exists()
        self.keeper.attach(self.place)
        return self._rule_files.restore() if gone else []

    def index(self, progress: Callable[[int], None] = lambda done: None) -> Scan:
        """Bring the code index to the working tree."""
        return self.code.update(self.keeper.graph, progress)

    def rules(self) -> RuleSet:
        """Shipped and project rules as they are on disk now; stat'ed each time."""
        self._refresh_rules()
        return self._rules

    def _refresh_rules(self) -> None:
        with self._rules_lock:
            stamp = self._rule_files.stamp()
            if stamp == self._stamp:
                return
            texts, unreadable = self._rule_files.read()
            loaded = load_rules(texts)
            errors = [
                RuleError(path, 1, 1, problem, "Save it as UTF-8 text.")
                for path, problem in unreadable
            ]
            self._rules = RuleSet(loaded.rules, (*loaded.errors, *errors))
            try:
                text = self._rule_files.config()
                self.config = parse_config(text, "config.toml") if text is not None else Config()
                self.config_problem = ""
            except (BraincoreError, OSError, UnicodeDecodeError) as error:
                # The last good settings stay in force; status and doctor say what is wrong.
                self.config_problem = str(error)
            if self.place.brain.is_dir() and self.place.store.is_dir():
                self._rule_files.mirror()
            self._stamp = stamp

    # — writing —

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
        return replace(record, lifecycle=where)

    def _commit(self, changes: Sequence[Change], caller: Caller, verb: str, why: str) -> str:
        return self.keeper.commit(changes, Why(verb, caller.ref, str(caller.channel), why))

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
        notes = ()
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
        build.trust(source, caller.channel, verified=False)
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

    # — reading —

    def recall(self, asked: RecallInput, caller: Caller) -> Answer | Abstain:
        """Answer from verified knowledge, or abstain with a reason and one brain task."""
        text = redact(validate.clean(asked.text, "query"))
        if asked.as_of is not None and asked.valid_at is not None:
            raise InvalidInput("--as-of and --valid-at exclude each other", "Give one of them.")
        question = parse_question(text, asked.target, asked.symbols)
        query = Query(
            question,
            self.clock(),
            max(1, asked.limit),
            max(0, asked.offset),
            asked.valid_at,
            asked.allow_uncertainty,
            asked.namespace,
            historical=asked.as_of is not None,
        )
        if asked.as_of is not None:
            then = self.keeper.table_at(asked.as_of) or Table()
            found = search(query, then, _overlap(then, text), self._usage, lambda record: False)
            return found
        keyword = self.keeper.keyword
        with self.keeper.lock:
            listed = keyword.search(f"{text} {asked.target}", (query.limit + query.offset) * 10)
            found = search(query, self.table, listed, self._usage, self._is_stale)
            returned = [f.record.id for f in found.facts] if isinstance(found, Answer) else []
            self.keeper.usage.count(returned, query.now, abstained=isinstance(found, Abstain))
            if isinstance(found, Abstain) and asked.valid_at is None:
                found = replace(found, task=self._task(text, asked, found, caller))
        return found

    def _task(self, text: str, asked: RecallInput, found: Abstain, caller: Caller) -> str:
        from braincore.model.axes import Reason

        old, new = open_or_bump(
            text, asked.target, Reason(found.reason), len(found.rejected), self.table, self.clock()
        )
        self._commit([Change(old, new)], caller, "task", found.reason)
        return new.id

    def _usage(self, record_id: str) -> Usage:
        return Usage(*self.keeper.usage.of(record_id))

    def _is_stale(self, record: Record) -> bool:
        """True when code that the record governs or is about is not there any more."""
        refs = {e.to for e in record.edges if e.type is EdgeType.GOVERNS}
        refs |= {e.to for e in record.edges if "::" in e.to and e.strength >= STATED}
        return any(self.code.is_stale(r) for r in refs)

    def why(self, name: str) -> list[list[Record]]:
        """The decision chains of a target or symbol, each from the oldest to what holds now."""
        found = self._about(name, Kind.DECISION)
        graph = self.keeper.graph
        chains: dict[str, list[Record]] = {}
        for record in found:
            ids = [*reversed(queries.predecessors(graph, record.id)), record.id]
            ids += queries.chain(graph, record.id)
            with self.keeper.lock:
                rows = [r for i in ids if (r := self.table.get(i)) is not None]
            chains.setdefault(rows[-1].id, rows)
        return list(chains.values())

    def _about(self, name: str, *kinds: Kind) -> list[Record]:
        with self.keeper.lock:
            found = {r.id: r for r in self.table.about(name) if r.kind in kinds}
        ref = self._code_ref(name)
        if ref is not None:
            for record_id in queries.governed_by(self.keeper.graph, ref):
                with self.keeper.lock:
                    record = self.table.get(record_id)
                if record is not None and record.kind in kinds:
                    found[record.id] = record
        if not found:
            wanted = content_words(name, question=True)
            with self.keeper.lock:
                found = {
                    r.id: r
                    for r in self.table.of_kind(*kinds)
                    if r.title and wanted and wanted <= content_words(f"{r.title} {r.target}")
                }
        return [found[i] for i in sorted(found)]

    def _code_ref(self, name: str) -> str | None:
        try:
            full = self.code.symbol(name)
        except UnknownReference:
            with self.keeper.lock:
                known = bool(self.table.linked(name))
            return name if known and "::" in name else None
        return full

    def related(self, name: str) -> tuple[str, list[Record], list[queries.Neighbour], list[str]]:
        """A symbol or path in full form, the records linked to it, the code around it, what
        depends on it within two hops."""
        try:
            ref = self.code.symbol(name)
        except UnknownReference:
            with self.keeper.lock:
                if not self.table.linked(name):
                    raise
            ref = name
        graph = self.keeper.graph
        with self.keeper.lock:
            records = (
                self.table.linked(ref) if "::" in ref else self.table.linked_under(file_ref(ref))
            )
        return ref, records, queries.neighbours(graph, ref), queries.dependents(graph, ref)

    def stale_refs(self, record: Record) -> list[str]:
        """The code references of a record that are not there any more."""
        refs = [e.to for e in record.edges if "::" in e.to or e.type is EdgeType.GOVERNS]
        return [path_of_ref(r) if "::" not in r else r for r in refs if self.code.is_stale(r)]

    def context(self, prompt: str, limit: int) -> list[Record]:
        """Records in force that a prompt names outright, for injection; opens no task, counts no
        use. A record is named when all words of its target or title stand in the prompt."""
        from braincore.gate.strict import Facts, first_reject
        from braincore.recall.about import names_of

        wanted = content_words(redact(prompt))
        keyword = self.keeper.keyword
        out = []
        with self.keeper.lock:
            for record_id in keyword.search(prompt[:4000], 50):
                record = self.table.get(record_id)
                if record is None or record.kind in (Kind.TASK, Kind.REVIEW):
                    continue
                named = record.target or record.title
                facts = Facts(self.clock(), stale=self._is_stale(record))
                if (
                    named
                    and any(name <= wanted for name in names_of(record))
                    and first_reject(record, facts) is None
                ):
                    out.append(record)
        return out[:limit]

    def tasks(self) -> list[Record]:
        """The open brain tasks, most asked first."""
        with self.keeper.lock:
            return [r for r, t in sorted(self.table.open_tasks(), key=lambda x: -x[1].bumps)]

    def reviews(self) -> list[Record]:
        """What waits for a person: undecided reviews, and records that nothing links."""
        with self.keeper.lock:
            return self.table.of_kind(Kind.REVIEW)

    def log(self, limit: int) -> list[Entry]:
        """The newest commits of the journal first."""
        with self.keeper.lock:
            return list(self.keeper.journal.log(limit))

    # — the edit —

    def check(self, edits: Sequence[Edit], *, by_agent: bool) -> CheckResult:
        """Judge what edits introduce, and say what is known about what they touch."""
        with self.keeper.lock:
            armed = self._armed_failures()
        result = check_patch(edits, self.rules().rules, armed, language_of, by_agent=by_agent)
        notes = [*result.notes, *(n for e in edits for n in self._known_about(e))]
        return replace(result, notes=tuple(dict.fromkeys(notes)))

    def _armed_failures(self) -> list[Armed]:
        out = []
        for record, body in self.table.failures():
            cached = self._armed.get(record.id)
            if cached is None or cached[0] is not record:
                armed = None
                part = body.fragment
                alive = not record.superseded_by and record.lifecycle is not Lifecycle.ARCHIVED
                if part is not None and alive:
                    armed = Armed(
                        record.id,
                        body.title,
                        body.why,
                        body.fix,
                        body.evidence,
                        part.language,
                        part.places,
                        part.text,
                    )
                cached = self._armed[record.id] = (record, armed)
            if cached[1] is not None:
                out.append(cached[1])
        return out

    def _known_about(self, edit: Edit) -> list[str]:
        """Decisions and failures tied to the symbols an edit touches, or governing the file."""
        with self.keeper.lock:
            linked = self.table.linked_under(file_ref(edit.path))
        if not linked:
            return []
        touched = set(self.code.symbols_at(edit.path, edit.before or "", _changed_lines(edit)))
        out = []
        for record in linked:
            refs = {e.to for e in record.edges if e.strength >= STATED}
            governs_file = any(
                e.type is EdgeType.GOVERNS and e.to == file_ref(edit.path) for e in record.edges
            )
            if record.superseded_by or not (governs_file or refs & touched):
                continue
            if record.kind is Kind.DECISION:
                out.append(f"decision {record.id} governs this: {json.dumps(record.text)}")
            elif record.kind is Kind.FAILURE and refs & touched:
                out.append(f"failure {record.id} happened here: {json.dumps(record.title)}")
            elif refs & touched:
                out.append(f"{record.kind} {record.id} is about this: {json.dumps(record.text)}")
        return out[:10]

    def refused(self, result: CheckResult, caller: Caller) -> None:
        """Note an edit that was stopped, as an event."""
        if result.verdict in (Verdict.DENY, Verdict.ABSTAIN) and result.findings:
            first = result.findings[0]
            with self.keeper.lock:
                at = self.table.next_time(self.clock())
                self.keeper.note(
                    [
                        Record(
                            id=new_id(Kind.EVENT, at),
                            kind=Kind.EVENT,
                            text=redact(f"edit refused: {first.path}:{first.line} {first.message}"),
                            source_ref=caller.ref,
                            channel=caller.channel,
                            trust=0.5,
                            created_at=at,
                            valid_from=at,
                            body=Event(
                                EventType.EDIT, EventOutcome.FAILURE, session=caller.session
                            ),
                            lifecycle=Lifecycle.WORKING,
                        )
                    ]
                )

    # — care —

    def rebuild(self) -> tuple[str, str]:
        """Fill graph and indexes anew; digest of the journal's part before and after."""
        before = queries.digest(self.keeper.graph)
        self.keeper.rebuild()
        self.index()
        return before, queries.digest(self.keeper.graph)


def _outside_text(path: str) -> str | None:
    from braincore.index.outside import read_text

    return read_text(path)


def _overlap(table: Table, text: str) -> list[str]:
    """Candidates of a past state, for which no index is kept: by how many terms they share."""
    from braincore.model.said import said

    wanted = set(search_terms(text))
    scored = []
    for record in table:
        shared = wanted & {t for f in said(record) for t in search_terms(f)}
        if shared:
            scored.append((-len(shared), record.id))
    return [i for _, i in sorted(scored)[:100]]


def _changed_lines(edit: Edit) -> set[int]:
    """The lines of the text before that an edit changes or inserts at; from 1."""
    import difflib

    one, two = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    out: set[int] = set()
    for tag, i1, i2, _, _ in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if tag != "equal":
            out.update(range(i1 + 1, max(i2, i1 + 1) + 1))
    return out
