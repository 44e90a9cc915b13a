"""Who is at the other end of the socket: the owner looks for itself, the caller's word is nothing.

A person is a process with a controlling terminal on its standard input and without an agent's marks
in its environment. Where that can't be seen (no /proc), the caller is an agent. A determined local
program can fake a terminal; docs/privacy.md says so.
"""

import os
import socket
import struct

from braincore.brain import Caller
from braincore.model.axes import Channel

__all__ = ["AGENT_MARKS", "caller_of", "peer_pid"]

AGENT_MARKS: tuple[tuple[str, str], ...] = (
    ("CLAUDECODE", "claude-code"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_HOME", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("GEMINI_CLI", "gemini-cli"),
    ("OPENCODE", "opencode"),
    ("CURSOR_AGENT", "cursor"),
    ("CURSOR_TRACE_ID", "cursor"),
    ("AIDER_MODEL", "aider"),
    ("GITHUB_ACTIONS", "ci"),
    ("CI", "ci"),
    ("AI_AGENT", "agent"),
    ("AGENT", "agent"),
)

_PARENTS = 12


def peer_pid(sock: socket.socket) -> int:
    """The process at the other end of a Unix socket, or 0 where the system doesn't say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    try:
        cred = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError:
        return 0
    return int(struct.unpack("3i", cred)[0])


def caller_of(pid: int, user: str, session: str = "") -> Caller:
    """The caller behind a process id: a person at a terminal, or an agent by name."""
    environment = _environment(pid)
    client = next((name for mark, name in AGENT_MARKS if mark in environment), "")
    if pid and not client and _at_terminal(pid) and not _agent_above(pid):
        return Caller(Channel.PERSON, user, session)
    return Caller(Channel.AGENT, f"{client or 'shell'}/{session or 'none'}", session)


def _environment(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().split(b"\x00")
    except OSError:
        return {}
    return dict(p.decode("utf-8", "replace").partition("=")[::2] for p in pairs if b"=" in p)


def _at_terminal(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        stdin = os.readlink(f"/proc/{pid}/fd/0")
    except OSError:
        return False
    return int(fields[4]) != 0 and stdin.startswith(("/dev/pts/", "/dev/tty"))


def _agent_above(pid: int) -> bool:
    """An agent's marks further up: a child may have cleaned its own environment."""
    for _ in range(_PARENTS):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if pid <= 1:
            return False
        if any(mark in _environment(pid) for mark, _ in AGENT_MARKS):
            return True
    return False
