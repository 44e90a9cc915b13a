"""The verbs that write, through journal and table."""

import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from braincore import locate
from braincore.brain import Brain, RecallInput
from braincore.errors import InvalidInput, UnknownReference
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, TruthStatus
from braincore.model.outcomes import Abstain, Answer, Conflict, Stored
from braincore.model.records import Alternative, Claim, Decision, Failure, Record

ANN = Caller(Channel.PERSON, "ann")
BOB = Caller(Channel.PERSON, "bob")
ONE = Caller(Channel.AGENT, "claude-code/s1", "s1")
TWO = Caller(Channel.AGENT, "codex/s2", "s2")
LLM = Caller(Channel.LLM, "parser")

DECISION = DecisionInput(
    title="PostgreSQL for orders",
    problem="where orders are stored",
    alternatives=(Alternative("MySQL", "no JSONB"),),
    decision="Orders are stored in PostgreSQL.",
    reasoning="JSONB",
    target="orders_store",
)


def kept(done: Stored | Conflict) -> Record:
    """The record of a verb that must have stored one."""
    assert isinstance(done, Stored)
    return done.record


def say(brain: Any, text: str, who: Caller = ANN, **more: Any) -> Record:
    """Remember a statement."""
    return kept(brain.remember(Statement(text, **more), who))


# — who says it —


def test_a_person_confirms(scratch: Any) -> None:
    said = say(scratch.brain, "Redis is on 6379.", target="redis_port")
    assert (said.truth_status, said.trust, said.source_ref) == (
        TruthStatus.CONFIRMED,
        0.9,
        "user:ann",
    )


def test_an_agent_proposes(scratch: Any) -> None:
    said = say(scratch.brain, "Redis is on 6379.", ONE, target="redis_port")
    assert (said.truth_status, said.trust, said.source_ref) == (
        TruthStatus.CANDIDATE,
        0.5,
        "agent:claude-code/s1",
    )


def test_an_agent_gains_nothing_by_naming_a_person(scratch: Any) -> None:
    said = say(scratch.brain, "Redis is on 6379.", ONE, target="redis_port", source="user:ann")
    assert (said.truth_status, said.trust) == (TruthStatus.CANDIDATE, 0.5)


def test_what_a_model_extracts_is_a_hypothesis(scratch: Any) -> None:
    said = say(scratch.brain, "Redis is on 6379.", LLM, target="redis_port")
    assert (said.truth_status, said.trust) == (TruthStatus.HYPOTHESIS, 0.3)


@pytest.mark.parametrize("who", [ANN, ONE])
def test_hedged_text_is_a_hypothesis(scratch: Any, who: Caller) -> None:
    said = say(scratch.brain, "Maybe Redis is on 6379.", who, target="redis_port")
    assert said.kind is Kind.HYPOTHESIS
    assert (said.truth_status, said.confidence) == (TruthStatus.HYPOTHESIS, 0.4)


def test_verified_evidence_lifts_an_agent(scratch: Any) -> None:
    sha = scratch.commit("Limit the pool", src__pool="LIMIT = 3\n")
    said = say(
        scratch.brain, "The pool is limited.", ONE, target="pool", source=f"commit:{sha[:9]}"
    )
    assert (said.truth_status, said.trust) == (TruthStatus.CONFIRMED, 0.85)
    assert said.source_ref == f"commit:{sha}"


def test_evidence_of_something_else_lifts_nobody(scratch: Any) -> None:
    sha = scratch.commit("Limit the pool", src__pool="LIMIT = 3\n")
    said = say(scratch.brain, "Tokens live a day.", ONE, target="tokens", source=f"commit:{sha}")
    assert (said.truth_status, said.trust) == (TruthStatus.CANDIDATE, 0.5)


def test_evidence_that_is_missing_is_refused_and_nothing_is_kept(scratch: Any) -> None:
    scratch.commit("Limit the pool", pool="LIMIT = 3\n")
    before = scratch.state()
    with pytest.raises(UnknownReference, match="No commit 'fffffff' exists"):
        say(scratch.brain, "x", target="pool", source="commit:fffffff")
    with pytest.raises(UnknownReference, match=r"Did you mean pool\.py\?"):
        say(scratch.brain, "x", target="pool", source="file:src/pool.py#L1")
    assert scratch.state() == before


def test_unknown_symbols_are_refused_with_near_names(scratch: Any) -> None:
    scratch.commit("x", pool="def connect():\n    pass\n")
    with pytest.raises(UnknownReference, match=r"Did you mean pool\.py::connect\?"):
        say(scratch.brain, "x", target="pool.py::conect")
    with pytest.raises(UnknownReference, match="No symbol"):
        say(scratch.brain, "x", symbols=("pool.py::gone",))


def test_secrets_never_reach_the_store(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    brain = Brain(locate.find(tmp_path))
    secret = "ghp_" + "aB3dE5gH7j" * 4
    said = say(brain, f"The token is {secret}.", target="token")
    assert "[redacted: github token]" in said.text
    asked = brain.recall(RecallInput(f"what is {secret} for"), ANN)
    assert isinstance(asked, Abstain)
    brain.close()
    files = [path for path in brain.place.store.rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []


# — links —


@pytest.mark.parametrize(
    ("given", "to"),
    [
        (Statement("It is limited.", target="Pool Size"), "pool_size"),
        (Statement("It is limited.", claim=Claim("Pool", "limit", "3")), "pool"),
        (Statement("We call `max_retries` here."), "max_retries"),
        (Statement("Nightly builds are slow."), "nightly_builds"),
    ],
)
def test_every_record_is_linked(scratch: Any, given: Statement, to: str) -> None:
    said = kept(scratch.brain.remember(given, ANN))
    assert to in [e.to for e in said.edges]
    assert said.lifecycle is not Lifecycle.STAGING


def test_what_nothing_links_waits_in_staging(scratch: Any) -> None:
    said = say(scratch.brain, "It is what it is.")
    assert (said.edges, said.lifecycle) == ((), Lifecycle.STAGING)
    found = scratch.brain.recall(RecallInput("it is what it is"), ANN)
    assert isinstance(found, Abstain)


def test_a_mention_is_a_weak_edge(scratch: Any) -> None:
    said = say(scratch.brain, "We left Redis for Valkey.", target="cache")
    strength = {e.to: e.strength for e in said.edges}
    assert strength["cache"] == 0.5
    assert strength["redis"] == strength["valkey"] == 0.2


# — said again —


def test_the_same_said_twice_is_one_record(scratch: Any) -> None:
    one = scratch.brain.remember(Statement("Redis is on 6379.", target="redis"), ANN)
    head = scratch.state()
    two = scratch.brain.remember(Statement("redis is on 6379", target="redis"), ANN)
    assert (two.duplicate, two.record.id) == (True, one.record.id)
    assert scratch.state() == head


def test_another_source_strengthens(scratch: Any) -> None:
    one = say(scratch.brain, "Redis is on 6379.", target="redis")
    two = say(scratch.brain, "Redis is on 6379.", BOB, target="redis")
    assert (two.id, two.sources) == (one.id, ("user:bob",))
    assert len(scratch.brain.table) == 1


def test_two_agent_sessions_never_confirm_each_other(scratch: Any) -> None:
    say(scratch.brain, "Redis is on 6379.", ONE, target="redis")
    for who in (TWO, ONE, replace(TWO, name="codex/s3")):
        said = say(scratch.brain, "Redis is on 6379.", who, target="redis")
    assert (said.truth_status, said.trust) == (TruthStatus.CANDIDATE, 0.5)
    faked = say(scratch.brain, "Redis is on 6379.", TWO, target="redis", source="user:ann")
    assert (faked.truth_status, faked.trust) == (TruthStatus.CANDIDATE, 0.5)
    assert "user:ann" not in faked.sources


@pytest.mark.parametrize("source", ["", "user:ann"])
def test_a_person_confirms_what_an_agent_said(scratch: Any, source: str) -> None:
    one = say(scratch.brain, "Redis is on 6379.", ONE, target="redis", source=source)
    two = say(scratch.brain, "Redis is on 6379.", ANN, target="redis")
    assert (two.id, two.truth_status, two.trust) == (one.id, TruthStatus.CONFIRMED, 0.9)


def test_an_agent_takes_nothing_from_what_a_person_said(scratch: Any) -> None:
    say(scratch.brain, "Redis is on 6379.", target="redis")
    two = say(scratch.brain, "Redis is on 6379.", ONE, target="redis")
    assert (two.truth_status, two.trust, two.channel) == (
        TruthStatus.CONFIRMED,
        0.9,
        Channel.PERSON,
    )


def test_a_withheld_statement_said_again_for_now_holds_now(scratch: Any) -> None:
    later = datetime(2030, 1, 1, tzinfo=UTC)
    say(scratch.brain, "Redis is on 6379.", target="redis", valid_from=later)
    say(scratch.brain, "Redis is on 6379.", target="redis")
    assert isinstance(scratch.brain.recall(RecallInput("redis"), ANN), Answer)


# — decisions —


def test_the_same_target_and_problem_conflict(scratch: Any) -> None:
    first = kept(scratch.brain.decide(DECISION, ANN))
    other = replace(DECISION, title="MySQL for orders", decision="Orders are stored in MySQL.")
    before = scratch.state()
    found = scratch.brain.decide(other, ANN)
    assert isinstance(found, Conflict)
    assert [r.id for r in found.conflicts] == [first.id]
    assert scratch.state() == before


@pytest.mark.parametrize(
    "change",
    [
        {"target": "invoices_store"},
        {"target": ""},
        {"problem": "who owns the schema"},
        {"problem": "where orders are not stored"},
        {"problem": "where orders of version 2 are stored"},
        {"namespace": "other"},
        {"coexists": True},
    ],
)
def test_what_is_no_conflict_stands_beside(scratch: Any, change: dict[str, Any]) -> None:
    first = kept(scratch.brain.decide(DECISION, ANN))
    other = replace(DECISION, title="MySQL for orders", decision="Orders are in MySQL.", **change)
    second = kept(scratch.brain.decide(other, ANN))
    assert first.id != second.id
    assert scratch.brain.table.get(first.id) == first


def test_one_target_in_two_spellings_conflicts(scratch: Any) -> None:
    scratch.brain.decide(replace(DECISION, target="OrdersStore"), ANN)
    other = replace(DECISION, decision="Orders are stored in MySQL.")
    assert isinstance(scratch.brain.decide(other, ANN), Conflict)


def test_the_same_decision_twice_is_one(scratch: Any) -> None:
    first = kept(scratch.brain.decide(DECISION, ANN))
    again = scratch.brain.decide(DECISION, ANN)
    assert isinstance(again, Stored)
    assert (again.duplicate, again.record.id) == (True, first.id)


def test_supersession_ends_the_old_decision(scratch: Any) -> None:
    first = kept(scratch.brain.decide(DECISION, ANN))
    scratch.clock.move(days=3)
    later = replace(DECISION, decision="Orders are in ClickHouse.", supersedes=first.id)
    second = kept(scratch.brain.decide(later, ANN))
    old = scratch.brain.table.get(first.id)
    assert old.truth_status is TruthStatus.DEPRECATED
    assert old.superseded_by == (second.id,)
    assert old.valid_until == second.valid_from == scratch.clock()
    with pytest.raises(InvalidInput, match=f"is superseded already, by {second.id}"):
        scratch.brain.decide(later, ANN)
    third = replace(DECISION, decision="Orders are in SQLite.")
    found = scratch.brain.decide(third, ANN)
    assert isinstance(found, Conflict)
    assert [r.id for r in found.conflicts] == [second.id]


def test_superseding_nothing_is_refused(scratch: Any) -> None:
    said = say(scratch.brain, "Redis is on 6379.", target="redis")
    for missing in ("decision-01ARZ3NDEKTSV4RRFFQ69G5FAV", said.id):
        with pytest.raises(UnknownReference, match="No decision"):
            scratch.brain.decide(replace(DECISION, supersedes=missing), ANN)


def test_an_outcome_is_added_to_the_chain(scratch: Any) -> None:
    first = kept(scratch.brain.decide(DECISION, ANN))
    scratch.brain.outcome(first.id, "Writes got faster.", ANN)
    told = kept(scratch.brain.outcome(first.id, "Nobody misses MySQL.", ANN))
    assert isinstance(told.body, Decision)
    assert told.body.outcome == "Writes got faster.\nNobody misses MySQL."
    assert told.id == first.id
    with pytest.raises(UnknownReference, match="No decision"):
        scratch.brain.outcome("decision-01ARZ3NDEKTSV4RRFFQ69G5FAV", "x", ANN)
    with pytest.raises(InvalidInput, match="--outcome is empty"):
        scratch.brain.outcome(first.id, " ", ANN)


def test_a_decision_governs_code_that_exists(scratch: Any) -> None:
    scratch.commit("x", pool="def connect():\n    pass\n")
    given = replace(DECISION, governs=("pool.py::connect", "pool.py"))
    decided = kept(scratch.brain.decide(given, ANN))
    governed = [e.to for e in decided.edges if e.type is EdgeType.GOVERNS]
    assert governed == ["pool.py::connect", "./pool.py"]
    with pytest.raises(UnknownReference):
        scratch.brain.decide(replace(DECISION, title="x", governs=("gone.py",)), ANN)


# — failures —

BROKEN = "def start(app):\n    engine = create_engine(app.url)\n    fork(app.workers)\n"


def failure(sha: str, **more: Any) -> FailureInput:
    """A failure with its evidence."""
    given = FailureInput(
        title="Pool shared by workers",
        broke="Workers deadlocked.",
        why="The pool was made before the fork.",
        fix="Each worker makes its own.",
        evidence=f"commit:{sha}",
        target="connection_pool",
    )
    return replace(given, **more)


def test_a_failure_needs_evidence_that_exists(scratch: Any) -> None:
    scratch.commit("x", start=BROKEN)
    with pytest.raises(UnknownReference, match="No commit"):
        scratch.brain.fail(failure("fffffff"), ANN)
    with pytest.raises(UnknownReference, match="No test file"):
        scratch.brain.fail(failure("", evidence="test:tests/test_gone.py::test_x"), ANN)


def test_the_fragment_is_kept_with_its_place(scratch: Any) -> None:
    sha = scratch.commit("x", src__start=BROKEN)
    done = scratch.brain.fail(failure(sha, fragment="src/start.py:1-3"), ONE)
    body = done.record.body
    assert isinstance(body, Failure) and body.fragment is not None
    assert (body.fragment.text, body.fragment.places) == (BROKEN, ("src/start.py",))
    # The commit touches the file the fragment is from: verified.
    assert (done.record.truth_status, done.record.trust) == (TruthStatus.CONFIRMED, 0.85)
    assert done.notes == ()


def test_a_failure_without_fragment_says_what_it_cannot_do(scratch: Any) -> None:
    sha = scratch.commit("x", src__start=BROKEN)
    done = scratch.brain.fail(failure(sha), ANN)
    assert "can't stop an edit" in done.notes[0]


def test_a_short_fragment_is_refused(scratch: Any) -> None:
    sha = scratch.commit("x", src__start=BROKEN, short="x = 1\n")
    with pytest.raises(InvalidInput, match="too short to be told again"):
        scratch.brain.fail(failure(sha, fragment="short.py"), ANN)
    with pytest.raises(InvalidInput, match="Give a range inside the file"):
        scratch.brain.fail(failure(sha, fragment="src/start.py:90-91"), ANN)


def test_a_fragment_from_outside_belongs_where_the_commit_was(
    scratch: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sha = scratch.commit("x", src__start="def start():\n    pass\n")
    (scratch.root / "notes.md").write_text("x")
    outside = tmp_path_factory.mktemp("elsewhere") / "broken.py"
    outside.write_text(BROKEN)
    body = scratch.brain.fail(failure(sha, fragment=str(outside)), ANN).record.body
    assert isinstance(body, Failure) and body.fragment is not None
    assert body.fragment.places == ("src/start.py",)


# — time —


def test_a_future_statement_is_withheld_until_then(scratch: Any) -> None:
    start = datetime(2026, 2, 1, tzinfo=UTC)
    say(scratch.brain, "Redis is on 6380.", target="redis_port", valid_from=start)
    early = scratch.brain.recall(RecallInput("redis port"), ANN)
    assert isinstance(early, Abstain) and early.reason == "temporal_invalid"
    scratch.clock.now = start
    assert isinstance(scratch.brain.recall(RecallInput("redis port"), ANN), Answer)


def test_a_clock_set_back_loses_and_withholds_nothing(scratch: Any) -> None:
    one = say(scratch.brain, "Redis is on 6379.", target="redis_port")
    scratch.clock.move(hours=-5)
    found = scratch.brain.recall(RecallInput("redis port"), ANN)
    assert isinstance(found, Answer)
    two = say(scratch.brain, "Valkey is on 6380.", target="valkey_port")
    assert two.created_at > one.created_at
    assert isinstance(scratch.brain.recall(RecallInput("valkey port"), ANN), Answer)


def test_times_strictly_increase_on_a_clock_that_stands(scratch: Any) -> None:
    said = [say(scratch.brain, f"Fact {n} holds.", target=f"fact {n}") for n in range(5)]
    times = [r.created_at for r in said]
    assert times == sorted(set(times))


def test_an_agent_does_not_supersede_what_a_person_confirmed(scratch: Any) -> None:
    first = kept(scratch.brain.decide(DECISION, ANN))
    later = replace(DECISION, decision="Orders are in ClickHouse.", supersedes=first.id)
    refused = scratch.brain.decide(later, ONE)
    assert isinstance(refused, Conflict)
    assert refused.conflicts == (first,)
    assert "ask a person" in refused.reason
    assert scratch.brain.table.get(first.id) == first


def test_an_agent_supersedes_what_an_agent_said(scratch: Any) -> None:
    first = kept(scratch.brain.decide(DECISION, ONE))
    later = replace(DECISION, decision="Orders are in ClickHouse.", supersedes=first.id)
    second = kept(scratch.brain.decide(later, TWO))
    assert scratch.brain.table.get(first.id).superseded_by == (second.id,)
