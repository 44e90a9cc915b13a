"""Parsed records by blob id, so that opening 10,000 records does not parse 10,000 YAML texts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from braincore.disk import write_atomic
from braincore.errors import StoreError
from braincore.model.records import Record
from braincore.model.table import Keys

__all__ = ["RowCache", "Rows"]

Unpack = Callable[[bytes], tuple[Record, Keys]]


@dataclass(frozen=True, slots=True)
class Rows:
    """What a cache held: records with their keys by blob id, as of a commit (empty: none)."""

    commit: str = ""
    by_blob: dict[str, tuple[Record, Keys]] = field(default_factory=dict)


class RowCache:
    """`rows.jsonl`: the sha256 of what follows, a line with format and commit, then blob id, tab,
    packed record a line.

    A file that isn't what was written is passed over whole: a row that can still be read may lie.
    So is one of another format.
    """

    def __init__(self, path: Path, form: str) -> None:
        """`form`: names everything that the meaning of a row depends on."""
        self._path = path
        self._form = form.encode()

    def load(self, unpack: Unpack) -> Rows:
        """Every row; none when there is no file, it was altered or has another format."""
        try:
            checksum, _, data = self._path.read_bytes().partition(b"\n")
        except OSError:
            return Rows()
        if sha256(data).hexdigest().encode() != checksum:
            return Rows()
        first, *lines = data.split(b"\n")
        form, _, commit = first.partition(b" ")
        if form != self._form:
            return Rows()
        by_blob = {}
        for line in lines:
            blob, tab, row = line.partition(b"\t")
            if tab:
                by_blob[blob.decode("ascii")] = unpack(row)
        return Rows(commit.decode("ascii"), by_blob)

    def save(self, commit: str, rows: Iterable[tuple[str, bytes]]) -> None:
        """Replace the file in one step. Raises StoreError."""
        first = self._form + b" " + commit.encode() + b"\n"
        data = first + b"".join(blob.encode() + b"\t" + row + b"\n" for blob, row in rows)
        try:
            write_atomic(self._path, sha256(data).hexdigest().encode() + b"\n" + data)
        except OSError as error:
            raise StoreError(str(self._path), str(error)) from None
