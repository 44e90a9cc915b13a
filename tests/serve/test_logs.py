"""The owner's log: lines that a program can read, without secrets, bounded, for this user alone."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SECRET = "ghp_" + "a1B2" * 9


def logged(store: Path, script: str, foreground: bool = False, **env: str) -> str:
    """Run a script that logs as the owner does; what came to stderr."""
    os.umask(0o077)
    begin = (
        "import logging, pathlib, threading\n"
        "from braincore.serve.logs import log_to\n"
        f"log_to(pathlib.Path({str(store)!r}), foreground={foreground})\n"
        "log = logging.getLogger('braincore')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin + script],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "logging error" not in done.stderr.lower(), done.stderr
    return done.stderr


def lines(store: Path) -> list[dict[str, Any]]:
    """Every line of the log; each must be an object with what all have."""
    out = [json.loads(line) for line in (store / "log").read_text(encoding="utf-8").splitlines()]
    assert all(
        line["at"].endswith("Z") and line["level"] and line["where"] and line["text"]
        for line in out
    )
    return out


def test_whatever_is_said_is_one_line_of_json(tmp_path: Path) -> None:
    said = [
        "plain",
        "two\nlines",
        'a "quote" \\ and \t tab',
        "кириллица 血",
        "\ud800 lone",
        "\x00\x1b",
    ]
    script = f"for text in {said!r}:\n    log.info('%s', text)\n"
    script += (
        "log.warning('slow', extra={'verb': 'recall', 'seconds': 1.5, 'waited': {'graph': 1}})\n"
    )
    logged(tmp_path, script)
    *plain, slow = lines(tmp_path)
    assert [line["text"] for line in plain] == said
    assert {(line["level"], line["where"]) for line in plain} == {("info", "<string>.<module>")}
    assert (slow["verb"], slow["seconds"], slow["waited"]) == ("recall", 1.5, {"graph": 1})


@pytest.mark.parametrize("foreground", [False, True])
def test_no_secret_by_any_way(tmp_path: Path, foreground: bool) -> None:
    script = (
        f"key = {SECRET!r}\n"
        "log.error(f'a {key}')\n"
        "log.error('b %s', key)\n"
        "log.error('c', extra={'verb': key})\n"
        "try:\n    raise ValueError(key)\nexcept ValueError:\n    log.exception('d')\n"
        "thread = threading.Thread(target=lambda: open(key))\n"
        "thread.start(); thread.join()\n"
        "raise SystemError(key)\n"
    )
    stderr = logged(tmp_path, script, foreground)
    text = stderr if foreground else (tmp_path / "log").read_text()
    assert SECRET not in text and SECRET not in stderr
    assert text.count("Traceback") == 3 and "the owner ended" in text
    if not foreground:
        errors = [line.get("error", "") for line in lines(tmp_path)]
        assert [bool(e) for e in errors] == [False, False, False, True, True, True]
        assert "SystemError" in errors[-1]


def test_it_is_bounded_and_private(tmp_path: Path) -> None:
    logged(tmp_path, "for number in range(4000):\n    log.info('%d %s', number, 'word ' * 200)\n")
    files = sorted(tmp_path.glob("log*"))
    assert [f.name for f in files] == ["log", "log.1", "log.2"]
    assert all(f.stat().st_size <= 1_000_000 for f in files)
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)
    assert lines(tmp_path)[-1]["text"].startswith("3999 ")


def test_debug_lines_only_when_asked_for_and_only_ours(tmp_path: Path) -> None:
    script = "log.debug('ours')\nlogging.getLogger('other').debug('theirs')\nlog.info('always')\n"
    logged(tmp_path, script)
    assert [line["text"] for line in lines(tmp_path)] == ["always"]
    logged(tmp_path, script, BRAINCORE_DEBUG="1")
    assert [line["text"] for line in lines(tmp_path)] == ["always", "ours", "always"]
