"""Hooks into a client's settings and out again, with a backup beside the store."""

import fcntl
import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from braincore.disk import write_atomic
from braincore.errors import InvalidInput, OwnerBusy, StoreError
from braincore.locate import Place
from braincore.serve.settings import (
    HookEntry,
    hook_command,
    merge_hooks,
    our_commands,
    uninstall_text,
)

__all__ = ["CLIENT_SETTINGS", "install", "installed_commands", "remove_store", "uninstall"]

CLIENT_SETTINGS = {"claude": ".claude/settings.local.json"}
LEAVE_SECONDS = 10.0
_EDIT_TOOLS = "Edit|Write|MultiEdit|NotebookEdit|Bash"


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done to a client's settings file."""

    path: str
    changed: bool


def _entries(client: str) -> dict[str, list[HookEntry]]:
    script = Path(__file__).with_name("hook_client.py")
    command = hook_command(sys.executable, str(script), client)
    return {
        "PreToolUse": [HookEntry(_EDIT_TOOLS, command, 10)],
        "SessionStart": [HookEntry(None, command, 20)],
        "UserPromptSubmit": [HookEntry(None, command, 10)],
    }


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text", "Save it as UTF-8, then again.") from None
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}", "Check its permissions.") from None


def install(place: Place, client: str) -> Installed:
    """Merge the hooks of a client; safe to run again. Keeps the original for `uninstall`."""
    if client not in CLIENT_SETTINGS:
        raise InvalidInput(f"client {client!r} is unknown", f"Use {', '.join(CLIENT_SETTINGS)}.")
    path = place.root / CLIENT_SETTINGS[client]
    if path.is_symlink():
        path = path.resolve()
    backup = place.store / "backup" / f"{client}.json"
    current = _read(path)
    kept = _backup(backup)
    original = current
    if kept is not None and current is not None:
        # Edited since the last installation: what is left without us is the new original.
        original = uninstall_text(current, kept[0], kept[1])
    merged = merge_hooks(current, _entries(client), original)
    if merged != current:
        try:
            write_atomic(backup, json.dumps({"original": original, "installed": merged}).encode())
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, merged.encode(), mode)
        except OSError as error:
            raise _unwritable(path, error) from None
    return Installed(str(path), merged != current)


def _backup(path: Path) -> tuple[str | None, str] | None:
    text = _read(path)
    if text is None:
        return None
    try:
        data = json.loads(text)
        return data["original"], data["installed"]
    except (ValueError, KeyError, TypeError):
        return None


def uninstall(place: Place) -> list[Installed]:
    """Take exactly our hooks out of every client's settings."""
    out = []
    for client, name in CLIENT_SETTINGS.items():
        path = place.root / name
        if path.is_symlink():
            path = path.resolve()
        current = _read(path)
        if current is None:
            continue
        kept = _backup(place.store / "backup" / f"{client}.json")
        left = uninstall_text(current, *(kept or (None, "")))
        if left == current:
            continue
        try:
            if left is None:
                path.unlink()
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()
            else:
                write_atomic(path, left.encode(), path.stat().st_mode & 0o777)
        except OSError as error:
            raise _unwritable(path, error) from None
        (place.store / "backup" / f"{client}.json").unlink(missing_ok=True)
        out.append(Installed(str(path), True))
    return out


def _unwritable(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"{path} can't be written: {error.strerror}", "Check its permissions.")


def remove_store(place: Place) -> list[str]:
    """Delete journal, indexes and memory; the team's rules and config stay. Raises OwnerBusy
    when an owner was started meanwhile."""
    gone = []
    try:
        with (place.store / "owner.lock").open("ab") as lock:
            _take(lock, place.store)
            for path in (place.store, place.memory):
                if path.exists():
                    shutil.rmtree(path)
                    gone.append(str(path))
        (place.brain / ".internal-git").unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(str(place.store), str(error)) from None
    return gone


def _take(lock: IO[bytes], store: Path) -> None:
    """The store's lock. An owner that leaves removes its owner.json first and lets go of the lock
    a moment later: that moment is waited for. Raises OwnerBusy when one serves."""
    deadline = time.monotonic() + LEAVE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            said = _read(store / "owner.json")
            if said is not None or time.monotonic() > deadline:
                pid = json.loads(said).get("pid", 0) if said else 0
                raise OwnerBusy(str(store), int(pid)) from None
            time.sleep(0.02)


def installed_commands(root: Path) -> list[tuple[str, str]]:
    """The SessionStart command of each client that is set up here."""
    out = []
    for client, name in CLIENT_SETTINGS.items():
        try:
            text = _read(root / name)
        except InvalidInput:
            continue
        if text is not None:
            out += [(client, c) for c in our_commands(text, "SessionStart")]
    return out
