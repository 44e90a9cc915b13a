"""`python -m bench.mcp`: the relay until its first answers, and a call, beside a plain server."""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.mcp.client import At, Client
from bench.measure import Bench, Figure, cpu, interleave, median, p95, say
from bench.processes import cpu_of
from bench.scratch import generate_records, owner_seconds, repository, store_records
from braincore import client
from braincore.locate import Place

BARE = [sys.executable, "-I", "-c", "pass"]
MINIMAL = [sys.executable, "-I", str(Path(__file__).with_name("minimal.py"))]
RELAY = [sys.executable, "-I", "-m", "braincore.serve.mcp_stdio"]
QUIET_SECONDS = 0.5
QUIET_MS = 5.0
TOKEN = re.compile(r" ?[A-Za-z]+|\d{1,3}| ?[^\sA-Za-z\d]+")
"""As tests/serve/test_mcp_tools.py counts them."""


def owner(place: Place) -> int:
    """The process id of the owner that serves; started if none does, and quiet."""
    client.ask(place, "status", {})
    found = owner_seconds(place)
    assert found is not None
    deadline = time.monotonic() + 300
    before = cpu_of(found[0])
    while time.monotonic() < deadline:
        time.sleep(QUIET_SECONDS)
        now = cpu_of(found[0])
        if now - before < QUIET_MS:
            return found[0]
        before = now
    raise SystemExit("the owner never came to rest")


def greeting(bench: Bench, place: Place, query: str) -> None:
    """From start to the list of tools and to the first call, the owner warm, taking turns with
    the plain server and with python alone."""
    pid = owner(place)
    first: dict[str, list[tuple[At, At]]] = {"ours": [], "plain": []}
    owners: list[float] = []
    held: dict[str, list[float]] = {"ours": [], "plain": []}

    def session(which: str, command: list[str]) -> Callable[[], float]:
        def once() -> float:
            before = cpu_of(pid)
            one = Client(command, place.root)
            called = one.call("recall", {"query": query})
            if which == "ours":
                owners.append(cpu_of(pid) - before)
            held[which].append(one.resident())
            first[which].append((one.listed, called))
            one.close()
            return one.listed.cpu

        return once

    session("ours", RELAY)()  # the first client of an owner has it load the SDK
    for found in (first, held):
        found["ours"].clear()
    owners.clear()
    rounds = bench.size("warm_sessions", 20, 8)
    ours, plain, bare = interleave(
        rounds, session("ours", RELAY), session("plain", MINIMAL), lambda: cpu(BARE).cpu
    )
    what = "a server of the SDK with one tool"
    walls = {n: median([a.wall for a, _ in both]) for n, both in first.items()}
    note = f"p95 {p95(ours):.0f}; python -I -c pass {median(bare):.1f}"
    bench.figure("list_warm", Figure(median(ours), "ms CPU", median(plain), what, 150.0, note=note))
    bench.figure("list_warm_wall", Figure(walls["ours"], "ms", walls["plain"], what))
    calls = [called.cpu + more for (_, called), more in zip(first["ours"], owners, strict=True)]
    bench.figure(
        "call_warm",
        Figure(
            median(calls),
            "ms CPU",
            median([called.cpu for _, called in first["plain"]]),
            what,
            note=f"start to the first tools/call answered, the owner's part ({median(owners):.0f}) "
            f"included; wall {median([c.wall for _, c in first['ours']]):.0f}",
        ),
    )
    bench.figure("relay_rss", Figure(median(held["ours"]), "MB", median(held["plain"]), what))


def cold(bench: Bench, place: Place, query: str) -> None:
    """The same with no owner running: everything that the relay started counts."""
    lists, calls, late, bare = [], [], [], []
    for _ in range(bench.size("cold_sessions", 5, 3)):
        client.stop(place)
        one = Client(RELAY, place.root)
        lists.append(one.listed)
        calls.append(one.call("recall", {"query": query}))
        one.close()
        client.stop(place)
        pid = owner(place)  # warm, but no MCP client has come yet
        before = cpu_of(pid)
        one = Client(RELAY, place.root)
        called = one.call("recall", {"query": query})
        late.append(called.cpu + cpu_of(pid) - before)
        one.close()
        bare.append(cpu([sys.executable, "-I", "-c", "import braincore.serve.owner"]).cpu)
    bench.figure(
        "list_cold",
        Figure(
            median([a.cpu for a in lists]),
            "ms CPU",
            None,
            "",
            1000.0,
            note=f"relay {median([a.own for a in lists]):.0f}, what it started by then "
            f"{median([a.started for a in lists]):.0f}; wall {median([a.wall for a in lists]):.0f}",
        ),
    )
    bench.figure(
        "call_cold",
        Figure(
            median([a.cpu for a in calls]),
            "ms CPU",
            median(bare),
            "python that only imports the owner",
            note=f"start to the first tools/call answered, the whole owner included; wall "
            f"{median([a.wall for a in calls]):.0f}",
        ),
    )
    bench.figure(
        "call_first_client",
        Figure(median(late), "ms CPU", None, "", note="owner warm, its first MCP client"),
    )


def each_call(bench: Bench, place: Place, query: str) -> None:
    """One more call of a session, beside the same verb over the command line."""
    pid = owner(place)
    one = Client(RELAY, place.root)
    one.call("recall", {"query": query})
    installed = Path(sys.executable).with_name("braincore")
    verb = [str(installed)] if installed.exists() else [sys.executable, "-m", "braincore.cli.main"]
    verb += ["recall", query, "--json", "-C", str(place.root)]
    walls: dict[str, list[float]] = {"mcp": [], "cli": []}
    owners: dict[str, list[float]] = {"mcp": [], "cli": []}

    def by_relay() -> float:
        before, own, began = cpu_of(pid), cpu_of(one.pid), time.perf_counter()
        one.call("recall", {"query": query})
        walls["mcp"].append((time.perf_counter() - began) * 1000)
        owners["mcp"].append(cpu_of(pid) - before)
        return cpu_of(one.pid) - own

    def by_command() -> float:
        before = cpu_of(pid)
        spent = cpu(verb, cwd=place.root)
        if spent.code != 0:
            raise SystemExit(f"braincore recall ended with {spent.code}: {spent.out!r}")
        walls["cli"].append(spent.wall)
        owners["cli"].append(cpu_of(pid) - before)
        return spent.cpu

    relay, command = interleave(bench.size("calls", 100, 30), by_relay, by_command)
    what = "braincore recall --json"
    bench.figure("call_relay", Figure(median(relay), "ms CPU", median(command), what))
    bench.figure("call_owner", Figure(median(owners["mcp"]), "ms CPU", median(owners["cli"]), what))
    bench.figure("call_wall", Figure(median(walls["mcp"]), "ms", median(walls["cli"]), what))
    one.close()


def tool_list(bench: Bench, place: Place) -> None:
    """What the list of tools takes of a model's context, as it was sent."""
    one = Client(RELAY, place.root)
    text = json.dumps(one.listed.result["tools"], separators=(",", ":"), ensure_ascii=False)
    bench.found("tools", len(one.listed.result["tools"]))
    one.close()
    bench.figure(
        "list_tokens",
        Figure(
            len(text) / 3.5,
            "tokens",
            None,
            "",
            2000.0,
            note=f"characters / 3.5; {len(TOKEN.findall(text))} words, numbers and runs of "
            "punctuation",
        ),
    )


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("mcp", "What the stdio MCP server costs.")
    with repository() as place:
        records = generate_records(max(10, bench.size("records", 2000, 500)), [])
        store_records(place, records)
        query = records[5].text
        say(f"{len(records)} records; asked: {query}")
        tool_list(bench, place)
        greeting(bench, place, query)
        each_call(bench, place, query)
        cold(bench, place, query)
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
