"""A claim knows its own files from later ones in their place, whatever inode they got."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from braincore import locate
from braincore.serve.claim import Claim


@pytest.fixture
def claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Claim]:
    run = tempfile.mkdtemp(prefix="bc-")  # not tmp_path: a socket's path is at most 107 bytes
    monkeypatch.setenv("XDG_RUNTIME_DIR", run)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    place = locate.find(tmp_path)
    place.store.mkdir()
    yield Claim(place)
    shutil.rmtree(run)


def test_another_ones_socket_is_left_alone(claim: Claim) -> None:
    # The file of a closed socket, once unlinked, gives its inode number to the next one.
    claim.socket.close()
    claim.address.unlink()
    later = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    later.bind(str(claim.address))
    assert not claim.reachable()
    claim.release()
    assert claim.address.exists()
    later.close()


def test_its_own_socket_goes_with_it(claim: Claim) -> None:
    assert claim.reachable() and claim.holds()
    claim.socket.close()
    claim.release()
    assert not claim.address.exists()
    assert not (claim.store / "owner.json").exists()
