"""No test reaches beyond this machine: only Unix sockets connect."""

import socket
from typing import Any

import pytest


class OutsideBlocked(AssertionError):
    """A test tried to open a connection that is not a Unix socket."""


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Any:
    """Connections other than to Unix sockets fail loudly."""
    patch = pytest.MonkeyPatch()
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            raise OutsideBlocked(f"a test tried to connect to {address!r}")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if self.family != socket.AF_UNIX:
            raise OutsideBlocked(f"a test tried to connect to {address!r}")
        return connect_ex(self, address)

    patch.setattr(socket.socket, "connect", guarded)
    patch.setattr(socket.socket, "connect_ex", guarded_ex)
    yield
    patch.undo()
