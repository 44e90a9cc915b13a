"""The MCP server of the SDK over our verbs: one a connection for stdio, one for all of HTTP.

Only this module loads the SDK (0.8 s of CPU, 26 MB), and only when the first client comes.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import ValidationError

from braincore import __version__
from braincore.brain import Brain, Caller
from braincore.errors import BraincoreError
from braincore.model.axes import Channel
from braincore.serve.mcp.results import result_of
from braincore.serve.mcp.tools import INSTRUCTIONS, TOOLS, Tool, listed
from braincore.serve.timing import timed
from braincore.serve.verbs import VERBS

__all__ = ["Session", "http_app", "make_server", "serve_lines"]

log = logging.getLogger("braincore")

_TOOLS = {tool.name: tool for tool in TOOLS}
_NAME = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True, slots=True)
class Session:
    """Whose calls these are: the brain they go to, the owner's word that it works while one
    lasts, and a name for this connection."""

    brain: Callable[[], Brain]
    busy: Callable[[], AbstractContextManager[None]]
    id: str


def make_server(session_of: Callable[[ServerRequestContext[Any]], Session]) -> Server[Any]:
    """A server whose tools are our verbs. Abstain, deny and conflict are results; only what can't
    be done as asked is marked an error, with what to do about it."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(**listed(t)) for t in TOOLS])

    async def call_tool(
        ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = _TOOLS.get(params.name)
        if tool is None:
            return _refused(f"There is no tool {params.name!r}. Use one of {', '.join(_TOOLS)}.")
        session = session_of(ctx)
        client = ctx.session.client_params
        name = client.client_info.name if client is not None else ""
        with session.busy(), timed(f"mcp/{tool.name}"):
            work = asyncio.to_thread(
                _call, tool, params.arguments or {}, session, _client_name(name)
            )
            done = asyncio.ensure_future(work)
            await asyncio.wait((done,))
        problem = done.exception()
        if problem is None:
            return done.result()
        # The SDK would tell the client nothing of what nobody foresaw.
        log.error("tool %s failed", tool.name, exc_info=problem)
        return _refused(
            f"The owner failed at this ({type(problem).__name__}: {problem}). Its log has the "
            "details; `braincore doctor` may say more."
        )

    return Server(
        "braincore",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _client_name(given: str) -> str:
    """A client's name as it may stand in a source_ref: `Claude Code` → `claude-code`."""
    return _NAME.sub("-", given.lower()).strip("-")[:40] or "mcp"


def _call(
    tool: Tool, arguments: dict[str, Any], session: Session, client: str
) -> types.CallToolResult:
    unknown = sorted(set(arguments) - set(tool.properties))
    if unknown:
        known = ", ".join(tool.properties) or "none"
        return _refused(f"{tool.name} has no argument {unknown[0]!r}; it takes: {known}.")
    # Clients send null for what they leave out.
    given = {k: v for k, v in arguments.items() if v is not None}
    verb = VERBS[tool.verb]
    try:
        asked = verb.request.model_validate_json(json.dumps(given))
        caller = Caller(Channel.AGENT, f"{client}/{session.id}", session.id)
        reply = verb.run(session.brain(), asked, caller)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or tool.name
        return _refused(f"{where}: {first['msg']}.")
    except BraincoreError as error:
        return _refused(str(error))
    text, data = result_of(tool.name, reply.body, datetime.now(UTC))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=data
    )


def _refused(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)],
        structured_content={"outcome": "error", "error": message},
        is_error=True,
    )


class _Lines:
    """Text over byte streams, as the SDK's stdio transport reads and writes it."""

    def __init__(self, lines: AsyncIterator[str], write: Callable[[str], Awaitable[None]]) -> None:
        self._lines = lines
        self.write = write

    def __aiter__(self) -> AsyncIterator[str]:
        return self._lines

    async def flush(self) -> None:
        """Nothing is held back."""


async def serve_lines(
    session: Session, lines: AsyncIterator[str], write: Callable[[str], Awaitable[None]]
) -> None:
    """Serve one stdio client, whose lines come in and go out here, until its lines end."""
    server = make_server(lambda ctx: session)
    both: Any = _Lines(lines, write)
    async with stdio_server(both, both) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


@asynccontextmanager
async def http_app(session: Session) -> AsyncIterator[Any]:
    """The streamable HTTP endpoint as an ASGI app; no state between requests, JSON answers.

    Host and Origin are checked by the owner's app, before this sees a request.
    """
    manager = StreamableHTTPSessionManager(
        make_server(lambda ctx: session),
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=33 << 20,
    )
    async with manager.run():
        yield manager.handle_request
