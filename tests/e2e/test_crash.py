"""What is acknowledged is never lost: kills under writes, deleted projections, `git clean`."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Writers:
    """Clients that go on remembering until told to stop, and keep what was acknowledged."""

    def __init__(self, desk: Any, count: int) -> None:
        self.desk = desk
        self.acknowledged: list[str] = []
        self.answers: list[tuple[int, str]] = []
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self._write, args=(n,)) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def _write(self, name: int) -> None:
        number = 0
        while not self.done.is_set():
            number += 1
            text = f"Writer {name} keeps setting {number} of machine {name}-{number} open"
            words = ["remember", text, "--target", f"setting_{name}_{number}", "--json"]
            done = self.desk.run(*words, code=None)
            body = json.loads(done.stdout)
            if done.returncode == 0:
                self.acknowledged.append(body["id"])
            else:
                self.answers.append((done.returncode, body["error"]))

    def stop(self) -> None:
        self.done.set()
        for thread in self.threads:
            thread.join()


def test_kill_9_loses_nothing_acknowledged(
    brain: Any, trials: Callable[[int], int], until: Any
) -> None:
    chance = random.Random(7)
    for _ in range(trials(30)):
        writers = Writers(brain, 3)
        until(lambda w=writers: w.acknowledged or w.answers, "a first write")
        enough = len(writers.acknowledged) + chance.randrange(1, 6)
        until(lambda w=writers, n=enough: len(w.acknowledged) + len(w.answers) >= n, "writes")
        threading.Event().wait(chance.random() * 0.1)
        os.kill(brain.owner(), signal.SIGKILL)
        writers.stop()
        # A writer whose request was taken when the owner died is told so, and nothing else.
        assert all("ended while it worked on this" in said for _, said in writers.answers)
        entries = brain.json("log", "-n", "10000")["log"]
        subjects = {i: e["subject"] for e in entries for i in e["records"]}
        assert subjects.keys() >= set(writers.acknowledged)
        record = chance.choice(writers.acknowledged)
        found = brain.json("recall", subjects[record], "--limit", "20")
        assert record in [f["id"] for f in found["facts"]], (subjects[record], found)
        assert brain.json("rebuild")["equal"] is True
    assert brain.json("status")["problem"] == ""


def test_deleted_projections_come_back(brain: Any, slay: Any) -> None:
    record = brain.remember("Backups run at four in the morning", "backup_time")
    ask = ("recall", "when do backups run?", "--target", "backup_time")

    def well() -> None:
        assert [f["id"] for f in brain.json(*ask)["facts"]] == [record]
        assert brain.json("rebuild")["equal"] is True
        assert brain.json("related", "app.py::load")["code"]

    brain.run("stop")
    for folder in ("graph", "index"):
        shutil.rmtree(brain.store / folder)
    well()
    brain.run("stop")
    (brain.store / "graph" / "graph.kuzu").write_bytes(b"\x00" * 5000)
    (brain.store / "index" / "keyword" / "meta.json").write_bytes(b"{")
    for file in (brain.store / "index").glob("code*.db"):
        file.write_bytes(b"not a database" * 100)
    (brain.store / "usage.db").write_bytes(b"nor is this" * 100)
    (brain.store / "index" / "rows.jsonl").write_bytes(b"\xff{]\n")
    well()
    for folder in ("graph", "index"):
        shutil.rmtree(brain.store / folder)
    second = brain.remember("Backups are kept for ninety days", "backup_retention")
    slay(brain.folder)
    well()
    assert second in brain.logged()


def test_git_clean_loses_nothing(brain: Any) -> None:
    rule = "id: no-print\nmessage: print\nwhy: noise\nseverity: high\ncategory: code\n"
    rule += "languages: [python]\nrule:\n  pattern: print($$$A)\nrepair: use the log\n"
    config = "[owner]\nidle_minutes = 20\n"
    brain.write({".braincore/rules/own.yml": rule, ".braincore/config.toml": config})
    record = brain.remember("Invoices are numbered without gaps", "invoice_number")
    rules = brain.json("status")["rules"]
    for running in (True, False):
        for flags in ("-fdx", "-ffdx"):
            if not running:
                brain.run("stop")
            brain.git("clean", flags)
            # Without the second -f git leaves memory/, which is a repository of its own.
            left = [p.name for p in brain.root.glob(".braincore/*")]
            assert left == (["memory"] if flags == "-fdx" else [])
            assert record in brain.logged()
            status = brain.json("status")
            assert status["rules"] == rules and status["config_problem"] == ""
            checked = brain.json(
                "check", "--file", "a.py", "--content", "-", stdin=b"print(1)\n", code=2
            )
            assert checked["findings"][0]["rule"] == "no-print"
            assert brain.json("init")["outcome"] == "ready"
            assert (brain.root / ".braincore/rules/own.yml").read_text() == rule
            assert (brain.root / ".braincore/config.toml").read_text() == config
            brain.kept(record)
            assert brain.git("log", "-1", "--format=%s", cwd=brain.root / ".braincore/memory")


def test_store_deleted_under_the_owner(brain: Any, owners: Any, until: Any) -> None:
    first = brain.owner()
    shutil.rmtree(brain.store)
    assert "has no brain yet. Run `braincore init`" in brain.error("status")
    brain.run("init")
    record = brain.remember("Orders are shipped from Lyon", "warehouse")
    until(lambda: first not in owners(brain.folder), "the old owner leaves")
    assert record in brain.logged()
    assert owners(brain.folder) == [brain.owner()]


def test_socket_deleted_under_the_owner(brain: Any, owners: Any, until: Any) -> None:
    first = brain.owner()
    Path(os.fsdecode((brain.store / "socket").read_bytes().strip())).unlink()
    record = brain.remember("Orders are shipped from Lyon", "warehouse")
    until(lambda: first not in owners(brain.folder), "the old owner leaves")
    assert record in brain.logged()
    assert owners(brain.folder) == [brain.owner()]


def test_ten_writers_at_once(brain: Any, trials: Callable[[int], int]) -> None:
    each = trials(60)
    script = (
        "import sys\nfrom braincore.cli.main import main\n"
        "name, count = sys.argv[1], int(sys.argv[2])\n"
        "codes = [main(['remember', f'Machine {name}-{n} runs job {n} for tenant {name}',"
        " '--target', f'job_{name}_{n}', '--json']) for n in range(count)]\n"
        "sys.exit(any(codes))\n"
    )
    before = brain.json("status")["records"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(n), str(each)],
            cwd=brain.root,
            env=brain.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for n in range(10)
    ]
    said = [p.communicate(timeout=300) for p in processes]
    assert [p.returncode for p in processes] == [0] * 10, said
    ids = [json.loads(line)["id"] for out, _ in said for line in out.splitlines()]
    assert len(ids) == len(set(ids)) == 10 * each
    assert brain.json("status")["records"] - before == 10 * each
    assert set(ids) <= brain.logged()


def test_ten_deciders_at_once(brain: Any, finish: Any) -> None:
    answers = "Kafka NATS Redis RabbitMQ Postgres Pulsar SQS ZeroMQ Celery files".split()
    common = ["--problem", "What carries messages between services?", "--target", "message_bus"]
    processes = [
        brain.start(
            *("decide", "--title", f"{name} it is", "--decision", f"Use {name}", *common),
            *("--alternative", "cron: too slow", "--reasoning", f"{name} fits", "--json"),
        )
        for name in answers
    ]
    done = finish(processes)
    bodies = [json.loads(stdout) for _, stdout, _ in done]
    stored = [b for b in bodies if b["outcome"] == "stored"]
    conflicts = [b for b in bodies if b["outcome"] == "conflict"]
    assert sorted(code for code, _, _ in done) == [0] + [2] * 9
    assert len(stored) == 1 and len(conflicts) == 9
    assert {c["id"] for b in conflicts for c in b["conflicts"]} == {stored[0]["id"]}
    assert brain.json("status")["kinds"]["decision"] == 1


def test_ten_cold_starts_make_one_owner(brain: Any, finish: Any, owners: Any, until: Any) -> None:
    brain.run("stop")
    until(lambda: not owners(brain.folder), "the owner ends")
    done = finish([brain.start("status", "--json") for _ in range(10)])
    assert [code for code, _, _ in done] == [0] * 10, done
    assert len({json.loads(stdout)["pid"] for _, stdout, _ in done}) == 1
    until(lambda: owners(brain.folder) == [brain.owner()], "the others end")
