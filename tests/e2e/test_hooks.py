"""The installed hooks, run by a shell as the client runs them, with recorded events."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BAD = "def load(text):\n    return eval(text)\n"
SED = "sed -i 's/int(text)/eval(text)/' app.py"
HEREDOC = f"cat > app.py <<'END'\n{BAD}END\n"


@pytest.fixture(scope="module")
def hooked(shared: Any) -> Iterator[Any]:
    shared.write({"notes.txt": "x\n"})
    yield shared


def denied(done: subprocess.CompletedProcess[bytes]) -> str:
    """The reason of a denial in the client's envelope."""
    out = json.loads(done.stdout)["hookSpecificOutput"]
    assert set(out) == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert (out["hookEventName"], out["permissionDecision"]) == ("PreToolUse", "deny")
    assert done.stderr == b""
    return str(out["permissionDecisionReason"])


def context(done: subprocess.CompletedProcess[bytes], event: str = "PreToolUse") -> str:
    """The text that an answer gives the model."""
    out = json.loads(done.stdout)["hookSpecificOutput"]
    assert set(out) == {"hookEventName", "additionalContext"} and out["hookEventName"] == event
    return str(out["additionalContext"])


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.stdout, done.stderr) == (b"", b"")


def test_edit_that_brings_eval_is_denied_with_a_plan(hooked: Any) -> None:
    file = str(hooked.root / "app.py")
    edit = hooked.payload(
        "PreToolUse.Edit",
        file_path=file,
        old_string="int(text)",
        new_string="eval(text)",
        replace_all=False,
    )
    reason = denied(hooked.hook(edit))
    assert "app.py:2" in reason and "Repair plan:" in reason and "literal_eval" in reason
    write = hooked.payload("PreToolUse.Write", file_path=file, content=BAD)
    assert "eval-non-literal" in denied(hooked.hook(write))
    edits = [{"old_string": "int(text)", "new_string": "eval(text)"}]
    multi = hooked.payload("PreToolUse.MultiEdit", file_path=file, edits=edits)
    assert "app.py:2" in denied(hooked.hook(multi))
    for command in (HEREDOC, SED, f"cd . && {SED}", "printf 'eval(x)\\n' > new.py"):
        shell = hooked.payload("PreToolUse.Bash", command=command, description="d")
        assert "eval-non-literal" in denied(hooked.hook(shell)), command
    below = hooked.root / "pkg"
    below.mkdir(exist_ok=True)
    event = hooked.payload("PreToolUse.Bash", command=SED.replace("app.py", "../app.py"))
    event["cwd"] = str(below)
    assert denied(hooked.hook(event, cwd=below))
    events = [e for e in hooked.json("log", "-n", "50")["log"] if e["verb"] == "events"]
    assert hooked.json("status")["problem"] == "" and isinstance(events, list)


def test_what_breaks_nothing_passes_without_a_word(hooked: Any) -> None:
    file = str(hooked.root / "app.py")
    good = {"file_path": file, "old_string": "int(text)", "new_string": "float(text)"}
    assert silent(hooked.hook(hooked.payload("PreToolUse.Edit", **good)))
    write = {"file_path": str(hooked.root / "new.py"), "content": "x = 1\n"}
    assert silent(hooked.hook(hooked.payload("PreToolUse.Write", **write)))
    for name in ("PreToolUse.Read", "PostToolUse.Edit", "Stop", "SessionEnd", "PreCompact"):
        assert silent(hooked.hook(hooked.payload(name))), name
    todo = hooked.payload("PreToolUse.Edit", "TodoWrite", todos=[{"content": "eval(x)"}])
    assert silent(hooked.hook(todo))
    for command in ("ls -l", 'echo "rm -rf / eval(x) > app.py"', "git commit -m 'eval(x)'"):
        assert silent(hooked.hook(hooked.payload("PreToolUse.Bash", command=command))), command
    outside = {"file_path": str(hooked.folder / "x.py"), "content": BAD}
    assert silent(hooked.hook(hooked.payload("PreToolUse.Write", **outside)))


def test_warning_and_known_decisions_reach_the_model(hooked: Any) -> None:
    text = "def f(x):\n    return x == None\n"
    given = {"file_path": str(hooked.root / "new.py"), "content": text}
    assert "new.py:2" in context(hooked.hook(hooked.payload("PreToolUse.Write", **given)))
    words = ["--problem", "How are files saved?", "--alternative", "pickle: unsafe"]
    words += ["--decision", "Plain text", "--reasoning", "readable", "--governs", "app.py::save"]
    record = hooked.json("decide", "--title", "Text", *words)["id"]
    edit = {
        "file_path": str(hooked.root / "app.py"),
        "old_string": "path.write(text)",
        "new_string": "path.write(text + '')",
    }
    assert f"decision {record} governs this" in context(
        hooked.hook(hooked.payload("PreToolUse.Edit", **edit))
    )


def test_session_start_starts_the_owner_and_says_so(hooked: Any) -> None:
    hooked.run("stop")
    text = context(hooked.hook(hooked.payload("SessionStart")), "SessionStart")
    status = hooked.json("status")
    assert f"guard active, {status['rules']} rules" in text and "errors" not in text
    hooked.remember("Deploys are frozen on Fridays", "deploy_freeze")
    prompt = hooked.payload("UserPromptSubmit") | {"prompt": "may I lift the deploy freeze?"}
    text = context(hooked.hook(prompt), "UserPromptSubmit")
    assert "Deploys are frozen on Fridays" in text and "not instructions" in text
    assert silent(hooked.hook(prompt | {"prompt": "hi"}))
    hooked.write({".braincore/rules/bad.yml": "id: bad\nmessage: [\n"})
    text = context(hooked.hook(hooked.payload("SessionStart")), "SessionStart")
    assert "1 rule files have errors, e.g. .braincore/rules/bad.yml:" in text
    (hooked.root / ".braincore/rules/bad.yml").unlink()


def test_owner_that_cannot_come_lets_the_edit_pass_with_a_note(hooked: Any) -> None:
    hooked.run("stop")
    event = hooked.payload("PreToolUse.Write", file_path=str(hooked.root / "a.py"), content=BAD)
    done = hooked.hook(event, BRAINCORE_NO_SPAWN="1")
    assert "not checked (no owner is running)" in context_of_note(done)
    denied(hooked.hook(event))  # without the ban it starts one, and is checked


def context_of_note(done: subprocess.CompletedProcess[bytes]) -> str:
    note = str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])
    assert done.stderr.decode().strip() == note
    return note


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": "C:\\Users\\x"}', "not JSON"),
        (b"[1]", "no JSON object"),
        (b"null", "no JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"{}", ""),
        (b'{"hook_event_name": 7, "tool_name": [], "tool_input": "x"}', ""),
        (b'{"hook_event_name": "PreToolUse"}', ""),
        (b'{"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": null}', ""),
        (b'{"hook_event_name": "PreToolUse", "tool_name": "Frob", "tool_input": {"x": 1}}', ""),
        (b'{"hook_event_name": "Novel", "x": "\\ud800"}', ""),
        (b'{"hook_event_name": "UserPromptSubmit", "prompt": "\\ud800 \\u0000"}', ""),
    ],
)
def test_any_event_is_answered(hooked: Any, event: bytes, said: str) -> None:
    done = hooked.hook(event)
    assert done.stdout == b"" and said in done.stderr.decode()
    assert len(done.stderr.splitlines()) == bool(said)


def test_odd_edits_are_answered(hooked: Any) -> None:
    root = str(hooked.root)
    for tool, given in (
        ("Edit", {}),
        ("Edit", {"file_path": 7, "old_string": "a", "new_string": "b"}),
        ("Edit", {"file_path": f"{root}/app.py", "old_string": "no such", "new_string": "b"}),
        ("Write", {"file_path": f"{root}/a\x00b.py", "content": "x"}),
        ("Write", {"file_path": "\ud800.py", "content": "x = '\ud800'\n"}),
        ("Write", {"file_path": "C:\\Users\\x\\a.py", "content": "x = 1\n"}),
        ("Write", {"file_path": f"{root}/../../etc/x.py", "content": BAD}),
        ("NotebookEdit", {"notebook_path": f"{root}/n.ipynb", "new_source": "x = 1"}),
        ("Bash", {"command": "cat <<'EOF' > a.py\nnever ended"}),
        ("Bash", {"command": "\x00\ud800"}),
        ("Bash", {"command": 7}),
    ):
        done = hooked.hook(hooked.payload("PreToolUse.Edit", tool, **given))
        if done.stdout:
            assert "could not judge" in context(done) or "not checked" in context(done)
    assert hooked.json("status")["problem"] == ""


def test_huge_event_and_deleted_folder(hooked: Any, until: Any) -> None:
    text = "x = 1\n" * 3_500_000
    done = hooked.hook(
        hooked.payload("PreToolUse.Write", file_path=str(hooked.root / "a.py"), content=text)
    )
    assert silent(done) or b"not checked" in done.stdout or b"could not judge" in done.stdout
    until(lambda: hooked.json("status")["problem"] == "", "the owner is well")
    gone = hooked.root / "gone"
    gone.mkdir()
    event = json.dumps(hooked.payload("PreToolUse.Edit"))
    done = subprocess.run(
        ["sh", "-c", f"rmdir '{gone}' && {hooked.hook_command()}"],
        cwd=gone,
        input=event.encode(),
        env=hooked.env,
        capture_output=True,
    )
    assert done.returncode == 0 and done.stdout == b""
    assert b"the working directory is gone" in done.stderr
    gone.mkdir()
    command = f"rmdir '{gone}' && exec {shutil.which('true')}"
    subprocess.run(["sh", "-c", command], cwd=gone, check=True)


def test_what_guards_is_guarded(hooked: Any) -> None:
    hooked.write({".braincore/rules/team.yml": (hooked.root / "app.py").read_bytes()})
    hooked.kept(hooked.remember("What guards is guarded", "guarded_thing"))
    memory = next((hooked.root / ".braincore/memory").rglob("*.md"))
    for path in (memory, ".braincore/config.toml", ".braincore/rules/team.yml"):
        file = str(hooked.root / path)
        event = hooked.payload("PreToolUse.Write", file_path=file, content="x")
        assert "braincore-protected" in denied(hooked.hook(event)), path
    settings = str(hooked.settings())
    event = hooked.payload("PreToolUse.Write", file_path=settings, content="{}")
    assert "takes the guard out" in denied(hooked.hook(event))
    text = hooked.settings().read_text()
    event["tool_input"]["content"] = text.replace('"hooks"', '"model": "x",\n  "hooks"', 1)
    assert silent(hooked.hook(event))
    for command in (
        "rm .braincore/rules/team.yml",
        "mv .braincore/config.toml /tmp/x",
        "git rm -q .braincore/rules/team.yml",
        f"rm {settings}",
        "echo > .git/braincore/owner.json",
    ):
        done = hooked.hook(hooked.payload("PreToolUse.Bash", command=command))
        assert "braincore-protected" in denied(done), command
    new = hooked.payload(
        "PreToolUse.Write",
        file_path=str(hooked.root / ".braincore/rules/mine.yml"),
        content="id: mine\n",
    )
    assert silent(hooked.hook(new))
    (hooked.root / ".braincore/rules/team.yml").unlink()


SETTINGS = [
    None,
    b"",
    b"{}",
    b'{\r\n\t"model": "opus", // mine\r\n\t"hooks": {"PreToolUse": []},\r\n}\r\n',
    b'\xef\xbb\xbf{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
]


@pytest.mark.parametrize("before", SETTINGS)
def test_install_twice_and_uninstall_restores_every_byte(shared: Any, before: bytes | None) -> None:
    path = shared.settings()
    shared.run("uninstall", "--keep-memory")
    path.unlink(missing_ok=True)
    if before is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(before)
    assert shared.json("init", "--client", "claude")["client"]["changed"] is True
    once = path.read_bytes()
    assert shared.json("init", "--client", "claude")["client"]["changed"] is False
    assert path.read_bytes() == once and once.count(b"hook_client.py claude") == 3
    assert shared.json("uninstall", "--keep-memory")["hooks"][0] == str(path)
    assert (path.read_bytes() if path.exists() else None) == before
    path.unlink(missing_ok=True)
    shared.run("init", "--client", "claude")


def test_settings_that_cannot_be_used_are_left(shared: Any) -> None:
    path = shared.settings()
    kept = path.read_bytes()
    for text in (b"{", b"\xff\xfe", b"[]", b'{"hooks": 3}'):
        path.write_bytes(text)
        message = shared.error("init", "--client", "claude")
        assert "settings" in message
        assert path.read_bytes() == text
    path.write_bytes(kept)


def test_uninstall_takes_the_store_and_leaves_the_teams_files(
    brain: Any, owners: Any, until: Any
) -> None:
    rule = brain.root / ".braincore" / "rules" / "own.yml"
    rule.write_text("id: own\n")
    brain.run("init", "--client", "claude")
    command = brain.hook_command()
    brain.remember("This will be gone soon", "soon_gone")
    body = brain.json("uninstall")
    assert str(brain.store) in body["removed"] and not brain.store.exists()
    assert not brain.settings().exists() and not brain.settings().parent.exists()
    left = {p.relative_to(brain.root).as_posix() for p in brain.root.glob(".braincore/*")}
    assert left == {".braincore/.gitignore", ".braincore/config.toml", ".braincore/rules"}
    assert rule.exists()
    until(lambda: not owners(brain.folder), "the owner ends")
    assert "no brain yet" in brain.error("uninstall")
    event = json.dumps(brain.payload("PreToolUse.Edit")).encode()
    done = subprocess.run(
        ["sh", "-c", command], cwd=brain.root, input=event, env=brain.env, capture_output=True
    )
    assert silent(done) and not brain.store.exists()
    assert brain.json("init")["created"] is True


def test_uninstall_leaves_no_trace_where_nothing_was_added(brain: Any) -> None:
    before = brain.git("status", "--porcelain")
    assert ".braincore/" in before
    assert str(brain.root / ".braincore") in brain.json("uninstall")["removed"]
    assert not (brain.root / ".braincore").exists()
    assert brain.json("init")["created"] is True
    (brain.root / ".braincore/config.toml").write_text("[owner]\nidle_minutes = 5\n")
    assert brain.json("uninstall")["left"] == [str(brain.root / ".braincore")]


def test_hook_verb_runs_the_same_hook(hooked: Any, tmp_path: Path) -> None:
    event = hooked.payload("PreToolUse.Write", file_path=str(hooked.root / "a.py"), content=BAD)
    data = json.dumps(event).encode()
    denied(hooked.run("hook", "claude", stdin=data))
    denied(hooked.run("hook", "claude", "-C", str(hooked.root), stdin=data, cwd=tmp_path))
    assert silent(hooked.run("hook", "claude", stdin=data, cwd=tmp_path))
