"""The owner process: lock, listen, open, serve, leave.

    python -m braincore.serve.owner --store STORE --root ROOT [--foreground]

The lock comes before the socket, the socket before the brain: a client that connects waits for the
record table, and not for graph and indexes. Exit code 0 also when another owner already serves.
"""

import argparse
import asyncio
import fcntl
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
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from braincore import __version__, locate
from braincore.brain import Brain
from braincore.disk import write_atomic
from braincore.errors import BraincoreError, OwnerBusy, OwnerError, StoreError
from braincore.locate import socket_path
from braincore.serve.app import PROTOCOL, Owner, make_app
from braincore.serve.peer import peer_pid

__all__ = ["main"]

log = logging.getLogger("braincore")

HEARTBEAT_SECONDS = 5.0
DRAIN_SECONDS = 15.0


class _PeerProtocol(HttpToolsProtocol):
    """Puts the process id of the other end where the app finds it: `client` of the scope."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        self.client = (f"pid:{peer_pid(sock) if sock is not None else 0}", 0)


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


def _bind(store: Path) -> socket.socket:
    """A listening socket only this user can reach; we hold the lock, so an old one is stale."""
    path = socket_path(store)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.parent.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise OwnerError(f"{path.parent} belongs to somebody else")
        path.parent.chmod(0o700)
        path.unlink(missing_ok=True)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(str(path))
        path.chmod(0o600)
        sock.listen(256)
    except OSError as error:
        raise OwnerError(f"the socket {path} can't be made: {error}") from None
    return sock


class _Process:
    """One life of an owner."""

    def __init__(self, place: locate.Place, lock: int, sock: socket.socket) -> None:
        self.place = place
        self.lock = lock
        self.sock = sock
        self._opened = threading.Event()
        self._brain: Brain | None = None
        self._failed: BraincoreError | None = None
        self._leaving = ""
        self.owner = Owner(self.brain, place.store, self.leave)
        config = uvicorn.Config(
            make_app(self.owner),
            http=_PeerProtocol,
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=int(DRAIN_SECONDS),
        )
        self.server = uvicorn.Server(config)

    def brain(self) -> Brain:
        """The brain, once it is open. Raises what kept it from opening."""
        self._opened.wait(60)
        if self._brain is None:
            raise self._failed or OwnerError("the brain did not open within a minute")
        return self._brain

    def leave(self, reason: str) -> None:
        """Finish what runs, then end."""
        if not self._leaving:
            self._leaving = reason
            log.info("leaving: %s", reason)
            self._write_owner()
        self.server.should_exit = True

    def _write_owner(self) -> None:
        store = self.place.store
        if not store.exists():
            return
        boot = Path("/proc/sys/kernel/random/boot_id")
        data = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "boot": boot.read_text().strip() if boot.exists() else "",
            "store": str(store),
            "socket": self.sock.getsockname(),
            "version": __version__,
            "protocol": PROTOCOL,
            "leaving": bool(self._leaving),
            "heartbeat": time.time(),
        }
        try:
            write_atomic(store / "owner.json", json.dumps(data).encode() + b"\n")
            address = str(self.sock.getsockname()).encode() + b"\n"
            pointer = store / "socket"
            if not pointer.exists() or pointer.read_bytes() != address:
                write_atomic(pointer, address)
        except OSError as error:
            log.error("owner.json can't be written: %s", error)

    def _open(self) -> None:
        try:
            brain = Brain(self.place)
            if self.place.brain.exists():
                brain.attach()
            self._brain = brain
        except BraincoreError as error:
            log.error("%s", error)
            self._failed = error
        finally:
            self._opened.set()

    async def _watch(self) -> None:
        """Heartbeat, idle exit, and the end when the store went away."""
        while not self.server.should_exit:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if not self.place.store.exists():
                self.leave("the store is gone")
            self._write_owner()
            idle = time.monotonic() - self.owner.last_used
            minutes = self._brain.config.idle_minutes if self._brain is not None else 1.0
            if not self.owner.running and idle > minutes * 60:
                self.leave(f"idle for {minutes:g} minutes")

    def serve(self) -> None:
        """Serve until told to leave, then close everything in order."""
        self._write_owner()
        opener = threading.Thread(target=self._open, name="opener", daemon=True)
        opener.start()

        async def run() -> None:
            watch = asyncio.create_task(self._watch())
            await self.server.serve(sockets=[self.sock])
            watch.cancel()

        asyncio.run(run())
        opener.join(60)
        if self._brain is not None:
            self._brain.close()
        mine = socket_path(self.place.store)
        mine.unlink(missing_ok=True)
        if self.place.store.exists():
            (self.place.store / "socket").unlink(missing_ok=True)
            (self.place.store / "owner.json").unlink(missing_ok=True)
        os.close(self.lock)


def _log_to(store: Path, foreground: bool) -> None:
    handler: logging.Handler
    if foreground:
        handler = logging.StreamHandler()
    else:
        old = os.umask(0o077)
        try:
            handler = logging.handlers.RotatingFileHandler(
                store / "log", maxBytes=1_000_000, backupCount=2, encoding="utf-8"
            )
        except OSError as error:
            raise StoreError(str(store), str(error)) from None
        finally:
            os.umask(old)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


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
        os.chdir(place.git_dir)  # not the worktree: that may be deleted while we run
        try:
            place.store.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(str(place.store), str(error)) from None
        lock = _lock(place.store)
        _log_to(place.store, given.foreground)
        process = _Process(place, lock, _bind(place.store))
    except OwnerBusy as error:
        sys.stderr.write(f"{error}\n")
        return 1 if given.foreground else 0
    except BraincoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not given.foreground:
        _detach_output()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    process.serve()
    return 0


def _detach_output() -> None:
    """Nobody reads our output any more once we serve."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
