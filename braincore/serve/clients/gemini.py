"""Gemini CLI: hooks and MCP entry in the user's own settings, for all repositories.

Times are in milliseconds. Nothing said before a tool runs reaches the model except a denial, so
warnings wait for the event after it. Elsewhere the hook finds no store and says nothing.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from braincore.locate import Place
from braincore.serve.clients.speech import (
    Client,
    Hooks,
    JsonServer,
    Keep,
    Moment,
    SettingsFile,
    context,
    home,
    prompt,
)

__all__ = ["GEMINI"]

_EDIT_TOOLS = "^(replace|write_file|run_shell_command)$"
_HOOKS = Hooks(
    "gemini",
    {
        "BeforeTool": (_EDIT_TOOLS, 10_000),
        "AfterTool": (_EDIT_TOOLS, 10_000),
        "SessionStart": (None, 20_000),
        "BeforeAgent": (None, 10_000),
    },
)
# The client puts what hooks said at the session's start before the first prompt.
_SAID_BY_HOOKS = re.compile(r"(?:\s*<hook_context>.*?</hook_context>)*", re.DOTALL)


def _files(place: Place) -> tuple[SettingsFile, ...]:
    path = home("GEMINI_CLI_HOME") / ".gemini" / "settings.json"
    return (SettingsFile(path, (_HOOKS, JsonServer(("mcpServers",))), Keep.USER),)


def _prompt(event: Mapping[str, Any]) -> str:
    return _SAID_BY_HOOKS.sub("", prompt(event), count=1)


def _deny(event: str, reason: str) -> str:
    return json.dumps({"decision": "deny", "reason": reason})


GEMINI = Client(
    name="gemini",
    agent="gemini-cli",
    moments={
        "BeforeTool": Moment.BEFORE,
        "AfterTool": Moment.AFTER,
        "SessionStart": Moment.SESSION,
        "BeforeAgent": Moment.PROMPT,
    },
    prompt=_prompt,
    deny=_deny,
    context=context,
    warns_before=False,
    files=_files,
)
