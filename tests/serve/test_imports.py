"""What a line of an imported file may hold, and what is said about one that can't be stored."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from braincore.brain import DecisionInput, FailureInput, Statement
from braincore.errors import InvalidInput
from braincore.journal.codec import encode_json
from braincore.model.axes import (
    Channel,
    EdgeType,
    Kind,
    LearningKind,
    Lifecycle,
    TruthStatus,
)
from braincore.model.records import (
    Alternative,
    Claim,
    Decision,
    Edge,
    Failure,
    Learning,
    Note,
    Record,
    new_id,
)
from braincore.serve.imports import parse_line

AT = datetime(2026, 3, 1, tzinfo=UTC)
DECISION = {
    "kind": "decision",
    "title": "Use kuzu",
    "problem": "Which graph database",
    "alternatives": [{"option": "neo4j", "rejected_because": "a server"}],
    "decision": "kuzu",
    "reasoning": "embedded",
}
FAILURE = {
    "kind": "failure",
    "title": "t",
    "broke": "b",
    "why": "w",
    "fix": "f",
    "evidence": "commit:HEAD",
}


def parsed(**row: Any) -> Any:
    return parse_line(json.dumps(row), 7)


def test_every_field_of_a_statement_arrives() -> None:
    line = parsed(
        text="The api listens on 80",
        source="user:ann",
        kind="relation",
        target="api",
        subject="api",
        predicate="listens on",
        object="80",
        valid_from="2026-01-02",
        valid_until="2026-02-03T04:05:06+01:00",
        confidence=1,
        scope="infra",
        namespace="ops",
        tags=["a", "b"],
        symbols=["app.py::f"],
    )
    given = line.given
    assert isinstance(given, Statement)
    assert line.line == 7
    assert line.stated == given.valid_from == datetime(2026, 1, 2, tzinfo=UTC)
    assert given.kind is Kind.RELATION
    assert given.claim == Claim("api", "listens on", "80")
    assert given.valid_until == datetime(2026, 2, 3, 3, 5, 6, tzinfo=UTC)
    assert (given.confidence, given.scope, given.namespace) == (1, "infra", "ops")
    assert (given.tags, given.symbols) == (("a", "b"), ("app.py::f",))


def test_kind_says_what_a_line_is() -> None:
    assert isinstance(parsed(**DECISION, governs=["a.py"]).given, DecisionInput)
    assert isinstance(parsed(**FAILURE).given, FailureInput)
    assert isinstance(parsed(text="x", kind="learning").given, Statement)
    assert parsed(text="x").given.kind is None


def exported(kind: Kind, body: Any, **more: Any) -> Record:
    made: dict[str, Any] = {
        "id": new_id(kind, AT),
        "kind": kind,
        "text": "The api listens on 80",
        "source_ref": "user:ann",
        "channel": Channel.PERSON,
        "trust": 0.9,
        "created_at": AT,
        "valid_from": AT,
        "body": body,
        "confidence": 0.8,
        "truth_status": TruthStatus.CONFIRMED,
        "lifecycle": Lifecycle.CONSOLIDATED,
        "target": "api",
        "tags": ("unparsed", "kept"),
        "sources": ("agent:x/y",),
        "edges": (Edge(EdgeType.ABOUT, "api", 0.5),),
    }
    return Record(**made | more)


@pytest.mark.parametrize(
    "record",
    [
        exported(Kind.FACT, Note(Claim("api", "listens on", "80", (("since", "May"),)), ("a",))),
        exported(Kind.HYPOTHESIS, Note(), valid_until=AT),
        exported(Kind.LEARNING, Learning(LearningKind.PITFALL)),
        exported(
            Kind.DECISION, Decision("t", "p", (Alternative("o", "r"),), "d", "r", "it went well")
        ),
        exported(Kind.FAILURE, Failure("t", "b", "w", "f", "commit:HEAD")),
    ],
    ids=lambda r: str(r.kind),
)
def test_a_record_as_exported_is_a_line(record: Record) -> None:
    line = parse_line(encode_json(record).decode(), 1)
    assert line.id == record.id
    assert line.stated == AT
    assert line.given.source == "user:ann"
    assert line.given.target == "api"
    if isinstance(line.given, Statement):
        assert line.given.tags == ("kept",)
        assert line.given.confidence == 0.8


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"superseded_by": ("fact-1",)}, "no longer in force"),
        ({"lifecycle": Lifecycle.ARCHIVED}, "no longer in force"),
        ({"truth_status": TruthStatus.DEPRECATED}, "no longer in force"),
        ({"truth_status": TruthStatus.CONTRADICTED}, "no longer in force"),
    ],
)
def test_what_was_left_behind_stays_behind(change: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_line(encode_json(exported(Kind.FACT, Note(), **change)).decode(), 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not json", "no JSON"),
        ('{"text": "x"', "no JSON"),
        ("[1]", "no JSON object"),
        ('"x"', "no JSON object"),
        ("[" * 100_000, "no JSON"),
        ('{"text": "\\ud800"}', "half a character"),
        ('{"text": 1}', "text: "),
        ("{}", "text: "),
        ('{"text": "x", "colour": "red"}', "colour: "),
        ('{"text": "x", "kind": "event"}', "kind: 'event'"),
        ('{"text": "x", "kind": ["fact"]}', "kind: "),
        ('{"text": "x", "kind": {"a": 1}}', "kind: "),
        ('{"text": "x", "scope": "moon"}', "scope: 'moon'"),
        ('{"text": "x", "valid_from": "soon"}', "not a time"),
        ('{"text": "x", "created_at": "99999999"}', "not a time"),
        ('{"text": "x", "confidence": "high"}', "confidence: "),
        ('{"text": "x", "tags": "a"}', "tags: "),
        ('{"text": "x", "lifecycle": {"a": 1}, "kind": 3}', "kind: 3 is no kind"),
        ('{"text": "x", "subject": "a"}', "lacks"),
        ('{"text": "x", "claim": {"subject": "a"}}', "claim.predicate: "),
        ('{"kind": "decision", "title": "t"}', "problem: "),
        ('{"kind": "failure", "title": "t"}', "broke: "),
    ],
)
def test_a_bad_line_is_refused_with_its_field(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_line(text, 1)
