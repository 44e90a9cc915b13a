"""The stdio MCP server as a thin client: lines of the client to the owner, the owner's lines back.

    python -I -m braincore.serve.mcp_stdio [--root PATH]

Standard library only, so that a client waits for no import. The greeting (initialize, discover,
tools/list, ping) is answered from `mcp_greeting.json`, which holds what the SDK in the owner says
to it (a test compares the two); all else goes to the owner, which is started if none serves and may
come and go while the client stays: the client's own greeting is then said again to the next one.
Nothing but protocol is written to stdout, and the end of stdin is the end of this process.
"""

import argparse
import json
import os
import secrets
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from braincore.client import NO_OWNER, ask, connect, request_head
from braincore.errors import BraincoreError, OwnerError
from braincore.locate import Place, find_initialised

__all__ = ["Relay", "main"]

GREETING = Path(__file__).parent / "mcp_greeting.json"
LINGER_SECONDS = 30.0
TRIES = 3
_META_VERSION = "io.modelcontextprotocol/protocolVersion"
_META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

Message = dict[str, Any]


class Relay:
    """One client's session. `root`: where the repository is looked for, at each connection."""

    def __init__(self, root: str, out: BinaryIO) -> None:
        self.root = root
        self._out = out
        self._writing = threading.Lock()
        self._lock = threading.RLock()
        self._greeting: dict[str, dict[str, Any]] = json.loads(GREETING.read_bytes())
        self._session = secrets.token_hex(4)
        self._version = ""
        self._hello: Message | None = None
        self._stream: _Stream | None = None
        self._waiting: dict[Any, str] = {}

    # — lines of the client —

    def take(self, line: bytes) -> None:
        """Answer a line, or pass it on."""
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            return self._odd(-32700, "This line is not JSON")
        if not isinstance(message, dict):
            return self._odd(-32600, "Send one JSON-RPC request or notification a line")
        if not self._answer(message):
            self._pass(line, message)

    def _odd(self, code: int, reason: str) -> None:
        # The SDK drops such a line without a word, and the client would wait for ever.
        self._write({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": reason}})

    def _answer(self, message: Message) -> bool:
        """Answer what belongs to the greeting; False when the owner must."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "notifications/initialized":
            return self._hello is not None  # said to the owner whenever a stream is opened
        known = self._greeting.get(method) if isinstance(method, str) else None
        if known is None or "id" not in message or not isinstance(params, dict):
            return False
        meta = params.get("_meta")
        modern = meta.get(_META_VERSION) if isinstance(meta, dict) else None
        if method == "initialize":
            version = params.get("protocolVersion")
            if modern is not None or not isinstance(params.get("clientInfo"), dict):
                return False
            self._version = version if version in known else "*"
            self._hello = message
        elif modern is not None:
            if not isinstance(meta, dict) or not isinstance(meta.get(_META_CAPABILITIES), dict):
                return False
        elif not self._version:
            return False
        result = known.get(modern if modern is not None else self._version)
        if result is None or params.get("cursor") is not None:
            return False
        self._write({"jsonrpc": "2.0", "id": message["id"], "result": result})
        if method == "tools/list":
            threading.Thread(target=self._prepare, daemon=True).start()
        return True

    def _prepare(self) -> None:
        """Have the owner ready for the first call; what is wrong is said at that call."""
        try:
            with self._lock:
                self._open()
        except BraincoreError as error:
            sys.stderr.write(f"braincore: {error}\n")

    def _pass(self, line: bytes, message: Message) -> None:
        is_call = "method" in message and message.get("id") is not None
        try:
            with self._lock:
                stream = self._open()
                if is_call:
                    self._waiting[message["id"]] = str(message["method"])
                if not stream.send(line):
                    stream = self._open()
                    stream.send(line)
        except BraincoreError as error:
            if is_call:
                self._fail(message["id"], str(message["method"]), str(error))

    def _fail(self, request: Any, method: str, reason: str) -> None:
        self._waiting.pop(request, None)
        answer: Message = {"jsonrpc": "2.0", "id": request}
        if method == "tools/call":
            said = {"outcome": "error", "error": reason}
            content = [{"type": "text", "text": reason}]
            answer["result"] = {"content": content, "structuredContent": said, "isError": True}
        else:
            answer["error"] = {"code": -32603, "message": reason}
        self._write(answer)

    # — the owner —

    def _open(self) -> "_Stream":
        """The stream to the owner, with the client's greeting said on it. Raises BraincoreError."""
        if self._stream is not None and self._stream.alive:
            return self._stream
        place = find_initialised(self.root or _here())
        for _ in range(TRIES):
            ask(place, "ping", {})  # starts an owner, and has an older one make room
            stream = _Stream.open(place, self._session)
            if stream is not None:
                break
        else:
            raise OwnerError("No owner takes this session; `braincore doctor` shows what is wrong")
        swallowed = None
        if self._hello is not None:
            swallowed = f"hello-{secrets.token_hex(4)}"
            stream.send(json.dumps(self._hello | {"id": swallowed}).encode() + b"\n")
            stream.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self._stream = stream
        reader = threading.Thread(target=self._read, args=(stream, swallowed), daemon=True)
        reader.start()
        return stream

    def _read(self, stream: "_Stream", swallowed: str | None) -> None:
        for line in stream:
            message = json.loads(line)
            request = message.get("id")
            if swallowed is not None and request == swallowed:
                continue
            with self._lock:
                self._waiting.pop(request, None)
            self._write_line(line)
        with self._lock:
            if self._stream is stream:
                self._stream = None
                waiting = dict(self._waiting)
            else:
                waiting = {}
        for request, method in waiting.items():
            self._fail(
                request,
                method,
                "The owner ended while it worked on this, so it may or may not be done. Look with "
                "recall or status before trying again.",
            )

    # — lines to the client —

    def _write(self, message: Message) -> None:
        self._write_line(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def _write_line(self, line: bytes) -> None:
        with self._writing:
            try:
                self._out.write(line)
                self._out.flush()
            except (BrokenPipeError, ValueError):
                os._exit(0)  # the client is gone, and threads may still wait for the owner

    def finish(self) -> None:
        """After the last line: what was asked is still answered, for a while."""
        deadline = time.monotonic() + LINGER_SECONDS
        while self._waiting and time.monotonic() < deadline:
            time.sleep(0.01)


class _Stream:
    """One request to the owner whose body and answer go on as lines, both ways at once."""

    def __init__(self, connection: Any, rest: BinaryIO) -> None:
        self._connection = connection
        self._file = rest
        self.alive = True

    @classmethod
    def open(cls, place: Place, session: str) -> "_Stream | None":
        """A stream, or None when this owner makes room or is gone. Raises OwnerError."""
        connection = connect(place)
        if connection is None:
            return None
        more = f"X-Braincore-Session: {session}\r\nTransfer-Encoding: chunked"
        try:
            connection.sendall(request_head(place, "mcp-stdio", more))
            file = connection.makefile("rb")
            status = file.readline().split(b" ")
            while file.readline().strip():
                continue
        except OSError:
            connection.close()
            return None
        if len(status) > 1 and status[1] == b"200":
            return cls(connection, file)
        connection.close()
        if len(status) < 2 or int(status[1]) in NO_OWNER:
            return None
        raise OwnerError(f"The owner does not take this session (HTTP {int(status[1])})")

    def send(self, line: bytes) -> bool:
        """Pass a line on; False when nobody takes it."""
        line = line if line.endswith(b"\n") else line + b"\n"
        try:
            self._connection.sendall(b"%x\r\n%b\r\n" % (len(line), line))
        except OSError:
            self.alive = False
        return self.alive

    def __iter__(self) -> Any:
        """The owner's lines until it leaves."""
        pending = b""
        try:
            while (size := int(self._file.readline().strip() or b"0", 16)) > 0:
                pending += self._file.read(size)
                self._file.readline()
                *lines, pending = pending.split(b"\n")
                for line in lines:
                    if line.strip():
                        yield line + b"\n"
        except (OSError, ValueError):
            pass  # cut off: what waited for an answer is told so
        finally:
            self.alive = False
            self._connection.close()


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise OwnerError(
            "the working directory was deleted; restart the client elsewhere"
        ) from None


def main(arguments: list[str] | None = None) -> int:
    """Relay until stdin ends; the exit code."""
    parser = argparse.ArgumentParser(prog="braincore mcp", description=__doc__)
    parser.add_argument("--root", default="", metavar="PATH", help="the repository")
    given = parser.parse_args(arguments)
    # Whatever prints by mistake must not get between the lines of the protocol.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    relay = Relay(given.root, out)
    for line in sys.stdin.buffer:
        relay.take(line)
    relay.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
