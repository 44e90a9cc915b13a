"""The owner on TCP: only on loopback, only when asked, only for who holds the token.

Standard library only: `braincore serve --http` binds before anything heavy is loaded.
"""

import errno
import ipaddress
import os
import secrets
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from braincore.disk import write_atomic
from braincore.errors import InvalidInput, StoreError

__all__ = ["Address", "Listening", "bind", "listening_on", "parse_address"]

TOKEN_FILE = "http.token"
TOKEN_BYTES = 32
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True)
class Address:
    """A loopback address; port 0 asks for any that is free."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the owner is reached on TCP, and with which token."""

    address: Address
    token: str
    token_file: Path

    @property
    def url(self) -> str:
        """The root of all addresses, without a slash at its end."""
        return f"http://{_shown(self.address.host)}:{self.address.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a Host header may say: a name that leads here by itself, not by somebody's DNS."""
        names = (_shown(self.address.host), "localhost")
        bare = names if self.address.port == _HTTP_PORT else ()
        return frozenset((*bare, *(f"{name}:{self.address.port}" for name in names)))

    @property
    def origins(self) -> frozenset[str]:
        """What an Origin header may say."""
        return frozenset(f"http://{host}" for host in self.hosts)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def parse_address(text: str) -> Address:
    """The address of `[HOST:]PORT`, on loopback. Raises InvalidInput for any other."""
    host, _, digits = text.strip().rpartition(":")
    if not (digits.isascii() and digits.isdigit() and int(digits) <= 65535):
        raise InvalidInput(
            f"{text!r} is no address", "Write PORT or HOST:PORT, such as 127.0.0.1:8765."
        )
    if host in ("", "localhost"):
        return Address("127.0.0.1", int(digits))
    try:
        ip = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        ip = None
    if ip is None or not ip.is_loopback or getattr(ip, "ipv4_mapped", None) is not None:
        raise InvalidInput(
            f"braincore does not listen on {host!r}, which others may reach",
            f"Use 127.0.0.1:{digits}, and from another machine a tunnel such as `ssh -L`.",
        )
    return Address(str(ip), int(digits))


def bind(address: Address) -> socket.socket:
    """A listening socket. Raises InvalidInput when the address can't be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise InvalidInput(f"{address.host}: {error.strerror}", "Use 127.0.0.1.") from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address.host, address.port))
        sock.listen(256)
    except OSError as error:
        sock.close()
        taken = error.errno == errno.EADDRINUSE
        why = "somebody else listens there" if taken else str(error.strerror)
        raise InvalidInput(
            f"{_shown(address.host)}:{address.port} can't be had: {why}", "Choose another port."
        ) from None
    return sock


def listening_on(sock: socket.socket, store: Path) -> Listening:
    """What the owner tells about a bound socket; makes the token if there is none."""
    host, port = sock.getsockname()[:2]
    return Listening(Address(host, port), _token(store), store / TOKEN_FILE)


def _token(store: Path) -> str:
    """The store's token: the one that is there, while nobody else can have read or made it."""
    path = store / TOKEN_FILE
    try:
        return _read(path) or _make(path)
    except OSError as error:
        raise StoreError(str(store), str(error)) from None


def _read(path: Path) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        private = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077
        text = file.read(1024).decode("ascii", "replace").strip() if private else ""
    return text if found.st_uid == os.getuid() and len(text) >= TOKEN_BYTES else ""


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(TOKEN_BYTES)
    write_atomic(path, f"{token}\n".encode(), 0o600)
    return token
