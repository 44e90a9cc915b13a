"""`import`: lines of JSON become statements, decisions and failures; the format is in
docs/operations.md.

A line is one of what the verbs take, or a record as braincore exports it; of the latter, what
intake finds out itself (trust, edges, lifecycle, …) is passed over.
"""

import json
import time
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from braincore import shapes
from braincore.brain import (
    Brain,
    Caller,
    DecisionInput,
    FailureInput,
    Imported,
    ImportReport,
    Rejected,
    Statement,
    check_claim,
)
from braincore.errors import InvalidInput
from braincore.model.axes import Kind, Lifecycle, Scope, TruthStatus
from braincore.model.records import Alternative
from braincore.model.times import parse_time
from braincore.serve import requests as ask

__all__ = ["import_lines", "parse_line"]

STATEMENTS = (Kind.FACT, Kind.RELATION, Kind.ENTITY, Kind.HYPOTHESIS, Kind.LEARNING)
FOUND_OUT = (
    *("channel", "trust", "truth_status", "lifecycle", "edges", "sources", "aliases", "learning"),
    *("superseded_by", "outcome"),
)
"""Fields of an exported record that intake finds out anew."""
LEFT_BEHIND = (Lifecycle.ARCHIVED, TruthStatus.DEPRECATED, TruthStatus.CONTRADICTED)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str = ""
    source: str = ""
    target: str = ""
    namespace: str = "main"
    scope: str = "local"
    id: str = ""
    created_at: str = ""


class _Claim(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    subject: str
    predicate: str
    object: str


class _Statement(_Line):
    text: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    claim: _Claim | None = None
    valid_from: str = ""
    valid_until: str | None = None
    confidence: float | None = None
    tags: list[str] = Field(default_factory=list)
    symbols: list[str] = Field(default_factory=list)

    def given(self) -> Statement:
        claim = self.claim
        parts = (
            (claim.subject, claim.predicate, claim.object)
            if claim is not None
            else (self.subject, self.predicate, self.object)
        )
        return Statement(
            text=self.text,
            source=self.source,
            kind=Kind(self.kind) if self.kind else None,
            target=self.target,
            claim=check_claim(*parts),
            valid_from=parse_time(self.valid_from) if self.valid_from else None,
            valid_until=parse_time(self.valid_until) if self.valid_until else None,
            confidence=self.confidence,
            scope=_scope(self.scope),
            namespace=self.namespace,
            tags=tuple(tag for tag in self.tags if tag != "unparsed"),
            symbols=tuple(self.symbols),
        )


class _Alternative(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    option: str
    rejected_because: str


class _Decision(_Line):
    title: str
    problem: str
    alternatives: list[_Alternative]
    decision: str
    reasoning: str
    governs: list[str] = Field(default_factory=list)
    supersedes: str = ""
    coexists: bool = False

    def given(self) -> DecisionInput:
        return DecisionInput(
            title=self.title,
            problem=self.problem,
            alternatives=tuple(
                Alternative(a.option, a.rejected_because) for a in self.alternatives
            ),
            decision=self.decision,
            reasoning=self.reasoning,
            source=self.source,
            target=self.target,
            governs=tuple(self.governs),
            supersedes=self.supersedes,
            coexists=self.coexists,
            namespace=self.namespace,
            scope=_scope(self.scope),
        )


class _Failure(_Line):
    title: str
    broke: str
    why: str
    fix: str
    evidence: str
    fragment: str = ""

    def given(self) -> FailureInput:
        return FailureInput(
            title=self.title,
            broke=self.broke,
            why=self.why,
            fix=self.fix,
            evidence=self.evidence,
            fragment=self.fragment,
            target=self.target,
            source=self.source,
            namespace=self.namespace,
            scope=_scope(self.scope),
        )


_EXPORTED = {
    Kind.DECISION: ("text", "valid_from", "valid_until", "confidence", "tags"),
    Kind.FAILURE: ("text", "valid_from", "valid_until", "confidence", "tags"),
}
"""Fields of an exported record that its kind takes from elsewhere."""


def import_lines(brain: Brain, r: ask.ImportRequest, caller: Caller) -> shapes.Imported:
    """Store what the lines of a file say."""
    began = time.monotonic()
    lines: list[Imported] = []
    rejected: list[Rejected] = []
    for number, text in enumerate(r.content.split("\n"), r.first_line):
        if not text.strip():
            continue
        try:
            lines.append(parse_line(text, number))
        except InvalidInput as error:
            rejected.append(Rejected(number, str(error)))
    done = brain.import_records(lines, caller, r.name) if lines else ImportReport(0, 0, ())
    found = sorted((*rejected, *done.rejected), key=lambda one: one.line)
    return {
        "outcome": "imported",
        "stored": done.stored,
        "duplicates": done.duplicates,
        "rejected": [{"line": one.line, "reason": one.reason} for one in found],
        "seconds": round(time.monotonic() - began, 3),
    }


def parse_line(text: str, number: int) -> Imported:
    """The statement, decision or failure of one line. Raises InvalidInput with the reason."""
    row = _object(text)
    kind = row.get("kind") or Kind.FACT
    if not isinstance(kind, str):
        raise InvalidInput(f"kind: {kind!r} is no kind", "Write it as text.")
    if row.get("superseded_by") or any(
        row.get(name) in LEFT_BEHIND for name in ("lifecycle", "truth_status")
    ):
        raise InvalidInput("it was no longer in force when it was exported", "Leave it out.")
    for name in FOUND_OUT:
        row.pop(name, None)
    if "source_ref" in row:
        row.setdefault("source", row["source_ref"])
        del row["source_ref"]
    of: type[_Statement | _Decision | _Failure]
    if kind in STATEMENTS:
        of = _Statement
    elif kind in _EXPORTED:
        of = _Decision if kind == Kind.DECISION else _Failure
        for name in _EXPORTED[Kind(kind)]:
            row.pop(name, None)
    else:
        allowed = ", ".join((*STATEMENTS, *_EXPORTED))
        raise InvalidInput(f"kind: {kind!r} can't be imported", f"Use one of {allowed}.")
    try:
        line = of.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{where}: {first['msg']}", f"See what a {kind} needs.") from None
    stated = parse_time(line.created_at) if line.created_at else None
    given = line.given()
    if isinstance(given, Statement) and given.valid_from is not None:
        stated = given.valid_from
    return Imported(number, given, stated, line.id)


def _object(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
        if "\\u" in text:  # an escape may stand for half a character
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidInput("it holds half a character", "Write valid Unicode.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is no JSON: {error}", "Write one JSON object a line.") from None
    if not isinstance(row, dict):
        raise InvalidInput("it is no JSON object", "Write one JSON object a line.")
    return row


def _scope(name: str) -> Scope:
    if name not in list(Scope):
        raise InvalidInput(f"scope: {name!r} is unknown", f"Use one of {', '.join(Scope)}.")
    return Scope(name)
