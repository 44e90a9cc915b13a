"""Each client's hook with everything it was recorded to send, through the command it would run."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from braincore.cli import hook as hook_verb
from braincore.serve.clients import CLIENTS

FIXTURES = Path(__file__).parent.parent / "fixtures" / "clients"
NAMES = sorted(p.relative_to(FIXTURES).as_posix() for p in FIXTURES.glob("*/*.json"))
LATE = b"did not answer in time"
RULE = """id: x-is-two
message: x must not be two
why: two broke the build
severity: {severity}
category: code
languages: [python]
rule:
  pattern: x = 2
repair: keep x at one
"""
NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "id": "c1",
                "source": "x = 1",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
FILES = {name: "x = 1\n" for name in ("protected.py", "ok.py", "a.py")} | {"n.ipynb": NOTEBOOK}


@dataclass(frozen=True)
class Ways:
    """How a client writes, and where its settings are."""

    settings: str
    before: str
    edit: str
    shell: tuple[str, str]
    idle: tuple[str, ...]


def patch(path: str, old: str, new: str) -> str:
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    body = "\n".join(lines)
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n{body}\n*** End Patch\n"


WAYS = {
    "claude": Ways(
        "repo/.claude/settings.local.json",
        "PreToolUse",
        "PreToolUse.Edit",
        ("PreToolUse.Bash", "Bash"),
        ("TodoWrite", "WebFetch", "Task", "mcp__x__y"),
    ),
    "codex": Ways(
        "home/.codex/hooks.json",
        "PreToolUse",
        "PreToolUse.apply_patch",
        ("PreToolUse.Bash", "Bash"),
        ("update_plan", "web_search", "view_image", "mcp__x__y"),
    ),
    "gemini": Ways(
        "home/.gemini/settings.json",
        "BeforeTool",
        "BeforeTool.replace",
        ("BeforeTool.replace", "run_shell_command"),
        ("write_todos", "google_web_search", "web_fetch", "mcp_x_y"),
    ),
}


class Client:
    """A client in a repository: fires its installed hooks and reads their answers."""

    def __init__(self, desk: Any, name: str) -> None:
        self.desk = desk
        self.name = name
        self.ways = WAYS[name]

    def settings(self) -> Path:
        return Path(self.desk.folder, self.ways.settings.replace("repo/", f"{self.desk.root}/"))

    def recorded(self, name: str) -> dict[str, Any]:
        """A fixture, its paths those of the repository."""
        text = (FIXTURES / self.name / f"{name}.json").read_text(encoding="utf-8")
        here = json.dumps(str(self.desk.root))[1:-1]
        found: dict[str, Any] = json.loads(text.replace('"/repo', f'"{here}'))
        return found

    def event(self, name: str, tool: str = "", **given: Any) -> dict[str, Any]:
        event: dict[str, Any] = self.recorded(name)["stdin"]
        if tool:
            event["tool_name"] = tool
        if given:
            event["tool_input"] = given
        return event

    def edit(self, path: str, old: str, new: str) -> dict[str, Any]:
        """An edit the way this client makes it."""
        if self.name == "codex":
            return self.event(self.ways.edit, "apply_patch", command=patch(path, old, new))
        file = str(self.desk.root / path)
        return self.event(
            self.ways.edit, "", file_path=file, old_string=old, new_string=new, instruction="do"
        )

    def shell(self, command: str) -> dict[str, Any]:
        return self.event(*self.ways.shell, command=command)

    def command(self, event: str) -> str:
        groups = json.loads(self.settings().read_text())["hooks"][event]
        (group,) = groups
        (handler,) = group["hooks"]
        return str(handler["command"])

    def fires(self, event: dict[str, Any]) -> bool:
        """Whether the client would run our hook for this event: by name and matcher."""
        groups = json.loads(self.settings().read_text())["hooks"].get(event["hook_event_name"], [])
        tool = event.get("tool_name", "")
        matchers = [group.get("matcher", "") for group in groups]
        if self.name == "gemini":
            return any(re.search(matcher, tool) for matcher in matchers)
        # Names alone, joined by bars, are exact in Claude Code and Codex.
        assert all(re.fullmatch(r"[A-Za-z_|]*", matcher) for matcher in matchers)
        return any(not matcher or tool in matcher.split("|") for matcher in matchers)

    def fire(
        self, event: dict[str, Any] | bytes, *, tries: int = 10, **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the hook whether or not the client would: what is sent must be answered. On a busy
        machine the owner may be late; then it is asked again."""
        while True:
            done = subprocess.run(
                ["sh", "-c", self.command("SessionStart")],
                cwd=self.desk.root,
                input=event if isinstance(event, bytes) else json.dumps(event).encode(),
                env=self.desk.env | env,
                capture_output=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
            tries -= 1
            if tries < 1 or LATE not in done.stderr:
                return done

    def reason(self, event: dict[str, Any]) -> str:
        """The reason of a denial, which has exactly the recorded shape; "" when it isn't one."""
        done = self.fire(event)
        if not done.stdout or b"additionalContext" in done.stdout:
            return ""
        assert done.stderr == b""
        out = json.loads(done.stdout)
        shape = self.recorded(self.ways.edit)["stdout_deny"]
        said = out["reason"] if self.name == "gemini" else reason_in(out)
        assert json.loads(json.dumps(shape).replace('"why"', json.dumps(said))) == out
        return str(said)

    def context(self, event: dict[str, Any], shown: str = "") -> str:
        """What the model is told, in exactly the recorded shape."""
        done = self.fire(event)
        assert done.stderr == b""
        name = shown or event["hook_event_name"]
        out = json.loads(done.stdout)["hookSpecificOutput"]
        assert set(out) == {"hookEventName", "additionalContext"}
        assert out["hookEventName"] == name
        return str(out["additionalContext"])

    def silent(self, event: dict[str, Any] | bytes) -> bool:
        done = self.fire(event)
        return (done.stdout, done.stderr) == (b"", b"")

    def warning(self, event: dict[str, Any]) -> str:
        """A warning on an edit, at the event at which this client lets it reach the model."""
        if self.name != "gemini":
            return self.context(event)
        assert self.silent(event)
        after = event | {"hook_event_name": "AfterTool", "tool_response": {"llmContent": "done"}}
        text = self.context(after)
        assert self.silent(after)
        return text


def reason_in(out: dict[str, Any]) -> Any:
    return out["hookSpecificOutput"]["permissionDecisionReason"]


@pytest.fixture(scope="module")
def armed(shared: Any) -> Iterator[Any]:
    """The shared repository with every client set up."""
    shared.write(FILES)
    for name in WAYS:
        shared.run("init", "--client", name)
    yield shared


@pytest.fixture(params=WAYS)
def client(request: Any, armed: Any) -> Client:
    armed.write(FILES)
    (armed.root / ".braincore/rules/two.yml").unlink(missing_ok=True)
    return Client(armed, request.param)


def rule(desk: Any, severity: str) -> None:
    desk.write({".braincore/rules/two.yml": RULE.format(severity=severity)})


def test_the_clients_are_the_same_everywhere() -> None:
    assert {name.partition("/")[0] for name in NAMES} == set(WAYS) == set(CLIENTS)
    assert set(hook_verb.CLIENTS) == set(CLIENTS)


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_event_is_answered(armed: Any, name: str) -> None:
    owner, _, event_name = name.removesuffix(".json").partition("/")
    client = Client(armed, owner)
    armed.write(FILES)
    text = json.dumps(client.recorded(event_name)["stdin"])
    event = json.loads(text)
    before = event["hook_event_name"] == client.ways.before
    writes = before and any(word in text for word in ("x = 2", "x=2", "s/1/2/"))
    rule(armed, "high")
    if writes:
        assert client.fires(event), "the installed matcher lets this edit pass"
        assert "two broke the build" in client.reason(event)
        harmless = text.replace("x = 2", "x = 3").replace("x=2", "x=3").replace("s/1/2/", "s/1/3/")
        assert client.silent(json.loads(harmless))
        rule(armed, "low")
        assert "two broke the build" in client.warning(event)
    elif event["hook_event_name"] == "SessionStart":
        assert client.fires(event)
        assert "guard active" in client.context(event)
    else:
        assert client.silent(event)


def test_what_is_remembered_reaches_the_prompt(client: Client) -> None:
    client.desk.remember("Releases are cut on Tuesdays", "release_day")
    name = next(n for n, m in CLIENTS[client.name].moments.items() if m.name == "PROMPT")
    event = client.event(name) | {"session_id": client.name}
    assert client.fires(event)
    asked = event | {"prompt": "on which release day do we ship?"}
    text = client.context(asked)
    assert "Releases are cut on Tuesdays" in text and len(text) < 4000
    assert client.silent(event | {"prompt": "hi"})
    said = "<hook_context>braincore: ask about the release day</hook_context>\n\n"
    if client.name == "gemini":
        assert client.silent(event | {"prompt": said + "hi"})
        other = event | {"session_id": "another one"}
        assert client.context(other | {"prompt": said + asked["prompt"]})


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (rb'{"hook_event_name":"PreToolUse","tool_input":{"file_path":"C:\Users\x"}}', "not JSON"),
        (rb'{"hook_event_name":"BeforeTool","tool_input":{"file_path":"C:\Users\x"}}', "not JSON"),
        (b"[1]", "no JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"{}", ""),
        (b'{"hook_event_name": 7, "tool_name": [], "tool_input": "x"}', ""),
        (b'{"hook_event_name": "BeforeTool", "tool_name": "replace", "tool_input": null}', ""),
        (b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": null}', ""),
        (b'{"hook_event_name": "AfterTool", "tool_name": {}, "tool_input": [1]}', ""),
        (b'{"hook_event_name": "Novel", "x": "\\ud800"}', ""),
    ],
)
def test_any_event_is_answered(client: Client, event: bytes, said: str) -> None:
    done = client.fire(event)
    assert done.stdout == b"" and said in done.stderr.decode()
    assert len(done.stderr.splitlines()) == bool(said)
    if said:
        assert f"hook {client.name}: the event" in client.desk.log_text()


def test_tools_without_a_path_pass_at_once(client: Client) -> None:
    rule(client.desk, "high")
    for tool in client.ways.idle:
        event = client.event(client.ways.edit, tool, todos=[{"content": "x = 2"}], query="x = 2")
        assert not client.fires(event) and client.silent(event), tool


def test_every_way_to_write_is_judged_alike(client: Client) -> None:
    rule(client.desk, "critical")
    file = str(client.desk.root / "a.py")
    heredoc = f"apply_patch <<'EOF'\n{patch('a.py', 'x = 1', 'x = 2')}EOF\n"
    events = [
        client.edit("a.py", "x = 1", "x = 2"),
        client.shell(heredoc),
        client.shell("sed -i s/1/2/ a.py"),
        client.shell("cat > a.py <<'EOF'\nx = 2\nEOF\n"),
        client.shell("echo 'x = 2' > new.py"),
        client.shell("cd . && printf 'x = 2\\n' | tee b.py"),
    ]
    if client.name == "gemini":
        events.append(client.event(client.ways.edit, "write_file", file_path=file, content="x = 2"))
    if client.name == "codex":
        added = "*** Begin Patch\n*** Add File: c.py\n+x = 2\n*** End Patch\n"
        events.append(client.event(client.ways.edit, "apply_patch", command=added))
        moved = patch("a.py", "x = 1", "x = 2").replace("@@", "*** Move to: d.py\n@@", 1)
        events.append(client.event(client.ways.edit, "apply_patch", command=moved))
    for event in events:
        assert client.fires(event) and client.reason(event), event["tool_input"]
    assert client.desk.git("status", "--porcelain", "a.py", "b.py", "c.py", "d.py") == "?? a.py"


def test_what_is_only_mentioned_is_not_done(client: Client) -> None:
    rule(client.desk, "critical")
    for command in ('echo "x = 2 > a.py; rm -rf /"', "git commit -m 'x = 2'", "grep 'x = 2' a.py"):
        assert client.silent(client.shell(command)), command


def test_old_debt_is_no_new_mistake(client: Client) -> None:
    rule(client.desk, "critical")
    old = "x = 2\n" * 10
    client.desk.write({"debt.py": old + "y = 1\n"})
    assert client.silent(client.edit("debt.py", "y = 1", "y = 3"))
    assert "debt.py:11" in client.reason(client.edit("debt.py", "y = 1", "x = 2"))
    assert client.silent(client.edit("debt.py", "x = 2\ny = 1", "y = 1"))


def test_an_agent_may_not_take_the_guard_out_of_the_users_settings(client: Client) -> None:
    for name in WAYS:
        path = Client(client.desk, name).settings()
        text = path.read_text()
        for command in (
            f"rm '{path}'",
            f"echo '{{}}' > '{path}'",
            f"cat > '{path}' <<'EOF'\n{{}}\nEOF\n",
            f"sed -i s/hook_client.py/x/ '{path}'",
            f"mv '{path}' /tmp/x",
        ):
            assert "takes the guard out" in client.reason(client.shell(command)), command
        kept = json.dumps(json.loads(text) | {"model": "x"})
        if client.name != "codex":
            tool = "Write" if client.name == "claude" else "write_file"
            event = client.event(client.ways.edit, tool, file_path=str(path), content=kept)
            assert client.silent(event)
        assert path.read_text() == text


def test_a_late_or_absent_owner_lets_the_edit_pass(client: Client) -> None:
    rule(client.desk, "critical")
    edit = client.edit("a.py", "x = 1", "x = 2")
    assert client.reason(edit)
    owner = client.desk.owner()
    os.kill(owner, signal.SIGSTOP)
    try:
        late = client.fire(edit, tries=1)
    finally:
        os.kill(owner, signal.SIGCONT)
    client.desk.run("stop")
    absent = client.fire(edit, BRAINCORE_NO_SPAWN="1")
    for done, why in ((late, "owner did not answer in time"), (absent, "no owner is running")):
        note = f"braincore: not checked ({why}); the edit was let through"
        assert done.stderr.decode().strip() == note
        if client.name == "gemini":
            assert done.stdout == b""
        else:
            assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] == note
    assert client.reason(edit)


def test_the_hook_verb_runs_the_same_hook(client: Client) -> None:
    rule(client.desk, "critical")
    event = json.dumps(client.edit("a.py", "x = 1", "x = 2")).encode()
    done = client.desk.run("hook", client.name, stdin=event)
    assert done.stdout == client.fire(event).stdout and b"two broke the build" in done.stdout


def test_doctor_fires_every_installed_hook(armed: Any, until: Any) -> None:
    (armed.root / ".braincore/rules/two.yml").unlink(missing_ok=True)

    def fired() -> bool:
        # On a busy machine a hook may be late, and doctor then rightly says so.
        checks = {c["check"]: c for c in armed.json("doctor", code=None)["checks"]}
        return all(checks[f"hook {name}"]["ok"] for name in WAYS)

    until(fired, "doctor finds every hook well")


@pytest.mark.parametrize("name", WAYS)
def test_folders_with_spaces_and_quotes(another: Any, name: str) -> None:
    desk = another("a 'b' \"c\" $HOME `x` café")
    desk.make(FILES)
    desk.run("init", "--client", name)
    client = Client(desk, name)
    rule(desk, "high")
    assert client.reason(client.edit("a.py", "x = 1", "x = 2"))
    assert len(desk.json("uninstall")["hooks"]) == (1 if name == "gemini" else 2)


@pytest.mark.parametrize("name", WAYS)
def test_the_hook_says_nothing_where_there_is_no_brain(another: Any, name: str) -> None:
    desk, other = another(), another()
    desk.make(FILES)
    other.make(FILES)
    desk.run("init", "--client", name)
    client = Client(desk, name)
    command = client.command("SessionStart")
    event = json.dumps(client.edit("a.py", "x = 1", "x = 2")).encode()
    done = subprocess.run(
        ["sh", "-c", command], cwd=other.root, input=event, env=desk.env, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not other.store.exists()
    shutil.rmtree(desk.root / ".git" / "braincore")
    assert client.silent(client.event(client.ways.edit))
