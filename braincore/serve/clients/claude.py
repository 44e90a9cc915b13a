"""Claude Code: hooks in the user's own settings of the repository, MCP entry of local scope."""

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
    permission,
    prompt,
)

__all__ = ["CLAUDE"]

_HOOKS = Hooks(
    "claude",
    {
        "PreToolUse": ("Edit|Write|MultiEdit|NotebookEdit|Bash", 10),
        "SessionStart": (None, 20),
        "UserPromptSubmit": (None, 10),
    },
)


def _files(place: Place) -> tuple[SettingsFile, ...]:
    root = place.root
    # The client files a linked worktree's servers under the main one.
    main = place.common_dir.parent if place.common_dir.name == ".git" else root
    # .mcp.json is the team's, and the interpreter's path is this machine's: hence the user's file,
    # which the client itself rewrites all the time and which holds more than settings.
    server = JsonServer(("projects", str(main), "mcpServers"))
    return (
        SettingsFile(root / ".claude" / "settings.local.json", (_HOOKS,), Keep.STORE),
        SettingsFile(home("CLAUDE_CONFIG_DIR") / ".claude.json", (server,), Keep.SHAPE),
    )


CLAUDE = Client(
    name="claude",
    agent="claude-code",
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
)
