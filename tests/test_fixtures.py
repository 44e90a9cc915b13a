"""Each graph fixture, loaded into a fresh brain, shows through the verbs what its README says."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pygit2
import pytest

from braincore import fixtures
from braincore.brain import Brain, RecallInput, open_brain
from braincore.graph.queries import digest
from braincore.intake.statement import Caller
from braincore.journal.codec import decode, encode, folder_of
from braincore.model.axes import Channel, EdgeType, Kind, Reason
from braincore.model.edits import CheckResult, Edit, Verdict
from braincore.model.outcomes import Abstain, Answer
from braincore.model.records import Decision, Record, Review

NAMES = (
    "contradiction",
    "never_retry",
    "postgres_to_clickhouse",
    "redis_story",
    "superseded_chain_20",
    "two_users",
)
PERSON = Caller(Channel.PERSON, "maya")

CODE = {
    "accounts/models.py": "class User:\n    def delete(self):\n        self.deleted = True\n",
    "billing/models.py": "class User:\n    def delete(self):\n        raise PermissionError\n",
    "billing/charge.py": "def charge(card, cents):\n    return gateway.charge(card, cents)\n",
    "cache/redis_client.py": "def connect(host):\n    return redis.Redis(pool(host))\n",
    "events/store.py": "def save(event):\n    return event\n",
    "jobs/queue.py": "def put(job):\n    return job\n",
}
"""The code that the records of the fixtures speak of: without it they would be stale."""


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Callable[[str], Brain]]:
    """A brain of its own for a fixture, in a repository that has the code."""
    brains = []

    def load(name: str) -> Brain:
        root = tmp_path / name
        pygit2.init_repository(str(root), initial_head="main")
        for path, text in CODE.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        brain = open_brain(str(root))
        brains.append(brain)
        assert brain.keeper.graph  # open first, so that every record is projected live
        fixtures.load(name, brain)
        return brain

    yield load
    for brain in brains:
        brain.close()


def ask(brain: Brain, text: str, target: str = "", at: datetime | None = None) -> Answer | Abstain:
    """One question by a person."""
    return brain.recall(RecallInput(text, target=target, valid_at=at), PERSON)


def answers(brain: Brain, text: str, target: str = "", at: datetime | None = None) -> list[str]:
    """The texts of an answer, best first."""
    found = ask(brain, text, target, at)
    assert isinstance(found, Answer), found
    return [f.record.text for f in found.facts]


def written(brain: Brain, path: str, fragment: str) -> CheckResult:
    """What an agent is told that writes a fragment into the only function of a file."""
    before = brain.code.files.text(path)
    after = (before or "def charge(card, cents):\n    pass\n").partition("\n")[0] + "\n" + fragment
    return brain.check([Edit(path, before, after)], by_agent=True)


def files_of(name: str) -> list[Path]:
    """The record files of a fixture."""
    return [f for f in (fixtures.folder() / name).rglob("*.md") if f.name != "README.md"]


def test_every_fixture_is_named_here() -> None:
    assert fixtures.names() == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_record_files_are_as_the_journal_writes_them(name: str) -> None:
    for file in files_of(name):
        record = decode(file.read_bytes(), file.name)
        assert encode(record) == file.read_bytes()
        assert file.stem == record.id
        assert file.parent.name == folder_of(record.kind)
        ends = [(e.type, e.to) for e in record.edges]
        assert ends and len(set(ends)) == len(ends)


@pytest.mark.parametrize("name", NAMES)
def test_readme_says_in_two_sentences_what_the_fixture_shows(name: str) -> None:
    heading, _, text = (
        (fixtures.folder() / name / "README.md").read_text(encoding="utf-8").partition("\n")
    )
    assert heading == f"# {name}"
    assert len([line for line in text.splitlines() if line]) == 2
    assert all(line.endswith(".") for line in text.splitlines() if line)


@pytest.mark.parametrize("name", NAMES)
def test_rebuilt_graph_equals_the_live_one(name: str, loaded: Callable[[str], Brain]) -> None:
    brain = loaded(name)
    assert len(brain.table) == len(files_of(name))
    live = digest(brain.keeper.graph)
    brain.keeper.rebuild()
    assert digest(brain.keeper.graph) == live
    brain.index()
    before, after = brain.rebuild()
    assert before == after


def test_redis_story_tells_what_broke_and_what_became_of_the_fix(
    loaded: Callable[[str], Brain],
) -> None:
    brain = loaded("redis_story")
    found = ask(brain, "What caused the Redis timeouts at peak load?")
    assert isinstance(found, Answer)
    cause = found.facts[0].record
    assert cause.kind is Kind.FAILURE
    assert "each request opened its own connection" in cause.text
    assert answers(brain, "How do the web workers share connections to Redis?")[0] == (
        "Each process takes its Redis connections from one pool of 20"
    )
    for name in ("redis_connections", "cache/redis_client.py::connect"):
        [[decision]] = brain.why(name)
        assert isinstance(decision.body, Decision)
        assert decision.body.outcome.startswith("No login timed out")
        assert cause.id in [e.to for e in decision.edges if e.type is EdgeType.EVIDENCE]
    [lesson] = [r for r in brain.table if r.kind is Kind.LEARNING]
    assert (EdgeType.DERIVED_FROM, cause.id) in [(e.type, e.to) for e in lesson.edges]


def test_redis_story_refuses_the_lines_that_broke(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("redis_story")
    broken = (
        "    client = redis.Redis(\n        host=host, socket_timeout=5\n    )\n    client.ping()\n"
    )
    result = written(brain, "cache/redis_client.py", broken)
    assert result.verdict is Verdict.DENY
    assert "take every connection from the one pool" in result.repair_plan[0].change
    assert any("governs this" in note for note in result.notes)
    assert (
        written(brain, "cache/redis_client.py", "    return pooled(host)\n").verdict
        is Verdict.ALLOW
    )


def test_redis_story_abstains_on_what_it_does_not_know(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("redis_story")
    first, again = (ask(brain, "Which server runs MongoDB?") for _ in range(2))
    assert isinstance(first, Abstain) and isinstance(again, Abstain)
    assert first.reason == Reason.NO_ACCEPTED_FACTS
    assert first.task is not None and first.task == again.task
    assert [t.id for t in brain.tasks()] == [first.task]


def test_postgres_to_clickhouse_answers_for_today_and_for_then(
    loaded: Callable[[str], Brain],
) -> None:
    brain = loaded("postgres_to_clickhouse")
    question = "What does the event store run on?"
    assert sorted(answers(brain, question)) == [
        "The event store runs on ClickHouse 24 for analytics",
        "The event store runs on PostgreSQL 16 for OLTP",
    ]
    assert answers(brain, "What does the event store run on for OLTP?") == [
        "The event store runs on PostgreSQL 16 for OLTP"
    ]
    assert answers(brain, "What does the event store run on for analytics?") == [
        "The event store runs on ClickHouse 24 for analytics"
    ]
    then = ask(brain, question, at=datetime(2024, 8, 1, tzinfo=UTC))
    assert isinstance(then, Answer)
    assert [f.record.text for f in then.facts] == ["The event store runs on PostgreSQL 15"]
    assert then.facts[0].flags == ("historical",)


def test_postgres_to_clickhouse_follows_the_decision(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("postgres_to_clickhouse")
    [chain] = brain.why("event_store")
    assert [r.title for r in chain] == [
        "PostgreSQL for all events",
        "ClickHouse for event analytics",
    ]
    question = "Which database stores the events?"
    living = "Store events for analytics in ClickHouse and keep PostgreSQL for OLTP"
    assert answers(brain, question)[0] == living
    assert answers(brain, question, at=datetime(2024, 8, 1, tzinfo=UTC))[0] == (
        "Store all events in PostgreSQL"
    )
    notes = brain.check(
        [Edit("events/store.py", CODE["events/store.py"], "def save(event):\n    pass\n")],
        by_agent=True,
    ).notes
    assert len(notes) == 1 and living in notes[0]


def test_two_users_abstains_when_either_could_be_meant(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("two_users")
    for question in ("What about User?", "deleted User row"):
        found = ask(brain, question)
        assert isinstance(found, Abstain)
        assert found.reason == Reason.AMBIGUITY_UNRESOLVED
        assert {r.reason for r in found.rejected} == {Reason.AMBIGUITY_UNRESOLVED}
        assert found.task is not None


def test_two_users_answers_when_one_is_named(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("two_users")
    for target, kept in (
        ("accounts/models.py::User", "30 days"),
        ("billing/models.py::User", "10"),
    ):
        found = ask(brain, "deleted User row", target)
        assert isinstance(found, Answer)
        assert kept in found.facts[0].record.text
        assert {f.record.target for f in found.facts} == {target}


def test_superseded_chain_ends_at_the_living_decision(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("superseded_chain_20")
    for name in ("job_queue", "jobs/queue.py::put"):
        [chain] = brain.why(name)
        assert len(chain) == 21
        assert all(one.superseded_by == (two.id,) for one, two in pairwise(chain))
        assert [r for r in chain if not r.superseded_by] == [chain[-1]]
    living = "Queue background jobs in PostgreSQL with pg_partman and LISTEN"
    assert chain[-1].text == living
    for question in ("Where are background jobs queued?", "Are background jobs queued in Kafka?"):
        assert answers(brain, question) == [living]


def test_contradiction_withholds_both_until_the_review_is_decided(
    loaded: Callable[[str], Brain],
) -> None:
    brain = loaded("contradiction")
    [review] = brain.reviews()
    assert isinstance(review.body, Review)
    named = {c.ref for c in review.body.candidates}
    for question in ("When does the API gateway time out?", "timeout of the API gateway"):
        found = ask(brain, question)
        assert isinstance(found, Abstain)
        assert found.reason == Reason.CONTRADICTION_UNRESOLVED
        assert {r.id for r in found.rejected} == named
        assert {r.reason for r in found.rejected} == {Reason.CONTRADICTION_UNRESOLVED}
    assert answers(brain, "Which port does the API gateway listen on?") == [
        "The API gateway listens on port 8080"
    ]


def _fragment(brain: Brain) -> tuple[Record, str]:
    [(record, failure)] = brain.table.failures()
    assert failure.fragment is not None
    return record, failure.fragment.text


def test_never_retry_denies_in_its_place_and_warns_elsewhere(
    loaded: Callable[[str], Brain],
) -> None:
    brain = loaded("never_retry")
    record, fragment = _fragment(brain)
    at_home = written(brain, "billing/charge.py", fragment)
    assert at_home.verdict is Verdict.DENY
    assert [f.source for f in at_home.findings] == [record.id]
    assert "idempotency key" in at_home.repair_plan[0].change
    assert record.id in at_home.repair_plan[0].evidence
    elsewhere = written(brain, "shop/checkout.py", fragment)
    assert elsewhere.verdict is Verdict.WARN
    assert [f.source for f in elsewhere.findings] == [record.id]


def test_never_retry_passes_what_only_looks_alike(loaded: Callable[[str], Brain]) -> None:
    brain = loaded("never_retry")
    _, fragment = _fragment(brain)
    other = fragment.replace("gateway.charge(card, cents)", "gateway.lookup(card)")
    assert written(brain, "billing/charge.py", other).verdict is Verdict.ALLOW
    layout = fragment.replace("        try:\n", "        try:  # once more\n\n")
    assert written(brain, "billing/charge.py", layout).verdict is Verdict.DENY
