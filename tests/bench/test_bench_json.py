"""Every bench ends with one JSON object of one shape; what it measured is not judged here."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("hook", "import_", "index", "mcp", "scale", "vectors", "write")
FIELDS = {"value", "unit", "baseline", "baseline_is", "ratio", "budget", "budget_is", "within"}
FIGURES = {
    "hook": {"hook_command", "cli_recall", "owner_part_p95", "check_over_scan", "cold_check_owner"},
    "import_": {"first_projected", "last_projected", "known_already"},
    "index": {"full_index", "unchanged", "one_changed_file"},
    "mcp": {"list_warm", "list_cold", "call_relay", "relay_rss", "list_tokens"},
    "scale": {"import_50", "recall_keyword_p95_250", "rebuild_250", "owner_rss_model_250"},
    "vectors": {"small_put", "middle_save", "large_load", "large_exact_rss"},
    "write": {
        "acknowledged",
        "projected",
        "acknowledged_late_over_early",
        "acknowledged_fsync",
        "reopen",
        "owner_rss",
    },
}


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A bench at a fraction of its quick size."""
    return subprocess.run(
        [sys.executable, "-m", f"bench.{name}", *arguments],
        cwd=ROOT,
        env={**os.environ, "BRAINCORE_TRIALS": "0.05"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def report_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The last line of stdout as JSON."""
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(report, dict)
    return report


@pytest.mark.parametrize("name", NAMES)
def test_last_line_is_one_json_object_with_figures_and_baselines(name: str) -> None:
    done = run(name, "--quick")
    report = report_of(done)
    assert len(done.stdout.splitlines()) == 1
    assert report["bench"] == name
    assert report["quick"] is True
    assert report["data"] is None
    assert isinstance(report["within"], bool)
    assert all(isinstance(size, int) for size in report["sizes"].values())
    assert FIGURES[name] <= report["figures"].keys()
    for figure in report["figures"].values():
        assert figure.keys() >= FIELDS
        assert figure["value"] is None or figure["value"] >= 0
        if figure["budget"] is None or figure["value"] is None:
            assert figure["within"] is None
        if figure["baseline"]:
            assert figure["baseline_is"]
    assert done.stderr.strip()


def test_data_folder_is_used_in_place_of_the_generated_one(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for number in range(3):
        (tmp_path / "mine" / f"m{number}.py").write_text(f"def f{number}():\n    return 1\n")
    report = report_of(run("index", "--quick", "--data", str(tmp_path / "mine")))
    assert report["data"] == "mine"
    assert report["sizes"]["files"] == 3
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]


def test_a_missing_data_folder_is_refused() -> None:
    done = run("index", "--data", "/nowhere/at/all")
    assert done.returncode == 2
    assert "is no folder" in done.stderr
    assert not done.stdout


def test_without_ctags_the_index_bench_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    full = report_of(run("index", "--quick", "--data", str(tmp_path)))["figures"]["full_index"]
    assert full["baseline"] is None
    assert full["within"] is None
    assert "not installed" in full["baseline_is"]


def test_recall_asks_conversations_and_functions(tmp_path: Path) -> None:
    said = ["Ann: I moved to Oslo in May", "Bo: My dog is called Rex", "Ann: I paint on Sundays"]
    turns = [{"id": str(n), "speaker": t[:3].strip(": "), "text": t} for n, t in enumerate(said)]
    questions = [
        {"question": "What is the dog of Bo called?", "category": "one", "evidence": ["1"]},
        {"question": "Which car does Ann drive?", "category": "none", "evidence": []},
    ]
    talk = {
        "id": "talk",
        "sessions": [{"session": 1, "turns": turns}],
        "questions": [q | {"unanswerable": not q["evidence"]} for q in questions],
    }
    with gzip.open(tmp_path / "talks.jsonl.gz", "wt") as file:
        file.write(json.dumps(talk) + "\n")
    report = report_of(run("recall", "--quick", "--data", str(tmp_path)))
    figures, sizes = report["figures"], report["sizes"]
    assert (sizes["conversations"], sizes["talk_questions"], sizes["code_questions"]) == (1, 1, 10)
    assert sizes["talk_unanswerable"] == 1
    assert figures["talk_any5"]["value"] == 1
    assert figures["talk_any5_one"]["value"] == 1
    assert {"talk_loss", "code_loss", "code_mrr", "talk_recall_p95"} <= figures.keys()
    for name in ("hybrid", "keyword", "vector", "control"):
        assert name in figures["talk_any5_one"]["note"]
