"""What makes a process the owner of a store: lock, socket, and the files that say so.

Standard library only: of many owners started at once, all but one leave before they cost anything.
"""

import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from braincore import __version__, locate
from braincore.errors import InvalidInput, OwnerBusy, StoreError

__all__ = ["DRAIN_SECONDS", "PROTOCOL", "Claim"]

PROTOCOL = "1"
DRAIN_SECONDS = 60.0


class Claim:
    """What makes this process the owner of a store: lock, socket, and the files that say so."""

    def __init__(self, place: locate.Place) -> None:
        self.store = place.store
        self.lock = _lock(place.store)
        self.leaving = False
        self.http = ""
        self.http_problem = ""
        self.socket, self.address = _bind(place.store)
        self._bound = _birth(self.address)

    def reachable(self) -> bool:
        """True while clients that look for our socket find it, not nothing or another's."""
        return _birth(self.address) == self._bound

    def holds(self) -> bool:
        """True while the store is the one we locked, not one made anew in its place."""
        mine = os.fstat(self.lock)
        return _inode(self.store / "owner.lock") == (mine.st_dev, mine.st_ino)

    def write(self) -> None:
        """Say who serves and where. Raises OSError."""
        if not self.holds():
            return
        boot = Path("/proc/sys/kernel/random/boot_id")
        data = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "boot": boot.read_text().strip() if boot.exists() else "",
            "store": str(self.store),
            "socket": str(self.address),
            "version": __version__,
            "protocol": PROTOCOL,
            "leaving": self.leaving,
            "http": self.http,
            "http_problem": self.http_problem,
            "heartbeat": time.time(),
        }
        _replace(self.store / "owner.json", json.dumps(data).encode() + b"\n")
        address = os.fsencode(self.address) + b"\n"
        pointer = self.store / "socket"
        if not pointer.exists() or pointer.read_bytes() != address:
            _replace(pointer, address)

    def release(self) -> None:
        """Take everything away again that is still ours, the lock last."""
        if self.reachable():
            self.address.unlink(missing_ok=True)
        if self.holds():
            (self.store / "socket").unlink(missing_ok=True)
            (self.store / "owner.json").unlink(missing_ok=True)
        os.close(self.lock)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _birth(path: Path) -> tuple[int, int, int] | None:
    """Tells a file from a later one at its path: a freed inode number is given out again."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    fresh.replace(path)


def _lock(store: Path) -> int:
    """The store's lock, held by this process until it ends. Raises OwnerBusy."""
    try:
        fd = os.open(store / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(str(store), str(error)) from None
    deadline = time.monotonic() + DRAIN_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            holder = _read_owner(store)
            # One that leaves, or serves where the store was moved from, will let go soon.
            leaving = holder.get("leaving") or holder.get("store") != str(store)
            if not leaving or time.monotonic() > deadline:
                os.close(fd)
                raise OwnerBusy(str(store), int(holder.get("pid", 0))) from None
            time.sleep(0.05)


def _read_owner(store: Path) -> dict[str, Any]:
    try:
        data = json.loads((store / "owner.json").read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _bind(store: Path) -> tuple[socket.socket, Path]:
    """A listening socket only this user can reach; we hold the lock, so an old one is stale."""
    problems = []
    for path in _candidates(store):
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = path.parent.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                problems.append(f"{path.parent} belongs to somebody else")
                continue
            path.parent.chmod(0o700)
            path.unlink(missing_ok=True)
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.bind(str(path))
            path.chmod(0o600)
            sock.listen(256)
            return sock, path
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
    raise InvalidInput(
        f"No socket can be made ({'; '.join(problems)})",
        "Remove what is in the way, or set XDG_RUNTIME_DIR to a private folder.",
    )


def _candidates(store: Path) -> Iterator[Path]:
    """The usual place for the socket, and others should somebody have taken that."""
    first = locate.socket_path(store)
    yield first
    for number in range(1, 4):
        yield Path("/tmp") / f"braincore-{os.getuid()}-{number}" / first.name
