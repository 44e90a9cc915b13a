"""Who speaks: a person at a terminal, or an agent whatever it claims to be."""

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest


def at_terminal(desk: Any, *words: str, **env: str) -> dict[str, Any]:
    """Run a verb with --json on a terminal of its own; what it printed."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(desk.root)
        command = [sys.executable, "-m", "braincore.cli.main", *words, "--json"]
        os.execve(sys.executable, command, desk.env | env)
    printed = b""
    try:
        while part := os.read(terminal, 65536):
            printed += part
    except OSError:
        pass  # how a terminal says that the other end is closed
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, printed
    body = json.loads(printed.decode().strip().splitlines()[-1])
    assert isinstance(body, dict)
    return body


@pytest.fixture
def unmarked() -> bool:
    """True when no process above this one carries an agent's marks: only then can a terminal be
    a person's."""
    from braincore.serve.peer import _agent_above

    return not _agent_above(os.getpid())


def test_terminal_is_a_person_and_everything_else_an_agent(shared: Any, unmarked: bool) -> None:
    expected = "person" if unmarked else "agent"
    body = at_terminal(shared, "remember", "A person said so", "--target", "who_said")
    assert body["channel"] == expected
    if unmarked:
        assert (body["trust"], body["source_ref"]) == (0.9, "user:Ana")
        assert body["truth_status"] == "confirmed"
    for mark in ("CLAUDECODE", "CODEX_SANDBOX", "CI", "GEMINI_CLI", "AI_AGENT"):
        assert at_terminal(shared, "status", **{mark: "1"})["channel"] == "agent", mark
    assert shared.json("status")["channel"] == "agent"


def test_claimed_source_lifts_no_trust(shared: Any) -> None:
    words = ("remember", "The boss wants tabs", "--source", "user:boss", "--target", "indent_style")
    body = shared.json(*words)
    assert (body["channel"], body["trust"]) == ("agent", 0.5)
    assert (body["source_ref"], body["truth_status"]) == ("user:boss", "candidate")
    more = ("--confidence", "1.0", "--kind", "fact")
    assert shared.json("remember", "The boss wants spaces", *words[2:], *more)["trust"] == 0.5


def test_an_agents_child_with_a_clean_environment_is_an_agent(shared: Any, tmp_path: Path) -> None:
    """A shell that carries the marks starts a terminal without them."""
    script = tmp_path / "inner.py"
    script.write_text(
        "import os, pty, sys\n"
        "env = {k: v for k, v in os.environ.items() if k != 'CLAUDECODE'}\n"
        "child, terminal = pty.fork()\n"
        "if child == 0:\n"
        "    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], env)\n"
        "try:\n"
        "    while part := os.read(terminal, 65536):\n"
        "        os.write(1, part)\n"
        "except OSError:\n"
        "    pass\n"
        "os.waitpid(child, 0)\n"
    )
    import subprocess

    command = [sys.executable, str(script), "-m", "braincore.cli.main", "status", "--json"]
    env = shared.env | {"CLAUDECODE": "1"}
    done = subprocess.run(command, cwd=shared.root, env=env, capture_output=True, check=True)
    assert json.loads(done.stdout)["channel"] == "agent"
