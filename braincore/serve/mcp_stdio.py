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
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from braincore.client import NO_OWNER, ask, connect, request_head
from braincore.errors import BraincoreError, OwnerError
from braincore.locate import Place, find_initialised

__all__ = ["Relay", "main"]

GREETING = Path(__file__).parent / "mcp_greeting.json"
LINGER_SECONDS = 30.0
TRIES = 3
MAX_LINE = 33 << 20
MAX_DEPTH = 100
BOM = b"\xef\xbb\xbf"
_META_VERSION = "io.modelcontextprotocol/protocolVersion"
_META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

CUT_OFF = (
    "The owner ended while it worked on this, so it may or may not be done. Look with recall or "
    "status before trying again."
)

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
        self._waiting: dict[Any, _Asked] = {}

    # — lines of the client —

    def take(self, line: bytes) -> None:
        """Answer a line, or pass it on."""
        line = line.removeprefix(BOM)
        if not line.strip():
            return
        try:
            message = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return self._odd(-32700, "This line is not JSON")
        if not isinstance(message, dict):
            return self._odd(-32600, "Send one JSON-RPC request or notification a line")
        # The SDK drops what it can't read without a word, and the client would wait for ever.
        request = message.get("id")
        if reason := _malformed(message):
            self._odd(-32600, reason, request if _is_id(request) else None)
        elif reason := _unreadable(message, line):
            if request is not None and "method" in message:
                self._fail(request, message["method"], reason)
        elif not self._answer(message):
            self._pass(line, message)

    def _odd(self, code: int, reason: str, request: Any = None) -> None:
        self._write({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": reason}})

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
            if not isinstance(version, str):
                return False
            self._version = version if version in known else "*"
            self._hello = message
        elif modern is not None:
            if not isinstance(meta, dict) or not isinstance(meta.get(_META_CAPABILITIES), dict):
                return False
            if not isinstance(modern, str):
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
        is_call = "method" in message and "id" in message
        if message.get("method") == "notifications/cancelled":
            self._forget((message.get("params") or {}).get("requestId"))
        try:
            with self._lock:
                stream = self._open()
                if is_call:
                    asked = _Asked(str(message["method"]), line, stream, stream.sent)
                    self._waiting[message["id"]] = asked
                if not stream.send(line):
                    self._again(message["id"] if is_call else None, line)
        except BraincoreError as error:
            if is_call:
                self._fail(message["id"], str(message["method"]), str(error))

    def _forget(self, request: Any) -> None:
        """What was cancelled gets no answer, so nobody waits for one."""
        if _is_id(request):
            self._waiting.pop(request, None)

    def _again(self, request: Any, line: bytes) -> None:
        """Say a line that nobody took to the next owner. Raises BraincoreError."""
        stream = self._open()
        if request in self._waiting:
            asked = self._waiting[request]
            self._waiting[request] = _Asked(asked.method, line, stream, stream.sent)
        stream.send(line)

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
        taken: int | None = None
        for line in stream:
            message = json.loads(line)
            request = message.get("id")
            if "jsonrpc" not in message:
                taken = message["taken"]
            elif swallowed is None or request != swallowed:
                with self._lock:
                    self._waiting.pop(request, None)
                self._write_line(line)
        with self._lock:
            if self._stream is stream:
                self._stream = None
            waiting = [(i, a) for i, a in self._waiting.items() if a.stream is stream]
            for request, asked in waiting:
                reason = CUT_OFF
                if taken is not None and asked.number >= taken:
                    try:
                        self._again(request, asked.line)
                        continue
                    except BraincoreError as error:
                        reason = str(error)
                self._fail(request, asked.method, reason)

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


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that waits for its answer: where it was sent, as which line."""

    method: str
    line: bytes
    stream: "_Stream"
    number: int


class _Stream:
    """One request to the owner whose body and answer go on as lines, both ways at once."""

    def __init__(self, connection: Any, rest: BinaryIO) -> None:
        self._connection = connection
        self._file = rest
        self.alive = True
        self.sent = 0

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
        self.sent += 1
        try:
            self._connection.sendall(b"%x\r\n%b\r\n" % (len(line), line))
        except OSError:
            self.alive = False
        return self.alive

    def __iter__(self) -> Any:
        """The owner's lines until it leaves."""
        pending: list[bytes] = []  # parts of a line, joined once: a long one comes in many
        try:
            while (size := int(self._file.readline().strip() or b"0", 16)) > 0:
                *ends, rest = self._file.read(size).split(b"\n")
                self._file.readline()
                for end in ends:
                    line = b"".join((*pending, end))
                    pending.clear()
                    if line.strip():
                        yield line + b"\n"
                pending.append(rest)
        except (OSError, ValueError):
            pass  # cut off: what waited for an answer is told so
        finally:
            self.alive = False
            self._connection.close()


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _malformed(message: Message) -> str:
    """What makes a JSON object no message of JSON-RPC, or nothing."""
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc: give "2.0"'
    if "method" not in message:
        answers = "result" in message or "error" in message
        return "" if answers else "method: name what to do"
    if not isinstance(message["method"], str):
        return "method: give its name as text"
    if "id" in message and not _is_id(message["id"]):
        return "id: give text or a whole number; a notification has none"
    if not isinstance(message.get("params"), (dict, type(None))):
        return "params: give an object"
    return ""


def _unreadable(message: Message, line: bytes) -> str:
    """Why the owner can't read a message, or nothing."""
    if len(line) > MAX_LINE:
        return f"The request is larger than {MAX_LINE >> 20} MB. Split it."
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _is_deep(message):
        return f"The request is nested deeper than {MAX_DEPTH} levels. Send it flat."
    try:
        line.decode()
        if b"\\u" in line:  # an escape may stand for half a character
            json.dumps(message, ensure_ascii=False).encode()
    except UnicodeError:
        return "The request holds bytes or escapes that are no Unicode text. Send it as UTF-8."
    return ""


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [x for some in inner for x in some if isinstance(x, (dict, list))]
    return bool(level)


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
    if sys.stdin is None or sys.stdout is None:
        return 0  # nobody to speak with
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for stream in (0, 1):  # a client may hand over ends that don't wait, and lines would be lost
        os.set_blocking(stream, True)
    # Whatever prints by mistake must not get between the lines of the protocol.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    relay = Relay(given.root, out)
    for line in sys.stdin.buffer:
        relay.take(line)
    relay.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
