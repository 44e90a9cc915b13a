"""One life of an owner: open the brain, serve, watch the store, leave in order."""

import asyncio
import gc
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import braincore
from braincore import locate
from braincore.brain import Brain, waiting
from braincore.errors import BraincoreError, InvalidInput, OwnerError, StoreError
from braincore.serve.app import Owner, make_app
from braincore.serve.claim import DRAIN_SECONDS, Claim
from braincore.serve.door import UNIX
from braincore.serve.peer import peer_pid
from braincore.serve.tcp import Listening, bind, listening_on, parse_address

__all__ = ["Process"]

log = logging.getLogger("braincore")

HEARTBEAT_SECONDS = 5.0
LOOK_SECONDS = 0.5
OPEN_SECONDS = 60.0
START_LOOK_SECONDS = 0.01
FROZEN_STEP = 500
"""Records that must have come before the collector is told again what stays."""


class _PeerProtocol(HttpToolsProtocol):
    """Puts the process id of the other end of the Unix socket where the app finds it: `client` of
    the scope."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            self.client = (f"{UNIX}{peer_pid(sock)}", 0)


class _Server(uvicorn.Server):
    """Ends by `leave` on a signal too, so that what runs is finished and the brain closed."""

    def __init__(self, config: uvicorn.Config, owner: Owner) -> None:
        super().__init__(config)
        self._owner = owner

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._owner.leave(signal.Signals(sig).name)


class Process:
    """Serves one store: the brain, and a view of it for each worktree that asks."""

    def __init__(self, place: locate.Place, claim: Claim) -> None:
        self.place = place
        self.claim = claim
        self._opened = threading.Event()
        self._brain: Brain | None = None
        self._views: dict[Path, Brain] = {}
        self._views_lock = threading.Lock()
        self._failed: BraincoreError | None = None
        self._frozen = 0
        self.owner = Owner(self.brain, place.store, self.leave, self.listen)
        config = uvicorn.Config(
            make_app(self.owner),
            http=_PeerProtocol,
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            proxy_headers=False,  # else X-Forwarded-For could name another process as the caller
            timeout_graceful_shutdown=int(DRAIN_SECONDS),
        )
        self.server = _Server(config, self.owner)

    def brain(self, root: str) -> Brain:
        """The brain as seen from a worktree, once it is open. Raises what kept it from opening."""
        with waiting("opening"):
            self._opened.wait(OPEN_SECONDS)
        if self._brain is None:
            # The next owner may find what stood in the way mended.
            self.leave("the brain could not be opened")
            raise self._failed or OwnerError(
                f"The brain could not be opened; see {self.place.store / 'log'}"
            )
        if not root or root == str(self.place.root):
            return self._brain
        return self._view(self._brain, locate.find(root))

    def _view(self, brain: Brain, place: locate.Place) -> Brain:
        if place.store != self.place.store:
            raise InvalidInput(
                f"{place.root} is no worktree of this repository", "Run braincore in one."
            )
        if place.root == self.place.root:
            return brain
        with self._views_lock:
            view = self._views.get(place.root)
            if view is None:
                view = Brain(place, brain.clock, brain.keeper)
                _attach(view)
                self._views[place.root] = view
            return view

    async def listen(self, given: str) -> Listening:
        """Serve at a loopback address too. Raises InvalidInput, StoreError."""
        address, now = parse_address(given), self.owner.listening
        if now is None:
            return await self.accept(bind(address))
        if now.address == address or (address.port, now.address.host) == (0, address.host):
            return now
        raise InvalidInput(
            f"This owner listens at {now.url} already", "Run `braincore stop` first."
        )

    async def accept(self, sock: socket.socket) -> Listening:
        """Serve at a bound TCP socket too; it is closed with the others. Raises StoreError."""
        try:
            found = listening_on(sock, self.place.store)
        except StoreError:
            sock.close()
            raise
        self.owner.listening = found
        self.claim.http, self.claim.http_problem = found.url, ""
        server, config = self.server, self.server.config

        def protocol() -> asyncio.Protocol:
            state = server.lifespan.state
            return _PeerProtocol(config=config, server_state=server.server_state, app_state=state)

        loop = asyncio.get_running_loop()
        server.servers.append(await loop.create_server(protocol, sock=sock))
        log.info("listening at %s", found.url)
        self._say()
        return found

    async def _listen_at_start(
        self, http: socket.socket | None, announce: Callable[[Listening], None]
    ) -> None:
        """What the command line or else config.toml asks for."""
        while not self.server.started:
            await asyncio.sleep(START_LOOK_SECONDS)
        if http is not None:
            announce(await self.accept(http))
            return
        await asyncio.to_thread(self._opened.wait)
        if self._brain is not None and self._brain.config.http and self.owner.listening is None:
            try:
                await self.listen(self._brain.config.http)
            except BraincoreError as error:
                log.error("[serve] http: %s", error)
                self.claim.http_problem = str(error)
                self._say()

    def leave(self, reason: str) -> None:
        """Finish what runs, then end."""
        if not self.owner.leaving:
            self.owner.leaving = reason
            self.claim.leaving = True
            log.info("leaving: %s", reason)
            self._say()
        self.server.should_exit = True

    def _say(self) -> None:
        try:
            self.claim.write()
        except OSError as error:
            log.error("owner.json can't be written: %s", error)

    def _open(self) -> None:
        try:
            brain = Brain(self.place)
            _attach(brain)
            self._brain = brain
            self._opened.set()
            brain.warm()
            gc.collect()
            gc.freeze()
            self._frozen = len(brain.table)
        except BraincoreError as error:
            log.error("%s", error)
            self._failed = error
        finally:
            self._opened.set()

    async def _watch(self) -> None:
        """Heartbeat, idle exit, and the end when the store went away."""
        minutes = 1.0
        said = time.monotonic()
        package = await asyncio.to_thread(_package_stamp)
        while not self.server.should_exit:
            await asyncio.sleep(LOOK_SECONDS)
            if not self.claim.holds():
                self.leave("the store is gone")
            elif not self.claim.reachable():
                self.leave("the socket is gone")
            if time.monotonic() - said > HEARTBEAT_SECONDS:
                self._say()
                said = time.monotonic()
                self._spare_collector()
                if await asyncio.to_thread(_package_stamp) != package:
                    self.leave("the installed package changed")
            idle = time.monotonic() - self.owner.last_used
            if self._brain is not None:
                minutes = self._brain.config.idle_minutes
            # Over TCP nobody could start the next owner.
            wanted = self.owner.running or self.owner.listening is not None
            if not wanted and idle > minutes * 60:
                self.leave(f"idle for {minutes:g} minutes")
        await self._end_mcp()

    def _spare_collector(self) -> None:
        """Have the garbage collector pass over records that are there to stay: a full collection
        at 30,000 of them holds everybody up for 0.2 s."""
        brain = self._brain
        if brain is None or self.owner.running:
            return
        records = len(brain.table)
        if records > self._frozen * 1.2 + FROZEN_STEP:
            gc.collect()
            gc.freeze()
            self._frozen = records

    async def _end_mcp(self) -> None:
        """Sessions have no end of their own: they finish what they took, and are ended here."""
        self.owner.streams.close()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self.owner.running and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        self.owner.http.close()

    def serve(
        self,
        http: socket.socket | None = None,
        announce: Callable[[Listening], None] = lambda tcp: None,
    ) -> None:
        """Serve until told to leave, then close everything in order. `http`: a TCP socket to serve
        at too, of which `announce` is told once it does."""
        opener = threading.Thread(target=self._open, name="opener", daemon=True)
        opener.start()

        async def run() -> None:
            watch = asyncio.create_task(self._watch())
            listen = asyncio.create_task(self._listen_at_start(http, announce))
            await self.server.serve(sockets=[self.claim.socket])
            await watch
            listen.cancel()

        try:
            asyncio.run(run())
            opener.join(OPEN_SECONDS)
            for view in self._views.values():
                view.close()
            if self._brain is not None:
                self._brain.close()
        finally:
            self.claim.release()


def _package_stamp() -> int:
    """Changes when the installed package does, whatever its version says."""
    folder = Path(braincore.__file__).parent
    return max((f.stat().st_mtime_ns for f in folder.rglob("*.py")), default=0)


def _attach(brain: Brain) -> None:
    """memory/ is for people: where it can't be made, the brain serves all the same."""
    if not brain.place.brain.is_dir():
        return
    try:
        brain.attach()
    except (BraincoreError, OSError) as error:
        log.error("memory/ of %s is not in step: %s", brain.place.root, error)
