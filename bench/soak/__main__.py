"""`python -m bench.soak`: twelve MCP sessions, hooks and commands at once; what fails, what grows.

Five minutes (twenty seconds with `--quick`). Every answer is looked at: an error, a lost record or
a process that outlives its stdin is a failed run (exit code 1).
"""

import json
import random
import shlex
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.measure import Bench, Figure, say
from bench.scratch import edit_event, repository
from braincore.locate import Place
from braincore.serve import hook_client
from braincore.serve.settings import hook_command

SESSIONS = 12
RELAY = [sys.executable, "-I", "-m", "braincore.serve.mcp_stdio"]
COMMAND = [sys.executable, "-m", "braincore.cli.main"]
CODE = "def load(text):\n    return int(text)\n"
WARM_SHARE = 0.25
"""Growth counts from after this part of the run: models and indexes are loaded by then."""


class Tally:
    """What was asked, what went wrong, what was stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self.errors: list[str] = []
        self.stored: set[str] = set()

    def note(self, kind: str, problem: str = "", record: str = "") -> None:
        """One call."""
        with self._lock:
            self.calls[kind] += 1
            if problem:
                self.errors.append(f"{kind}: {problem}"[:500])
            if record:
                self.stored.add(record)


def session(place: Place, number: int, until: float, tally: Tally) -> None:
    """One MCP client: calls until the time is up, then closes stdin and wants the relay gone."""
    chance = random.Random(number)
    relay = subprocess.Popen(
        RELAY,
        cwd=place.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert relay.stdin is not None and relay.stdout is not None
    asked = 0

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        message = {"jsonrpc": "2.0", "id": asked, "method": method, "params": params}
        relay.stdin.write(json.dumps(message).encode() + b"\n")
        relay.stdin.flush()
        answer = json.loads(relay.stdout.readline())
        assert answer["id"] == asked, answer
        return dict(answer)

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    ask("initialize", hello | {"clientInfo": {"name": f"soak-{number}", "version": "1"}})
    relay.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    while time.monotonic() < until:
        job = chance.randrange(10_000)
        tool, arguments = chance.choice(
            [
                ("remember", {"text": f"Job {job} runs for tenant {number}", "target": f"j{job}"}),
                ("recall", {"query": f"For which tenant does job {job} run?"}),
                ("check_edit", {"path": "app.py", "content": CODE.replace("int", "eval")}),
                ("context", {"prompt": f"change job {job} and j{job}"}),
                ("status", {}),
                ("tasks", {}),
            ]
        )
        result = ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        found = result["structuredContent"]
        wrong = str(found) if result["isError"] else ""
        if tool == "check_edit" and found.get("verdict") != "deny":
            wrong = f"not denied: {found}"
        tally.note(tool, wrong, found.get("id", "") if tool == "remember" else "")
        time.sleep(chance.random() * 0.2)
    _, stderr = relay.communicate(timeout=60)
    if relay.returncode or stderr:
        tally.note("end of a session", f"{relay.returncode} {stderr!r}")


def hooks(place: Place, number: int, until: float, tally: Tally) -> None:
    """A client that edits: each edit brings eval in, so each must be denied."""
    command = shlex.split(hook_command(sys.executable, hook_client.__file__, "claude"))
    while time.monotonic() < until:
        event = edit_event(place.root, "app.py", "int(text)", f"eval(text)  # {number}")
        done = subprocess.run(command, input=event, cwd=place.root, capture_output=True, timeout=60)
        if b"did not answer in time" in done.stderr:
            tally.note("hook late")  # let through with a note, as the deadline has it
        else:
            said = f"{done.returncode} {done.stdout!r} {done.stderr!r}"
            tally.note("hook", "" if b'"deny"' in done.stdout else said)
        time.sleep(0.2)


def commands(place: Place, number: int, until: float, tally: Tally) -> None:
    """A shell: remember and recall by the command line."""
    chance = random.Random(-number)
    while time.monotonic() < until:
        job = chance.randrange(10_000)
        given = ["remember", f"Part {job} is made by machine {number}", "--target", f"p{job}"]
        if chance.random() < 0.5:
            given = ["recall", f"Which machine makes part {job}?"]
        done = subprocess.run(
            [*COMMAND, *given, "--json"], cwd=place.root, capture_output=True, timeout=60
        )
        body = json.loads(done.stdout or b"{}")
        wrong = "" if done.returncode == 0 else f"{done.returncode} {done.stdout!r} {done.stderr!r}"
        tally.note(f"cli {given[0]}", wrong, body.get("id") or "")
        time.sleep(0.2)


def owner_rss(place: Place) -> float:
    """The owner's resident memory in MB, now."""
    pid = json.loads((place.store / "owner.json").read_bytes())["pid"]
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def open_files(place: Place) -> int:
    """How many files and sockets the owner holds, now."""
    pid = json.loads((place.store / "owner.json").read_bytes())["pid"]
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def relays_of(place: Place) -> int:
    """Relays that still run in this repository."""
    count = 0
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            inside = b"mcp_stdio" in words and (entry / "cwd").resolve() == place.root
        except OSError:
            continue
        count += inside
    return count


def main() -> int:
    """Run it; the exit code."""
    bench = Bench("soak", __doc__ or "")
    seconds = bench.size("seconds", 300, 20)
    tally = Tally()
    with repository() as place:
        (place.root / "app.py").write_text(CODE)
        subprocess.run([*COMMAND, "init"], cwd=place.root, capture_output=True, check=True)
        until = time.monotonic() + seconds
        kinds = [session] * SESSIONS + [hooks] * 2 + [commands] * 2
        threads = [
            threading.Thread(target=kind, args=(place, number, until, tally))
            for number, kind in enumerate(kinds)
        ]
        for thread in threads:
            thread.start()
        time.sleep(seconds * WARM_SHARE)
        rss, files = owner_rss(place), open_files(place)
        while time.monotonic() < until:
            time.sleep(min(10, max(0.1, until - time.monotonic())))
            say(f"{sum(tally.calls.values())} calls, {len(tally.errors)} errors")
        later = owner_rss(place)
        for thread in threads:
            thread.join(120)
        time.sleep(1)
        status = subprocess.run(
            [*COMMAND, "log", "-n", "10000", "--json"], cwd=place.root, capture_output=True
        )
        logged = {i for e in json.loads(status.stdout)["log"] for i in e["records"]}
        lost = tally.stored - logged if len(tally.stored) < 5000 else set()
        for kind, count in sorted(tally.calls.items()):
            bench.found(kind, count)
        bench.figure("errors", Figure(len(tally.errors), "calls", budget=0, note=_first(tally)))
        late = tally.calls["hook late"]
        share = late / max(1, late + tally.calls["hook"])
        bench.figure("hooks late", Figure(share, "share", budget=0.05, note="let through, noted"))
        bench.figure("lost", Figure(len(lost), "records", budget=0))
        bench.figure("relays left", Figure(relays_of(place), "processes", budget=0))
        growth = Figure(
            later, "MB", rss, "after a quarter of the run", 1.5, True, note="RSS of the owner"
        )
        bench.figure("memory", growth)
        bench.figure("files", Figure(open_files(place), "open", files, "at a quarter", 1.5, True))
    bench.report()
    return 1 if tally.errors or lost else 0


def _first(tally: Tally) -> str:
    return tally.errors[0] if tally.errors else ""


if __name__ == "__main__":
    sys.exit(main())
