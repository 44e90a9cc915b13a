"""Files replaced in one step. Imports only the standard library."""

import os
import tempfile
from pathlib import Path

__all__ = ["write_atomic"]


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file so that a reader or a crash sees the old bytes or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temp = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temp, mode)
        os.replace(temp, path)
    except OSError:
        Path(temp).unlink(missing_ok=True)
        raise
