"""Hooks and clients, 1 to 11: what a client sends, however odd, is answered and breaks nothing."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_mcp import RELAY, Session, hello


@pytest.fixture
def session(shared: Any) -> Iterator[Session]:
    session = Session(shared)
    yield session
    session.process.kill()
    session.process.communicate()


def line(request: Any, tool: str = "tasks", **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": params}
    return json.dumps(call).encode()


def asked(arguments: bytes) -> bytes:
    """A recall with these bytes as its arguments."""
    params = b'{"name":"recall","arguments":' + arguments + b"}"
    return b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + params + b"}"


@pytest.mark.parametrize("request_id", ["abc", "", "é", 0, -1, 10**30], ids=str)
def test_an_id_comes_back_as_it_was(session: Session, request_id: Any) -> None:
    session.line(line(request_id))
    answer = session.read()
    assert answer["id"] == request_id and "result" in answer


@pytest.mark.parametrize(
    "odd",
    [
        *(line(i) for i in (None, True, 1.5, [1], {"a": 1})),
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
        b"[" + line(1) + b"," + line(2) + b"]",
        b"5",
        b"null",
        '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"),
    ],
    ids=lambda raw: raw[:60].decode("utf-8", "replace"),
)
def test_what_is_no_request_is_said_at_once(session: Session, odd: bytes) -> None:
    session.line(odd)
    answer = session.read()
    assert answer["id"] is None and answer["error"]["code"] in (-32600, -32700)
    assert "result" in session.ask("tools/list")


@pytest.mark.parametrize(
    "odd",
    [
        b'{"id":7,"method":"tools/list"}',
        b'{"jsonrpc":"1.0","id":7,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","id":7,"method":null}',
        b'{"jsonrpc":"2.0","id":7,"method":[]}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"x"}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}',
        b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":[1],'
        b'"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":[2],'
        b'"io.modelcontextprotocol/clientCapabilities":{}}}}',
        b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}',
    ],
    ids=bytes.decode,
)
def test_a_request_of_another_shape_gets_its_error(session: Session, odd: bytes) -> None:
    session.line(odd)
    answer = session.read()
    assert answer["id"] == 7 and answer["error"]["message"]
    assert "result" in session.ask("tools/list")


@pytest.mark.parametrize(
    "arguments",
    [
        rb'{"query":"half \ud83d an emoji"}',
        rb'{"\ud800":"x"}',
        b'{"query":"caf\xe9"}',
        b'{"query":"\xed\xa0\x80"}',
        b'{"query":' + b"[" * 250 + b"]" * 250 + b"}",
        b'{"query":NaN}',
        b'{"query":"x","limit":1e999}',
    ],
    ids=lambda raw: raw[:40].decode("utf-8", "replace"),
)
def test_arguments_that_cannot_be_read_are_refused_by_id(
    session: Session, arguments: bytes
) -> None:
    session.line(asked(arguments))
    answer = session.read()
    assert answer["id"] == 7 and answer["result"]["isError"]
    assert answer["result"]["structuredContent"]["error"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + asked(b'{"query":"a"}'),
        asked(b'{"query":"a"}') + b"\r",
        b"\t " + asked(b'{"query":"a"}'),
        asked(rb'{"query":"a\u0000b \ud83d\ude00 \\ud800"}'),
        asked('{"query":"a\u2028b\u2029c\x85d"}'.encode()),
        asked(b'{"query":\r"a"}'),
    ],
    ids=repr,
)
def test_an_odd_line_is_a_line_like_any_other(session: Session, raw: bytes) -> None:
    session.line(raw)
    assert session.read()["result"]["structuredContent"]["outcome"] in ("answer", "abstain")


def test_byte_by_byte_and_without_a_last_line_feed(shared: Any) -> None:
    session = Session(shared)
    assert session.process.stdin is not None
    for byte in line("slow") + b"\r\n":
        session.process.stdin.write(bytes([byte]))
        session.process.stdin.flush()
    assert session.read()["id"] == "slow"
    session.process.stdin.write(line("last"))
    out, _ = session.end()
    assert json.loads(out)["id"] == "last"


def test_many_calls_at_once_are_each_answered_once(shared: Any) -> None:
    session = Session(shared)
    for number in range(300):
        session.line(line(f"n{number}" if number % 2 else number))
    session.line(line("twice") + b"\n" + line("twice"))
    got = [session.read()["id"] for _ in range(302)]
    want = {f"n{n}" if n % 2 else n for n in range(300)} | {"twice"}
    assert set(got) == want and len(got) == 302
    assert session.end() == (b"", b"")


def test_what_was_cancelled_keeps_nobody_waiting(shared: Any) -> None:
    session = Session(shared)
    session.call("tasks")
    pid = shared.owner()
    os.kill(pid, signal.SIGSTOP)
    try:
        sent = session.send("tools/call", name="recall", arguments={"query": "What is it?"})
        for request in (sent, 99, [1], None):
            session.say("notifications/cancelled", requestId=request)
        session.say("notifications/cancelled")
    finally:
        os.kill(pid, signal.SIGCONT)
    session.line(line("next"))
    while session.read()["id"] != "next":
        continue
    # Without a word of the cancelled call the relay would wait half a minute for it.
    session.process.communicate(timeout=15)
    assert session.process.returncode == 0


def test_a_large_text_passes_and_a_too_large_one_is_refused(session: Session) -> None:
    verdict = session.call("check_edit", path="large.txt", content="word \n" * 1_000_000)
    assert verdict["verdict"] == "allow"
    assert "33 MB" in session.refused("check_edit", path="large.txt", content="x" * (34 << 20))
    assert session.call("tasks")["total"] >= 0


@pytest.mark.parametrize("end", ["stdin", "stdout"])
def test_ends_that_do_not_wait_lose_no_line(shared: Any, end: str) -> None:
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    os.set_blocking(theirs_in if end == "stdin" else theirs_out, False)
    process = subprocess.Popen(
        RELAY, cwd=shared.root, env=shared.env, stdin=theirs_in, stdout=theirs_out
    )
    os.close(theirs_in)
    os.close(theirs_out)
    greeting = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()}
    # Nothing comes until the relay has begun to read.
    time.sleep(0.3)
    with os.fdopen(ours_in, "wb") as stdin, os.fdopen(ours_out, "rb") as stdout:
        stdin.write(json.dumps(greeting).encode() + b"\n")
        for number in range(1, 60):
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
            stdin.write(json.dumps(call).encode() + b"\n")
        stdin.flush()
        # The answers are many times what a pipe holds.
        select.select([stdout], [], [], 10)
        time.sleep(0.3)
        stdin.close()
        assert [json.loads(one)["id"] for one in stdout] == list(range(60))
    assert process.wait(30) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_end_it_quietly(shared: Any, closed: str) -> None:
    words = f"'{sys.executable}' -I -m braincore.serve.mcp_stdio {closed}"
    greeting = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()}
    done = subprocess.run(
        ["sh", "-c", words],
        cwd=shared.root,
        env=shared.env,
        input=json.dumps(greeting).encode() + b"\n",
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 0 and done.stderr == b""
    assert len(done.stdout.splitlines()) == (1 if closed == "2>&-" else 0)


@pytest.mark.parametrize(
    "how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda s: s.name
)
def test_a_signal_ends_it_without_a_traceback(shared: Any, how: signal.Signals) -> None:
    session = Session(shared)
    session.process.send_signal(how)
    _, err = session.process.communicate(timeout=15)
    assert session.process.returncode == -how and err == b""


def test_a_client_that_reads_no_more_ends_it(shared: Any) -> None:
    session = Session(shared)
    assert session.process.stdout is not None
    session.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        session.line(line(1))
    assert session.process.communicate(timeout=15) == (b"", b"")
    assert session.process.returncode == 0


def test_what_is_advertised_can_be_listed(session: Session) -> None:
    capabilities = session.hello["result"]["capabilities"]
    assert set(capabilities) <= {"tools", "experimental"} and not capabilities.get("experimental")
    assert session.ask("tools/list")["result"]["tools"]
    assert "nextCursor" not in session.ask("tools/list", cursor="x")["result"]
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert session.ask(method)["error"]["code"] == -32601


def test_worktrees_and_links_share_the_owner_and_keep_their_place(brain: Any, owners: Any) -> None:
    tree, link = brain.folder / "tree with space", brain.folder / "link"
    brain.git("worktree", "add", "-q", "-b", "feature", str(tree))
    link.symlink_to(brain.root)
    sessions = [Session(brain, root=root) for root in (brain.root, tree, link)]
    places = [Path(one.call("status")["root"]) for one in sessions]
    assert places == [brain.root, tree, brain.root]
    told = sessions[0].call("remember", text="Indents are tabs here", target="indentation")["id"]
    for one in sessions:
        assert [f["id"] for f in one.call("recall", query="indentation")["facts"]] == [told]
        assert one.end() == (b"", b"")
    assert len(owners(brain.folder)) == 1


def test_a_folder_that_goes_away_is_said(shared: Any) -> None:
    folder = shared.root / "sub"
    folder.mkdir()
    session = Session(shared, root=folder)
    folder.rmdir()
    assert "was deleted" in session.refused("recall", query="Which port?")
    session.end()


def test_a_store_that_goes_away_is_said(brain: Any, until: Any) -> None:
    session = Session(brain)
    session.call("tasks")
    shutil.rmtree(brain.store)

    def said() -> bool:
        session.line(line("again"))
        return "braincore init" in json.dumps(session.read())

    until(said, "the owner has left its store")
    session.end()


def test_no_home_and_hardly_an_environment(shared: Any) -> None:
    shared.run("stop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "env", {"LANG": "C"})
        session = Session(shared)
        stored = session.call("remember", text="Кэш это Redis", target="кэш")
        assert stored["outcome"] == "stored"
        session.end()


def test_a_short_prompt_costs_next_to_nothing(shared: Any) -> None:
    rows = [{"text": f"Hi from machine {n}", "target": f"machine_{n}"} for n in range(600)]
    (shared.root / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert shared.json("import", "many.jsonl")["stored"] == 600
    for prompt in ("hi", "Hi", "ok", "", "machine"):
        event = shared.payload("UserPromptSubmit") | {"prompt": prompt}
        assert len(shared.hook(event).stdout) < 4000, prompt
