"""The verbs that read: what they answer, what they open, and that they change nothing else."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braincore.brain import RecallInput
from braincore.errors import InvalidInput
from braincore.intake.statement import Caller, DecisionInput, Statement
from braincore.model.axes import Channel, Kind
from braincore.model.outcomes import Abstain, Answer
from braincore.model.records import Alternative, Claim, Record, Task

ANN = Caller(Channel.PERSON, "ann")
BOT = Caller(Channel.AGENT, "claude-code/s1", "s1")


def say(brain: Any, text: str, target: str = "", who: Caller = ANN, **more: Any) -> Record:
    """Remember a statement."""
    record: Record = brain.remember(Statement(text, target=target, **more), who).record
    return record


def ask(brain: Any, text: str, **more: Any) -> Answer | Abstain:
    """Recall as a person."""
    found: Answer | Abstain = brain.recall(replace(RecallInput(text), **more), ANN)
    return found


def tasks(brain: Any) -> list[Task]:
    """The bodies of the open tasks."""
    return [r.body for r in brain.tasks() if isinstance(r.body, Task)]


# — tasks —


def test_asked_twice_it_is_one_task(scratch: Any) -> None:
    first = ask(scratch.brain, "which port does staging use?")
    second = ask(scratch.brain, "Which port is used by STAGING?")
    assert isinstance(first, Abstain) and isinstance(second, Abstain)
    assert first.task == second.task is not None
    (task,) = tasks(scratch.brain)
    assert task.bumps == 2
    assert task.key == "port stage ?which"


def test_another_question_word_is_another_task(scratch: Any) -> None:
    ask(scratch.brain, "which port is for staging?")
    ask(scratch.brain, "why is there a port for staging?")
    ask(scratch.brain, "which port is for staging?", target="gateway")
    assert sorted(t.key for t in tasks(scratch.brain)) == [
        "@gateway port stage ?which",
        "port stage ?which",
        "port stage ?why",
    ]


def test_the_task_says_what_is_missing(scratch: Any) -> None:
    say(scratch.brain, "I think staging is on port 1.", "staging_port")
    found = ask(scratch.brain, "staging port")
    assert isinstance(found, Abstain) and found.reason == "unverified"
    (task,) = tasks(scratch.brain)
    assert "a confirmation" in task.needs
    assert "1 on record" in task.why
    assert task.query == "staging port"


@pytest.mark.parametrize("when", ["as_of", "valid_at"])
def test_questions_about_the_past_open_no_task(scratch: Any, when: str) -> None:
    found = ask(scratch.brain, "staging port", **{when: scratch.clock()})
    assert isinstance(found, Abstain) and found.task is None
    assert tasks(scratch.brain) == []


def test_context_opens_no_task_and_counts_no_use(scratch: Any) -> None:
    said = say(scratch.brain, "Staging is on port 1.", "staging_port")
    before = scratch.state()
    assert scratch.brain.context("mend the staging port please", 5) == [said]
    assert scratch.brain.context("paint the shed", 5) == []
    assert scratch.state() == before
    assert scratch.brain.keeper.usage.of(said.id)[0] == 0


def test_context_withholds_what_the_gate_withholds(scratch: Any) -> None:
    say(scratch.brain, "I think staging is on port 1.", "staging_port")
    later = scratch.clock() + timedelta(days=1)
    say(scratch.brain, "Production is on port 2.", "production_port", valid_from=later)
    assert scratch.brain.context("staging port, production port", 5) == []


# — recall changes nothing but usage —


def test_an_answer_changes_nothing_but_usage(scratch: Any) -> None:
    said = say(scratch.brain, "Staging is on port 1.", "staging_port")
    before = scratch.state()
    for count in (1, 2):
        assert isinstance(ask(scratch.brain, "staging port"), Answer)
        assert scratch.brain.keeper.usage.of(said.id)[0] == count
    assert scratch.state() == before


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    words=st.lists(
        st.sampled_from(
            "which port does staging redis use production not 1 2 why is the on cache".split()
        ),
        min_size=1,
        max_size=7,
    ),
    uncertain=st.booleans(),
)
def test_recall_never_changes_what_is_believed(
    scratch: Any, words: list[str], uncertain: bool
) -> None:
    if not len(scratch.brain.table):
        say(scratch.brain, "Staging is on port 1.", "staging_port")
        say(scratch.brain, "Production is on port 2.", "production_port", BOT)
        say(scratch.brain, "Maybe Redis is the cache.", "cache")
    believed = [r for r in scratch.state()[1] if r.kind is not Kind.TASK]
    head = scratch.state()[0]
    found = ask(scratch.brain, " ".join(words), allow_uncertainty=uncertain)
    after = scratch.state()
    assert [r for r in after[1] if r.kind is not Kind.TASK] == believed
    assert (after[0] == head) is isinstance(found, Answer)
    again = ask(scratch.brain, " ".join(words), allow_uncertainty=uncertain)
    assert type(again) is type(found)
    if isinstance(found, Answer) and isinstance(again, Answer):
        assert [f.record.id for f in again.facts] == [f.record.id for f in found.facts]


# — time —


def test_as_of_is_what_was_believed_and_valid_at_what_held(scratch: Any) -> None:
    start = scratch.clock()
    old = say(scratch.brain, "Staging is on port 1.", "staging_port")
    scratch.clock.move(days=10)
    # Said on day 10, about a time that began on day 5.
    held = start + timedelta(days=5)
    new = say(scratch.brain, "Staging answers on port 2.", "staging_port", valid_from=held)
    scratch.clock.move(days=10)

    def ids(**when: Any) -> set[str]:
        found = ask(scratch.brain, "staging port", **when)
        return {f.record.id for f in found.facts} if isinstance(found, Answer) else set()

    assert ids(as_of=start + timedelta(days=7)) == {old.id}
    assert ids(valid_at=start + timedelta(days=7)) == {old.id, new.id}
    assert ids(valid_at=start + timedelta(days=3)) == {old.id}
    assert ids(valid_at=start - timedelta(days=3)) == set()
    assert ids(as_of=start - timedelta(days=3)) == set()
    assert ids() == {old.id, new.id}
    with pytest.raises(InvalidInput, match="exclude each other"):
        ids(as_of=start, valid_at=start)


def test_what_ended_since_is_still_what_was_believed_then(scratch: Any) -> None:
    start = scratch.clock()
    ends = start + timedelta(days=5)
    say(scratch.brain, "Staging is on port 1.", "staging_port", valid_until=ends)
    scratch.clock.move(days=10)
    now = ask(scratch.brain, "staging port")
    assert isinstance(now, Abstain) and now.reason == "temporal_invalid"
    then = ask(scratch.brain, "staging port", as_of=start + timedelta(days=1))
    assert isinstance(then, Answer)
    assert "historical" in then.facts[0].flags
    held = ask(scratch.brain, "staging port", valid_at=start + timedelta(days=1))
    assert isinstance(held, Answer)
    assert "historical" in held.facts[0].flags


def test_what_still_holds_is_not_historical(scratch: Any) -> None:
    say(scratch.brain, "Staging is on port 1.", "staging_port")
    found = ask(scratch.brain, "staging port", valid_at=scratch.clock() + timedelta(days=1))
    assert isinstance(found, Answer) and found.facts[0].flags == ()


def test_a_superseded_decision_answers_with_what_holds(scratch: Any) -> None:
    given = DecisionInput(
        title="MySQL for orders",
        problem="where orders live",
        alternatives=(Alternative("files", "no"),),
        decision="Orders live in MySQL.",
        reasoning="known",
        target="orders_store",
    )
    ids = []
    for name in ("MySQL", "MariaDB", "PostgreSQL"):
        decision = f"Orders live in {name}."
        old = ids[-1] if ids else ""
        more = replace(given, title=f"{name} for orders", decision=decision, supersedes=old)
        ids.append(scratch.brain.decide(more, ANN).record.id)
        scratch.clock.move(days=1)
    for question in ("why MySQL for orders?", "why MariaDB for orders", "where do orders live?"):
        found = ask(scratch.brain, question)
        assert isinstance(found, Answer)
        assert [f.record.id for f in found.facts] == [ids[-1]]
    (chain,) = scratch.brain.why("orders_store")
    assert [r.id for r in chain] == ids
    past = ask(scratch.brain, "why MySQL for orders?", valid_at=scratch.clock() - timedelta(days=3))
    assert isinstance(past, Answer)
    assert (past.facts[0].record.id, past.facts[0].flags) == (ids[0], ("historical",))


# — what stands beside —


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("API calls time out after 30 s.", "API calls time out after 90 s."),
        ("Retry an API timeout.", "Never retry an API timeout."),
    ],
)
def test_statements_that_differ_are_marked(scratch: Any, one: str, two: str) -> None:
    say(scratch.brain, one, "api_timeout")
    alone = ask(scratch.brain, "api timeout")
    assert isinstance(alone, Answer) and alone.facts[0].flags == ()
    say(scratch.brain, two, "api_timeout")
    both = ask(scratch.brain, "api timeout")
    assert isinstance(both, Answer)
    assert [f.flags for f in both.facts] == [("one_of_several",)] * 2


def test_the_other_number_is_marked_even_when_it_is_vetoed(scratch: Any) -> None:
    say(scratch.brain, "API calls time out after 30 s.", "api_timeout")
    say(scratch.brain, "API calls time out after 90 s.", "api_timeout")
    found = ask(scratch.brain, "do API calls time out after 30 s?")
    assert isinstance(found, Answer)
    assert [f.flags for f in found.facts] == [("one_of_several",)]


def test_claims_that_differ_are_marked(scratch: Any) -> None:
    for port in ("1", "2"):
        say(
            scratch.brain,
            f"The staging port is {port}.",
            "staging_port",
            claim=Claim("staging", "port", port),
        )
    found = ask(scratch.brain, "staging port")
    assert isinstance(found, Answer)
    assert all("one_of_several" in f.flags for f in found.facts)


def test_an_unbelieved_rival_marks_nothing(scratch: Any) -> None:
    say(scratch.brain, "API calls time out after 30 s.", "api_timeout")
    say(scratch.brain, "Maybe API calls time out after 90 s.", "api_timeout")
    found = ask(scratch.brain, "api timeout")
    assert isinstance(found, Answer) and found.facts[0].flags == ()


def test_a_symbol_with_a_twin_in_the_code_is_doubted(scratch: Any) -> None:
    scratch.commit("x", a="class User:\n    pass\n", b="class User:\n    pass\n")
    scratch.brain.index()
    say(scratch.brain, "User holds the profile.", "a.py::User")
    bare = ask(scratch.brain, "what does User hold?")
    assert isinstance(bare, Answer) and bare.facts[0].flags == ("probable",)
    full = ask(scratch.brain, "what does a.py::User hold?")
    assert isinstance(full, Answer) and full.facts[0].flags == ()


def test_code_that_is_gone_is_stale(scratch: Any) -> None:
    scratch.commit("x", a="class User:\n    pass\n")
    scratch.brain.index()
    say(scratch.brain, "User holds the profile.", "a.py::User")
    assert isinstance(ask(scratch.brain, "what does User hold?"), Answer)
    (scratch.root / "a.py").write_text("class Person:\n    pass\n")
    scratch.brain.index()
    found = ask(scratch.brain, "what does User hold?")
    assert isinstance(found, Abstain) and found.reason == "stale_code"


# — explicit target, pages, uncertainty, namespaces —


def test_an_unrelated_question_with_a_target_is_marked(scratch: Any) -> None:
    say(scratch.brain, "Staging is on port 1.", "staging_port")
    found = ask(scratch.brain, "who won the cup?", target="staging_port")
    assert isinstance(found, Answer) and found.facts[0].flags == ("probable",)
    known = ask(scratch.brain, "which port is it?", target="StagingPort")
    assert isinstance(known, Answer) and known.facts[0].flags == ()
    other = ask(scratch.brain, "staging port", target="production_port")
    assert isinstance(other, Abstain)


def test_pages_are_cut_from_one_order(scratch: Any) -> None:
    for n in range(7):
        say(scratch.brain, f"Staging port rule {n}x holds.", "staging_port")
    whole = ask(scratch.brain, "staging port", limit=7)
    assert isinstance(whole, Answer) and whole.total == 7
    paged = []
    for offset in range(0, 7, 3):
        part = ask(scratch.brain, "staging port", limit=3, offset=offset)
        assert isinstance(part, Answer) and part.total == 7
        paged += [f.record.id for f in part.facts]
    assert paged == [f.record.id for f in whole.facts]


def test_uncertainty_lets_rejects_through_marked(scratch: Any) -> None:
    sure = say(scratch.brain, "Staging is on port 1.", "staging_port")
    guess = say(scratch.brain, "Maybe the staging port is 2.", "staging_port")
    strict = ask(scratch.brain, "staging port")
    assert isinstance(strict, Answer)
    assert [f.record.id for f in strict.facts] == [sure.id]
    assert [(r.id, r.reason) for r in strict.rejected] == [(guess.id, "unverified")]
    loose = ask(scratch.brain, "staging port", allow_uncertainty=True)
    assert isinstance(loose, Answer)
    flags = {f.record.id: f.flags for f in loose.facts}
    assert flags == {sure.id: (), guess.id: ("unverified", "hypothesis")}


def test_other_namespaces_are_neither_answered_nor_listed(scratch: Any) -> None:
    say(scratch.brain, "Staging is on port 1.", "staging_port", namespace="secret")
    found = ask(scratch.brain, "staging port")
    assert isinstance(found, Abstain) and found.rejected == ()
    assert isinstance(ask(scratch.brain, "staging port", namespace="secret"), Answer)
