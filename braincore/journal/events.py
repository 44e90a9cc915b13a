"""Events: an fsynced write-ahead log, committed in batches as new JSON lines files.

A batch file is named after its first event, so a crash between the commit and the emptying of the
log is recognised on replay and nothing is stored twice.
"""

import errno
import logging
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from braincore.errors import CodecError, StoreError
from braincore.journal.codec import decode_json, encode_json
from braincore.journal.store import Journal, decode_lines
from braincore.model.axes import Kind
from braincore.model.records import Record
from braincore.model.times import iso

__all__ = ["EventLog"]

log = logging.getLogger("braincore")

BATCH = 200
"""Events in one commit at most (SPEC: ≤ 5 s or 200)."""


class EventLog:
    """The write-ahead log of one journal. One writer at a time (the caller's lock)."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path = path
        self._journal = journal
        self._leftover = False
        self._pending: list[Record] = self._replay()

    @property
    def pending(self) -> Sequence[Record]:
        """Events that are durable but not yet committed."""
        return self._pending

    @property
    def full(self) -> bool:
        """True when the next batch is due whatever the clock says."""
        return len(self._pending) >= BATCH

    def append(self, events: Sequence[Record]) -> None:
        """Make events durable. Raises StoreError; then none of them was taken."""
        data = _lines(events)
        try:
            if self._leftover:
                self._rewrite(self._pending)
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(fd).st_size
                try:
                    if os.write(fd, data) < len(data):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(fd)
                except OSError:
                    os.ftruncate(fd, size)  # what was not acknowledged must not come back
                    raise
            finally:
                os.close(fd)
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        self._pending.extend(events)

    def flush(self, at: datetime) -> str | None:
        """Commit what is pending as one file; the commit, or None when there was nothing.

        Raises StoreError when it can't be committed; then everything stays pending.
        """
        if not self._pending:
            return None
        first = self._pending[0]
        message = (
            f"events: {len(self._pending)} from {iso(first.created_at)}\n\n"
            "Why: what happened\nWho: braincore\nChannel: owner\n"
        )
        commit = self._journal.write({batch_path(first): _lines(self._pending)}, message, at)
        self._pending = []
        try:
            os.truncate(self.path, 0)
            self._leftover = False
        except OSError as error:
            self._leftover = True  # committed already: replay or the next append drops it
            log.warning("%s could not be emptied: %s", self.path, error)
        return commit

    def _replay(self) -> list[Record]:
        """What the log holds and the journal doesn't; a torn last line was never acknowledged."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        events: dict[str, Record] = {}
        *lines, torn = data.split(b"\n")
        bad = 0
        for number, line in enumerate(lines, 1):
            try:
                record = decode_json(line, str(self.path), number)
                if record.kind is Kind.EVENT:
                    events[record.id] = record
            except CodecError as error:
                bad += 1
                log.error("an event can't be read and was set aside: %s", error)
        left = self._uncommitted(list(events.values()))
        try:
            if bad:
                write_whole(self.path.with_suffix(".wal.bad"), data)
            if bad or torn or len(left) < len(lines):
                self._rewrite(left)
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        return left

    def _uncommitted(self, events: list[Record]) -> list[Record]:
        """The events of no batch. A batch is named after its first event, and the log may hold
        several that were committed but could not be taken out of it."""
        head = self._journal.head
        while events and head is not None:
            name = batch_path(events[0])
            committed = self._journal.file_at(head, name)
            if committed is None:
                break
            done = {events[0].id} | {e.id for e in decode_lines(committed, name)}
            events = [e for e in events if e.id not in done]
        return events

    def _rewrite(self, events: Sequence[Record]) -> None:
        write_whole(self.path, _lines(events))
        self._leftover = False


def batch_path(first: Record) -> str:
    """Where the batch that begins with this event lies in the journal's tree."""
    day = first.created_at.strftime("%Y/%m/%d")
    return f"events/{day}/{first.id.partition('-')[2]}.jsonl"


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file in one durable step."""
    temp = path.with_name(path.name + ".new")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    temp.replace(path)


def _lines(events: Sequence[Record]) -> bytes:
    return b"".join(encode_json(e) + b"\n" for e in events)
