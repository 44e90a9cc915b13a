"""Files replaced in one step. Imports only the standard library."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_atomic"]

Bytes = bytes | bytearray | memoryview

PRIVATE = 0o600
"""The mode that temporary files are made with."""


def write_atomic(path: Path, data: Bytes | Iterable[Bytes], mode: int = PRIVATE) -> None:
    """Write a file so that a reader or a crash sees the old bytes or the new, never a part."""
    parts = [data] if isinstance(data, Bytes) else data
    try:
        handle, temp = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temp = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb", 0) as file:
            for part in parts:
                left = memoryview(part)
                while left:
                    left = left[file.write(left) :]
        if mode != PRIVATE:
            os.chmod(temp, mode)
        os.replace(temp, path)
    except OSError:
        Path(temp).unlink(missing_ok=True)
        raise
