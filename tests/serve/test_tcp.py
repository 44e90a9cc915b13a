"""Addresses on loopback, and the token that guards them."""

import os
from pathlib import Path

import pytest

from braincore.errors import InvalidInput, StoreError
from braincore.serve.tcp import Address, Listening, bind, listening_on, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8765", Address("127.0.0.1", 8765)),
        (" 8765 ", Address("127.0.0.1", 8765)),
        (":8765", Address("127.0.0.1", 8765)),
        ("localhost:8765", Address("127.0.0.1", 8765)),
        ("127.0.0.2:1", Address("127.0.0.2", 1)),
        ("[::1]:8765", Address("::1", 8765)),
        ("[0:0::1]:8765", Address("::1", 8765)),
        ("0", Address("127.0.0.1", 0)),
    ],
)
def test_loopback_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", ":", "x", "127.0.0.1", "1.5", "65536", "-1", "٣", "127.0.0.1:+1", "a:b"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no address"):
        parse_address(text)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "10.0.0.1", "[::]", "[fe80::1]", "[::ffff:127.0.0.1]", "host", "127.1"]
)
def test_what_others_may_reach(host: str) -> None:
    with pytest.raises(InvalidInput, match="does not listen on"):
        parse_address(f"{host}:8765")


def test_names_of_an_address() -> None:
    here = Listening(Address("127.0.0.1", 8765), "t", Path())
    assert here.url == "http://127.0.0.1:8765"
    assert here.hosts == {"127.0.0.1:8765", "localhost:8765"}
    assert Listening(Address("::1", 1), "t", Path()).origins == {
        "http://[::1]:1",
        "http://localhost:1",
    }
    assert "localhost" in Listening(Address("127.0.0.1", 80), "t", Path()).hosts


def token(store: Path) -> str:
    with bind(Address("127.0.0.1", 0)) as sock:
        found = listening_on(sock, store)
        assert found.address.port == sock.getsockname()[1] != 0
    assert found.token_file == store / "http.token"
    assert found.token_file.stat().st_mode & 0o777 == 0o600
    assert found.token_file.read_text() == found.token + "\n"
    assert not found.token_file.is_symlink()
    return found.token


def test_the_token_stays_the_same_while_it_is_secret(tmp_path: Path) -> None:
    first = token(tmp_path)
    assert len(first) >= 40 and token(tmp_path) == first
    file = tmp_path / "http.token"
    file.chmod(0o640)
    second = token(tmp_path)
    assert second != first
    elsewhere = tmp_path / "known"
    elsewhere.write_text("k" * 43)
    elsewhere.chmod(0o600)
    for spoilt in (b"", b"short\n", b"\xff" * 10):
        file.write_bytes(spoilt)
        assert token(tmp_path) not in (first, second)
    file.unlink()
    file.symlink_to(elsewhere)
    assert token(tmp_path) != "k" * 43
    assert elsewhere.read_text() == "k" * 43


def test_a_store_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "http.token").mkdir()
    with bind(Address("127.0.0.1", 0)) as sock, pytest.raises(StoreError, match="can't be used"):
        listening_on(sock, tmp_path)
    assert os.listdir(tmp_path) == ["http.token"]


def test_a_port_that_is_taken_is_said() -> None:
    with bind(Address("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(InvalidInput, match=r"else listens there\. Choose another port"):
            bind(Address("127.0.0.1", port))
