"""The folders a brain needs before its owner can start; safe to run again."""

import os

from braincore.errors import InvalidInput, StoreError
from braincore.locate import IGNORED, Place

__all__ = ["prepare", "withdraw"]

_CONFIG = """# Settings of this repository's brain; docs/operations.md lists every key.
"""


def prepare(place: Place) -> bool:
    """Make store and .braincore; True when the repository had no brain before."""
    if any("\udc80" <= c <= "\udcff" for c in str(place.root)):
        raise InvalidInput(
            f"The path {str(place.root)!r} is not UTF-8",
            "Rename the folder; its indexes need that.",
        )
    fresh = not (place.store / "journal.git").is_dir()
    for path in (place.brain, place.memory, place.store):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            what = "a symbolic link" if path.is_symlink() else "no folder"
            raise InvalidInput(f"{path} is {what}", "Move it away, then run `braincore init`.")
    try:
        place.store.mkdir(parents=True, exist_ok=True)
        os.chmod(place.store, 0o700)
        (place.brain / "rules").mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", IGNORED), ("config.toml", _CONFIG)):
            file = place.brain / name
            if not file.exists():
                file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(str(place.store), str(error)) from None
    return fresh


def withdraw(place: Place) -> bool:
    """Take .braincore away if nothing but what `prepare` made is in it; True when it is gone."""
    made = {".gitignore": IGNORED, "config.toml": _CONFIG}
    rules = place.brain / "rules"
    try:
        if any(rules.iterdir()) or {p.name for p in place.brain.iterdir()} - {*made, "rules"}:
            return False
        if any((place.brain / n).read_text(encoding="utf-8") != t for n, t in made.items()):
            return False
        for name in made:
            (place.brain / name).unlink()
        rules.rmdir()
        place.brain.rmdir()
    except (OSError, UnicodeDecodeError):
        return False  # what can't be read or removed is somebody's: it stays
    return True
