"""Events: an fsynced write-ahead log, committed in batches as new JSON lines files.

A batch file is named after its first event, so a crash between the commit and the emptying of the
log is recognised on replay and nothing is stored twice.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from braincore.errors import CodecError, StoreError
from braincore.journal.codec import decode_json, encode_json
from braincore.journal.store import Journal, decode_lines
from braincore.model.records import Record
from braincore.model.times import iso

__all__ = ["EventLog"]

BATCH = 200
"""Events in one commit at most (SPEC: ≤ 5 s or 200)."""


class EventLog:
    """The write-ahead log of one journal. One writer at a time (the caller's lock)."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path = path
        self._journal = journal
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
        data = b"".join(encode_json(e) + b"\n" for e in events)
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(fd).st_size
                written = os.write(fd, data)
                if written < len(data):
                    os.ftruncate(fd, size)
                    raise StoreError(str(self.path), "the disk is full")
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        self._pending.extend(events)

    def flush(self, at: datetime) -> str | None:
        """Commit what is pending as one file; the commit, or None when there was nothing."""
        if not self._pending:
            return None
        first = self._pending[0]
        day = first.created_at.strftime("%Y/%m/%d")
        name = f"events/{day}/{first.id.partition('-')[2]}.jsonl"
        data = b"".join(encode_json(e) + b"\n" for e in self._pending)
        message = (
            f"events: {len(self._pending)} from {iso(first.created_at)}\n\n"
            f"Why: what happened\nWho: braincore\nChannel: owner\nAt: {iso(at)}\n"
        )
        commit = self._journal.write({name: data}, message, at)
        self._pending = []
        try:
            os.truncate(self.path, 0)
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        return commit

    def _replay(self) -> list[Record]:
        """What the log holds and the journal doesn't; a torn last line was never acknowledged."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(str(self.path), str(error)) from None
        events = []
        lines = data.split(b"\n")
        for number, line in enumerate(lines[:-1], 1):
            try:
                events.append(decode_json(line, str(self.path), number))
            except CodecError:
                self.path.replace(self.path.with_suffix(f".wal.bad-{number}"))
                break
        if not events:
            return []
        first = events[0]
        name = f"events/{first.created_at.strftime('%Y/%m/%d')}/{first.id.partition('-')[2]}.jsonl"
        head = self._journal.head
        committed = self._journal.file_at(head, name) if head is not None else None
        if committed is None:
            return events
        done = {e.id for e in decode_lines(committed, name)}
        left = [e for e in events if e.id not in done]
        if left:
            self._rewrite(left)
        else:
            os.truncate(self.path, 0)
        return left

    def _rewrite(self, events: Sequence[Record]) -> None:
        temp = self.path.with_suffix(".new")
        temp.write_bytes(b"".join(encode_json(e) + b"\n" for e in events))
        temp.replace(self.path)
