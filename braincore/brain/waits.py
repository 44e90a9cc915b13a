"""What a request waited for, so that a slow one can say it."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Watched", "noting_waits", "waiting"]

_noted: ContextVar[dict[str, float] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_waits() -> Iterator[Mapping[str, float]]:
    """Seconds by what was waited for, here and in the threads that this context is handed to."""
    noted: dict[str, float] = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Note the time spent in here as waiting for this, if somebody wants to know."""
    noted = _noted.get()
    began = time.monotonic()
    try:
        yield
    finally:
        if noted is not None:
            noted[what] = noted.get(what, 0.0) + time.monotonic() - began


class Watched:
    """A lock for `with`; who has to wait for it notes that."""

    def __init__(self, lock: threading.RLock, name: str) -> None:
        self._lock = lock
        self._name = name

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            with waiting(self._name):
                self._lock.acquire()

    def __exit__(self, *problem: object) -> None:
        self._lock.release()
