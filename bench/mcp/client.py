"""A client of a stdio MCP server that notes what the server has cost at each answer."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import cpu_of, family, resident

__all__ = ["At", "Client"]

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class At:
    """Milliseconds from the server's start until an answer: CPU of the server itself, of all that
    it started, and by the wall clock; and the answer."""

    own: float
    started: float
    wall: float
    result: dict[str, Any]

    @property
    def cpu(self) -> float:
        """CPU of all of them."""
        return self.own + self.started


class Client:
    """One session: `initialize` and `tools/list` at once, as clients do; then calls."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self._began = time.perf_counter()
        self._server = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
        )
        self._number = 0
        self.pid = self._server.pid
        self._ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})
        self.listed = self._ask("tools/list", {})

    def call(self, tool: str, arguments: dict[str, Any]) -> At:
        """Call a tool; raises when it doesn't answer."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def resident(self) -> float:
        """Megabytes that the server holds now."""
        return resident(self.pid)

    def close(self) -> None:
        """End the session as clients do: close its stdin, wait for it."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(60)
        assert self._server.stdout is not None
        self._server.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        self._server.stdin.write(line + b"\n")
        self._server.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> At:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._server.stdout is not None
        while line := self._server.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._number:
                return self._at(message)
        raise SystemExit(f"the server ended before it answered {method}")

    def _at(self, message: dict[str, Any]) -> At:
        wall = (time.perf_counter() - self._began) * 1000
        own = cpu_of(self.pid)
        started = sum(cpu_of(pid) for pid in family(self.pid) if pid not in (self.pid, os.getpid()))
        if "result" not in message or message["result"].get("isError"):
            raise SystemExit(f"the server refused: {message}")
        return At(own, started, wall, message["result"])
