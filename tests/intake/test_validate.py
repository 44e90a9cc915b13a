"""Every check of intake with its reason, and the similarity of problems by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.errors import InvalidInput
from braincore.intake import validate
from braincore.intake.statement import DecisionInput, FailureInput, Statement
from braincore.model.axes import Channel, Kind, Lifecycle
from braincore.model.records import Alternative, Claim, Note, Record, new_id
from braincore.model.table import Table, text_key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DECISION = DecisionInput(
    title="Postgres",
    problem="where orders are stored",
    alternatives=(Alternative("MySQL", "no JSONB"),),
    decision="Orders are in Postgres.",
    reasoning="JSONB",
)
FAILURE = FailureInput("Pool shared", "deadlock", "forked", "own pool", "commit:abc")


def fact(text: str, **more: object) -> Record:
    """A fact of a person with some fields changed."""
    record = Record(
        id=new_id(Kind.FACT, NOW),
        kind=Kind.FACT,
        text=text,
        source_ref="user:ann",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=NOW,
        valid_from=NOW,
        body=Note(),
        lifecycle=Lifecycle.WORKING,
    )
    return replace(record, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00"])
def test_empty_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="--text is empty"):
        validate.check_text(Statement(text))


def test_long_text_is_refused() -> None:
    assert validate.clean("x" * validate.MAX_TEXT, "text")
    with pytest.raises(InvalidInput, match="65,537 characters"):
        validate.clean("x" * (validate.MAX_TEXT + 1), "text")


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not valid Unicode"):
        validate.clean("\ud800", "text")


@pytest.mark.parametrize("target", ["a", "ab", " ab "])
def test_short_targets_are_refused(target: str) -> None:
    with pytest.raises(InvalidInput, match="is too short"):
        validate.check_text(Statement("x", target=target))


@pytest.mark.parametrize(
    ("parts", "lacking"),
    [
        (("a", "b", ""), "object"),
        (("a", "", "c"), "predicate"),
        (("", "b", "c"), "subject"),
        (("", " ", "c"), "subject"),
    ],
)
def test_half_a_claim_is_refused(parts: tuple[str, str, str], lacking: str) -> None:
    with pytest.raises(InvalidInput, match=f"lacks --{lacking}"):
        validate.check_claim(*parts)


def test_a_claim_is_whole_or_absent() -> None:
    assert validate.check_claim("", " ", "") is None
    assert validate.check_claim(" a ", "b", "c") == Claim("a", "b", "c")


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf")])
def test_confidence_out_of_range_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        validate.check_confidence(confidence, hedge=False)


def test_confidence_defaults() -> None:
    assert validate.check_confidence(None, hedge=False) == 0.7
    assert validate.check_confidence(None, hedge=True) == 0.4
    assert validate.check_confidence(0.0, hedge=False) == 0.0
    assert validate.check_confidence(1.0, hedge=True) == 1.0


def test_valid_until_before_valid_from_is_refused() -> None:
    validate.check_temporal(NOW, None)
    validate.check_temporal(NOW, NOW)
    with pytest.raises(InvalidInput, match="lies before valid_from"):
        validate.check_temporal(NOW, NOW - timedelta(microseconds=1))


@pytest.mark.parametrize("field", ["title", "problem", "decision", "reasoning"])
def test_a_decision_needs_all_its_parts(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"--{field} is empty"):
        validate.check_decision(replace(DECISION, **{field: " "}))


@pytest.mark.parametrize(
    ("alternatives", "message"),
    [
        ((), "at least one alternative"),
        ((Alternative("MySQL", " "),), "lacks an option or a reason"),
        ((Alternative("", "slow"),), "lacks an option or a reason"),
    ],
)
def test_a_decision_needs_alternatives(alternatives: tuple[Alternative, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        validate.check_decision(replace(DECISION, alternatives=alternatives))


def test_supersedes_and_coexists_exclude_each_other() -> None:
    with pytest.raises(InvalidInput, match="exclude each other"):
        validate.check_decision(replace(DECISION, supersedes="decision-x", coexists=True))


@pytest.mark.parametrize("field", ["title", "broke", "why", "fix"])
def test_a_failure_needs_all_its_parts(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"--{field} is empty"):
        validate.check_failure(replace(FAILURE, **{field: ""}))


@pytest.mark.parametrize("evidence", ["", "abc", "user:ann", "url:https://x.example", "file:a.py"])
def test_a_failure_needs_evidence_that_can_be_found(evidence: str) -> None:
    with pytest.raises(InvalidInput, match="is no evidence of a failure"):
        validate.check_failure(replace(FAILURE, evidence=evidence))


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("Maybe the cache is cold.", True),
        ("I think it is Kafka.", True),
        ("It might be the proxy.", True),
        ("Apparently staging is down.", True),
        ("It seems to leak.", True),
        ("The cache is cold.", False),
        ("Mayberry owns the cache.", False),
        ("Thinking mode is off.", False),
    ],
)
def test_hedges(text: str, guess: bool) -> None:
    assert validate.hedged(text) is guess


@pytest.mark.parametrize(
    ("text", "affirms"),
    [
        ("Retry payments.", True),
        ("Never retry payments.", False),
        ("Payments can't be retried.", False),
        ("Payments can’t be retried.", False),
        ("Payments aren't never retried.", True),
        ("Payments haven't been retried.", False),
        ("Payments cannot be retried.", False),
        ("Note the notary.", True),
    ],
)
def test_polarity(text: str, affirms: bool) -> None:
    assert validate.polarity(text) is affirms


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Always retry payments.", "Never retry payments."),
        ("The timeout is 30 s.", "The timeout is 90 s."),
        ("The timeout is 30 s.", "The timeout is 30 ms."),
        ("The timeout is 30 s.", "The timeout is 30 min."),
        ("API v1 is frozen.", "API v2 is frozen."),
        ("Python 3.11 is used.", "Python 3.12 is used."),
        ("Uploads under 5 MB pass.", "Uploads under 5 GB pass."),
        ("The limit is 5 %.", "The limit is 5."),
        ("Latency must be < 100 ms.", "Latency must be > 100 ms."),
        ("It returns -1.", "It returns 1."),
        ("The parser is written in C.", "The parser is written in C++."),
        ("The parser is written in C.", "The parser is written in C#."),
        ("Use ASR1603 here.", "Use ASR1605 here."),
        ("Tests must pass.", "Tests must not pass."),
        ("It can run.", "It can't run."),
        ("jest-native is used.", "react-native is used."),
        ("A calls B.", "B calls A."),
    ],
)
def test_what_is_not_the_same_statement(one: str, two: str) -> None:
    assert text_key(one) != text_key(two)
    assert validate.duplicate(fact(two), Table([fact(one)])) is None


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The timeout is 30 s.", "the timeout is 30 s"),
        ("The timeout is 30 s.", "The timeout is 30s."),
        ("Use Vue here.", "use  VUE\nhere"),
        ("It’s frozen.", "It's frozen"),
        ("数据库端口是5432。", "数据库端口是5432"),
    ],
)
def test_what_is_the_same_statement(one: str, two: str) -> None:
    old = fact(one)
    assert validate.duplicate(fact(two), Table([old])) == old


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "other"},
        {"target": "timeouts"},
        {"kind": Kind.LEARNING},
        {"body": Note(Claim("a", "b", "c"))},
        {"valid_until": NOW + timedelta(days=1)},
    ],
)
def test_the_same_words_elsewhere_are_no_duplicate(change: dict[str, object]) -> None:
    assert (
        validate.duplicate(fact("It is frozen.", **change), Table([fact("It is frozen.")])) is None
    )


@pytest.mark.parametrize(
    "change",
    [
        {"superseded_by": ("fact-x",)},
        {"lifecycle": Lifecycle.ARCHIVED},
        {"valid_from": NOW + timedelta(days=1)},
    ],
)
def test_a_record_that_cannot_answer_is_not_strengthened(change: dict[str, object]) -> None:
    assert (
        validate.duplicate(fact("It is frozen."), Table([fact("It is frozen.", **change)])) is None
    )


def test_one_target_in_two_spellings_is_one() -> None:
    old = fact("It is frozen.", target="ClickHouse")
    assert validate.duplicate(fact("It is frozen.", target="clickhouse"), Table([old])) == old


def test_problem_similarity_by_hand() -> None:
    # Content: {order, store} and {order, store, eu}; no corpus, so N = 2 and df = 1 for each word:
    # idf = ln(1 + 2 / 1) for all; Jaccard = 2 / 3.
    one, two = "where orders are stored", "where orders are stored in the EU"
    assert validate.problem_similarity(one, two) == pytest.approx(2 / 3)


def test_problem_similarity_weighs_rare_words_by_hand() -> None:
    # A corpus of two problems that both say "order": N = 4, df(order) = 3, df(store) = df(eu) = 1.
    # idf(order) = ln(1 + 4/3), idf(store) = idf(eu) = ln 5.
    corpus = [frozenset(["order", "tax"]), frozenset(["order", "ship"])]
    order, rare = log(1 + 4 / 3), log(5)
    wanted = (order + rare) / (order + 2 * rare)
    got = validate.problem_similarity("orders stored", "orders stored in the EU", corpus)
    assert got == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("one", "two", "wanted"),
    [
        ("where orders are stored", "Where are orders stored?", 1.0),
        ("how to retry payments", "how not to retry payments", 0.0),
        ("how version 1 is stored", "how version 2 is stored", 0.0),
        ("where orders are stored", "who owns billing", 0.0),
    ],
)
def test_problem_similarity_at_its_ends(one: str, two: str, wanted: float) -> None:
    assert validate.problem_similarity(one, two) == wanted


@given(st.text(max_size=60), st.text(max_size=60))
def test_problem_similarity_is_symmetric_and_in_range(one: str, two: str) -> None:
    there = validate.problem_similarity(one, two)
    assert 0 <= there <= 1
    assert there == pytest.approx(validate.problem_similarity(two, one))
