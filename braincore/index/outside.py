"""A text file that lies outside the repository, such as a saved fragment."""

from pathlib import Path

from braincore.errors import InvalidInput

__all__ = ["read_text"]

MAX_BYTES = 1 << 20


def read_text(path: str) -> str | None:
    """The text of a file anywhere, or None when there is none. Raises InvalidInput over 1 MiB."""
    file = Path(path)
    try:
        if not file.is_absolute() or not file.is_file():
            return None
        if file.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{path} is larger than {MAX_BYTES:,} bytes", "Save the part only.")
        return file.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}", "Check its permissions.") from None
