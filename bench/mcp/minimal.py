"""The baseline: a server with one tool that does nothing, made as the SDK's pages show it.

Run as a script of its own; nothing of ours is in it.
"""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def _list(ctx: Any, params: Any) -> types.ListToolsResult:
    schema: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}}
    tool = types.Tool(name="recall", description="Nothing.", input_schema=schema)
    return types.ListToolsResult(tools=[tool])


async def _call(ctx: Any, params: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="nothing")])


async def _serve() -> None:
    server: Server[Any] = Server("minimal", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
