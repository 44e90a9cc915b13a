"""Where MCP comes into the owner's app: one long request for each stdio relay, and `/mcp`."""

import asyncio
import importlib
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from typing import Any

from starlette.types import Receive, Scope, Send

from braincore.brain import Brain

__all__ = ["Http", "Streams"]

_SESSION = re.compile(r"[0-9a-f]{1,32}")


class Streams:
    """The open sessions of stdio relays; `close` ends them."""

    def __init__(self, busy: Callable[[], AbstractContextManager[None]]) -> None:
        self._busy = busy
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def serve(
        self, brain: Callable[[], Brain], session: str, receive: Receive, send: Send
    ) -> None:
        """One relay, until either end leaves."""
        server = await asyncio.to_thread(importlib.import_module, "braincore.serve.mcp.server")
        name = session if _SESSION.fullmatch(session) else "none"
        head = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": head})

        async def write(text: str) -> None:
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        work = server.serve_lines(server.Session(brain, self._busy, name), _lines(receive), write)
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        try:
            if self._closed:
                task.cancel()
            await task
        except asyncio.CancelledError:
            if not self._closed:
                raise
        finally:
            self._tasks.discard(task)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        """End every session. Call it in the loop's thread."""
        self._closed = True
        for task in self._tasks:
            task.cancel()


async def _lines(receive: Receive) -> AsyncIterator[str]:
    pending = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        pending += message.get("body", b"")
        *lines, pending = pending.split(b"\n")
        for line in lines:
            if line.strip():
                yield line.decode("utf-8", "replace") + "\n"
        if not message.get("more_body", False):
            return


class Http:
    """`/mcp`: streamable HTTP, loaded with the first request."""

    def __init__(
        self, brain: Callable[[], Brain], busy: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._brain = brain
        self._busy = busy
        self._ready: asyncio.Task[Any] | None = None
        self._end = asyncio.Event()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._ready is None:
            self._started: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._ready = asyncio.create_task(self._hold())
        app = await asyncio.shield(self._started)
        await app(scope, receive, send)

    async def _hold(self) -> None:
        server = await asyncio.to_thread(importlib.import_module, "braincore.serve.mcp.server")
        session = server.Session(self._brain, self._busy, secrets.token_hex(4))
        async with server.http_app(session) as app:
            self._started.set_result(app)
            await self._end.wait()

    def close(self) -> None:
        """Let go. Call it in the loop's thread."""
        self._end.set()
