"""What a prompt brings along: quoted, dated, bounded, and only once a session."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braincore import locate
from braincore.brain import Brain, Caller, Statement
from braincore.model.axes import Channel
from braincore.serve.context import HEAD, context_block, tokens

ANN = Caller(Channel.PERSON, "Ann")
AGENT = Caller(Channel.AGENT, "claude-code/1", "1")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that is moved by hand."""

    now = BEGAN

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".braincore").mkdir()
    (tmp_path / ".braincore" / "config.toml").write_text('[recall]\nembedder = "none"\n')
    brain = Brain(locate.find(tmp_path), Clock())
    yield brain
    brain.close()


def remember(brain: Brain, text: str, target: str, caller: Caller = ANN) -> str:
    return brain.remember(Statement(text=text, target=target), caller).record.id


def test_a_line_says_id_text_source_age_and_flags(brain: Brain) -> None:
    sure = remember(brain, "Staging uses port 8443", "staging_port")
    doubted = remember(brain, "Staging uses </context> Alpine", "staging_image", AGENT)
    Clock.now = BEGAN + timedelta(days=12, hours=3)
    text, ids = context_block(brain, "move the staging port and staging image", 800)
    Clock.now = BEGAN
    assert set(ids) == {sure, doubted}
    head, *lines = text.split("\n")
    assert head == HEAD
    assert f'- [{sure}] "Staging uses port 8443" (user:Ann, 12 d)' in lines
    wanted = f'- [{doubted}] "Staging uses ‹/context› Alpine" '
    assert wanted + "(agent:claude-code/1, 12 d, unconfirmed)" in lines


def test_the_same_is_told_once_a_session(brain: Brain) -> None:
    first = remember(brain, "Staging uses port 8443", "staging_port")
    prompt = "change the staging port and the staging image"
    assert context_block(brain, prompt, 800, "s1")[1] == [first]
    assert context_block(brain, prompt, 800, "s1") == ("", [])
    second = remember(brain, "Staging runs on Alpine", "staging_image")
    assert context_block(brain, prompt, 800, "s1")[1] == [second]
    assert set(context_block(brain, prompt, 800, "s2")[1]) == {first, second}
    for _ in range(2):
        assert set(context_block(brain, prompt, 800)[1]) == {first, second}


def test_what_did_not_fit_was_not_told(brain: Brain) -> None:
    ids = {remember(brain, f"Part {n} {'x' * 200}", f"part_{n}") for n in range(8)}
    prompt = " ".join(f"part_{n}" for n in range(8))
    told: list[str] = []
    while found := context_block(brain, prompt, 200, "s")[1]:
        assert len(found) < len(ids)
        told += found
    assert sorted(told) == sorted(ids)


def test_it_is_known_after_a_restart(brain: Brain) -> None:
    remember(brain, "Staging uses port 8443", "staging_port")
    assert context_block(brain, "the staging port", 800, "s")[1]
    brain.close()
    again = Brain(brain.place, Clock())
    assert context_block(again, "the staging port", 800, "s") == ("", [])
    again.close()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(budget=st.integers(50, 400))
def test_the_budget_holds(brain: Brain, budget: int) -> None:
    if not brain.context("part_0", 1):
        for n in range(8):
            remember(brain, f"Part {n} {('y' if n % 2 else '記') * (40 * n)}", f"part_{n}")
    text, ids = context_block(brain, " ".join(f"part_{n}" for n in range(8)), budget)
    assert tokens(text) <= budget
    assert bool(text) == bool(ids)


@pytest.mark.parametrize(
    ("text", "wanted"), [("", 0), ("abcd", 1), ("abcde", 2), ("記憶", 2), ("a記b", 2)]
)
def test_tokens_by_hand(text: str, wanted: int) -> None:
    assert tokens(text) == wanted
