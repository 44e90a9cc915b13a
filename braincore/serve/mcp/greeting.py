"""What the SDK answers to a client's greeting, recorded for the relay: `mcp_greeting.json`.

    python -m braincore.serve.mcp.greeting

writes the file anew, after a change of tools or of the SDK; a test compares the two.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Any

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from braincore.brain import Brain
from braincore.serve.mcp.server import Session, serve_lines
from braincore.serve.mcp_stdio import GREETING

__all__ = ["recorded"]

_CLIENT = {"name": "greeting", "version": "0"}


def recorded() -> dict[str, dict[str, Any]]:
    """Method → protocol version → result; `*` for a version that the SDK doesn't know."""
    out: dict[str, dict[str, Any]] = {
        method: {} for method in ("initialize", "server/discover", "tools/list", "ping")
    }
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, "*"):
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
        answers = _ask([("initialize", hello), ("tools/list", {}), ("ping", {})])
        for method, result in answers.items():
            out[method][version] = result
    for version in MODERN_PROTOCOL_VERSIONS:
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
        meta[f"{prefix}clientInfo"] = _CLIENT
        answers = _ask([(m, {"_meta": meta}) for m in ("server/discover", "tools/list")])
        for method, result in answers.items():
            out[method][version] = result
    return out


def _ask(requests: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    async def run() -> None:
        done = anyio.Event()

        async def lines() -> AsyncIterator[str]:
            for method, params in requests:
                yield json.dumps(
                    {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                )
                if method == "initialize":
                    yield json.dumps(ready)
            await done.wait()

        async def write(text: str) -> None:
            message = json.loads(text)
            answers[message["id"]] = message["result"]
            if len(answers) == len(requests):
                done.set()

        await serve_lines(Session(_no_brain, _not_busy, "greeting"), lines(), write)

    anyio.run(run)
    return answers


def _no_brain() -> Brain:
    raise AssertionError("a greeting needs no brain")


def _not_busy() -> AbstractContextManager[None]:
    raise AssertionError("a greeting calls no tool")


if __name__ == "__main__":
    GREETING.write_text(
        json.dumps(recorded(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
