"""One request to the owner over its socket; starts an owner when none serves.

Standard library only, and little of it: this runs for every command.

The owner says `100 Continue` when it takes a request. Without that word the request certainly
did nothing and may be made again to the next owner; after it, it is never repeated blindly.
"""

import json
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from braincore import __version__
from braincore.errors import BraincoreError, OwnerError
from braincore.locate import Place

if TYPE_CHECKING:
    import subprocess

__all__ = [
    "NO_OWNER",
    "Answer",
    "Refused",
    "ask",
    "connect",
    "request_head",
    "serving",
    "stop",
]

START_SECONDS = 75.0
STOP_SECONDS = 60.0
ANSWER_SECONDS = 600.0
POLL_SECONDS = 0.02
AGAIN_SECONDS = 0.5
KILLED_AT_MOST = 3
DEBUG = "BRAINCORE_DEBUG"
"""Set to 1 in the environment: what is done goes to stderr, and an owner that is started logs each
request."""
NO_OWNER = (421, 426, 503)
TAKEN = b"HTTP/1.1 100 Continue\r\n\r\n"


class Refused(BraincoreError):
    """The owner says what is wrong with the request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON body of an answer and the exit code it asks for."""

    body: dict[str, Any]
    exit_code: int


def _debug(text: str) -> None:
    if os.environ.get(DEBUG) == "1":
        sys.stderr.write(f"braincore: debug: {text}\n")


def ask(place: Place, verb: str, body: dict[str, Any], *, start: bool = True) -> Answer | None:
    """The owner's answer to a verb; None when no owner serves and `start` is False."""
    answer = _try(place, verb, body)
    if answer is not None or not start:
        return answer
    return _start_and_ask(place, verb, body)


def serving(place: Place) -> int | None:
    """The process id of the owner that serves this store, or None."""
    answer = _try(place, "ping", {})
    return int(answer.body["pid"]) if answer is not None else None


def stop(place: Place) -> int | None:
    """Ask the owner to leave and wait until it has; its process id, None when none served."""
    answer = ask(place, "stop", {}, start=False)
    if answer is None:
        return None
    pid = int(answer.body["pid"])
    deadline = time.monotonic() + STOP_SECONDS
    while _serves(place, pid):
        if time.monotonic() > deadline:
            raise OwnerError(f"The owner (pid {pid}) still works after {STOP_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
    return pid


def _serves(place: Place, pid: int) -> bool:
    try:
        if json.loads((place.store / "owner.json").read_bytes())["pid"] != pid:
            return False
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def connect(place: Place) -> socket.socket | None:
    """A connection to the owner of this store, or None when none listens. Raises OwnerError."""
    try:
        address = os.fsdecode((place.store / "socket").read_bytes().strip())
    except OSError:
        return None
    if not address:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address)
    except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise OwnerError(f"The owner's socket {address} can't be reached: {error}") from None
    return connection


def _try(place: Place, verb: str, body: dict[str, Any]) -> Answer | None:
    began = time.monotonic()
    connection = connect(place)
    if connection is None:
        return None
    try:
        connection.settimeout(ANSWER_SECONDS)
        raw = _exchange(connection, _request(place, verb, body))
    finally:
        connection.close()
    answered = (raw or b"").partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    _debug(f"{verb}: {answered[0] or 'no answer'} after {time.monotonic() - began:.3f} s")
    for line in answered[1:]:
        if line.lower().startswith("server-timing:"):
            _debug(f"  of that the owner took, in ms: {line.partition(': ')[2]}")
    return _parse(raw) if raw is not None else None


def _request(place: Place, verb: str, body: dict[str, Any]) -> bytes:
    # Arguments that are no UTF-8 arrive as lone surrogates, which JSON can't carry.
    text = json.dumps(body, ensure_ascii=False)
    payload = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()
    length = f"Expect: 100-continue\r\nContent-Length: {len(payload)}"
    return request_head(place, verb, length) + payload


def request_head(place: Place, verb: str, more: str) -> bytes:
    """The head of a POST to `/v1/{verb}` with the handshake's headers and `more` ones."""
    store, root = quote(os.fsencode(place.store)), quote(os.fsencode(place.root))
    return (
        f"POST /v1/{verb} HTTP/1.1\r\nHost: braincore\r\nConnection: close\r\n"
        f"X-Braincore-Store: {store}\r\nX-Braincore-Root: {root}\r\n"
        f"X-Braincore-Protocol: 1\r\nX-Braincore-Version: {__version__}\r\n"
        f"Content-Type: application/json\r\n{more}\r\n\r\n"
    ).encode()


def _exchange(connection: socket.socket, request: bytes) -> bytes | None:
    """The response; None when the owner went away before it took the request."""
    try:  # noqa: SIM105 - contextlib is not loaded for this
        connection.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        pass  # an owner that turns a request away needn't read all of it first
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    except TimeoutError:
        raise OwnerError(f"The owner did not answer within {ANSWER_SECONDS:.0f} s") from None
    raw = b"".join(parts)
    if not raw:
        return None
    if raw == TAKEN[: len(raw)]:
        raise OwnerError("The owner ended while it worked on this; look with `braincore log`")
    return raw.removeprefix(TAKEN)


def _parse(raw: bytes) -> Answer | None:
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    try:
        status = int(lines[0].split(b" ")[1])
        headers = {
            k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in lines[1:])
        }
        if status in NO_OWNER:
            return None
        data = json.loads(body)
        code = int(headers.get(b"x-braincore-exit", b"0"))
    except (ValueError, IndexError):
        raise OwnerError("The owner's answer can't be read; look with `braincore log`") from None
    if not isinstance(data, dict):
        raise OwnerError("The owner's answer is no JSON object")
    if status != 200:
        raise Refused(str(data.get("error", f"the owner answered {status}")))
    return Answer(data, code)


def _start_and_ask(place: Place, verb: str, body: dict[str, Any]) -> Answer:
    if os.environ.get("BRAINCORE_NO_SPAWN") == "1":
        raise OwnerError("No owner serves this repository, and starting one is turned off")
    _bury()
    deadline = time.monotonic() + START_SECONDS
    killed = 0
    child = _spawn(place)
    _debug(f"no owner serves {place.store}: started one, pid {child.pid}")
    again = 0.0
    try:
        while time.monotonic() < deadline:
            answer = _try(place, verb, body)
            if answer is not None:
                return answer
            code = child.poll()
            if code is not None and code > 0:
                raise Refused(_problem(child))
            if code is not None and not again:
                # Killed, or another owner held the store: if that one leaves, ours is needed.
                killed += code < 0
                if killed >= KILLED_AT_MOST:
                    raise OwnerError(f"The owner was killed {killed} times as it started")
                again = time.monotonic() + (AGAIN_SECONDS if code == 0 else 0)
            if again and time.monotonic() > again:
                _let_go(child)
                child, again = _spawn(place), 0.0
            time.sleep(POLL_SECONDS)
    finally:
        _let_go(child)
    raise OwnerError(
        f"No owner answered within {START_SECONDS:.0f} s; see {Path(place.store) / 'log'}"
    )


def _spawn(place: Place) -> "subprocess.Popen[bytes]":
    import subprocess

    command = [sys.executable, "-I", "-m", "braincore.serve.owner"]
    command += ["--store", str(place.store), "--root", str(place.root)]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd=str(place.common_dir),
        env=_environment(),
    )


def _problem(child: "subprocess.Popen[bytes]") -> str:
    assert child.stderr is not None
    lines = child.stderr.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"No owner could start (exit code {child.returncode})."


_left: set[int] = set()


def _let_go(child: "subprocess.Popen[bytes]") -> None:
    assert child.stderr is not None
    child.stderr.close()
    if child.returncode is None:
        _left.add(child.pid)
        child.returncode = 0  # it lives on without us: no warning about that


def _bury() -> None:
    """Owners that we started and that ended, so that a long session gathers no zombies."""
    for pid in tuple(_left):  # another thread may do the same
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _left.discard(pid)


def _environment() -> dict[str, str]:
    """The owner outlives this session: it gets neither its secrets nor a git hook's view."""
    private = ("TOKEN", "SECRET", "PASSWORD", "API_KEY")
    return {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("GIT_", "CLAUDE")) and not any(p in k.upper() for p in private)
    }
