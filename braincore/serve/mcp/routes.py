"""Where MCP comes into the owner's app: one long request for each stdio relay, and `/mcp`."""

import asyncio
import importlib
import json
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
    """The open sessions of stdio relays. `close` has them finish what they took; the last line of
    a session, `{"taken": N}`, tells the relay how many of its lines that were, so that it can say
    the others to the next owner."""

    def __init__(self, busy: Callable[[], AbstractContextManager[None]]) -> None:
        self._busy = busy
        self._closing = asyncio.Event()

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

        lines = _Lines(receive, self._closing)
        await server.serve_lines(server.Session(brain, self._busy, name), aiter(lines), write)
        if self._closing.is_set():
            await write(json.dumps({"taken": lines.taken}) + "\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        """Take no more. Call it in the loop's thread."""
        self._closing.set()


class _Lines:
    """The lines of a request's body, until it ends or no more are wanted."""

    def __init__(self, receive: Receive, closing: asyncio.Event) -> None:
        self._receive = receive
        self._closing = closing
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[str]:
        pending: list[bytes] = []
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            while not self._closing.is_set():
                message = asyncio.ensure_future(self._receive())
                await asyncio.wait((message, closing), return_when=asyncio.FIRST_COMPLETED)
                if not message.done():
                    message.cancel()
                    return
                part = message.result()
                *lines, rest = part.get("body", b"").split(b"\n")
                for line in lines:
                    line, pending = b"".join([*pending, line]), []
                    self.taken += 1
                    yield line.decode("utf-8", "replace") + "\n"
                pending.append(rest)
                if part["type"] != "http.request" or not part.get("more_body", False):
                    return
        finally:
            closing.cancel()


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
        await asyncio.wait((self._started, self._ready), return_when=asyncio.FIRST_COMPLETED)
        if not self._started.done():
            self._ready.result()  # raises what kept it from starting, for every request alike
        await self._started.result()(scope, receive, send)

    async def _hold(self) -> None:
        server = await asyncio.to_thread(importlib.import_module, "braincore.serve.mcp.server")
        session = server.Session(self._brain, self._busy, secrets.token_hex(4))
        async with server.http_app(session) as app:
            self._started.set_result(app)
            await self._end.wait()

    def close(self) -> None:
        """Let go. Call it in the loop's thread."""
        self._end.set()
