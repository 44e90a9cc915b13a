"""The hook command, run for real against a small owner on a Unix socket."""

import ast
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import braincore
from braincore.serve import hook_client
from braincore.serve.settings import hook_command

FILE = Path(hook_client.__file__)
EVENT = b'{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"/r/a.py"}}'
DENY = (
    b'{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"caf\xc3\xa9"}}'
)
Reply = bytes | Callable[[socket.socket], object]


def http(body: bytes = b"", status: str = "200 OK", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Owner:
    """A server on a Unix socket that gives one reply to whatever it is asked."""

    def __init__(self, path: str, reply: Reply) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.reply = reply
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            with connection:
                data = b""
                while b"\r\n\r\n" not in data and (part := connection.recv(65536)):
                    data += part
                if not data:
                    return
                head, _, body = data.partition(b"\r\n\r\n")
                first, *lines = head.decode("ascii").split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines) | {"": first}
                while len(body) < int(headers["Content-Length"]):
                    body += connection.recv(1 << 20)
                self.requests.append((headers, body))
                if callable(self.reply):
                    self.reply(connection)
                else:
                    connection.sendall(self.reply)

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
            last.connect(self.listener.getsockname())
        self.thread.join()
        self.listener.close()


class Desk:
    """A short temporary folder with a repository, and the means to run the hook in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = folder / "repo"
        self.store = self.repo / ".git" / "braincore"
        self.store.mkdir(parents=True)
        self.owners: list[Owner] = []

    def owner(self, reply: Reply, store: Path | None = None) -> Owner:
        path = str(self.folder / f"s{len(self.owners)}")
        self.owners.append(Owner(path, reply))
        ((store or self.store) / "socket").write_text(path + "\n")
        return self.owners[-1]

    def hook(
        self,
        event: bytes = EVENT,
        client: str = "claude",
        cwd: Path | None = None,
        python: str = sys.executable,
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [python, "-S", "-E", "-I", str(FILE), client],
            input=event,
            capture_output=True,
            cwd=cwd or self.repo,
            env={"BRAINCORE_NO_SPAWN": "1"} if environment is None else environment,
            timeout=30,
        )


@pytest.fixture
def desk() -> Iterator[Desk]:
    # Not tmp_path: the path of a socket may be no longer than 107 bytes.
    desk = Desk(Path(tempfile.mkdtemp(prefix="bc-")).resolve())
    yield desk
    for owner in desk.owners:
        owner.close()
    shutil.rmtree(desk.folder)


def passed_with_note(run: subprocess.CompletedProcess[bytes], why: str) -> None:
    assert run.returncode == 0
    note = f"braincore: not checked ({why}); the edit was let through"
    assert run.stderr.decode() == note + "\n"
    assert json.loads(run.stdout) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": note}
    }


def test_version_is_the_packages() -> None:
    assert braincore.__version__ == hook_client.VERSION


def test_allow_prints_nothing(desk: Desk) -> None:
    owner = desk.owner(http())
    run = desk.hook()
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    headers, body = owner.requests[0]
    assert body == EVENT
    assert headers[""] == "POST /v1/hook/claude HTTP/1.1"
    assert headers["Connection"] == "close"
    assert headers["X-Braincore-Store"] == str(desk.store)
    assert headers["X-Braincore-Root"] == str(desk.repo)
    assert headers["X-Braincore-Cwd"] == str(desk.repo)
    assert headers["X-Braincore-Version"] == braincore.__version__
    assert headers["X-Braincore-Protocol"] == "1"


def test_deny_is_printed_verbatim(desk: Desk) -> None:
    desk.owner(http(DENY))
    assert desk.hook().stdout == DENY


def test_exit_code_and_stderr_come_from_headers(desk: Desk) -> None:
    desk.owner(http(headers="X-Braincore-Exit: 2\r\nx-braincore-stderr: no%0Await %25\r\n"))
    run = desk.hook()
    assert (run.returncode, run.stdout, run.stderr) == (2, b"", b"no\nwait %")


@pytest.mark.parametrize(
    "event",
    [b"", b"not json", rb'{"file_path":"C:\Users\x"}', b"\xff\x00\r\n\r\n", b"x" * 5_000_000],
)
def test_any_input_reaches_the_owner_as_it_is(desk: Desk, event: bytes) -> None:
    owner = desk.owner(http())
    assert desk.hook(event).stderr == b""
    assert owner.requests[0][1] == event


def turned_away(status: str) -> bytes:
    return http(status=status)


@pytest.mark.parametrize("reply", [*map(turned_away, ("421 A", "426 B", "503 C")), b""])
def test_owner_that_turns_away_or_leaves_is_no_owner(desk: Desk, reply: bytes) -> None:
    desk.owner(reply)
    passed_with_note(desk.hook(), "no owner is running")


def test_absent_stale_and_refusing_sockets_are_no_owner(desk: Desk) -> None:
    passed_with_note(desk.hook(), "no owner is running")
    (desk.store / "socket").write_text(str(desk.folder / "gone"))
    passed_with_note(desk.hook(), "no owner is running")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(desk.folder / "dead"))
    (desk.store / "socket").write_text(str(desk.folder / "dead") + "\r\n")
    passed_with_note(desk.hook(), "no owner is running")
    (desk.store / "socket").write_text("/" + "x" * 200)
    passed_with_note(desk.hook(), "AF_UNIX path too long")


def test_late_answer_lets_the_edit_through(desk: Desk) -> None:
    released = threading.Event()
    desk.owner(lambda connection: released.wait(30))
    start = time.monotonic()
    passed_with_note(desk.hook(), "owner did not answer in time")
    assert time.monotonic() - start < 10
    released.set()


@pytest.mark.parametrize(
    "reply",
    [
        b"garbage",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 x\r\n\r\n",
        http(DENY)[:-5],
        http(DENY) + b"more",
        http(headers="X-Braincore-Exit: none\r\n"),
        http(headers="X-Braincore-Exit: 256\r\n"),
        http(headers="X-Braincore-Stderr: %zz\r\n"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_unreadable_answer_lets_the_edit_through(desk: Desk, reply: bytes) -> None:
    desk.owner(reply)
    passed_with_note(desk.hook(), "the answer of the owner can't be read")


def test_failing_owner_lets_the_edit_through(desk: Desk) -> None:
    desk.owner(http(b"oops", "500 Internal Server Error"))
    passed_with_note(desk.hook(), "owner answered 500")


def test_other_events_and_clients_get_no_context(desk: Desk) -> None:
    run = desk.hook(b'{"hook_event_name": "SessionStart"}')
    assert (run.returncode, run.stdout) == (0, b"")
    assert run.stderr == b"braincore: event not delivered (no owner is running)\n"
    assert desk.hook(b'{"hook_event_name":"Stop","c":"\\"PreToolUse\\""}').stdout == b""
    run = desk.hook(b'{"hook_event_name":"BeforeTool"}', "gemini")
    assert run.stdout == b""
    assert b"the edit was let through" in run.stderr


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "cursor"])
def test_fail_closed_denies_in_the_clients_shape(desk: Desk, client: str) -> None:
    (desk.store / "fail_closed").touch()
    event = {"gemini": b'{"hook_event_name":"BeforeTool"}', "cursor": EVENT.replace(b"Pre", b"pre")}
    run = desk.hook(event.get(client, EVENT), client)
    note = "braincore: not checked (no owner is running)"
    reason = note + "; fail_closed is set. Run `braincore doctor`."
    permission = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    claude = {"hookSpecificOutput": {"hookEventName": "PreToolUse"} | permission}
    assert run.returncode == 0
    assert json.loads(run.stdout) == {
        "gemini": {"decision": "deny", "reason": reason},
        "cursor": {"permission": "deny", "user_message": reason, "agent_message": reason},
    }.get(client, claude)
    assert desk.hook(b'{"hook_event_name":"Stop"}', client).stdout == b""


def test_no_repository_is_silent(desk: Desk) -> None:
    shutil.rmtree(desk.store)
    for folder in (desk.folder, desk.repo):
        run = desk.hook(cwd=folder)
        assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_project_folder_stands_in_for_a_foreign_or_deleted_cwd(desk: Desk) -> None:
    desk.owner(http(DENY))
    project = {"CLAUDE_PROJECT_DIR": str(desk.repo) + "/"}
    assert desk.hook(cwd=desk.folder, environment=project).stdout == DENY
    assert desk.hook(cwd=desk.folder, environment={"CLAUDE_PROJECT_DIR": "repo"}).stdout == b""
    for environment, stdout in (({}, b""), (project, DENY)):
        gone = desk.repo / "gone"
        gone.mkdir()
        command = (
            f'cd "{gone}" && rmdir "{gone}" && exec "{sys.executable}" -S -E -I "{FILE}" claude'
        )
        run = subprocess.run(command, shell=True, input=EVENT, capture_output=True, env=environment)
        assert (run.returncode, run.stdout) == (0, stdout)
        note = b"braincore: not checked (the working directory is gone)\n"
        assert run.stderr == (b"" if stdout else note)


def test_subfolder_with_odd_name_is_percent_encoded(desk: Desk) -> None:
    folder = desk.repo / 'it\'s "a" café %20 血'
    folder.mkdir()
    owner = desk.owner(http())
    assert desk.hook(cwd=folder).returncode == 0
    assert unquote(owner.requests[0][0]["X-Braincore-Cwd"]) == str(folder)


@pytest.mark.parametrize("relative", [True, False])
def test_worktree_uses_the_common_store(desk: Desk, relative: bool) -> None:
    worktree = desk.folder / "work tree"
    meta = desk.repo / ".git" / "worktrees" / "w"
    worktree.mkdir()
    meta.mkdir(parents=True)
    pointer = os.path.relpath(meta, worktree) if relative else str(meta)
    (worktree / ".git").write_text(f"gitdir: {pointer}\n")
    (meta / "commondir").write_text("../..\n")
    owner = desk.owner(http(DENY))
    assert desk.hook(cwd=worktree).stdout == DENY
    assert os.path.samefile(unquote(owner.requests[0][0]["X-Braincore-Store"]), desk.store)


def test_submodule_uses_its_own_store_else_the_superprojects(desk: Desk) -> None:
    submodule = desk.repo / "sub"
    own = desk.repo / ".git" / "modules" / "sub"
    submodule.mkdir()
    own.mkdir(parents=True)
    (submodule / ".git").write_text("gitdir: ../.git/modules/sub\n")
    desk.owner(http(b"super"))
    assert desk.hook(cwd=submodule).stdout == b"super"
    (own / "braincore").mkdir()
    desk.owner(http(b"own"), own / "braincore")
    assert desk.hook(cwd=submodule).stdout == b"own"


def test_broken_git_file_is_passed_over(desk: Desk) -> None:
    inner = desk.repo / "inner"
    (inner / "braincore").mkdir(parents=True)
    desk.owner(http(DENY))
    for text in ("", "gitdir:", "gitdir: \n", "nonsense", "gitdir: /no/such/place\n"):
        (inner / ".git").write_text(text)
        assert desk.hook(cwd=inner).stdout == DENY


def test_closed_pipes_end_without_a_traceback(desk: Desk) -> None:
    desk.owner(http(DENY * 10_000))
    for redirection in ("| true", ">&-", "<&-", ">&- 2>&-"):
        command = f'"{sys.executable}" -S -E -I "{FILE}" claude {redirection}'
        run = subprocess.run(command, shell=True, input=EVENT, capture_output=True, cwd=desk.repo)
        assert run.returncode == 0
        assert b"Traceback" not in run.stderr


def test_event_over_the_limit_is_not_sent(desk: Desk) -> None:
    owner = desk.owner(http())
    passed_with_note(desk.hook(EVENT + b" " * (33 << 20)), "the event is larger than 32 MB")
    assert owner.requests == []


def test_nothing_but_builtin_modules_is_loaded(desk: Desk) -> None:
    desk.owner(http())
    names: list[set[str]] = []
    for code in ("pass", "import hook_client; hook_client.main(b'claude')"):
        code = f"import sys; sys.path.append({str(FILE.parent)!r}); {code}; print(*sys.modules)"
        command = [sys.executable, "-S", "-E", "-I", "-c", code]
        run = subprocess.run(command, input=EVENT, capture_output=True, cwd=desk.repo, check=True)
        names.append(set(run.stdout.decode().split()))
    assert names[1] - names[0] <= {"_socket", "posix", "time", "hook_client"}


def test_installed_command_runs_and_a_missing_file_does_not_block(desk: Desk) -> None:
    desk.owner(http(DENY))
    folder = desk.folder / "it's here" / "braincore" / "serve"
    folder.mkdir(parents=True)
    shutil.copy(FILE, folder)
    command = hook_command(sys.executable, str(folder / FILE.name), "claude")
    run = subprocess.run(command, shell=True, input=EVENT, capture_output=True, cwd=desk.repo)
    assert (run.returncode, run.stdout, run.stderr) == (0, DENY, b"")
    shutil.rmtree(folder)
    run = subprocess.run(command, shell=True, input=EVENT, capture_output=True, cwd=desk.repo)
    assert run.returncode == 1  # 2 would mean deny


def fake_owner_python(desk: Desk, source: str) -> str:
    """A virtual environment whose braincore.serve.owner is `source`."""
    home = desk.folder / "env"
    venv.EnvBuilder(symlinks=True).create(home)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "braincore" / "serve").mkdir(parents=True)
    (packages / "braincore" / "serve" / "owner.py").write_text(source)
    return str(home / "bin" / "python")


OWNER = """
import os, pathlib, socket, sys
store, root = pathlib.Path(sys.argv[2]), sys.argv[4]
listener = socket.socket(socket.AF_UNIX)
listener.settimeout(20)
listener.bind(str(store / "s"))
listener.listen()
(store / "socket.new").write_text(str(store / "s"))
os.replace(store / "socket.new", store / "socket")
connection, _ = listener.accept()
connection.recv(65536)
secrets = [name for name in os.environ if "TOKEN" in name or name.startswith("GIT_")]
body = repr((root, os.getsid(0) == os.getpid(), secrets, os.environ["KEPT"])).encode()
connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
"""


def test_missing_owner_is_started_detached(desk: Desk) -> None:
    environment = {"CLAUDE_TOKEN": "x", "GIT_DIR": "y", "KEPT": "z"}
    run = desk.hook(python=fake_owner_python(desk, OWNER), environment=environment)
    assert (run.returncode, run.stderr) == (0, b"")
    assert ast.literal_eval(run.stdout.decode()) == (str(desk.repo), True, [], "z")


def test_owner_that_cannot_start_is_not_waited_for(desk: Desk) -> None:
    python = fake_owner_python(desk, "raise SystemExit(1)")
    passed_with_note(desk.hook(python=python, environment={}), "no owner could be started")


def test_loser_of_the_race_waits_for_the_winner(desk: Desk) -> None:
    python = fake_owner_python(desk, "")
    timer = threading.Timer(0.8, desk.owner, (http(DENY),))
    timer.start()
    run = desk.hook(python=python, environment={})
    timer.join()
    assert (run.returncode, run.stdout, run.stderr) == (0, DENY, b"")
