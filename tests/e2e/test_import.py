"""`braincore import` as a user runs it: files of any shape, again, and beside other clients."""

import json
import os
import signal
import subprocess
import threading
from typing import Any


def line(number: int, **more: Any) -> str:
    row = {"text": f"Machine {number} listens on port {number}", "target": f"machine_{number}"}
    return json.dumps(row | more)


def test_bom_crlf_blank_and_bad_lines(brain: Any) -> None:
    rows = [
        b"\xef\xbb\xbf" + line(1).encode() + b"\r",
        b"",
        b"\t ",
        b"not json",
        line(2).encode() + b"\r",
        b'{"text": "caf\xe9"}',
        b'{"text": "' + b"x" * (3 << 20) + b'"}',
        line(3, colour="red").encode(),
        '{"text": "Кэш — это «Redis»\u2028и всё", "target": "кэш"}'.encode(),
        line(4).encode(),
    ]
    (brain.root / "notes.jsonl").write_bytes(b"\n".join(rows))
    body = brain.json("import", "notes.jsonl", code=1)
    assert body["outcome"] == "imported"
    assert (body["stored"], body["duplicates"]) == (4, 0)
    assert [r["line"] for r in body["rejected"]] == [4, 6, 7, 8]
    why = [r["reason"] for r in body["rejected"]]
    for part, said in zip(("no JSON", "not UTF-8", "longer than", "colour"), why, strict=True):
        assert part in said
    texts = [f["text"] for f in brain.json("recall", "кэш", "--target", "кэш")["facts"]]
    assert texts == ["Кэш — это «Redis»\u2028и всё"]
    told = brain.run("import", "notes.jsonl", code=1).stdout.decode()
    assert "0 stored, 4 on record already, 4 rejected" in told
    assert "line 8: colour" in told


def test_standard_input_and_parts(brain: Any) -> None:
    rows = [line(n) for n in range(2300)]
    rows[2100] = "{"
    given = "\n".join(rows).encode()
    body = brain.json("import", "-", stdin=given, code=1)
    assert (body["stored"], body["duplicates"]) == (2299, 0)
    assert [r["line"] for r in body["rejected"]] == [2101]
    rows[2100] = line(2100)
    body = brain.json("import", "-", stdin="\n".join(rows).encode())
    assert (body["stored"], body["duplicates"], body["rejected"]) == (1, 2299, [])
    assert brain.json("rebuild")["equal"] is True
    assert brain.json("status")["problem"] == ""
    # One commit has a thousand records: the log names a few of them.
    assert max(map(len, brain.run("log").stdout.splitlines())) < 500


def test_nothing_to_import(brain: Any) -> None:
    assert "can't be read" in brain.error("import", "missing.jsonl")
    assert "can't be read" in brain.error("import", str(brain.root))
    (brain.root / "empty.jsonl").write_bytes(b"\xef\xbb\xbf\n\n")
    for file in ("empty.jsonl", os.devnull):
        body = brain.json("import", file)
        assert (body["stored"], body["duplicates"], body["rejected"]) == (0, 0, [])


def test_others_are_served_meanwhile_and_a_kill_leaves_what_was_acknowledged(brain: Any) -> None:
    (brain.root / "many.jsonl").write_text("\n".join(line(n) for n in range(4000)))
    process = brain.start("import", "many.jsonl", "--json")
    kept = [brain.remember(f"Meanwhile {n} was said", f"meanwhile_{n}") for n in range(5)]
    assert process.poll() is None
    os.kill(brain.owner(), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    error = json.loads(out)["error"]
    assert "ended while it worked" in error
    status = brain.json("status")
    there = status["records"] - len(kept)
    assert there % 1000 == 0 and there < 4000
    body = brain.json("import", "many.jsonl")
    assert (body["stored"], body["duplicates"]) == (4000 - there, there)
    assert set(kept) <= brain.logged()
    assert brain.json("rebuild")["equal"] is True


def test_two_imports_of_one_file_at_once_make_no_twins(brain: Any) -> None:
    (brain.root / "many.jsonl").write_text("\n".join(line(n) for n in range(1200)))
    done: list[subprocess.CompletedProcess[bytes]] = []
    threads = [
        threading.Thread(target=lambda: done.append(brain.run("import", "many.jsonl", "--json")))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bodies = [json.loads(one.stdout) for one in done]
    assert sum(b["stored"] for b in bodies) == 1200
    assert brain.json("status")["records"] == 1200
