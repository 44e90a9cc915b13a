"""No test reaches beyond this machine: only Unix sockets and loopback connect."""

import gc
import socket
from typing import Any

import pytest

# What tests import and keep is large, and a full collection over it would take half the time.
gc.freeze()
gc.set_threshold(50_000, 20, 50)


class OutsideBlocked(AssertionError):
    """A test tried to open a connection that leaves this machine."""


def _stays_here(sock: socket.socket, address: Any) -> bool:
    return sock.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "127.0.0.2", "::1")


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Any:
    """Connections that leave this machine fail loudly."""
    patch = pytest.MonkeyPatch()
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        if not _stays_here(self, address):
            raise OutsideBlocked(f"a test tried to connect to {address!r}")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if not _stays_here(self, address):
            raise OutsideBlocked(f"a test tried to connect to {address!r}")
        return connect_ex(self, address)

    patch.setattr(socket.socket, "connect", guarded)
    patch.setattr(socket.socket, "connect_ex", guarded_ex)
    yield
    patch.undo()
