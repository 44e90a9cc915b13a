"""Brain tasks: one key for one question, and what each reason asks for."""

from datetime import UTC, datetime

import pytest

from braincore.gate.tasks import open_or_bump, task_key
from braincore.model.axes import EdgeType, Kind, Reason
from braincore.model.records import Task
from braincore.model.table import Table

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "target", "key"),
    [
        ("which port does staging use?", "", "port stage ?which"),
        ("Which PORT is used by the staging?", "", "port stage ?which"),
        ("why does staging use that port", "", "port stage ?why"),
        ("staging port", "", "port stage ?"),
        ("staging port", "Staging_Box", "@staging_box port stage ?"),
        ("is it 30 s?", "", "30 s ?is"),
        ("数据库端口是多少？", "", "据库 数据 库端 端口 ?"),
    ],
)
def test_keys(query: str, target: str, key: str) -> None:
    assert sorted(task_key(query, target).split()) == sorted(key.split())


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("which port does staging use", "which port does production use"),
        ("is the timeout 30", "is the timeout 90"),
        ("why use it", "when use it"),
        ("what is v1", "what is v2"),
    ],
)
def test_other_questions_have_other_keys(one: str, two: str) -> None:
    assert task_key(one) != task_key(two)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_says_what_is_needed(reason: Reason) -> None:
    old, new = open_or_bump("staging port?", "", reason, 2, Table(), NOW)
    assert old is None and new.kind is Kind.TASK
    assert isinstance(new.body, Task)
    assert new.body.needs and "staging port?" in new.text
    assert new.body.why == f"2 on record can't be used ({reason})"


def test_nothing_on_record_is_said() -> None:
    _, new = open_or_bump("staging port?", "", Reason.NO_ACCEPTED_FACTS, 0, Table(), NOW)
    assert isinstance(new.body, Task) and new.body.why == "nothing is on record"


def test_the_task_is_linked_to_the_target_asked_about() -> None:
    _, new = open_or_bump("which port?", "Staging Box", Reason.STALE_CODE, 0, Table(), NOW)
    assert [(e.type, e.to) for e in new.edges] == [(EdgeType.ABOUT, "staging_box")]


def test_asked_again_it_is_bumped() -> None:
    table = Table()
    for bumps in (1, 2, 3):
        _, new = open_or_bump("staging port?", "", Reason.UNVERIFIED, 1, table, NOW)
        table.put(new)
        assert isinstance(new.body, Task) and new.body.bumps == bumps
    assert len(table) == 1
