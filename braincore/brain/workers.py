"""Extraction of many files by worker processes, so that this one keeps answering meanwhile.

Plain subprocesses and pipes in place of a ProcessPoolExecutor: its spawned workers import the
program's main module again, need semaphores that sandboxes refuse, and stay for ever when their
owner is killed. These leave when their stdin ends.
"""

import contextlib
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pickle import UnpicklingError
from queue import SimpleQueue
from typing import BinaryIO, cast

from braincore.code.worker import Job, pack_all, receive, send
from braincore.model.packed import Packed

__all__ = ["MANY", "packed"]

MANY = 200
"""From this many changed files on workers are started."""

WORKERS = 2
FILES, BYTES = 16, 256 << 10
"""At most so much in one frame."""


def packed(jobs: Iterable[Job], project_id: str, *, workers: int = WORKERS) -> Iterator[Packed]:
    """What each file holds, in order; in this process when there are few, or without workers."""
    coming = iter(jobs)
    first = list(islice(coming, MANY)) if workers else []
    if len(first) < MANY:
        for job in chain(first, coming):
            yield from pack_all(project_id, [job])
        return
    pool = _Pool(project_id, workers)
    try:
        waiting: deque[Future[list[Packed]]] = deque()
        for group in _groups(chain(first, coming)):
            waiting.append(pool.start(group))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.close()


def _groups(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    group: list[Job] = []
    size = 0
    for job in jobs:
        group.append(job)
        size += len(job[2])
        if len(group) >= FILES or size >= BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


Row = tuple[str, str, bool, int, tuple[str, ...], str, str]


class _Pool:
    """A thread for each worker, which waits for it. A worker that fails is not started again: its
    group, and all later ones of that thread, are done here."""

    def __init__(self, project_id: str, workers: int) -> None:
        self._project_id = project_id
        self._idle: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()
        self._all = [_spawned() for _ in range(workers)]
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, "extract")

    def start(self, group: list[Job]) -> Future[list[Packed]]:
        return self._threads.submit(self._do, group)

    def _do(self, group: list[Job]) -> list[Packed]:
        worker = self._idle.get()
        found = None
        if worker is not None:
            found = _asked(worker, self._project_id, group)
            if found is None:
                _end(worker)
                worker = None
        self._idle.put(worker)
        return found if found is not None else pack_all(self._project_id, group)

    def close(self) -> None:
        """Stop the workers, whatever they are at."""
        for worker in self._all:
            if worker is not None:
                _end(worker)
        self._threads.shutdown(cancel_futures=True)


def _spawned() -> subprocess.Popen[bytes] | None:
    paths = os.pathsep.join(p for p in sys.path if p)
    try:
        return subprocess.Popen(
            # -P: files of the folder we happen to be in are not modules
            [sys.executable, "-P", "-m", "braincore.code.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is for us; they leave when we do
        )
    except OSError:
        return None


def _asked(
    worker: subprocess.Popen[bytes], project_id: str, group: list[Job]
) -> list[Packed] | None:
    """The answer of a worker; None when it is gone."""
    try:
        send(cast(BinaryIO, worker.stdin), (project_id, group))
        rows = receive(cast(BinaryIO, worker.stdout))
    except (EOFError, OSError, ValueError, UnpicklingError):
        return None
    return [Packed(*row) for row in cast(list[Row], rows)]


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was still buffered has nobody to go to
                pipe.close()
