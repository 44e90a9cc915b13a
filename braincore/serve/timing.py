"""How long requests take, what they waited for, and which were slow."""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from braincore.brain import noting_waits
from braincore.model.times import iso

__all__ = ["Slow", "Timed", "slow_requests", "timed", "uptime"]

log = logging.getLogger("braincore")

SLOW_SECONDS = 1.0
SLOW_HOOK_SECONDS = 0.3
"""A client's edit waits for its hook, which gives up after this time."""
KEPT = 10
_BEGAN = time.monotonic()


@dataclass(slots=True)
class Timed:
    """One request: its wall time, and how much of it was waiting for what; complete at the end."""

    seconds: float = 0.0
    waited: Mapping[str, float] = field(default_factory=dict)

    @property
    def header(self) -> str:
        """The value of a Server-Timing header, in milliseconds."""
        parts = {"total": self.seconds, **self.waited}
        return ", ".join(f"{name};dur={took * 1000:.1f}" for name, took in parts.items())


@dataclass(frozen=True, slots=True)
class Slow:
    """A request that was slow, and when it ended."""

    verb: str
    seconds: float
    at: str


_slow: deque[Slow] = deque(maxlen=KEPT)
_lock = threading.Lock()


@contextmanager
def timed(verb: str) -> Iterator[Timed]:
    """Take the time of a request of this process; a slow one is logged and remembered."""
    took = Timed()
    began = time.monotonic()
    with noting_waits() as took.waited:
        try:
            yield took
        finally:
            took.seconds = time.monotonic() - began
            _note(verb, took)


def _note(verb: str, took: Timed) -> None:
    seconds = round(took.seconds, 4)
    waited = {what: round(t, 4) for what, t in took.waited.items() if t >= 0.001}
    fields = {"verb": verb, "seconds": seconds, "waited": waited}
    slow = seconds > (SLOW_HOOK_SECONDS if verb.startswith("hook/") else SLOW_SECONDS)
    said = "".join(f", {t:.1f} s of it for {what}" for what, t in waited.items())
    level, text = (logging.WARNING, "slow: ") if slow else (logging.DEBUG, "")
    log.log(level, "%s%s took %.3f s%s", text, verb, seconds, said, extra=fields)
    if slow:
        with _lock:
            _slow.append(Slow(verb, seconds, iso(datetime.now(UTC))))


def slow_requests() -> list[Slow]:
    """The last slow requests, newest first."""
    with _lock:
        return list(reversed(_slow))


def uptime() -> float:
    """Seconds since this process began to serve."""
    return time.monotonic() - _BEGAN
