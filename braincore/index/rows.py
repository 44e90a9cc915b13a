"""Parsed records by blob id, so that opening 10,000 records does not parse 10,000 YAML texts."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from braincore.disk import write_atomic
from braincore.errors import CodecError, StoreError
from braincore.model.records import Record

__all__ = ["RowCache"]

Decode = Callable[[bytes, str, int], Record]
"""A JSON line, the file it is in and its number, to the record."""


class RowCache:
    """`rows.jsonl`: the sha256 of what follows, then blob id, tab, record as JSON a line.

    A file that isn't what was written is passed over whole: a row that still parses may lie.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, decode: Decode) -> dict[str, Record]:
        """Every row by blob id; {} when there is no file or it was altered."""
        out: dict[str, Record] = {}
        try:
            checksum, _, data = self._path.read_bytes().partition(b"\n")
        except OSError:
            return out
        if sha256(data).hexdigest().encode() != checksum:
            return out
        for number, line in enumerate(data.split(b"\n"), 2):
            blob, tab, row = line.partition(b"\t")
            if tab:
                try:
                    out[blob.decode("ascii")] = decode(row, str(self._path), number)
                except CodecError:  # written by a version that knew other fields
                    continue
        return out

    def save(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Replace the file in one step. Raises StoreError."""
        data = b"".join(blob.encode() + b"\t" + row + b"\n" for blob, row in rows)
        try:
            write_atomic(self._path, sha256(data).hexdigest().encode() + b"\n" + data)
        except OSError as error:
            raise StoreError(str(self._path), str(error)) from None
