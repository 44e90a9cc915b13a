"""Real repositories, a real owner, the real command; every owner that was started is stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "braincore.cli.main"]
CLIENTS = Path(__file__).parent.parent / "fixtures" / "clients" / "claude"
APP = "def load(text):\n    return int(text)\n\n\ndef save(path, text):\n    path.write(text)\n"


def wait_for(ready: Callable[[], Any], what: str, seconds: float = 30) -> Any:
    """Poll until `ready` says something true; what it said."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain: {what}")


def owners_in(folder: Path) -> list[int]:
    """The process ids of all owners whose store lies under a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"braincore.serve.owner" in words and any(
                w.startswith(os.fsencode(folder) + b"/") for w in words
            ):
                found.append(int(entry.name))
    return found


def kill_owners(folder: Path, how: signal.Signals = signal.SIGKILL) -> list[int]:
    """End every owner under a folder and wait for it."""
    pids = owners_in(folder)
    for pid in pids:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            continue
    wait_for(lambda: not set(owners_in(folder)) & set(pids), "owners end")
    return pids


class Desk:
    """A scratch folder with a home and a git repository, and the means to run braincore there."""

    def __init__(self, name: str = "repo") -> None:
        # Not tmp_path: a socket's path may be no longer than 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="bc-")).resolve()
        self.run_dir = self.folder / "run"
        self.run_dir.mkdir(mode=0o700)
        (self.folder / "home").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "XDG_RUNTIME_DIR": str(self.run_dir),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(self.folder),
        }
        self.root = self.folder / name

    def make(self, files: Mapping[str, str | bytes] | None = None, *, commit: bool = True) -> None:
        """A git repository with these files."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ana")
        self.git("config", "user.email", "ana@example.org")
        self.write({"app.py": APP} if files is None else files)
        if commit:
            self.git("add", "-A")
            self.git("commit", "-qm", "begin")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Put files into the repository."""
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run git; its output."""
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        where = cwd or self.root
        done = subprocess.run(command, cwd=where, env=self.env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="replace").strip()

    @property
    def store(self) -> Path:
        return self.root / ".git" / "braincore"

    def run(
        self,
        *arguments: str | bytes,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        code: int | None = 0,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run braincore; its exit code must be `code` and it must not show a traceback."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=cwd or self.root,
            input=stdin,
            env=self.env if env is None else env,
            capture_output=True,
            timeout=120,
            check=False,
        )
        stderr = done.stderr.decode("utf-8", "replace")
        said = f"{arguments} → {done.returncode}\n{done.stdout!r}\n{stderr}"
        assert code is None or done.returncode == code, said
        assert b"Traceback" not in done.stderr, said
        return done

    def json(self, *arguments: str | bytes, **options: Any) -> dict[str, Any]:
        """Run a verb with --json; the one object it prints."""
        done = self.run(*arguments, "--json", **options)
        lines = done.stdout.splitlines()
        assert len(lines) == 1, (arguments, done.stdout, done.stderr)
        body = json.loads(lines[0])
        assert isinstance(body, dict)
        return body

    def error(self, *arguments: str | bytes, **options: Any) -> str:
        """The one message of a command that must fail with exit code 1."""
        done = self.run(*arguments, code=1, **options)
        text = done.stderr.decode("utf-8", "replace")
        assert done.stdout == b"" and text.startswith("braincore: "), (done.stdout, text)
        assert len(text.splitlines()) == 1, text
        return text.removeprefix("braincore: ").strip()

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Run braincore without waiting for it."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def remember(self, text: str, target: str = "", *more: str, **options: Any) -> str:
        """Store a fact; its id."""
        about = ("--target", target) if target else ()
        return str(self.json("remember", text, *about, *more, **options)["id"])

    def logged(self, limit: int = 10_000) -> set[str]:
        """Every record id in the log."""
        entries = self.json("log", "-n", str(limit))["log"]
        return {i for entry in entries for i in entry["records"]}

    def owner(self) -> int:
        """The owner's process id, by owner.json."""
        return int(json.loads((self.store / "owner.json").read_text())["pid"])

    def log_text(self) -> str:
        """The owner's log."""
        return (self.store / "log").read_text(encoding="utf-8")

    def kept(self, *wanted: str, root: Path | None = None) -> set[str]:
        """The records in memory/, once the wanted ones are there: the files follow behind."""
        folder = (root or self.root) / ".braincore" / "memory"

        def found() -> set[str] | None:
            names = {p.stem for p in folder.rglob("*.md")}
            return names if names and set(wanted) <= names else None

        return set(wait_for(found, f"{wanted} in {folder}"))

    def settings(self) -> Path:
        return self.root / ".claude" / "settings.local.json"

    def hook_command(self, event: str = "PreToolUse") -> str:
        """The installed command of a hook event."""
        groups = json.loads(self.settings().read_text())["hooks"][event]
        assert len(groups) == 1 and len(groups[0]["hooks"]) == 1
        return str(groups[0]["hooks"][0]["command"])

    def hook(
        self, event: bytes | Mapping[str, Any], cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Fire the installed command as a client does; again when a busy machine made it late."""
        name = event.get("hook_event_name") if isinstance(event, Mapping) else None
        known = name if name in ("SessionStart", "UserPromptSubmit") else "PreToolUse"
        for _ in range(10):
            done = subprocess.run(
                ["sh", "-c", self.hook_command(known)],
                cwd=cwd or self.root,
                input=event if isinstance(event, bytes) else json.dumps(event).encode(),
                env=self.env | env,
                capture_output=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
            if b"did not answer in time" not in done.stderr:
                break
        return done

    def payload(self, name: str, tool: str = "", **given: Any) -> dict[str, Any]:
        """A recorded event of the client, here and with this input."""
        event: dict[str, Any] = json.loads((CLIENTS / f"{name}.json").read_text())["stdin"]
        event["cwd"] = str(self.root)
        if tool:
            event["tool_name"] = tool
        if given:
            event["tool_input"] = given
        return event

    def close(self) -> None:
        kill_owners(self.folder)
        shutil.rmtree(self.folder)


@pytest.fixture
def desk() -> Iterator[Desk]:
    """An empty scratch folder; `make` turns it into a repository."""
    desk = Desk()
    yield desk
    desk.close()


@pytest.fixture
def brain(desk: Desk) -> Desk:
    """A repository of its own with a brain."""
    desk.make()
    desk.run("init")
    return desk


@pytest.fixture(scope="module")
def shared() -> Iterator[Desk]:
    """A repository with a brain and hooks that the tests of one module share."""
    desk = Desk()
    desk.make()
    desk.run("init", "--client", "claude")
    yield desk
    desk.close()


@pytest.fixture
def trials() -> Callable[[int], int]:
    """How often to try: BRAINCORE_TRIALS, scaled; a few in CI, more for the figures."""
    count = int(os.environ.get("BRAINCORE_TRIALS", "5"))
    return lambda full: max(2, full * count // 30)


@pytest.fixture
def another() -> Iterator[Callable[[str], Desk]]:
    """More scratch folders."""
    made: list[Desk] = []

    def make(name: str = "repo") -> Desk:
        made.append(Desk(name))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def until() -> Callable[..., Any]:
    """`wait_for`, for test files."""
    return wait_for


@pytest.fixture
def owners() -> Callable[..., list[int]]:
    """`owners_in`, for test files."""
    return owners_in


@pytest.fixture
def slay() -> Callable[..., list[int]]:
    """`kill_owners`, for test files."""
    return kill_owners


def ended(processes: Sequence[subprocess.Popen[bytes]]) -> list[tuple[int, bytes, bytes]]:
    """Exit code and output of each process."""
    out = []
    for process in processes:
        stdout, stderr = process.communicate(timeout=120)
        out.append((process.returncode, stdout, stderr))
    return out


@pytest.fixture
def finish() -> Callable[..., list[tuple[int, bytes, bytes]]]:
    """`ended`, for test files."""
    return ended
