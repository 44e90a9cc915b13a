"""The Python API: the verbs of the contract, over the owner, with its rules."""

import inspect
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import braincore
from braincore import api, shapes
from braincore.errors import BraincoreError, InvalidInput, NotARepository, NotInitialised
from braincore.serve.verbs import VERBS

ROOT = Path(__file__).parents[2]
METHODS = {
    "remember": "remember",
    "recall": "recall",
    "decide": "decide",
    "outcome": "outcome",
    "fail": "record_failure",
    "why": "why",
    "check": "check_edit",
    "related": "related",
    "context": "context",
    "record": "record_interaction",
    "tasks": "tasks",
    "review": "review",
    "log": "log",
    "status": "status",
    "index": "index",
    "rebuild": "rebuild",
}
# `init` is open(create=True); what the doctor looks for is a matter of the command line; `import`
# takes text, and import_records what Python has: tested on its own below.
WITHOUT = {"init", "doctor", "import"}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """This process in the environment of the test's desk."""
    for name in ("shared", "brain", "desk"):
        if name in request.fixturenames:
            env = request.getfixturevalue(name).env
            for key in os.environ.keys() - env:
                monkeypatch.delenv(key)
            for key, value in env.items():
                monkeypatch.setenv(key, value)


def test_every_verb_has_a_method_with_its_arguments_and_its_answer() -> None:
    assert METHODS.keys() | WITHOUT == VERBS.keys()
    for verb, name in METHODS.items():
        signature = inspect.signature(getattr(braincore.Brain, name))
        given = {k: p for k, p in signature.parameters.items() if k != "self"}
        fields = VERBS[verb].request.model_fields
        assert given.keys() == fields.keys(), verb
        for key, field in fields.items():
            required = given[key].default is inspect.Parameter.empty
            assert required == field.is_required(), (verb, key)
            if not required:
                default = field.get_default(call_default_factory=True)
                assert (given[key].default or None) == (default or None), (verb, key)
        answer = eval(signature.return_annotation.strip('"'), {"shapes": shapes})
        assert answer == VERBS[verb].answer, verb


def test_one_answer_for_command_line_and_python(shared: Any) -> None:
    with braincore.open(shared.root) as brain:
        brain.remember("Mail goes through relay two", target="mail_relay", tags=("net",))
        question = "which relay does mail go through?"
        found = brain.recall(question, target="mail_relay")
        same = shared.json("recall", question, "--target", "mail_relay")
        same["facts"][0]["score"] = found["facts"][0]["score"]  # it rises with use
        assert found == same
        assert brain.log(limit=2) == shared.json("log", "-n", "2")
        assert brain.tasks() == shared.json("tasks")
        assert brain.review() == shared.json("review")
        assert brain.related(Path("app.py")) == shared.json("related", "app.py")
        assert brain.context("the mail_relay?") == shared.json("context", "the mail_relay?")
        assert brain.context_for_prompt("the mail_relay?") == brain.context("mail_relay")["text"]
        assert brain.context_for_prompt("nothing of note") == ""
        assert brain.rebuild()["equal"] and brain.index()["files"] == 1
        bad = "def load(text):\n    return eval(text)\n"
        assert brain.check_edit(shared.root / "app.py", bad)["verdict"] == "deny"
        assert brain.check_edit(diff="")["verdict"] == "allow"
        assert brain.status()["root"] == str(shared.root)
    assert repr(brain) == f"<braincore.Brain of {shared.root}>"


def test_a_failure_comes_back(shared: Any) -> None:
    text = "def tell(clock):\n    return clock.moment.replace(tzinfo=None).isoformat()\n"
    shared.write({"clock.py": text})
    shared.git("add", "clock.py")
    shared.git("commit", "-qm", "clock: drop the zone")
    with braincore.open(shared.root) as brain:
        done = brain.record_failure(
            title="Zone dropped",
            broke="offsets were lost",
            why="naive times",
            fix="keep the zone",
            evidence="commit:HEAD",
            fragment="clock.py:2-2",
        )
        shared.write({"clock.py": "x = 1\n"})
        assert brain.check_edit("clock.py", text)["findings"][0]["record"] == done["id"]


def test_times_must_say_their_zone(shared: Any) -> None:
    with braincore.open(shared.root) as brain:
        for number, at in enumerate(
            (datetime.now(UTC), date(2020, 1, 1), "2020-01-01", datetime.now().astimezone())
        ):
            about = f"zone_{number}"
            text = f"Said of zone number {number}"
            assert brain.remember(text, target=about, valid_from=at)["outcome"] == "stored"
            assert brain.recall("zone number", target=about)["outcome"] == "answer"
        with pytest.raises(InvalidInput, match="no time zone"):
            brain.recall("zone", as_of=datetime.now())
        past = datetime(2001, 1, 1, tzinfo=UTC)
        assert brain.recall("zone number", target="zone_1", as_of=past)["outcome"] == "abstain"


def test_an_interaction_is_noted_redacted_and_never_an_answer(shared: Any) -> None:
    key = "AKIAIOSFODNN7EXAMPLQ"
    with braincore.open(shared.root) as brain:
        brain.remember("The lighthouse key hangs in room nine", target="lighthouse_key")
        block = brain.context_for_prompt("the lighthouse_key?")
        assert block
        prompt = f"{block}\nWhere does the zebra_crossing lead? {key}"
        done = brain.record_interaction(prompt, "It leads to the harbour\x00\udc80"[:-1], False)
        assert [i.partition("-")[0] for i in done["events"]] == ["event", "event"]
        assert brain.record_interaction("And now?", "", True)["outcome"] == "recorded"
        assert brain.record_interaction("And now?", "")["outcome"] == "recorded"
        assert brain.recall("where does the zebra_crossing lead?")["outcome"] == "abstain"
        with pytest.raises(BraincoreError, match="prompt is empty"):
            brain.record_interaction(block, "x")
    wal = (shared.store / "events.wal").read_bytes()
    assert b"zebra_crossing" in wal and b"leads to the harbour" in wal and b"failure" in wal
    assert key.encode() not in wal and b"room nine" not in wal


def test_where_there_is_no_brain(desk: Any) -> None:
    desk.folder.joinpath("plain").mkdir()
    with pytest.raises(NotARepository, match="git init"):
        braincore.open(desk.folder / "plain", create=True)
    with pytest.raises(InvalidInput, match="does not exist"):
        braincore.open(desk.folder / "nowhere")
    desk.make()
    with pytest.raises(NotInitialised, match="braincore init"):
        braincore.open(desk.root)
    for _ in range(2):
        with braincore.open(desk.root / ".", create=True) as brain:
            assert brain.status()["files"] == 1
    assert desk.json("status")["symbols"] == 2


def test_import_stores_what_it_can_and_twice_adds_nothing(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "PART_RECORDS", 3)
    at = datetime(2020, 1, 2, tzinfo=UTC)
    good = [{"text": f"Pump {n} is green", "target": f"pump_{n}", "valid_from": at} for n in "abcd"]
    bad: list[Any] = [{"text": "half \ud800"}, {"txet": "x"}, {"text": object()}, "no record", 7]
    with braincore.open(shared.root) as brain:
        done = brain.import_records(one for one in (*good[:2], *bad, *good[2:]))
        assert (done["outcome"], done["stored"], done["duplicates"]) == ("imported", 4, 0)
        assert [one["line"] for one in done["rejected"]] == [3, 4, 5, 6, 7]
        reasons = " | ".join(one["reason"] for one in done["rejected"])
        for reason in ("no valid Unicode", "text: Field required", "can't be sent"):
            assert reason in reasons
        assert brain.import_records(good)["duplicates"] == 4
        assert brain.import_records([])["stored"] == 0
        fact = brain.recall("which colour is the pump?", target="pump_d")["facts"][0]
        assert fact["valid_from"].startswith("2020-01-02") and fact["source_ref"]
        assert brain.log(limit=1)["log"][0]["verb"] == "import"
        with pytest.raises(TypeError):
            brain.import_records(7)  # type: ignore[arg-type]


BAD: list[tuple[Callable[[braincore.Brain], object], str]] = [
    (lambda b: b.recall("x", limit=0), "limit: "),
    (lambda b: b.recall("x", symbols="app.py"), "symbols: "),
    (lambda b: b.recall("lone \ud800"), "query is no valid Unicode"),
    (lambda b: b.remember("x y", tags=["a", "\udcff"]), "tags is no valid Unicode"),
    (lambda b: b.remember("x y", confidence=float("nan")), "confidence=nan can't be sent"),
    (lambda b: b.remember(b"x y"), "text is bytes"),  # type: ignore[arg-type]
    (lambda b: b.remember(object), "can't be sent"),  # type: ignore[arg-type]
    (lambda b: b.remember(3), "text: "),  # type: ignore[arg-type]
    (lambda b: b.outcome("decision-0", "x"), "No decision 'decision-0' exists"),
    (lambda b: b.related("app.py::lod"), "Did you mean app.py::load?"),
    (lambda b: b.check_edit(), "nothing to check"),
    (lambda b: b.check_edit("app.py", "x" * (34 << 20)), "33 MB"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_errors_say_what_to_do(
    call: Callable[[braincore.Brain], object], message: str, shared: Any
) -> None:
    with braincore.open(shared.root) as brain:
        with pytest.raises(braincore.BraincoreError, match=re.escape(message)):
            call(brain)
        assert brain.status()["problem"] == ""
    with pytest.raises(InvalidInput, match="closed"):
        brain.status()


def test_any_thread_may_ask_and_no_owner_is_needed_before(brain: Any) -> None:
    brain.run("stop")
    opened = braincore.open(brain.root)

    def tell(number: int) -> str:
        return str(opened.remember(f"Lamp {number} is blue", target=f"lamp_{number}")["id"])

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(tell, range(8)))) == 8
    brain.run("stop")
    assert opened.recall("lamp_3", target="lamp_3")["outcome"] == "answer", "a new owner answers"


SAY = "import braincore, json; print(json.dumps(braincore.open().status()))"


def test_a_script_is_an_agent_and_a_terminal_may_be_a_person(shared: Any) -> None:
    from braincore.serve.peer import _agent_above

    done = subprocess.run(
        [sys.executable, "-c", SAY],
        cwd=shared.root,
        env=shared.env,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["channel"] == "agent"
    for mark, expected in (
        ("", "agent" if _agent_above(os.getpid()) else "person"),
        ("CI", "agent"),
    ):
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(shared.root)
            env = shared.env | ({mark: "1"} if mark else {})
            os.execve(sys.executable, [sys.executable, "-c", SAY], env)
        printed = b""
        try:
            while part := os.read(terminal, 65536):
                printed += part
        except OSError:
            pass  # how a terminal says that the other end is closed
        os.close(terminal)
        os.waitpid(child, 0)
        assert json.loads(printed)["channel"] == expected, mark


def test_the_package_alone_loads_nothing() -> None:
    """Hooks and the command line import it each time."""
    words = "import sys; had = set(sys.modules); import braincore; print(*(set(sys.modules) - had))"
    python = [sys.executable, "-S", "-E", "-I", "-c"]
    first = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {words}"
    assert subprocess.check_output([*python, first]).split() == [b"braincore"]
    api = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import braincore; braincore.open; "
    api += "print(*(m for m in sys.modules if '.' not in m or m.startswith('braincore')))"
    loaded = set(subprocess.check_output([*python, api]).decode().split())
    assert loaded <= {*sys.stdlib_module_names, "__main__", "braincore"} | {
        f"braincore.{name}" for name in ("api", "client", "errors", "locate")
    }
    assert not hasattr(braincore, "opne")


def test_the_examples_of_the_docs_run(brain: Any) -> None:
    """Every block in order, in one script; what it prints is what its comments say."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    expected = re.findall(r"^ *print\(.*\)  # (.+)$", script, re.M)
    assert len(expected) >= 10 and script.count("print(") == len(expected)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=brain.root,
        env=brain.env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected
