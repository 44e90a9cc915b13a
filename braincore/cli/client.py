"""One request to the owner over its socket; starts an owner when none serves.

Standard library only, and little of it: this runs for every command.
"""

import json
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from braincore import __version__
from braincore.errors import BraincoreError, OwnerError
from braincore.locate import Place

__all__ = ["Answer", "Refused", "ask", "running"]

START_SECONDS = 30.0
POLL_SECONDS = 0.02
NO_OWNER = (421, 426)


class Refused(BraincoreError):
    """The owner says what is wrong with the request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON body of an answer and the exit code it asks for."""

    body: dict[str, Any]
    exit_code: int


def ask(place: Place, verb: str, body: dict[str, Any], *, start: bool = True) -> Answer | None:
    """The owner's answer to a verb; None when no owner serves and `start` is False."""
    answer = _try(place, verb, body)
    if answer is not None or not start:
        return answer
    return _start_and_ask(place, verb, body)


def running(place: Place) -> bool:
    """True when an owner serves this store."""
    return _try(place, "ping", {}) is not None


def _try(place: Place, verb: str, body: dict[str, Any]) -> Answer | None:
    try:
        address = (place.store / "socket").read_text().strip()
    except OSError:
        return None
    payload = json.dumps(body).encode("utf-8", "surrogatepass")
    head = (
        f"POST /v1/{verb} HTTP/1.1\r\nHost: braincore\r\nConnection: close\r\n"
        f"X-Braincore-Store: {quote(str(place.store))}\r\nX-Braincore-Protocol: 1\r\n"
        f"X-Braincore-Version: {__version__}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    ).encode()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            connection.connect(address)
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            return None
        except OSError as error:
            raise OwnerError(f"The owner's socket {address} can't be reached: {error}") from None
        raw = _exchange(connection, head + payload)
    finally:
        connection.close()
    if raw is None:
        return None
    return _parse(raw)


def _exchange(connection: socket.socket, request: bytes) -> bytes | None:
    """The whole response; None when the owner went away before it took the request."""
    try:
        connection.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        return None
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    if not parts:
        # It may have done what was asked: not to be repeated blindly.
        raise OwnerError("The owner ended while it worked on this; look with `braincore log`")
    return b"".join(parts)


def _parse(raw: bytes) -> Answer | None:
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    try:
        status = int(lines[0].split(b" ")[1])
        headers = {
            k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in lines[1:])
        }
        data = json.loads(body)
        code = int(headers.get(b"x-braincore-exit", b"0"))
    except (ValueError, IndexError):
        raise OwnerError("The owner's answer can't be read") from None
    if status in NO_OWNER:
        return None
    if status != 200:
        raise Refused(str(data.get("error", f"the owner answered {status}")))
    return Answer(data, code)


def _start_and_ask(place: Place, verb: str, body: dict[str, Any]) -> Answer:
    import subprocess

    if os.environ.get("BRAINCORE_NO_SPAWN") == "1":
        raise OwnerError("No owner serves this repository, and starting one is turned off")
    command = [sys.executable, "-I", "-m", "braincore.serve.owner"]
    command += ["--store", str(place.store), "--root", str(place.root)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd=str(place.common_dir),
        env=_environment(),
    )
    deadline = time.monotonic() + START_SECONDS
    ended = False
    try:
        while time.monotonic() < deadline:
            answer = _try(place, verb, body)
            if answer is not None:
                return answer
            if not ended and child.poll() is not None:
                ended = True
                assert child.stderr is not None
                problem = child.stderr.read().decode(errors="replace").strip()
                if child.returncode != 0:
                    raise Refused(problem.splitlines()[-1] if problem else "No owner could start.")
            time.sleep(POLL_SECONDS)
    finally:
        assert child.stderr is not None
        child.stderr.close()
        child.returncode = child.returncode or 0  # it lives on without us: no warning about that
    raise OwnerError(
        f"No owner answered within {START_SECONDS:.0f} s; see {Path(place.store) / 'log'}"
    )


def _environment() -> dict[str, str]:
    """The owner outlives this session: it gets neither its secrets nor a git hook's view."""
    private = ("TOKEN", "SECRET", "PASSWORD", "API_KEY")
    return {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("GIT_", "CLAUDE")) and not any(p in k for p in private)
    }
