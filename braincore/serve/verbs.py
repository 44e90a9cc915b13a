"""Every verb once: what it takes, what it does, what it answers and its exit code.

REST and CLI are both made from this table.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from pydantic import BaseModel

from braincore import __version__, shapes
from braincore.brain import (
    Brain,
    Caller,
    DecisionInput,
    FailureInput,
    RecallInput,
    Statement,
    advice,
    check_claim,
)
from braincore.errors import InvalidInput
from braincore.model.axes import Kind, Scope
from braincore.model.edits import Verdict
from braincore.model.outcomes import Conflict
from braincore.model.records import Alternative
from braincore.model.times import parse_time
from braincore.serve import requests as ask
from braincore.serve import views
from braincore.serve.context import context_block, without_ours
from braincore.serve.health import doctor, status
from braincore.serve.imports import import_lines

__all__ = ["VERBS", "Reply", "Verb"]


Shape = TypeVar("Shape")


@dataclass(frozen=True, slots=True)
class Reply(Generic[Shape]):
    """A JSON object in a shape of `braincore.shapes`, and the command line's exit code."""

    body: Shape
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb's request model and what it does; the shape of its answer is what `run` says it
    returns."""

    request: type[BaseModel]
    run: Callable[[Brain, Any, Caller], Reply[Any]]

    @property
    def answer(self) -> Any:
        """The type of the JSON object that the verb answers with."""
        (shape,) = get_args(get_type_hints(self.run)["return"])
        return shape


def _kind(name: str) -> Kind | None:
    if not name:
        return None
    allowed = [Kind.FACT, Kind.RELATION, Kind.ENTITY, Kind.HYPOTHESIS, Kind.LEARNING]
    if name not in allowed:
        raise InvalidInput(
            f"--kind {name!r} can't be remembered this way",
            f"Use one of {', '.join(allowed)}; decisions have `decide`, failures `fail`.",
        )
    return Kind(name)


def _scope(name: str) -> Scope:
    if name not in list(Scope):
        raise InvalidInput(f"--scope {name!r} is unknown", f"Use one of {', '.join(Scope)}.")
    return Scope(name)


def remember(brain: Brain, r: ask.RememberRequest, caller: Caller) -> Reply[shapes.Stored]:
    """Store a statement."""
    given = Statement(
        text=r.text,
        source=r.source,
        kind=_kind(r.kind),
        target=r.target,
        claim=check_claim(r.subject, r.predicate, r.object),
        valid_from=parse_time(r.valid_from) if r.valid_from else None,
        valid_until=parse_time(r.valid_until) if r.valid_until else None,
        confidence=r.confidence,
        scope=_scope(r.scope),
        namespace=r.namespace,
        tags=tuple(r.tags),
        symbols=tuple(r.symbols),
    )
    return Reply(views.stored(brain.remember(given, caller)))


def recall(brain: Brain, r: ask.RecallRequest, caller: Caller) -> Reply[shapes.Recalled]:
    """Answer or abstain."""
    found = brain.recall(
        RecallInput(
            text=r.query,
            target=r.target,
            symbols=tuple(r.symbols),
            limit=r.limit,
            offset=r.offset,
            as_of=parse_time(r.as_of) if r.as_of else None,
            valid_at=parse_time(r.valid_at) if r.valid_at else None,
            allow_uncertainty=r.allow_uncertainty,
            namespace=r.namespace,
            explain=r.explain,
        ),
        caller,
    )
    return Reply(views.answer(found, explained=r.explain))


def _alternative(text: str) -> Alternative:
    option, colon, because = text.partition(":")
    if not colon or not option.strip() or not because.strip():
        raise InvalidInput(
            f"{text!r} is no alternative", "Write --alternative 'OPTION: why it was rejected'."
        )
    return Alternative(option.strip(), because.strip())


def decide(brain: Brain, r: ask.DecideRequest, caller: Caller) -> Reply[shapes.Decided]:
    """Store a decision, or say what it conflicts with (exit 2)."""
    done = brain.decide(
        DecisionInput(
            title=r.title,
            problem=r.problem,
            alternatives=tuple(_alternative(a) for a in r.alternatives),
            decision=r.decision,
            reasoning=r.reasoning,
            source=r.source,
            target=r.target,
            governs=tuple(r.governs),
            supersedes=r.supersedes,
            coexists=r.coexists,
            namespace=r.namespace,
            scope=_scope(r.scope),
        ),
        caller,
    )
    return Reply(views.decided(done), 2 if isinstance(done, Conflict) else 0)


def outcome(brain: Brain, r: ask.OutcomeRequest, caller: Caller) -> Reply[shapes.Stored]:
    """Add what became of a decision."""
    return Reply(views.stored(brain.outcome(r.id, r.text, caller)))


def fail(brain: Brain, r: ask.FailRequest, caller: Caller) -> Reply[shapes.Stored]:
    """Store a failure."""
    given = FailureInput(
        r.title,
        r.broke,
        r.why,
        r.fix,
        r.evidence,
        r.fragment,
        r.target,
        r.source,
        r.namespace,
        _scope(r.scope),
    )
    return Reply(views.stored(brain.fail(given, caller)))


def why(brain: Brain, r: ask.NameRequest, caller: Caller) -> Reply[shapes.Why]:
    """The decision chains of a target or symbol, to what holds now."""
    chains = [
        views.chain(rows, [brain.stale_refs(row) for row in rows]) for rows in brain.why(r.name)
    ]
    if not chains:
        reason = "no_accepted_facts"
        step = advice.next_step(reason)
        return Reply({"outcome": "abstain", "reason": reason, "next": step, "chains": []})
    return Reply({"outcome": "answer", "reason": None, "next": None, "chains": chains})


def check(brain: Brain, r: ask.CheckRequest, caller: Caller) -> Reply[shapes.Checked]:
    """Judge one file's new content, or a diff."""
    notes: list[str] = []
    if r.diff is not None:
        found = brain.diff_edits(r.diff)
        edits, notes = list(found.edits), list(found.unknown)
    elif r.path and r.content is not None:
        edits = [brain.content_edit(r.path, r.content)]
    else:
        raise InvalidInput("nothing to check", "Give --file PATH --content FILE, or --diff FILE.")
    result = brain.check(edits, by_agent=False)
    body = views.checked(result)
    body["notes"] += notes
    return Reply(body, 2 if result.verdict in (Verdict.DENY, Verdict.ABSTAIN) else 0)


def related(brain: Brain, r: ask.NameRequest, caller: Caller) -> Reply[shapes.Related]:
    """The records linked to a symbol or path, and the code around it."""
    ref, records, near, dependents = brain.related(r.name)
    return Reply(
        {
            "ref": ref,
            "records": [
                {
                    **views.short(row),
                    "edges": [str(e.type) for e in row.edges if e.to.removeprefix("./") == ref],
                    "stale": brain.stale_refs(row),
                }
                for row in records
            ],
            "code": [
                {"relation": n.relation, "direction": n.direction, "ref": n.ref} for n in near
            ],
            "dependents": dependents,
        }
    )


def context(brain: Brain, r: ask.ContextRequest, caller: Caller) -> Reply[shapes.Context]:
    """What a prompt should bring along, within a token budget."""
    text, ids = context_block(brain, r.prompt, r.budget, caller.session)
    return Reply({"text": text, "records": ids})


def record(brain: Brain, r: ask.RecordRequest, caller: Caller) -> Reply[shapes.Recorded]:
    """Note one turn of a session as events: the prompt, and how the response worked out."""
    prompt, response = without_ours(r.prompt), without_ours(r.response)
    events = brain.interaction(prompt, response, r.success, caller)
    return Reply({"outcome": "recorded", "events": events})


def tasks(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Tasks]:
    """The open brain tasks."""
    return Reply({"tasks": [views.task(t) for t in brain.tasks()]})


def review(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Reviews]:
    """What waits for a person's decision."""
    return Reply({"reviews": [views.review(x) for x in brain.reviews()]})


def log(brain: Brain, r: ask.LogRequest, caller: Caller) -> Reply[shapes.Log]:
    """The newest commits of the journal."""
    return Reply({"log": [views.entry(e) for e in brain.log(r.limit)]})


def index(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Indexed]:
    """Bring the code index to the working tree."""
    began = time.monotonic()
    scan = brain.index()
    files, symbols, errors = brain.code.counts()
    return Reply(
        {
            "files": files,
            "symbols": symbols,
            "syntax_errors": errors,
            "changed": len(scan.changed),
            "removed": len(scan.removed),
            "skipped": [{"path": p, "reason": why} for p, why in scan.skipped],
            "seconds": round(time.monotonic() - began, 2),
        }
    )


def init(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Initialised]:
    """Make memory/, index the code."""
    restored = brain.attach()
    reply = index(brain, r, caller)
    rules = brain.rules()
    return Reply(
        {
            "outcome": "ready",
            "root": str(brain.place.root),
            "store": str(brain.place.store),
            "rules": len(rules.rules),
            "rule_errors": [f"{e.path}:{e.line}: {e.message}. {e.hint}" for e in rules.errors],
            "restored": restored,
            "version": __version__,
            **reply.body,
        }
    )


def rebuild(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Rebuilt]:
    """Fill graph and indexes anew from journal and working tree."""
    began = time.monotonic()
    before, after = brain.rebuild()
    return Reply(
        {
            "outcome": "rebuilt",
            "digest": after,
            "equal": before == after,
            "records": len(brain.table),
            "seconds": round(time.monotonic() - began, 2),
        }
    )


def import_(brain: Brain, r: ask.ImportRequest, caller: Caller) -> Reply[shapes.Imported]:
    """Store what the lines of a file say (exit 1 when one can't be stored)."""
    body = import_lines(brain, r, caller)
    return Reply(body, 1 if body["rejected"] else 0)


def _status(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Status]:
    """The brain in numbers."""
    return Reply(status(brain, caller))


def _doctor(brain: Brain, r: ask.NoRequest, caller: Caller) -> Reply[shapes.Doctored]:
    """Run the whole loop in a scratch repository and say what is wrong."""
    body = doctor(brain)
    return Reply(body, 0 if body["ok"] else 1)


VERBS: dict[str, Verb] = {
    "remember": Verb(ask.RememberRequest, remember),
    "recall": Verb(ask.RecallRequest, recall),
    "decide": Verb(ask.DecideRequest, decide),
    "outcome": Verb(ask.OutcomeRequest, outcome),
    "fail": Verb(ask.FailRequest, fail),
    "why": Verb(ask.NameRequest, why),
    "check": Verb(ask.CheckRequest, check),
    "related": Verb(ask.NameRequest, related),
    "context": Verb(ask.ContextRequest, context),
    "record": Verb(ask.RecordRequest, record),
    "import": Verb(ask.ImportRequest, import_),
    "tasks": Verb(ask.NoRequest, tasks),
    "review": Verb(ask.NoRequest, review),
    "log": Verb(ask.LogRequest, log),
    "status": Verb(ask.NoRequest, _status),
    "doctor": Verb(ask.NoRequest, _doctor),
    "rebuild": Verb(ask.NoRequest, rebuild),
    "index": Verb(ask.NoRequest, index),
    "init": Verb(ask.NoRequest, init),
}
