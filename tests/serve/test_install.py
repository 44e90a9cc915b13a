"""The store is removed under its lock, and an owner that is just leaving is waited for."""

import fcntl
import json
import threading
import time
from pathlib import Path

import pytest

from braincore.errors import OwnerBusy
from braincore.locate import Place
from braincore.serve.install import remove_store


def make(root: Path) -> Place:
    place = Place(root, root / ".git", root / ".git")
    place.store.mkdir(parents=True)
    place.memory.mkdir(parents=True)
    (place.store / "owner.lock").touch()
    return place


def test_an_owner_that_is_just_leaving_is_waited_for(tmp_path: Path) -> None:
    place = make(tmp_path)
    held = (place.store / "owner.lock").open("ab")
    fcntl.flock(held, fcntl.LOCK_EX)

    def leave() -> None:
        time.sleep(0.2)
        held.close()

    leaving = threading.Thread(target=leave)
    leaving.start()
    assert str(place.store) in remove_store(place)
    leaving.join()
    assert not place.store.exists() and not place.memory.exists()


def test_an_owner_that_serves_is_named_and_loses_nothing(tmp_path: Path) -> None:
    place = make(tmp_path)
    (place.store / "owner.json").write_text(json.dumps({"pid": 4711}))
    with (place.store / "owner.lock").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OwnerBusy, match="pid 4711"):
            remove_store(place)
    assert place.store.exists() and place.memory.exists()
