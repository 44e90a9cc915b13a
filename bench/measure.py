"""CPU time of children and of calls, paired with its baseline in the same run; the report.

Machines are noisy: figures are medians of CPU time, budgets are ratios where they can be.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["Bench", "Figure", "Spent", "cpu", "interleave", "median", "p95", "say", "spent_in"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one child cost in milliseconds, how it ended and what it printed."""

    cpu: float
    wall: float
    code: int
    out: bytes


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure beside its baseline. `budget` bounds the value, or the ratio to the baseline when
    `of_ratio`; without one the figure is there to be looked at. Values are in `unit`."""

    value: float | None
    unit: str
    baseline: float | None = None
    baseline_is: str = ""
    budget: float | None = None
    of_ratio: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Value over baseline."""
        if self.value is None or not self.baseline:
            return None
        return self.value / self.baseline

    @property
    def within(self) -> bool | None:
        """Whether the budget is kept; None when there is no budget or nothing to compare."""
        measured = self.ratio if self.of_ratio else self.value
        if self.budget is None or measured is None:
            return None
        return measured <= self.budget

    def as_json(self) -> dict[str, Any]:
        """The figure as the report shows it."""
        return {
            "value": _short(self.value),
            "unit": self.unit,
            "baseline": _short(self.baseline),
            "baseline_is": self.baseline_is,
            "ratio": _short(self.ratio),
            "budget": self.budget,
            "budget_is": "ratio" if self.of_ratio else "value",
            "within": self.within,
            "note": self.note,
        }


class Bench:
    """One run of a benchmark: its arguments, what it measured, its report."""

    def __init__(self, name: str, about: str, arguments: Sequence[str] | None = None) -> None:
        parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=about)
        parser.add_argument("--data", metavar="DIR", help="a folder of the same format instead")
        parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer rounds")
        given = parser.parse_args(arguments)
        self.name = name
        self.quick: bool = given.quick
        self.data: Path | None = Path(given.data).resolve() if given.data else None
        if self.data is not None and not self.data.is_dir():
            parser.error(f"{self.data} is no folder")
        self._figures: dict[str, Figure] = {}
        self._sizes: dict[str, int] = {}

    def size(self, name: str, full: int, quick: int) -> int:
        """How many of something: `full` or `quick`, times BRAINCORE_TRIALS; the report names it."""
        scale = float(os.environ.get("BRAINCORE_TRIALS") or 1)
        number = max(2, round((quick if self.quick else full) * scale))
        self._sizes[name] = number
        return number

    def found(self, name: str, number: int) -> None:
        """Note a size that the data has, rather than one that was asked for."""
        self._sizes[name] = number

    def figure(self, name: str, figure: Figure) -> None:
        """Note a figure and show it."""
        self._figures[name] = figure
        parts = [f"{name}: {_short(figure.value)} {figure.unit}"]
        if figure.baseline is not None:
            parts.append(f"{figure.baseline_is} {_short(figure.baseline)}")
        if figure.ratio is not None:
            parts.append(f"ratio {_short(figure.ratio)}")
        if figure.budget is not None:
            verdict = {True: "within", False: "MISSED", None: "not measured"}[figure.within]
            parts.append(f"budget {'×' if figure.of_ratio else ''}{figure.budget:g} {verdict}")
        say(" · ".join(parts))

    def report(self) -> int:
        """Print the one JSON object; the exit code, which a missed budget doesn't change."""
        kept = [f.within for f in self._figures.values() if f.within is not None]
        print(
            json.dumps(
                {
                    "bench": self.name,
                    "quick": self.quick,
                    "data": self.data.name if self.data is not None else None,
                    "machine": {
                        "cores": os.cpu_count(),
                        "python": platform.python_version(),
                        "system": platform.system(),
                    },
                    "sizes": self._sizes,
                    "figures": {name: f.as_json() for name, f in self._figures.items()},
                    "within": all(kept),
                }
            ),
            flush=True,
        )
        return 0


def cpu(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Spent:
    """Run a child to its end; its CPU time with that of its own children which it waited for."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(stdin)
        given.seek(0)
        began = time.perf_counter()
        child = subprocess.Popen(
            command, stdin=given, stdout=out, stderr=subprocess.DEVNULL, cwd=cwd, env=environment
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = (time.perf_counter() - began) * 1000
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        spent = (usage.ru_utime + usage.ru_stime) * 1000
        return Spent(spent, wall, child.returncode, out.read())


def spent_in(action: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Milliseconds that a call costs by a clock: CPU of this thread, or of the whole process."""
    began = clock()
    action()
    return (clock() - began) * 1000


def interleave(rounds: int, *actions: Callable[[], float]) -> list[list[float]]:
    """What each action returned in each round; they take turns, so noise meets them alike."""
    found: list[list[float]] = [[] for _ in actions]
    for number in range(rounds):
        order = range(len(actions))
        for which in order if number % 2 else reversed(order):
            found[which].append(actions[which]())
    return found


def p95(values: Sequence[float]) -> float:
    """The value that 95 of 100 don't exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def say(text: str) -> None:
    """Progress, for people."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _short(value: float | None) -> float | None:
    if value is None:
        return None
    return round(value, 3 if abs(value) < 10 else 1)
