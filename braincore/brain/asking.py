"""The verbs that read: recall, why, related, context, and the lists."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from braincore.brain.parts import Parts
from braincore.brain.semantic import Nearest
from braincore.errors import InvalidInput, UnknownReference
from braincore.gate.tasks import open_or_bump
from braincore.graph import queries
from braincore.index.keyword import KeywordIndex
from braincore.intake import validate
from braincore.intake.redact import redact
from braincore.intake.statement import Caller
from braincore.journal.store import Change, Entry
from braincore.lifecycle.scores import Usage
from braincore.model.axes import EdgeType, Kind
from braincore.model.outcomes import Abstain, Answer
from braincore.model.records import Record
from braincore.model.refs import file_ref, path_of_ref
from braincore.model.said import code_refs
from braincore.model.table import Table
from braincore.model.words import content_words, phrase, search_terms
from braincore.recall.question import parse_question
from braincore.recall.search import ANSWERING, Lists, Query, search

__all__ = ["Asking", "RecallInput"]

MIN_CANDIDATES = 50
"""So many at least are looked at in each list; it is the same for all pages of one size."""


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
    explain: bool = False


class Asking(Parts):
    """Answers from the record table; the graph for what is a graph question."""

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
            explain=asked.explain,
        )
        if asked.as_of is not None:
            then = self.keeper.table_at(asked.as_of) or Table()
            query = replace(query, now=then.next_time(asked.as_of))
            lists = Lists(_overlap(then, text))
            return search(query, then, lists, self._usage, lambda record: False)
        self._refresh_rules()
        self._use_embedder()
        keyword = self.keeper.keyword
        wanted = max(MIN_CANDIDATES, query.limit * 10)
        about = f"{text} {asked.target}".strip()
        nearest = self.keeper.semantic.nearest(about, wanted)  # the model runs outside the lock
        with self.keeper.lock:
            # Never before what is on record, even when the clock was set back.
            query = replace(query, now=self.table.next_time(query.now))
            lists = self._lists(about, keyword, nearest, asked.namespace, wanted)
            found = search(query, self.table, lists, self._usage, self._is_stale, self._has_twin)
            returned = [f.record.id for f in found.facts] if isinstance(found, Answer) else []
            self.keeper.usage.count(returned, query.now, abstained=isinstance(found, Abstain))
            if isinstance(found, Abstain) and asked.valid_at is None:
                found = replace(found, task=self._task(text, asked, found, caller))
        return found

    def _lists(
        self, about: str, keyword: KeywordIndex, nearest: Nearest, namespace: str, wanted: int
    ) -> Lists:
        """The best of this namespace by keyword and by meaning, and the rank in each list of what
        only the other one has: a candidate is not worse for being 51st somewhere."""

        def own(first: Sequence[str], more: Callable[[int], Sequence[str]]) -> list[str]:
            found, asked = first, wanted
            while True:
                kept = [i for i in found if self._answers(i, namespace)]
                if len(kept) >= wanted or len(found) < asked:
                    return kept[:wanted]
                asked *= 4
                found = more(asked)

        def by_word(limit: int) -> list[str]:
            return keyword.search(about, limit)

        words, near = own(by_word(wanted), by_word), own(nearest.ids, nearest.most)
        other = [i for i in near if i not in set(words)]
        cosine = nearest.of([i for i in words if i not in set(near)])
        also = keyword.search(about, len(other), other) if other else []
        return Lists(
            [*words, *also],
            [*near, *sorted(cosine, key=lambda i: (-cosine[i], i))],
            nearest.of,
        )

    def _answers(self, record_id: str, namespace: str) -> bool:
        record = self.table.get(record_id)
        return record is not None and record.kind in ANSWERING and record.namespace == namespace

    def _task(self, text: str, asked: RecallInput, found: Abstain, caller: Caller) -> str:
        from braincore.model.axes import Reason

        old, new = open_or_bump(
            text, asked.target, Reason(found.reason), len(found.rejected), self.table, self.clock()
        )
        self._commit([Change(old, new)], caller, "task", found.reason)
        return new.id

    def _usage(self, record_id: str) -> Usage:
        return Usage(*self.keeper.usage.of(record_id))

    def _has_twin(self, symbol: str) -> bool:
        """True when the code defines more than one symbol with this one's name."""
        try:
            return self.code.symbol(symbol.rpartition("::")[2]) != symbol
        except UnknownReference:
            return self.code.counts()[1] > 0

    def _is_stale(self, record: Record) -> bool:
        """True when code that the record governs or is about is not there any more."""
        return any(self.code.is_stale(r) for r in code_refs(record))

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
        from braincore.recall.names import names_of

        wanted = phrase(redact(prompt)).bag
        keyword = self.keeper.keyword
        out = []
        with self.keeper.lock:
            now = self.table.next_time(self.clock())
            for record_id in keyword.search(prompt[:4000], 50):
                record = self.table.get(record_id)
                if record is None or record.kind in (Kind.TASK, Kind.REVIEW):
                    continue
                named = record.target or record.title
                facts = Facts(now, stale=self._is_stale(record))
                if (
                    named
                    and any(name.share(wanted) == 1.0 for name in names_of(record))
                    and first_reject(record, facts) is None
                ):
                    out.append(record)
        return out[:limit]

    def untold(self, session: str, rows: Sequence[tuple[Record, str]]) -> list[Record]:
        """The records whose line, by its key, this session was not told yet."""
        with self.keeper.lock:
            told = self.keeper.usage.told(session) if session else frozenset()
        return [row for row, key in rows if key not in told]

    def tell(self, session: str, keys: Sequence[str]) -> None:
        """Note that this session was told these lines."""
        if session and keys:
            with self.keeper.lock:
                self.keeper.usage.tell(session, keys, self.clock())

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
