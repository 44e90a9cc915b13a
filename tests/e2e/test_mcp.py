"""MCP as clients speak it: raw lines and the official client, over stdio and HTTP, both eras."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from braincore.serve.mcp.tools import TOOLS

RELAY = [sys.executable, "-I", "-m", "braincore.serve.mcp_stdio"]
BAD = "def load(text):\n    return eval(text)\n"


class Session:
    """A relay as a client runs it, spoken to line by line."""

    def __init__(self, brain: Any, *, greet: bool = True, root: Path | None = None) -> None:
        self.process = subprocess.Popen(
            RELAY,
            cwd=root or brain.root,
            env=brain.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._next = 0
        if greet:
            self.hello = self.ask("initialize", **hello())
            self.say("notifications/initialized")

    def line(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        guard = threading.Timer(30, self.process.kill)
        guard.start()
        message = json.loads(self.process.stdout.readline())
        guard.cancel()
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def say(self, method: str, **params: Any) -> None:
        self.line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def send(self, method: str, **params: Any) -> int:
        self._next += 1
        call = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.line(json.dumps(call).encode())
        return self._next

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        sent = self.send(method, **params)
        answer = self.read()
        assert answer["id"] == sent
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that is not an error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert not result["isError"], result
        assert result["content"][0]["text"]
        return dict(result["structuredContent"])

    def refused(self, tool: str, **arguments: Any) -> str:
        """What a tool says that can't be done as asked."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"], result
        assert result["structuredContent"]["error"] == result["content"][0]["text"]
        return str(result["content"][0]["text"])

    def end(self) -> tuple[bytes, bytes]:
        """Close stdin; what was left on stdout and stderr."""
        out, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return out, err


def hello(version: str = LATEST_HANDSHAKE_VERSION) -> dict[str, Any]:
    client = {"name": "Claude Code", "version": "1.0"}
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": client}


@pytest.fixture
def session(shared: Any) -> Iterator[Session]:
    session = Session(shared)
    yield session
    session.process.kill()
    session.process.communicate()


DECISION = {
    "title": "Keep the journal in git",
    "problem": "Where do records live durably?",
    "alternatives": ["SQLite: no history"],
    "decision": "git",
    "reasoning": "Every change is a commit",
    "target": "journal_storage",
}


def test_every_tool_answers(session: Session, shared: Any) -> None:
    sha = shared.git("rev-parse", "HEAD")
    stored = session.call("remember", text="Staging uses port 8443", target="staging_port")
    assert stored["outcome"] == "stored" and stored["trust"] == 0.5
    found = session.call("recall", query="Which port does staging use?")
    assert [f["id"] for f in found["facts"]] == [stored["id"]]
    assert found["facts"][0]["source_ref"].startswith("agent:claude-code/")
    decided = session.call("decide", **DECISION)
    assert decided["outcome"] == "stored"
    chain = session.call("why", name="journal_storage")["chains"][0]
    assert chain[0]["alternatives"][0]["rejected_because"] == "no history"
    failed = session.call(
        "record_failure",
        title="load choked on empty text",
        broke="int('')",
        why="no check",
        fix="check first",
        evidence=f"commit:{sha}",
    )
    assert failed["outcome"] == "stored"
    assert session.call("check_edit", path="app.py", content=BAD)["verdict"] == "deny"
    assert session.call("related", name="app.py::load")["ref"] == "app.py::load"
    assert stored["id"] in session.call("context", prompt="change the staging port")["text"]
    assert session.call("tasks")["total"] >= 0
    assert session.call("review")["reviews"] == []
    assert session.call("status")["records"] >= 3


def test_abstain_deny_and_conflict_are_results(session: Session) -> None:
    abstained = session.call("recall", query="Who owns the billing cron job?")
    assert abstained["outcome"] == "abstain" and abstained["reason"] == "no_accepted_facts"
    assert abstained["task"] and abstained["next"]
    denied = session.call("check_edit", path="app.py", content=BAD)
    assert denied["repair_plan"] and denied["next"]
    session.call("decide", **DECISION | {"target": "queue", "title": "Kafka", "decision": "Kafka"})
    conflict = session.call(
        "decide", **DECISION | {"target": "queue", "title": "Redis", "decision": "Redis"}
    )
    assert conflict["outcome"] == "conflict" and conflict["conflicts"] and conflict["next"]
    assert session.call("why", name="never_heard_of")["next"]


def test_what_cannot_be_done_says_why(session: Session) -> None:
    assert "takes: query" in session.refused("recall", question="?")
    assert "Field required" in session.refused("recall")
    assert "valid integer" in session.refused("recall", query="x", limit="many")
    assert "There is no tool" in session.refused("drop_all")
    assert "nothing to check" in session.refused("check_edit")
    assert "No commit" in session.refused(
        "record_failure", title="t", broke="b", why="w", fix="f", evidence="commit:" + "0" * 40
    )
    assert session.call("recall", query="staging port", target=None, limit=None)["outcome"]


def test_an_agent_stays_an_agent(session: Session, shared: Any) -> None:
    stored = session.call(
        "remember", text="Deploys need two approvals", target="deploys", source="user:Ana"
    )
    assert stored["trust"] == 0.5 and stored["truth_status"] == "candidate"
    assert stored["id"] in shared.logged()


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01"])
def test_every_handshake_version(shared: Any, version: str) -> None:
    session = Session(shared, greet=False)
    answer = session.ask("initialize", **hello(version))["result"]
    known = version in HANDSHAKE_PROTOCOL_VERSIONS
    assert answer["protocolVersion"] == (version if known else LATEST_HANDSHAKE_VERSION)
    session.say("notifications/initialized")
    assert len(session.ask("tools/list")["result"]["tools"]) == len(TOOLS)
    assert session.ask("ping")["result"] == {}
    assert session.call("status")["version"]
    assert session.end() == (b"", b"")


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_official_client(shared: Any, mode: Any) -> None:
    async def run() -> None:
        server = StdioServerParameters(
            command=RELAY[0], args=RELAY[1:], env=shared.env, cwd=str(shared.root)
        )
        async with Client(server, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [t.name for t in tools] == [t.name for t in TOOLS]
            result = await client.call_tool("recall", {"query": "Who owns the billing cron job?"})
            assert not result.is_error and result.structured_content is not None
            assert result.structured_content["outcome"] == "abstain"

    anyio.run(run)


def test_nothing_but_protocol_and_a_prompt_end(shared: Any) -> None:
    session = Session(shared)
    session.call("status")
    assert session.end() == (b"", b"")
    bare = Session(shared, greet=False)
    assert bare.end() == (b"", b"")


def test_what_was_asked_before_the_end_is_answered(shared: Any) -> None:
    session = Session(shared)
    for number in range(5):
        session.send("tools/call", name="recall", arguments={"query": f"What is job {number}?"})
    out, _ = session.end()
    assert len(out.splitlines()) == 5


def test_odd_lines_do_no_harm(session: Session) -> None:
    session.line(b"")
    session.line(b"not json")
    assert session.read()["error"]["code"] == -32700
    session.line(b"\xff\xfe\x00")
    assert session.read()["error"]["code"] == -32700
    session.line(b"[]")
    assert session.read()["error"]["code"] == -32600
    assert session.ask("no/such/method")["error"]["code"] == -32601
    big = session.call("check_edit", path="big.py", content="x = 1\n" * 200_000)
    assert big["verdict"] == "allow"
    assert session.call("status")["version"]


def is_gone(brain: Any) -> bool:
    """Nobody listens; a process loses its command line before its sockets."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        return sock.connect_ex((brain.store / "socket").read_text().strip()) != 0


def test_the_owner_may_come_and_go(brain: Any, slay: Any, until: Any) -> None:
    session = Session(brain)
    first = session.call("remember", text="Retries stop after 5 tries", target="retries")["id"]
    brain.run("stop")
    assert session.call("recall", query="After how many tries do retries stop?")["facts"]
    slay(brain.folder)
    until(lambda: is_gone(brain), "the owner's socket is closed")
    second = session.call("remember", text="Logs are kept 30 days", target="log_retention")["id"]
    assert {first, second} <= brain.logged()
    assert session.end() == (b"", b"")


def test_an_owner_that_makes_room_loses_no_call(brain: Any) -> None:
    sessions = [Session(brain) for _ in range(4)]
    for number, one in enumerate(sessions):
        one.call("remember", text=f"Job {number} runs at {number} o'clock", target=f"job_{number}")
    wanted: list[int] = []
    for round_ in range(6):
        for number, one in enumerate(sessions):
            text = f"Part {round_} of job {number} takes {round_ + 1} min"
            arguments = {"text": text, "target": f"part_{round_}_{number}"}
            wanted.append(one.send("tools/call", name="remember", arguments=arguments))
        if round_ in (1, 3):
            brain.start("stop").communicate(timeout=60)
    for one in sessions:
        for _ in range(6):
            answer = one.read()["result"]
            assert not answer["isError"], answer
        assert one.end() == (b"", b"")
    assert len(brain.logged()) >= 4 + len(wanted)


def test_a_call_cut_off_is_said_to_be_open(brain: Any, until: Any) -> None:
    session = Session(brain)
    session.call("status")
    pid = brain.owner()
    os.kill(pid, signal.SIGSTOP)
    sent = session.send("tools/call", name="remember", arguments={"text": "It rains in May"})
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    answer = session.read()
    assert answer["id"] == sent and answer["result"]["isError"]
    assert "may or may not be done" in answer["result"]["content"][0]["text"]
    assert session.call("status")["version"]
    session.end()


def test_many_sessions_end_with_their_stdin(brain: Any, owners: Any) -> None:
    sessions = [Session(brain) for _ in range(6)]
    for number, one in enumerate(sessions):
        one.call("remember", text=f"Job {number} runs at {number} o'clock", target=f"job_{number}")
    for one in sessions:
        assert one.end() == (b"", b"")
    assert len(owners(brain.folder)) == 1


def test_where_there_is_no_brain(desk: Any) -> None:
    desk.make()
    session = Session(desk)
    assert len(session.ask("tools/list")["result"]["tools"]) == len(TOOLS)
    assert "braincore init" in session.refused("recall", query="Which port?")
    desk.run("init")
    assert session.call("recall", query="Which port does staging use?")["outcome"] == "abstain"
    session.end()


def test_outside_of_any_repository(desk: Any) -> None:
    session = Session(desk, root=desk.folder)
    assert "git" in session.refused("status")
    session.end()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("braincore")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


def post(brain: Any, message: dict[str, Any], **headers: str) -> tuple[int, dict[str, Any]]:
    connection = _UnixConnection((brain.store / "socket").read_text().strip())
    accept = "application/json, text/event-stream"
    head = {"Content-Type": "application/json", "Accept": accept} | headers
    connection.request("POST", "/mcp", json.dumps(message), head)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if body else {}


def test_http_serves_the_same(shared: Any) -> None:
    shared.run("status")
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}
    assert post(shared, call)[1]["result"]["serverInfo"]["name"] == "braincore"
    asked = {"name": "check_edit", "arguments": {"path": "app.py", "content": BAD}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
    status, answer = post(shared, call)
    assert status == 200 and answer["result"]["structuredContent"]["verdict"] == "deny"


def test_http_in_the_new_era(shared: Any) -> None:
    shared.run("status")
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
    asked = {"name": "status", "arguments": {}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": asked}
    head = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "status"}
    status, answer = post(shared, call, **head)
    assert status == 200 and answer["result"]["structuredContent"]["version"]
