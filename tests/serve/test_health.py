"""The numbers of `status`, counted by hand."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from braincore import locate
from braincore.brain import Brain, Caller, DecisionInput, Statement
from braincore.journal.store import Change, Why
from braincore.model.axes import Channel, Kind
from braincore.model.records import Alternative, Candidate, Record, Review, new_id
from braincore.serve.health import status

ANN = Caller(Channel.PERSON, "Ann")
AT = datetime(2026, 1, 1, tzinfo=UTC)
CODE = "def one():\n    pass\n\n\ndef two():\n    pass\n"


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".braincore").mkdir()
    (tmp_path / ".braincore" / "config.toml").write_text('[recall]\nembedder = "none"\n')
    (tmp_path / "app.py").write_text(CODE)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "note.txt").write_text("x\n")
    brain = Brain(locate.find(tmp_path))
    brain.attach()
    brain.index()
    yield brain
    brain.close()


def remember(brain: Brain, text: str, *symbols: str, target: str = "") -> str:
    given = Statement(text, target=target or text.split()[0].lower(), symbols=symbols)
    return brain.remember(given, ANN).record.id


def test_rates_are_null_where_there_is_nothing_to_count(brain: Brain) -> None:
    told = status(brain, ANN)
    assert (told["freshness"], told["contradiction_rate"], told["abstain_rate"]) == (None,) * 3
    remember(brain, "Lunch is at noon")
    told = status(brain, ANN)
    assert (told["freshness"], told["contradiction_rate"]) == (None, 0.0)


def test_freshness_is_the_share_of_records_whose_code_is_all_there(brain: Brain) -> None:
    remember(brain, "One is called first", "app.py::one")
    remember(brain, "Both belong together", "app.py::one", "app.py::two")
    brain.decide(
        DecisionInput(
            "Notes are text",
            "Which format do notes have?",
            (Alternative("Word", "no diff"),),
            "Plain text",
            "Diffs",
            governs=("lib/", "lib/note.txt"),
        ),
        ANN,
    )
    remember(brain, "Lunch is at noon")
    assert status(brain, ANN)["freshness"] == 1.0
    app = brain.place.root / "app.py"
    app.write_text(CODE.replace("two", "three"))
    brain.index()
    assert status(brain, ANN)["freshness"] == round(2 / 3, 4)
    (brain.place.root / "lib" / "note.txt").unlink()
    assert status(brain, ANN)["freshness"] == round(1 / 3, 4)
    app.unlink()
    assert status(brain, ANN)["freshness"] == 0.0


def test_many_references_are_judged_as_each_alone(brain: Brain) -> None:
    refs = [
        "app.py",
        "app.py::one",
        "app.py::four",
        "gone.py",
        "gone.py::one",
        "lib/",
        "no/",
        "lib",
    ]
    refs += [
        "lib/note.txt",
        "lib/note.txt::x",
        "./app.py::one",
        "app.py::",
        "::one",
        "/",
        "a\0b::c",
    ]
    assert brain.code.gone(refs) == {r for r in refs if brain.code.is_stale(r)}
    (brain.place.root / "app.py").write_text("def four():\n    pass\n")
    assert brain.code.gone(refs) == {r for r in refs if brain.code.is_stale(r)}


def test_contradiction_rate_counts_what_is_believed_and_disputed(brain: Brain) -> None:
    ids = [remember(brain, f"Door{n} is green") for n in range(4)]
    told = review(ids[0], ids[1])
    brain.keeper.commit([Change(None, told)], Why("test", "user:ann", "person", ""))
    assert status(brain, ANN)["contradiction_rate"] == 0.5
    closed = review(ids[2], closed=True)
    brain.keeper.commit([Change(None, closed)], Why("test", "user:ann", "person", ""))
    assert status(brain, ANN)["contradiction_rate"] == 0.5


def review(*ids: str, closed: bool = False) -> Record:
    """A review of records, as intake opens it."""
    return Record(
        id=new_id(Kind.REVIEW, AT),
        kind=Kind.REVIEW,
        text="Which holds?",
        body=Review(ids[0], "contradiction", tuple(Candidate(i, 0.5) for i in ids[1:]), closed),
        source_ref="user:ann",
        channel=Channel.PERSON,
        trust=0.9,
        confidence=0.9,
        created_at=AT,
        valid_from=AT,
    )


def test_sizes_are_what_lies_on_disk(brain: Brain) -> None:
    def on_disk() -> int:
        return sum(p.lstat().st_size for p in journal.rglob("*") if not p.is_dir())

    journal = brain.place.store / "journal.git"
    status(brain, ANN)
    for number in range(3):
        remember(brain, f"Room{number} is on floor {number}")
        told = status(brain, ANN)["sizes"]
        assert told["journal"] == on_disk()
    parts = [told["journal"], told["graph"], told["index"], told["usage"], told["log"]]
    assert sum(parts) <= told["total"] and min(parts[:4]) > 0 and told["log"] == 0


def test_versions_vectors_and_time(brain: Brain) -> None:
    told = status(brain, ANN)
    assert {"braincore", "python", "kuzu", "mcp", "sqlite", "tree-sitter"} <= told[
        "versions"
    ].keys()
    assert all(v[0].isdigit() for v in told["versions"].values())
    assert told["vectors"] == {
        "embedder": "none",
        "vectors": 0,
        "waiting": 0,
        "model": None,
        "weights": None,
    }
    assert told["uptime_seconds"] >= 0 and len(told["slow"]) <= 10
