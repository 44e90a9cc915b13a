"""Storage and concurrency, 12 to 18: several sessions, broken files, times."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.test_mcp import Session

QUESTION = "Which port does staging use?"


def one_line(**row: Any) -> str:
    return json.dumps({"text": "Staging uses port 9000", "target": "staging_port"} | row)


def brought_in(brain: Any, text: str, code: int = 0) -> dict[str, Any]:
    (brain.root / "notes.jsonl").write_text(text)
    return dict(brain.json("import", "notes.jsonl", code=code))


def test_sessions_started_at_once_share_one_owner(shared: Any, owners: Any) -> None:
    shared.run("stop")
    sessions = [Session(shared) for _ in range(8)]
    sent = [
        one.send(
            "tools/call",
            name="remember",
            arguments={"text": f"Job {n} starts at {n}", "target": f"job_{n}"},
        )
        for n, one in enumerate(sessions)
    ]
    answers = [one.read() for one in sessions]
    assert [a["id"] for a in answers] == sent
    ids = {a["result"]["structuredContent"]["id"] for a in answers}
    assert len(ids) == 8 and ids <= shared.logged()
    assert len(owners(shared.folder)) == 1
    for one in sessions:
        assert one.end() == (b"", b"")


def test_two_processes_store_all_they_say(shared: Any) -> None:
    before = shared.json("status")["records"]
    loop = (
        "import sys, braincore\n"
        "shared = braincore.open('.')\n"
        "for n in range(20):\n"
        "    text = f'Writer {sys.argv[1]} says {n}'\n"
        "    said = shared.remember(text, target=f'w{sys.argv[1]}_{n}')\n"
        "    assert said['outcome'] == 'stored', said\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", loop, name], cwd=shared.root, env=shared.env)
        for name in "ab"
    ]
    assert [w.wait(60) for w in writers] == [0, 0]
    assert shared.json("status")["records"] == before + 40


@pytest.mark.parametrize(
    "old",
    [
        {"id": "ID", "created_at": "2020-01-01T00:00:00Z"},
        {"id": "ID", "created_at": "2090-01-01T00:00:00Z"},
        {"id": "ID"},
        {"lifecycle": "archived"},
        {"truth_status": "deprecated"},
        {"superseded_by": ["fact-01AAAAAAAAAAAAAAAAAAAAAAAA"]},
        {"valid_from": "2019-01-01", "valid_until": "2020-01-01"},
        {"valid_from": "2090-01-01"},
    ],
    ids=str,
)
def test_an_older_export_never_wins(shared: Any, old: dict[str, Any]) -> None:
    kept = shared.remember("Staging uses port 8443", "staging_port")
    row = old | ({"id": kept} if "id" in old else {})
    brought_in(shared, one_line(**row), code=1 if set(old) & GONE else 0)
    assert [f["text"] for f in shared.json("recall", QUESTION)["facts"]] == [
        "Staging uses port 8443"
    ]


GONE = {"lifecycle", "truth_status", "superseded_by"}


def test_conflict_markers_are_rejected_and_what_lies_between_is_told_apart(shared: Any) -> None:
    rows = [one_line(text=f"Shift {n} begins at {n}", target=f"shift_{n}") for n in range(2)]
    text = "\n".join(["<<<<<<< HEAD", rows[0], "=======", rows[1], ">>>>>>> theirs"])
    body = brought_in(shared, text, code=1)
    assert body["stored"] == 2 and [r["line"] for r in body["rejected"]] == [1, 3, 5]


def test_conflict_markers_in_a_record_file_are_said_and_lose_nothing(
    shared: Any, until: Any
) -> None:
    kept = shared.remember("Reviews need two people", "review_people")
    shared.kept(kept)
    [file] = (shared.root / ".braincore" / "memory").rglob(f"{kept}.md")
    text = file.read_text()
    file.write_text(f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> theirs\n")
    assert [f["id"] for f in shared.json("recall", "review_people")["facts"]] == [kept]
    shared.remember("Production uses port 443", "production_port")
    assert file.read_text().startswith("<<<<<<<"), "a person's file is left in place"
    found = until(lambda: shared.json("status")["hand_edited"], "the edit is noticed")
    assert [path.endswith(file.name) for path in found] == [True]
    file.write_text(text)


TIMES = {
    "2026-01-01": "2026-01-01T00:00:00",
    "2026-01-01T00:00:00Z": "2026-01-01T00:00:00",
    "2026-01-01T00:00:00": "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+03:00": "2025-12-31T21:00:00",
    "2026-03-29T02:30:00+02:00": "2026-03-29T00:30:00",
    "0001-01-01": "0001-01-01T00:00:00",
}


def test_times_in_every_spelling_are_one_moment(shared: Any) -> None:
    rows = [
        one_line(text=f"Era {n} began", target=f"era_{n}", valid_from=t)
        for n, t in enumerate(TIMES)
    ]
    assert brought_in(shared, "\n".join(rows))["stored"] == len(TIMES)
    for number, moment in enumerate(TIMES.values()):
        [fact] = shared.json("recall", f"era_{number}", "--target", f"era_{number}")["facts"]
        assert fact["valid_from"].startswith(moment)


@pytest.mark.parametrize(
    "time",
    [
        *("today", "2026-13-01", "2026-02-30", "0001-01-01T00:00:00+14:00"),
        *("9999-12-31T23:59:59-12:00", "2026-01-01T25:00", "1e9"),
    ],
)
def test_what_is_no_time_is_refused(shared: Any, time: str) -> None:
    assert "is not a time" in shared.error("remember", "It began", "--valid-from", time)
    [rejected] = brought_in(shared, one_line(valid_from=time), code=1)["rejected"]
    assert "is not a time" in rejected["reason"]


@pytest.mark.parametrize(
    "odd",
    [
        b"[" * 100_000,
        b'{"text":"a b","confidence":' + b"9" * 5000 + b"}",
        b'{"text":"a b","confidence":NaN}',
        b'{"text":"a b","confidence":1e999}',
        rb'{"text":"a \ud800 b"}',
        '{"text":"a b"}'.encode("utf-16"),
        b"\0\0\0",
        b'{"text":["a"]}',
        b'{"kind":["fact"],"text":"a"}',
        b'{"kind":"event","text":"a"}',
        b'{"text":"\\u0000\\u0000"}',
        b'{"text":"' + b"w " * 100_000 + b'"}',
        b"<<<<<<< HEAD",
    ],
    ids=lambda raw: repr(raw[:40]),
)
def test_an_odd_line_costs_itself_alone(shared: Any, odd: bytes) -> None:
    good = one_line(text="Good lines go in", target="good_lines").encode()
    (shared.root / "odd.jsonl").write_bytes(odd + b"\n" + good)
    body = shared.json("import", "odd.jsonl", code=1)
    assert body["stored"] + body["duplicates"] == 1
    assert [r["line"] for r in body["rejected"]] == [1] and body["rejected"][0]["reason"]
