"""Parsed records by blob id, so that opening 10,000 records does not parse 10,000 YAML texts."""

import os
from collections.abc import Iterable
from pathlib import Path

from braincore.errors import CodecError
from braincore.model.records import Record

__all__ = ["RowCache"]


class RowCache:
    """`rows.jsonl`: blob id, tab, the record as JSON. Anything unreadable is simply parsed anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, decode: "object") -> dict[str, Record]:
        """Every row that can be read; {} when there is none."""
        out: dict[str, Record] = {}
        try:
            data = self._path.read_bytes()
        except OSError:
            return out
        for number, line in enumerate(data.split(b"\n"), 1):
            blob, tab, row = line.partition(b"\t")
            if tab:
                try:
                    out[blob.decode("ascii", "replace")] = decode(row, str(self._path), number)  # type: ignore[operator]
                except CodecError:
                    continue
        return out

    def save(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Replace the file in one step."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temp = self._path.with_suffix(".new")
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            for blob, row in rows:
                file.write(blob.encode() + b"\t" + row + b"\n")
        temp.replace(self._path)
