"""`make demo` tells the truth: the demo runs on this repository's own history."""

import subprocess
import sys
from pathlib import Path

import pytest

from braincore import demo

ROOT = Path(__file__).parents[1]


def test_the_demo_runs_to_its_end() -> None:
    if not demo._git(ROOT, "log", "--format=%H", f"--grep=^{demo.FIX}$", "--max-count=1"):
        pytest.fail("the demo's failure needs the full history: `git fetch --unshallow`")
    done = subprocess.run(
        [sys.executable, "-m", "braincore.demo"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for said in (
        "confirmed, trust 0.80",
        "kuzu 0.11.3 (pinned: last release, file format tied to it)\n      fact-",
        "abstain: no_accepted_facts",
        "(asked 2×)",
        "permissionDecision: deny",
        "Repair plan:",
        "the hook printed 0 bytes",
    ):
        assert said in done.stdout, said
