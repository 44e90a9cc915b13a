"""What agents may not write: memory, config, hook settings, and rules that already exist."""

import re

from braincore.model.axes import Severity
from braincore.model.edits import Edit, Finding

__all__ = ["protected", "protected_path"]

_MEMORY = re.compile(r"\.braincore/(?:memory/|config\.toml$|\.internal-git$)")
_RULE = re.compile(r"\.braincore/rules/.*\.ya?ml$")
_SETTINGS = re.compile(
    r"(?:^|/)\.(?:claude/settings(?:\.local)?\.json|codex/hooks\.json|gemini/settings\.json)$"
)
_GIT_STORE = re.compile(r"(?:^|/)\.git/braincore/")
_OURS = "hook_client.py"


_GUARDED = (
    ".braincore/memory",
    ".braincore/rules",
    ".braincore/config.toml",
    ".braincore/.internal-git",
    ".git/braincore",
)


def protected_path(path: str) -> Finding | None:
    """The finding when a path that goes, or gets content nobody knows, is guarded, lies in what is
    guarded, or has it inside."""
    hit = path == "." or any(
        path == one or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in _GUARDED
    )
    if not hit:
        return None
    return _finding(
        Edit(path, None, None),
        "this removes or overwrites what belongs to the brain",
        "leave it; `braincore uninstall` is for a person to run",
    )


def protected(edit: Edit) -> Finding | None:
    """The finding for an edit by an agent to what only a person may change; None elsewhere."""
    if _MEMORY.match(edit.path) or _GIT_STORE.search(edit.path):
        return _finding(
            edit, "this file belongs to the brain", "use the verbs: remember, decide, fail"
        )
    if _RULE.match(edit.path) and edit.before is not None:
        return _finding(
            edit,
            "agents may add rules, only a person changes or deletes them",
            "put the new rule into a file of its own, or ask a person",
        )
    loses_hook = _OURS in (edit.before or "") and _OURS not in (edit.after or "")
    if _SETTINGS.search(edit.path) and loses_hook:
        return _finding(
            edit, "this takes the guard out of the client's settings", "keep the braincore hooks"
        )
    return None


def _finding(edit: Edit, message: str, repair: str) -> Finding:
    return Finding(
        source="braincore-protected",
        severity=Severity.CRITICAL,
        message=message,
        why="What is believed and what guards the code must not be changed by what it guards "
        "against.",
        path=edit.path,
        line=1,
        snippet="",
        repair=repair,
    )
