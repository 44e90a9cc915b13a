"""A file of statements goes through the intake of every other one, a batch a commit."""

import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from braincore.brain import Brain, Caller, DecisionInput, FailureInput, Imported, Statement
from braincore.graph.queries import digest
from braincore.journal.store import Change, Why
from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, TruthStatus
from braincore.model.records import Alternative, Claim, Record

PERSON = Caller(Channel.PERSON, "ann")
AGENT = Caller(Channel.AGENT, "claude/s1", "s1")
WHY = Why("x", "user:ann", "person", "x")


def facts(count: int, first: int = 0) -> list[Imported]:
    return [
        Imported(n + 1, Statement(f"Machine {n} listens on port {8000 + n}", target=f"machine_{n}"))
        for n in range(first, first + count)
    ]


def one(given: Statement | DecisionInput | FailureInput, **more: object) -> list[Imported]:
    return [Imported(1, given, **more)]  # type: ignore[arg-type]


def decision(title: str = "Use kuzu", **more: object) -> DecisionInput:
    return DecisionInput(
        title,
        "Which graph database do we use",
        (Alternative("neo4j", "it needs a server"),),
        f"{title} for the graph",
        "It is embedded",
        **more,  # type: ignore[arg-type]
    )


def in_step(brain: Brain) -> None:
    """Graph and keywords are what a rebuild makes of the journal."""
    live = digest(brain.keeper.graph)
    keyword = brain.keeper.keyword
    with brain.keeper.lock:
        for record in brain.table:
            assert record.id in keyword.search(record.text, 2000)
    brain.keeper.rebuild()
    assert digest(brain.keeper.graph) == live
    assert brain.keeper.problem == ""
    head = brain.keeper.journal.head
    assert head is not None
    written = {e.record.id: e.record for e in brain.keeper.journal.read(head)}
    assert written == {r.id: r for r in brain.table}


@pytest.mark.parametrize("count", [1, 49, 50, 99, 100, 300])
def test_a_batch_is_one_commit_and_everything_follows(scratch, count: int) -> None:  # type: ignore[no-untyped-def]
    before = len(list(scratch.brain.keeper.journal.log()))
    done = scratch.brain.import_records(facts(count), PERSON, "notes.jsonl")
    assert (done.stored, done.duplicates, done.rejected) == (count, 0, [])
    assert len(list(scratch.brain.keeper.journal.log())) == before + 1
    assert len(scratch.brain.table) == count
    in_step(scratch.brain)


def test_batches_beside_single_writes_and_changes_to_what_is_there(scratch) -> None:  # type: ignore[no-untyped-def]
    brain = scratch.brain
    said = brain.remember(Statement("Machine 7 listens on port 8007", target="machine_7"), AGENT)
    kept = brain.remember(Statement("Backups are kept for `ninety days`", target="backups"), AGENT)
    _ = brain.keeper.graph
    # One batch makes records, confirms one, and lets another one go.
    new = [brain.table.get(i) for i in (said.record.id, kept.record.id)]
    done = brain.import_records(facts(220), PERSON, "notes.jsonl", batch=110)
    assert (done.stored, done.duplicates) == (219, 1)
    row = new[1]
    assert row is not None
    rows = [r for r in brain.table if r.target in ("machine_1", "machine_2")]
    more = [Change(r, replace(r, edges=())) for r in rows] + [Change(row, None)]
    extra = [Change(None, _copy(r, number)) for number, r in enumerate(list(brain.table)[:150])]
    brain.keeper.commit([*more, *extra], WHY)
    in_step(brain)


def _copy(record: Record, number: int) -> Record:
    return replace(record, id=f"{record.id[:-4]}{number:04d}", text=f"copy {number}")


def test_importing_again_changes_nothing(scratch) -> None:  # type: ignore[no-untyped-def]
    lines = [
        *facts(120),
        Imported(121, decision(target="graph_db")),
        Imported(122, Statement("Maybe the cache is `too small`", target="cache_size")),
        Imported(123, Statement("Staging uses Redis", source="user:bob", kind=Kind.LEARNING)),
    ]
    for caller in (AGENT, PERSON):
        first = scratch.brain.import_records(lines, caller, "notes.jsonl")
        state = scratch.state()
        again = scratch.brain.import_records(lines, caller, "notes.jsonl")
        assert (again.stored, again.duplicates, again.rejected) == (0, 123, [])
        assert scratch.state() == state
    assert first.duplicates == 123


def test_a_line_said_twice_in_one_file_is_one_record(scratch) -> None:  # type: ignore[no-untyped-def]
    done = scratch.brain.import_records([*facts(60), *facts(60)], AGENT, "notes.jsonl")
    assert (done.stored, done.duplicates) == (60, 60)
    assert len(scratch.brain.table) == 60


def test_trust_is_an_imports_at_most_and_nothing_is_confirmed_unread(scratch) -> None:  # type: ignore[no-untyped-def]
    sha = scratch.commit("Add the retry loop", retry="def retry():\n    return 1\n")
    lines = [
        Imported(1, Statement("Machine 1 is blue")),
        Imported(2, Statement("Machine 2 is blue", source="user:ann")),
        Imported(3, Statement("The retry loop was added", source=f"commit:{sha}", target="retry")),
        Imported(4, Statement("The retry file says `return 1` there", source="file:retry.py")),
    ]
    for caller, most in ((PERSON, 0.6), (AGENT, 0.5)):
        space = str(caller.channel)
        here = [replace(x, given=replace(x.given, namespace=space)) for x in lines]
        assert scratch.brain.import_records(here, caller, "x.jsonl").stored == 4
        rows = [r for r in scratch.brain.table if r.namespace == space]
        assert [r.trust for r in rows] == [most, most, 0.85, 0.8]
        assert [r.truth_status for r in rows] == [
            *[TruthStatus.CANDIDATE] * 2,
            *[TruthStatus.CONFIRMED] * 2,
        ]
        assert rows[0].source_ref == "import:x.jsonl"


def test_every_record_has_a_home(scratch) -> None:  # type: ignore[no-untyped-def]
    scratch.commit("code", app="def load():\n    pass\n")
    lines = [
        Imported(1, Statement("It is so")),
        Imported(2, Statement("It is not so", source="file:app.py")),
    ]
    scratch.brain.import_records(lines, AGENT, "x.jsonl")
    bare, cited = sorted(scratch.brain.table, key=lambda r: r.created_at)
    assert (EdgeType.EVIDENCE, "import:x.jsonl") in [(e.type, e.to) for e in bare.edges]
    assert (EdgeType.EVIDENCE, "./app.py") in [(e.type, e.to) for e in cited.edges]
    assert {r.lifecycle for r in (bare, cited)} == {Lifecycle.WORKING}


def test_secrets_are_replaced_in_every_field(scratch) -> None:  # type: ignore[no-untyped-def]
    secret = "ghp_" + "a1B2c3D4e5" * 4
    lines = [
        Imported(1, Statement(f"The token is {secret}", tags=(secret,), target=f"x {secret}")),
        Imported(2, decision(secret)),
    ]
    done = scratch.brain.import_records(lines, AGENT, f"{secret}.jsonl")
    assert done.stored == 2
    head = scratch.brain.keeper.journal.head
    assert secret not in "".join(str(r) for r in scratch.brain.table)
    for _, blob in scratch.brain.keeper.journal.blobs(head):
        assert secret.encode() not in scratch.brain.keeper.journal.blob(blob)
    assert secret not in "".join(e.why + e.subject for e in scratch.brain.keeper.journal.log())


def test_bad_lines_are_reported_and_the_others_go_in(scratch) -> None:  # type: ignore[no-untyped-def]
    bad = [
        Statement(""),
        Statement("x" * 70_000),
        Statement("a fact", target="ab"),
        Statement("a fact", source="nonsense"),
        Statement("a fact", source="file:missing.py"),
        Statement("a fact", source="commit:0123456789"),
        Statement("a fact", target="app.py::missing"),
        Statement("a fact", confidence=7.0),
        Statement(
            "a fact",
            valid_from=datetime(2026, 2, 1, tzinfo=UTC),
            valid_until=datetime(2026, 1, 1, tzinfo=UTC),
        ),
        decision(supersedes="decision-01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        replace(decision(), alternatives=()),
        FailureInput("t", "b", "w", "f", "commit:0123456789"),
        FailureInput("t", "b", "w", "f", "nothing"),
    ]
    lines = [
        x
        for n, given in enumerate(bad)
        for x in (Imported(2 * n + 1, given), replace(facts(1, n)[0], line=2 * n + 2))
    ]
    done = scratch.brain.import_records(lines, PERSON, "x.jsonl")
    assert done.stored == len(bad)
    assert [r.line for r in done.rejected] == [2 * n + 1 for n in range(len(bad))]
    assert all(r.reason.strip().endswith((".", "?")) or ")" in r.reason for r in done.rejected)


# — an older file over newer data —


def test_what_was_superseded_does_not_come_back(scratch) -> None:  # type: ignore[no-untyped-def]
    brain = scratch.brain
    old = brain.decide(decision("Use neo4j", target="graph_db"), PERSON).record
    new = brain.decide(decision("Use kuzu", target="graph_db", supersedes=old.id), PERSON).record
    state = scratch.state()
    done = brain.import_records(one(decision("Use neo4j", target="graph_db")), PERSON, "old.jsonl")
    assert (done.stored, done.duplicates, done.rejected) == (0, 1, [])
    done = brain.import_records(one(Statement("anything"), id=new.id), PERSON, "old.jsonl")
    assert (done.stored, done.duplicates) == (0, 1)
    assert scratch.state() == state


def test_a_rival_decision_is_rejected_unless_it_says_how_both_stand(scratch) -> None:  # type: ignore[no-untyped-def]
    brain = scratch.brain
    first = brain.import_records(
        [Imported(1, decision("Use kuzu")), Imported(2, decision("Use neo4j"))], PERSON, "x.jsonl"
    )
    assert first.stored == 1
    assert [r.line for r in first.rejected] == [2]
    assert "conflicts with decision-" in first.rejected[0].reason
    (kept,) = brain.table
    more = [
        Imported(1, decision("Use sqlite", coexists=True)),
        Imported(2, decision("Use duckdb", supersedes=kept.id)),
        *facts(3, 2),
    ]
    done = brain.import_records(more, PERSON, "x.jsonl")
    # An import is trusted less than the person who decided.
    assert done.stored == 5 or [r.line for r in done.rejected] == [2]
    in_step(brain)


def test_an_older_claim_is_kept_but_never_answers(scratch) -> None:  # type: ignore[no-untyped-def]
    def claim(port: str, **more: object) -> Statement:
        text = f"The api listens on {port}"
        return Statement(text, claim=Claim("api", "listens on", port), **more)  # type: ignore[arg-type]

    scratch.brain.remember(claim("8443", valid_from=datetime(2025, 6, 1, tzinfo=UTC)), PERSON)
    old = datetime(2024, 1, 1, tzinfo=UTC)
    lines = [
        Imported(1, claim("80"), old),
        Imported(2, claim("81", valid_until=datetime(2024, 5, 1, tzinfo=UTC)), old),
        Imported(3, claim("9443"), datetime(2025, 12, 1, tzinfo=UTC)),
    ]
    assert scratch.brain.import_records(lines, PERSON, "old.jsonl").stored == 3
    where = {r.text[-4:].strip(): r.lifecycle for r in scratch.brain.table}
    assert where["n 80"] is Lifecycle.STAGING
    assert Lifecycle.STAGING not in (where["n 81"], where["9443"], where["8443"])


# — others at the same time —


def test_what_others_write_meanwhile_makes_no_twins(scratch) -> None:  # type: ignore[no-untyped-def]
    brain = scratch.brain
    done = threading.Event()
    lines = facts(300)

    def also() -> None:
        for line in reversed(lines):
            assert isinstance(line.given, Statement)
            brain.remember(line.given, AGENT)
            if done.is_set():
                return

    other = threading.Thread(target=also)
    other.start()
    for _ in range(3):
        brain.import_records(lines, PERSON, "x.jsonl", batch=100)
    done.set()
    other.join()
    assert len({r.text for r in brain.table}) == len(brain.table) == 300
    in_step(brain)


def test_two_imports_at_once_make_no_twins(scratch) -> None:  # type: ignore[no-untyped-def]
    brain = scratch.brain
    counts = []

    def run() -> None:
        counts.append(brain.import_records(facts(250), PERSON, "x.jsonl", batch=60).stored)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == len(brain.table) == 250
    in_step(brain)
