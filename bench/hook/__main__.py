"""`python -m bench.hook`: hook command, warm CLI verb, the owner's check, a cold start."""

import random
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ast_grep_py import SgRoot

from bench.measure import Bench, Figure, cpu, interleave, median, p95, say, spent_in
from bench.scratch import (
    broken_lines,
    copy_sources,
    edit_event,
    generate_code,
    generate_records,
    owner_seconds,
    repository,
    store_records,
)
from braincore import client
from braincore.brain import Brain, open_brain
from braincore.locate import Place
from braincore.model.edits import Edit
from braincore.rules.schema import Rule
from braincore.serve import hook_client
from braincore.serve.hooks import hook
from braincore.serve.settings import hook_command

BARE = [sys.executable, "-S", "-E", "-I", "-c", "pass"]
ISOLATED = [sys.executable, "-I", "-c", "pass"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One edit: as the client's event, and as what becomes of the file."""

    event: bytes
    edit: Edit


def samples(root: Path, paths: list[str], count: int) -> list[Sample]:
    """Edits of generated files: most harmless, one in ten against a rule, one in ten brings a
    known failure back."""
    chance = random.Random(5)
    python = [p for p in paths if p.endswith(".py")]
    out: list[Sample] = []
    while len(out) < count:
        number = len(out)
        # Failure n is at home in file n: see generate_records.
        case = chance.randrange(0, len(paths), 10) if number % 10 == 1 else 0
        path = paths[case] if number % 10 == 1 else chance.choice(python)
        before = (root / path).read_text(encoding="utf-8", errors="replace")
        # An edit needs a text that stands in the file once.
        lines = [line for line in before.splitlines() if line.startswith("def ")]
        once = [line for line in lines if before.count(line) == 1]
        if not once:
            once, before = ["# end"], before + "# end\n"
            (root / path).write_text(before, encoding="utf-8")
        old = chance.choice(once)
        added = {
            0: "def loaded(text):\n    return eval(text)\n",
            1: f"def sent(gateway, request, backlog):\n{broken_lines(case)}",
        }.get(number % 10, f"def listed_{number}(rows):\n    return sorted(rows)[:{number}]\n")
        new = f"{added}\n\n{old}"
        event = edit_event(root, path, old, new)
        out.append(Sample(event, Edit(path, before, before.replace(old, new))))
    return out


def scan(rules: list[Rule], text: str) -> None:
    """What ast-grep alone does: parse a text, look for every rule in it."""
    root = SgRoot(text, "python").root()
    for rule in rules:
        config: dict[str, object] = {"rule": rule.rule}
        if rule.constraints is not None:
            config["constraints"] = rule.constraints
        if rule.utils is not None:
            config["utils"] = rule.utils
        root.find_all(config)  # type: ignore[call-overload]


def owners_part(bench: Bench, brain: Brain, edits: list[Sample]) -> None:
    """The owner's part of a check, beside a scan of the same text with the same rules."""
    rules = [r for r in brain.rules().rules if r.rule is not None and "python" in r.languages]
    root = str(brain.place.root)
    position = [0, 0, 0]

    def turn(which: int) -> Sample:
        position[which] += 1
        return edits[(position[which] - 1) % len(edits)]

    def answered() -> float:
        sample = turn(0)
        return spent_in(lambda: hook(brain, "claude", sample.event, root))

    def checked() -> float:
        sample = turn(1)
        return spent_in(lambda: brain.check([sample.edit], by_agent=True))

    def scanned() -> float:
        sample = turn(2)
        return spent_in(lambda: scan(rules, sample.edit.after or ""))

    first = spent_in(lambda: hook(brain, "claude", edits[0].event, root))
    whole, check, alone = interleave(len(edits), answered, checked, scanned)
    note = f"{len(rules)} structural rules, {len(brain.table)} records; the first check {first:.0f}"
    what = "ast-grep scan of the same text"
    for name, some in (("p50", median), ("p95", p95)):
        bench.figure(
            f"owner_part_{name}",
            Figure(
                some(whole),
                "ms CPU",
                some(alone),
                what,
                10.0 if name == "p95" else None,
                note=note,
            ),
        )
    bench.figure(
        "check_over_scan",
        Figure(median(check), "ms CPU", median(alone), what, 2.0, of_ratio=True),
    )


def warmed_up(command: list[str], bad: Sample, place: Place) -> int:
    """Send an edit that must be refused until it is; how many answers came too late before."""
    for late in range(100):
        answer = cpu(command, stdin=bad.event, cwd=place.root)
        if b'"deny"' in answer.out:
            return late
        say(f"no answer in time: {answer.out.decode(errors='replace')}")
        time.sleep(0.1)
    raise SystemExit("the hook never refused an eval")


def command_line(bench: Bench, place: Place, edits: list[Sample]) -> None:
    """The installed hook command and a CLI verb, both with a warm owner."""
    script = Path(hook_client.__file__).resolve()
    command = shlex.split(hook_command(sys.executable, str(script), "claude"))
    harmless = edits[2].event
    early = warmed_up(command, edits[0], place)
    late = 0
    walls: list[float] = []

    def ours() -> float:
        nonlocal late
        spent = cpu(command, stdin=harmless, cwd=place.root)
        walls.append(spent.wall)
        late += b"not checked" in spent.out
        return spent.cpu

    hooks, bare = interleave(bench.size("hook_pairs", 200, 40), ours, lambda: cpu(BARE).cpu)
    bench.figure(
        "hook_command",
        Figure(
            median(hooks),
            "ms CPU",
            median(bare),
            "bare python -S -E -I -c pass",
            1.2,
            of_ratio=True,
            note=f"wall p50 {median(walls):.1f} ms with the owner's answer; {late} of {len(walls)} "
            f"late, and {early} before the owner was warm",
        ),
    )

    installed = Path(sys.executable).with_name("braincore")
    verb = [str(installed)] if installed.exists() else [sys.executable, "-m", "braincore.cli.main"]
    verb += ["recall", "who writes the ledger?", "--json", "-C", str(place.root)]
    recalls, python = interleave(
        bench.size("recalls", 30, 8), lambda: cpu(verb).cpu, lambda: cpu(ISOLATED).cpu
    )
    bench.figure(
        "cli_recall",
        Figure(median(recalls), "ms CPU", median(python), "python -I -c pass", 120.0),
    )


def cold(bench: Bench, place: Place, edits: list[Sample]) -> None:
    """From no owner to a checked edit: what the first edit of a day waits for."""
    script = Path(hook_client.__file__).resolve()
    command = shlex.split(hook_command(sys.executable, str(script), "claude"))
    imports = [sys.executable, "-I", "-c", "import braincore.serve.owner"]
    owners, walls, bare = [], [], []
    late = 0
    for _ in range(bench.size("cold_starts", 5, 2)):
        client.stop(place)
        began = time.perf_counter()
        late += warmed_up(command, edits[0], place) > 0
        walls.append((time.perf_counter() - began) * 1000)
        if (at := owner_seconds(place)) is not None:
            owners.append(at[1] * 1000)
        bare.append(cpu(imports).cpu)
    bench.figure(
        "cold_check_owner",
        Figure(
            median(owners) if owners else None,
            "ms CPU",
            median(bare),
            "python that only imports the owner",
            note="CPU of the owner from its start until the check was answered",
        ),
    )
    bench.figure(
        "cold_check_wall",
        Figure(
            median(walls),
            "ms",
            None,
            "",
            3000.0,
            note=f"the hook waits 3 s at most: {late} of {len(walls)} edits passed unchecked",
        ),
    )


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("hook", "What the edit path costs.")
    with repository() as place:
        files = bench.size("files", 3000, 300)
        if bench.data is not None:
            paths = copy_sources(bench.data, place.root, files)
            bench.found("files", len(paths))
        else:
            paths = generate_code(place.root, files)
        records = generate_records(bench.size("records", 10_000, 1000), paths)
        say(f"{len(paths)} files, {len(records)} records")
        store_records(place, records)
        edits = samples(place.root, paths, bench.size("edits", 200, 60))
        brain = open_brain(str(place.root))
        try:
            brain.attach()
            brain.index()
            say(f"open and indexed: {brain.code.counts()[1]} symbols")
            _ = brain.keeper.graph, brain.keeper.keyword
            owners_part(bench, brain, edits)
        finally:
            brain.close()
        client.ask(place, "status", {})
        command_line(bench, place, edits)
        cold(bench, place, edits)
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
