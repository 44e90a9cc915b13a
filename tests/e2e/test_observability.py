"""What can be seen of an owner from outside: its status as text, its log, what `--debug` says."""

import json
from typing import Any


def log_lines(brain: Any) -> list[dict[str, Any]]:
    """The owner's log, every line of it an object."""
    return [json.loads(line) for line in brain.log_text().splitlines()]


def test_debug_says_what_the_command_did_and_makes_the_owner_log_it(brain: Any) -> None:
    quiet = brain.run("status")
    assert quiet.stderr == b""
    brain.run("stop")
    done = brain.run("remember", "The lift is out of order", "--debug")
    said = done.stderr.decode().splitlines()
    assert all(line.startswith("braincore: debug: ") for line in said)
    assert f"started one, pid {brain.owner()}" in said[0]
    assert "remember: HTTP/1.1 200 OK" in said[1] and "total;dur=" in said[2]
    assert b"stored: " in done.stdout
    before = brain.run("--debug", "status", "--json", env=brain.env | {"BRAINCORE_DEBUG": "1"})
    assert json.loads(before.stdout)["records"] == 1 and b"debug: status: HTTP" in before.stderr
    lines = [line for line in log_lines(brain) if line["level"] == "debug"]
    assert [line["verb"] for line in lines] == ["remember", "status"]
    assert all(line["seconds"] > 0 for line in lines)


def test_debug_goes_before_and_after_the_verb(shared: Any) -> None:
    for words in (["--json", "--debug", "status"], ["--debug", "--json", "status"]):
        done = shared.run(*words)
        assert json.loads(done.stdout)["records"] >= 0
        assert b"braincore: debug: status: HTTP" in done.stderr
    assert shared.run("--debug", "--help").stdout.startswith(b"usage: braincore")


def test_status_reads_as_text(brain: Any) -> None:
    brain.remember("Staging listens on port 8443", "staging_port", "--symbol", "app.py::load")
    brain.run("recall", "Who painted the walls?")
    text = brain.run("status").stdout.decode()
    lines = {line[:20].strip(): line[20:] for line in text.splitlines()}
    assert lines["freshness"] == "100.0% of the records with code references"
    assert lines["contradiction rate"] == "0.0% of the records believed"
    assert lines["abstain rate"] == "100.0% of 1 recalls"
    assert lines["records"].startswith("2: fact 1, task 1") and lines["problem"] == "none"
    assert "journal " in lines["store"] and f"pid {brain.owner()}, up " in lines["owner"]
    assert "kuzu 0.11.3" in lines["versions"]


def test_the_log_is_json_lines_and_every_answer_has_its_time(brain: Any) -> None:
    brain.run("outcome", "decision-0", "x", code=1)
    brain.run("stop")
    lines = log_lines(brain)
    assert all({"at", "level", "where", "text"} <= line.keys() for line in lines)
    assert any("No decision 'decision-0' exists" in line["text"] for line in lines)
