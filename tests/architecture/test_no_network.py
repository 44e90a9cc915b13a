"""The block on outside connections works."""

import socket

import pytest


def test_a_connection_outside_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock, pytest.raises(AssertionError):
        sock.connect(("192.0.2.1", 80))
