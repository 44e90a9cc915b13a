"""Hooks and MCP entry into a client's settings and out again, each file with what restores it."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from braincore.disk import write_atomic
from braincore.errors import BraincoreError, InvalidInput, OwnerBusy, StoreError
from braincore.locate import Place
from braincore.serve.clients import CLIENTS
from braincore.serve.clients.speech import Keep, SettingsFile, home
from braincore.serve.settings import SERVER_MODULE, our_commands

__all__ = [
    "Done",
    "install",
    "installed_commands",
    "remove_store",
    "shared_settings",
    "uninstall",
]

LEAVE_SECONDS = 10.0
_MARKS = ("hook_client.py", SERVER_MODULE)


@dataclass(frozen=True, slots=True)
class Done:
    """What was done to a settings file; `others`: how many other repositories need our entries,
    which therefore stay."""

    path: str
    changed: bool
    others: int = 0


@dataclass(slots=True)
class _Kept:
    """What restores a file: its text before us (None: it wasn't there), the text that was made of
    it, and the stores of the repositories that need our entries."""

    original: str | None = None
    installed: str | None = None
    stores: list[str] = field(default_factory=list)


class _Work:
    """One settings file of a client on its way from one text to another.

    Raises InvalidInput when it can't be read, before anything is written.
    """

    def __init__(self, place: Place, client: str, file: SettingsFile) -> None:
        self.file = file
        self.path = file.path.resolve() if file.path.is_symlink() else file.path
        self.store = str(place.store)
        folder = place.store / "backup"
        if file.keep is Keep.USER:
            folder = home("XDG_STATE_HOME", ".local/state") / "braincore" / "clients"
        digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        self.backup = folder / f"{client}-{digest}.json"
        self.current = _read(self.path)
        self.kept = self._kept()

    def _kept(self) -> _Kept:
        try:
            return _Kept(**json.loads(_read(self.backup) or "{}"))
        except (ValueError, TypeError):
            return _Kept()

    @property
    def ours(self) -> bool:
        """Whether anything of ours may be in the file."""
        return self.current is not None and any(mark in self.current for mark in _MARKS)

    @property
    def others(self) -> list[str]:
        """The stores of other repositories, still there, that need our entries."""
        stores = (s for s in self.kept.stores if s != self.store)
        return [s for s in stores if Path(s, "journal.git").is_dir()]

    def without(self) -> str | None:
        """The text without us; what the user edited since we came stays edited."""
        text = self.current
        if text is not None and text == self.kept.installed:
            return self.kept.original
        for part in reversed(self.file.parts):
            if text is not None:
                text = part.remove(text, self.kept.original)
        return text

    def merged(self) -> str:
        """The text with us; sets what will restore it."""
        original = self.without()
        text = self.current
        for part in self.file.parts:
            text = part.merge(text, original)
        assert text is not None
        if self.file.keep is Keep.SHAPE:
            (only,) = self.file.parts
            self.kept = _Kept(only.shape(original))
        else:
            self.kept = _Kept(original, text, [*self.others, self.store])
        return text

    def remember(self) -> None:
        """Write what restores the file."""
        try:
            write_atomic(self.backup, json.dumps(asdict(self.kept)).encode())
        except OSError as error:
            raise _unwritable(self.backup, error) from None

    def forget(self) -> None:
        """Remove what restores the file, and the folders made for it."""
        self.backup.unlink(missing_ok=True)
        if self.file.keep is Keep.USER:
            for folder in (self.backup.parent, self.backup.parent.parent):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()

    def write(self, text: str | None) -> None:
        """Replace the file; None removes it, and its folder if that is the client's and empty."""
        try:
            if text is not None:
                mode = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o600
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self.path, text.encode(), mode)
                return
            self.path.unlink()
            folder = self.path.parent
            if folder.name.startswith(".") and not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            raise _unwritable(self.path, error) from None


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(
            f"The settings in {path} are not UTF-8 text", "Save them as UTF-8, then again."
        ) from None
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}", "Check its permissions.") from None


def _works(place: Place, client: str) -> list[_Work]:
    return [_Work(place, client, file) for file in CLIENTS[client].files(place)]


def _named(path: Path, error: InvalidInput) -> BraincoreError:
    return BraincoreError(f"{path}: {error}")


def install(place: Place, client: str) -> list[Done]:
    """Merge hooks and MCP entry of a client; safe to run again. Keeps what `uninstall` restores.

    A file that can't be used leaves all of them as they were.
    """
    if client not in CLIENTS:
        raise InvalidInput(f"client {client!r} is unknown", f"Use {', '.join(CLIENTS)}.")
    planned = []
    for work in _works(place, client):
        try:
            planned.append((work, work.merged()))
        except InvalidInput as error:
            raise _named(work.path, error) from None
    for work, text in planned:
        work.remember()
        if text != work.current:
            work.write(text)
    return [Done(str(work.path), text != work.current) for work, text in planned]


def uninstall(place: Place) -> list[Done]:
    """Take exactly what is ours out of every client's settings, unless others need it."""
    out = []
    for client in CLIENTS:
        for work in _works(place, client):
            if not work.ours:
                continue
            if work.others:
                if work.store in work.kept.stores:
                    work.kept.stores = work.others
                    work.remember()
                    out.append(Done(str(work.path), False, len(work.others)))
                continue
            try:
                left = work.without()
            except InvalidInput as error:
                raise _named(work.path, error) from None
            if left != work.current:
                work.write(left)
                out.append(Done(str(work.path), True))
            work.forget()
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


def shared_settings(place: Place) -> dict[str, str]:
    """The text of each client's settings outside the repository, by path."""
    out = {}
    for client in CLIENTS.values():
        for file in client.files(place):
            if file.keep is Keep.USER:
                try:
                    text = _read(file.path)
                except InvalidInput:
                    continue
                if text is not None:
                    out[str(file.path)] = text
    return out


def installed_commands(place: Place) -> list[tuple[str, str]]:
    """The SessionStart command of each client that is set up for this repository."""
    out = []
    for client in CLIENTS.values():
        hooks, *_ = client.files(place)
        try:
            text = _read(hooks.path)
        except InvalidInput:
            continue
        if text is not None:
            out += [(client.name, c) for c in our_commands(text, "SessionStart")]
    return out
