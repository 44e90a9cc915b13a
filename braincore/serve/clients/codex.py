"""Codex: hooks and MCP entry in the user's own folder, for all repositories.

Edits come as the tool `apply_patch`, or as `Bash` with `apply_patch <<EOF`. Elsewhere the hook
finds no store and says nothing.
"""

from braincore.locate import Place
from braincore.serve.clients.speech import (
    Client,
    Hooks,
    Keep,
    Moment,
    SettingsFile,
    TomlServer,
    context,
    home,
    permission,
    prompt,
)

__all__ = ["CODEX"]

_HOOKS = Hooks(
    "codex",
    {
        "PreToolUse": ("apply_patch|Bash", 10),
        "SessionStart": (None, 20),
        "UserPromptSubmit": (None, 10),
    },
)


def _files(place: Place) -> tuple[SettingsFile, ...]:
    folder = home("CODEX_HOME", ".codex")
    return (
        SettingsFile(folder / "hooks.json", (_HOOKS,), Keep.USER),
        SettingsFile(folder / "config.toml", (TomlServer(),), Keep.USER),
    )


CODEX = Client(
    name="codex",
    agent="codex",
    moments={
        "PreToolUse": Moment.BEFORE,
        "SessionStart": Moment.SESSION,
        "UserPromptSubmit": Moment.PROMPT,
    },
    prompt=prompt,
    deny=permission,
    context=context,
    warns_before=True,
    files=_files,
    todo="Codex skips hooks that you haven't trusted, without a word: "
    "run /hooks in it once and trust them",
)
