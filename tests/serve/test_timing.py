"""How long requests took and what they waited for, on a clock that the test moves."""

import logging
import threading
from collections.abc import Iterator
from contextvars import copy_context

import pytest

from braincore.brain import waiting
from braincore.brain.waits import Watched
from braincore.serve import timing


class Clock:
    """Stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    with monkeypatch.context() as patch:
        patch.setattr("time.monotonic", clock)
        yield clock


def test_waits_are_told_apart_also_in_the_thread_that_does_the_work(clock: Clock) -> None:
    def work() -> None:
        with waiting("graph"):
            clock.now += 0.25
        with waiting("graph"):
            clock.now += 0.25
        clock.now += 0.5

    with timing.timed("recall") as took:
        clock.now += 0.125
        with waiting("model"):
            clock.now += 0.125
        run = copy_context().run
        thread = threading.Thread(target=lambda: run(work))
        thread.start()
        thread.join()
    assert took.seconds == 1.25 and took.waited == {"model": 0.125, "graph": 0.5}
    assert took.header == "total;dur=1250.0, model;dur=125.0, graph;dur=500.0"


def test_waiting_outside_a_request_is_nobodys(clock: Clock) -> None:
    with waiting("graph"):
        clock.now += 1
    with timing.timed("status") as took:
        pass
    assert took.waited == {}


@pytest.mark.parametrize(
    ("verb", "seconds", "slow"),
    [
        ("recall", 1.0, False),
        ("recall", 1.5, True),
        ("hook/claude", 0.25, False),
        ("hook/claude", 0.5, True),
        ("mcp/recall", 0.5, False),
    ],
)
def test_slow_ones_are_logged_and_remembered(
    verb: str, seconds: float, slow: bool, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    before = timing.slow_requests()
    with caplog.at_level(logging.DEBUG, "braincore"), timing.timed(verb), waiting("graph"):
        clock.now += seconds
    (line,) = caplog.records
    assert (line.levelname == "WARNING") == line.getMessage().startswith("slow: ") == slow
    assert (line.verb, line.seconds, line.waited) == (verb, seconds, {"graph": seconds})  # type: ignore[attr-defined]
    now = timing.slow_requests()
    assert [(s.verb, s.seconds) for s in now[: len(now) - len(before)]] == [(verb, seconds)] * slow


def test_a_request_that_fails_is_timed_too_and_ten_are_kept(clock: Clock) -> None:
    for number in range(12):
        with pytest.raises(KeyError), timing.timed(f"verb-{number}"):
            clock.now += 2
            raise KeyError
    assert [s.verb for s in timing.slow_requests()] == [f"verb-{n}" for n in range(11, 1, -1)]


def test_only_who_had_to_wait_for_a_lock_says_so() -> None:
    raw = threading.RLock()
    lock = Watched(raw, "lock")
    with timing.timed("alone") as alone, lock, lock:
        pass
    assert alone.waited == {}
    held, asked = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            asked.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    with timing.timed("second") as second:
        threading.Timer(0.05, asked.set).start()
        with lock:
            pass
    thread.join()
    assert second.waited["lock"] > 0
    assert raw.acquire(blocking=False)
    raw.release()
