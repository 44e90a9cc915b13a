"""The owner process: lock, listen, and only then load what serves.

    python -m braincore.serve.owner --store STORE --root ROOT [--foreground]

The lock comes before the socket, the socket before the brain: a client that connects waits for the
record table, and not for graph and indexes. Exit code 0 also when another owner already serves.
Until lock and socket are had, this imports the standard library only: of many owners started at
once, all but one leave before they cost anything.
"""

import argparse
import fcntl
import importlib
import json
import logging
import logging.handlers
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from braincore import __version__, locate
from braincore.errors import BraincoreError, InvalidInput, OwnerBusy, StoreError

__all__ = ["PROTOCOL", "Claim", "main"]

log = logging.getLogger("braincore")

PROTOCOL = "1"
DRAIN_SECONDS = 15.0


class Claim:
    """What makes this process the owner of a store: lock, socket, and the files that say so."""

    def __init__(self, place: locate.Place) -> None:
        self.store = place.store
        self.lock = _lock(place.store)
        self.leaving = False
        self.socket, self.address = _bind(place.store)
        self._inode = _inode(self.address)

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
            "heartbeat": time.time(),
        }
        _replace(self.store / "owner.json", json.dumps(data).encode() + b"\n")
        address = os.fsencode(self.address) + b"\n"
        pointer = self.store / "socket"
        if not pointer.exists() or pointer.read_bytes() != address:
            _replace(pointer, address)

    def release(self) -> None:
        """Take everything away again that is still ours, the lock last."""
        if _inode(self.address) == self._inode:
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


class _Redacted(logging.Formatter):
    """Messages and tracebacks may quote what was said: no secret goes to the log."""

    def format(self, record: logging.LogRecord) -> str:
        from braincore.brain import redact

        return redact(super().format(record))


def _log_to(store: Path, foreground: bool) -> None:
    handler: logging.Handler
    if foreground:
        handler = logging.StreamHandler()
    else:
        try:
            handler = logging.handlers.RotatingFileHandler(
                store / "log", maxBytes=1_000_000, backupCount=2, encoding="utf-8"
            )
        except OSError as error:
            raise StoreError(str(store), str(error)) from None
    handler.setFormatter(_Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.raiseExceptions = False  # a full disk must not stop what still works
    threading.excepthook = _log_thread
    sys.excepthook = _log_end


def _log_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        name = failed.thread.name if failed.thread is not None else "?"
        log.error("thread %s ended", name, exc_info=failed.exc_value)


def _log_end(kind: type[BaseException], problem: BaseException, trace: Any) -> None:
    log.critical("the owner ended", exc_info=(kind, problem, trace))


def main(arguments: list[str] | None = None) -> int:
    """Serve one store until idle, asked to stop, or replaced."""
    parser = argparse.ArgumentParser(prog="braincore-owner", description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--foreground", action="store_true")
    given = parser.parse_args(arguments)
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        del os.environ[name]
    os.umask(0o077)
    try:
        place = locate.find(given.root)
        os.chdir(place.common_dir)  # not the worktree: that may be deleted while we run
        claim = _claim(place)
    except OwnerBusy as error:
        sys.stderr.write(f"{error}\n")
        return 1 if given.foreground else 0
    except BraincoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _log_to(place.store, given.foreground)
    serving = importlib.import_module("braincore.serve.process")
    if not given.foreground:
        _detach_output()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    serving.Process(place, claim).serve()
    return 0


def _claim(place: locate.Place) -> Claim:
    try:
        place.store.mkdir(parents=True, exist_ok=True, mode=0o700)
        claim = Claim(place)
        claim.write()
    except OSError as error:
        raise StoreError(str(place.store), str(error)) from None
    return claim


def _detach_output() -> None:
    """Nobody reads our output any more once we serve."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
