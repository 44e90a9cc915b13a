"""What is told of a client: its events, its shapes of an answer, its settings files."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from braincore.errors import InvalidInput
from braincore.locate import Place
from braincore.serve.settings import (
    SERVER_MODULE,
    HookEntry,
    hook_command,
    merge_hooks,
    merge_server,
    remove_hooks,
    remove_server,
    server_shape,
)
from braincore.serve.toml_settings import merge_toml_server, remove_toml_server

__all__ = [
    "Client",
    "Hooks",
    "JsonServer",
    "Keep",
    "Moment",
    "SettingsFile",
    "TomlServer",
    "context",
    "home",
    "permission",
    "prompt",
]


class Moment(Enum):
    """What an event of a client is for us."""

    SESSION = "session"
    PROMPT = "prompt"
    BEFORE = "before a tool"
    AFTER = "after a tool"


class Keep(Enum):
    """What is kept of a settings file to restore it, and where."""

    STORE = "a copy in the repository's store"
    USER = "a copy in the user's state folder, with the repositories that need the entries"
    SHAPE = "which objects it had: the rest is the client's own and private"


class Part(Protocol):
    """One kind of entry of ours in a settings text. All raise InvalidInput and change nothing."""

    def merge(self, text: str | None, original: str | None) -> str: ...

    def remove(self, text: str, original: str | None) -> str | None: ...

    def shape(self, text: str | None) -> str | None:
        """What of a text `remove` needs as the original, at the least."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file of a client and what of ours belongs in it."""

    path: Path
    parts: tuple[Part, ...]
    keep: Keep


@dataclass(frozen=True, slots=True)
class Client:
    """How a client speaks. `deny` and `context` make what its hook prints, from the event's name
    and the text; `warns_before`: context given before an edit reaches its model."""

    name: str
    agent: str
    moments: Mapping[str, Moment]
    prompt: Callable[[Mapping[str, Any]], str]
    deny: Callable[[str, str], str]
    context: Callable[[str, str], str]
    warns_before: bool
    files: Callable[[Place], tuple[SettingsFile, ...]]
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Hooks in JSON settings: per event the tools it matches and the time allowed, in the
    client's unit."""

    client: str
    events: Mapping[str, tuple[str | None, int]]

    def merge(self, text: str | None, original: str | None) -> str:
        script = Path(__file__).parent.with_name("hook_client.py")
        command = hook_command(sys.executable, str(script), self.client)
        entries = {
            event: [HookEntry(matcher, command, timeout)]
            for event, (matcher, timeout) in self.events.items()
        }
        return merge_hooks(text, entries, original)

    def remove(self, text: str, original: str | None) -> str | None:
        return remove_hooks(text, original)

    def shape(self, text: str | None) -> str | None:
        return text


@dataclass(frozen=True, slots=True)
class JsonServer:
    """The MCP entry in JSON settings, under `path`."""

    path: tuple[str, ...]

    def merge(self, text: str | None, original: str | None) -> str:
        return merge_server(text, self.path, _server_command())

    def remove(self, text: str, original: str | None) -> str | None:
        return remove_server(text, self.path, original)

    def shape(self, text: str | None) -> str | None:
        return server_shape(text, self.path)


@dataclass(frozen=True, slots=True)
class TomlServer:
    """The MCP entry in TOML settings."""

    def merge(self, text: str | None, original: str | None) -> str:
        return merge_toml_server(text, _server_command())

    def remove(self, text: str, original: str | None) -> str | None:
        return remove_toml_server(text, original)

    def shape(self, text: str | None) -> str | None:
        return text


def _server_command() -> list[str]:
    return [sys.executable, "-I", "-m", SERVER_MODULE]


def home(variable: str, below: str = "") -> Path:
    """The folder that an environment variable names, else `below` in the user's home."""
    folder = os.environ.get(variable, "")
    if os.path.isabs(folder):
        return Path(folder)
    base = os.path.expanduser("~")
    if not os.path.isabs(base):
        raise InvalidInput("The home folder isn't known", "Set HOME, then again.")
    return Path(base, below)


def _output(event: str, **fields: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


def permission(event: str, reason: str) -> str:
    """A denial as Claude Code and Codex read it."""
    return _output(event, permissionDecision="deny", permissionDecisionReason=reason)


def context(event: str, text: str) -> str:
    """Text for the model, as all three read it."""
    return _output(event, additionalContext=text)


def prompt(event: Mapping[str, Any]) -> str:
    """What the user said."""
    said = event.get("prompt")
    return said if isinstance(said, str) else ""
