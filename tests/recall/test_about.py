"""Is this record about what was asked: each step with its reason, on single records."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, Reason, TruthStatus
from braincore.model.records import Alternative, Claim, Decision, Edge, Failure, Note, Record
from braincore.recall.about import about
from braincore.recall.question import parse_question

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACT = Record(
    id="fact-01ARZ3NDEKTSV4RRFFQ69G5FAV",
    kind=Kind.FACT,
    text="",
    source_ref="user:ann",
    channel=Channel.PERSON,
    trust=0.9,
    created_at=NOW,
    valid_from=NOW,
    body=Note(),
    truth_status=TruthStatus.CONFIRMED,
    lifecycle=Lifecycle.WORKING,
)

SURE, PROBABLE = "sure", "probable"


def fact(text: str, target: str = "", claim: Claim | None = None, **more: Any) -> Record:
    """A fact with a text, a target, a claim."""
    return replace(FACT, text=text, target=target, body=Note(claim), **more)


def outcome(question: str, record: Record, **more: Any) -> str:
    """`sure`, `probable`, or the reason of the reject."""
    fit = about(parse_question(question, **more), record)
    if fit.reason is not None:
        return str(fit.reason)
    return PROBABLE if fit.probable else SURE


@pytest.mark.parametrize(
    ("question", "record", "wanted"),
    [
        # Every content word of each side occurs in the other.
        ("staging port", fact("It listens on 8443.", "staging_port"), SURE),
        ("StagingPort", fact("It listens on 8443.", "staging_port"), SURE),
        ("staging ports", fact("It listens on 8443.", "staging_port"), SURE),
        ("the graphql endpoint", fact("It is /q.", "GraphQL endpoint"), SURE),
        ("the GraphQL endpoint", fact("It is /q.", "graphql endpoint"), SURE),
        ("web socket limit", fact("It is 5.", "WebSocket limit"), SURE),
        ("websocket limit", fact("It is 5.", "web socket limit"), SURE),
        ("who owns the back-end?", fact("Ann owns the backend.", "backend"), SURE),
        # .9 of the question's words and .6 of the name's.
        ("staging api", fact("It listens.", "staging api port"), PROBABLE),
        ("staging", fact("It listens.", "staging api port"), Reason.MENTION_ONLY),
        # Not told at all.
        ("staging password", fact("It listens.", "staging_port"), Reason.OFF_TOPIC),
        # Anchors: numbers, units, versions, identifiers, quotes, names.
        ("is staging on 8443", fact("Staging is on 8443."), SURE),
        ("is staging on 8444", fact("Staging is on 8443."), Reason.ANCHOR_MISMATCH),
        ("times out after 30 s", fact("Times out after 30 seconds."), SURE),
        ("times out after 30 s", fact("Times out after 30 ms."), Reason.ANCHOR_MISMATCH),
        ("larger than 25 MB", fact("Larger than 25 MB."), SURE),
        ("larger than 25 GB", fact("Larger than 25 MB."), Reason.ANCHOR_MISMATCH),
        ("times out after 1,000 ms", fact("Times out after 1000 ms."), SURE),
        ("two replicas run", fact("2 replicas run."), SURE),
        ("3 replicas run", fact("2 replicas run."), Reason.ANCHOR_MISMATCH),
        ("is v1.2 live", fact("Version 1.2 is live."), PROBABLE),
        ("is v1.2 live", fact("Version 1.3 is live."), Reason.ANCHOR_MISMATCH),
        ("is `fast_path` on", fact("The fast path is on."), SURE),
        ("is `fast_path` on", fact("The path is fast."), Reason.ANCHOR_MISMATCH),
        ('does it say "no such file"', fact('It says "no such file".'), SURE),
        ('does it say "no such file"', fact('It says "file not found".'), Reason.ANCHOR_MISMATCH),
        ("does it run on Kafka", fact("It runs on RabbitMQ."), Reason.ANCHOR_MISMATCH),
        ("is it written in C++", fact("It is written in C."), Reason.ANCHOR_MISMATCH),
        # A number belongs to its noun.
        ("2 nodes", fact("3 nodes and 2 replicas run.", "nodes"), PROBABLE),
        ("3 nodes", fact("3 nodes and 2 replicas run.", "nodes"), SURE),
        # Another subject in the same sentence.
        ("does redis restart", fact("Redis caches; Celery has to restart.", "redis"), PROBABLE),
        ("does redis cache", fact("Redis caches; Celery has to restart.", "redis"), SURE),
        ("does celery cache", fact("Redis caches; Celery restarts.", "redis"), PROBABLE),
        # The claim but for one slot.
        ("checkout database", fact("x", "", Claim("checkout", "database", "Postgres")), SURE),
        ("Postgres database", fact("x", "", Claim("checkout", "database", "Postgres")), SURE),
        (
            "checkout owner",
            fact("x", "", Claim("checkout", "database", "Postgres")),
            Reason.OFF_TOPIC,
        ),
        # Which/what asks for a kind of thing that nobody writes down.
        (
            "which tool serves dashboards",
            fact("Grafana serves dashboards.", "dashboards"),
            PROBABLE,
        ),
        (
            "which tool dashboards",
            fact("Grafana serves dashboards.", "dashboards"),
            Reason.OFF_TOPIC,
        ),
        # Nothing to go by.
        ("", fact("Redis is on.", "redis"), Reason.OFF_TOPIC),
        ("what is it?", fact("Redis is on.", "redis"), Reason.OFF_TOPIC),
        ("the [redacted: github token]", fact("[redacted: github token]"), Reason.OFF_TOPIC),
    ],
)
def test_facts(question: str, record: Record, wanted: str) -> None:
    assert outcome(question, record) == wanted


DECISION = replace(
    FACT,
    kind=Kind.DECISION,
    text="Sessions are kept in Redis.",
    target="session_store",
    body=Decision(
        "Redis for sessions",
        "where sessions are kept",
        (Alternative("Memcached", "loses everything on restart"),),
        "Sessions are kept in Redis.",
        "Expiry comes for free.",
    ),
)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("why Redis for sessions?", SURE),
        ("where are sessions kept?", SURE),
        ("what did we decide about the session store?", SURE),
        ("why not Memcached?", SURE),
        ("why was Memcached rejected for sessions?", SURE),
        ("why Redis instead of Memcached for sessions?", SURE),
        ("why Memcached instead of Redis for sessions?", PROBABLE),
        ("why do we use Memcached?", Reason.MENTION_ONLY),
        ("is expiry free?", Reason.MENTION_ONLY),
        ("why don't we use Redis for sessions?", PROBABLE),
        ("why not Kafka for sessions?", Reason.ANCHOR_MISMATCH),
    ],
)
def test_decisions(question: str, wanted: str) -> None:
    assert outcome(question, DECISION) == wanted


FAILURE = replace(
    FACT,
    kind=Kind.FAILURE,
    text="Pool shared by workers: it was made before the fork",
    target="connection_pool",
    body=Failure("Pool shared by workers", "Deadlock", "early", "own pool", "commit:abc"),
)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("connection pool", SURE),
        ("what broke the connection pool?", SURE),
        ("was the pool shared by workers?", SURE),
        ("connection pool size", Reason.OFF_TOPIC),
    ],
)
def test_failures(question: str, wanted: str) -> None:
    assert outcome(question, FAILURE) == wanted


SYMBOL = fact("GetUser caches for 5 minutes.", "auth/user.py::GetUser")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("GetUser", SURE),
        ("does get_user cache?", SURE),
        ("does auth.GetUser cache?", SURE),
        ("does the GetUser function cache?", SURE),
        ("does GetUser raise?", PROBABLE),
        ("does billing.GetUser cache?", Reason.ANCHOR_MISMATCH),
        ("does GetUsers cache?", Reason.ANCHOR_MISMATCH),
    ],
)
def test_symbols(question: str, wanted: str) -> None:
    assert outcome(question, SYMBOL) == wanted


@pytest.mark.parametrize(
    ("question", "more", "wanted"),
    [
        ("how long?", {"target": "auth/user.py::GetUser"}, PROBABLE),
        ("does it raise?", {"target": "auth/user.py::GetUser"}, PROBABLE),
        ("does it cache?", {"target": "b.py::GetUser"}, Reason.OFF_TOPIC),
        ("does it cache?", {"symbols": ("auth/user.py::GetUser",)}, SURE),
        ("does it cache?", {"symbols": ("b.py::GetUser",)}, Reason.OFF_TOPIC),
        ("is it 9 minutes?", {"target": "auth/user.py::GetUser"}, Reason.ANCHOR_MISMATCH),
    ],
)
def test_explicit_targets(question: str, more: dict[str, Any], wanted: str) -> None:
    assert outcome(question, SYMBOL, **more) == wanted


def test_a_mention_is_no_link() -> None:
    weak = fact("We left Redis.", "cache", edges=(Edge(EdgeType.ABOUT, "redis", 0.2),))
    assert outcome("is it fast?", weak, target="redis") == Reason.OFF_TOPIC
    stated = replace(weak, edges=(Edge(EdgeType.ABOUT, "redis", 0.5),))
    assert outcome("is it fast?", stated, target="redis") == PROBABLE
