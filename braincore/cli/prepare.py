"""The folders a brain needs before its owner can start; safe to run again."""

import os

from braincore.errors import StoreError
from braincore.locate import Place

__all__ = ["prepare"]

_GITIGNORE = """# config.toml and rules/ are the team's; the rest is made anew from the journal
/.internal-git
/memory/
"""
_CONFIG = """# Settings of this repository's brain; docs/operations.md lists every key.
"""


def prepare(place: Place) -> bool:
    """Make store and .braincore; True when the repository had no brain before."""
    fresh = not (place.store / "journal.git").is_dir()
    try:
        place.store.mkdir(parents=True, exist_ok=True)
        os.chmod(place.store, 0o700)
        (place.brain / "rules").mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", _GITIGNORE), ("config.toml", _CONFIG)):
            file = place.brain / name
            if not file.exists():
                file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(str(place.store), str(error)) from None
    return fresh
