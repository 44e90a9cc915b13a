"""How the brain is: `status` in numbers, `doctor` by running the whole loop."""

import json
import os
import platform
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from braincore import __version__, fixtures, shapes
from braincore.brain import Brain, Caller, RecallInput, Statement, make_repository, open_brain
from braincore.errors import BraincoreError
from braincore.model.axes import Channel, Kind, Lifecycle, TruthStatus
from braincore.model.edits import Edit, Verdict
from braincore.model.outcomes import Abstain, Answer
from braincore.model.records import Record
from braincore.serve.timing import slow_requests, uptime

__all__ = ["doctor", "status"]

NEVER_ANSWERING = (Kind.EVENT, Kind.RULE, Kind.TASK, Kind.REVIEW)
PACKAGES = ("kuzu", "pygit2", "tantivy", "tree-sitter", "tree-sitter-language-pack", "mcp")


def status(brain: Brain, caller: Caller) -> shapes.Status:
    """Numbers only; cheap enough to ask often."""
    rules = brain.rules()
    files, symbols, errors = brain.code.counts()
    with brain.keeper.lock:
        states = _states(brain.table)
        tasks = len(brain.table.open_tasks())
        disputed = sum(map(_believed, brain.table.disputed()))
        coded = [refs for r, refs in brain.table.with_code() if _believed(r)]
        usage = brain.keeper.usage
        head = brain.keeper.journal.head
    asked = usage.recalls
    http, http_problem = _http(brain.place.store)
    return {
        "version": __version__,
        "root": str(brain.place.root),
        "store": str(brain.place.store),
        "branch": brain.code.files.branch(),
        "pid": os.getpid(),
        "uptime_seconds": round(uptime(), 1),
        "http": http or None,
        "http_problem": http_problem,
        "records": sum(n for _, n in states),
        "kinds": _counted((r.kind, n) for r, n in states),
        "lifecycle": _counted((r.lifecycle, n) for r, n in states),
        "truth": _counted((r.truth_status, n) for r, n in states),
        "freshness": _freshness(brain, coded),
        "contradiction_rate": _share(disputed, sum(n for r, n in states if _believed(r))),
        "recalls": asked,
        "abstain_rate": _share(usage.abstains, asked),
        "open_tasks": tasks,
        "files": files,
        "symbols": symbols,
        "files_with_syntax_errors": errors,
        "rules": len(rules.rules),
        "rule_errors": [f"{e.path}:{e.line}: {e.message}. {e.hint}" for e in rules.errors],
        "config_problem": brain.config_problem,
        "hand_edited": brain.keeper.hand_edited,
        "journal_head": head,
        "projection_lag": brain.keeper.lag,
        "vectors": _vectors(brain),
        "problem": brain.keeper.problem,
        "slow": [{"verb": s.verb, "seconds": s.seconds, "at": s.at} for s in slow_requests()],
        "sizes": _sizes(brain.place.store),
        "rss_mb": _rss_mb(),
        "versions": dict(_versions()),
        "channel": str(caller.channel),
    }


def _states(rows: Iterable[Record]) -> list[tuple[Record, int]]:
    """One record of each kind, lifecycle and truth that go together, and how many are like it."""
    found: dict[tuple[int, int, int], list[Record]] = {}
    for row in rows:
        # By identity: the hash of an enumeration is Python code, and there may be 100k records.
        key = id(row.kind), id(row.lifecycle), id(row.truth_status)
        alike = found.get(key)
        if alike is None:
            found[key] = [row]
        else:
            alike.append(row)
    return [(alike[0], len(alike)) for alike in found.values()]


def _counted(words: Iterable[tuple[StrEnum, int]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for word, count in words:
        counts[str(word)] += count
    return dict(sorted(counts.items()))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _believed(record: Record) -> bool:
    """The record may answer once nothing is open about it."""
    return (
        record.kind not in NEVER_ANSWERING
        and record.lifecycle in (Lifecycle.WORKING, Lifecycle.CONSOLIDATED)
        and record.truth_status not in (TruthStatus.HYPOTHESIS, TruthStatus.DEPRECATED)
    )


def _freshness(brain: Brain, refs_of: Sequence[frozenset[str]]) -> float | None:
    """The share of records with code references whose code is all there."""
    gone = brain.code.gone(frozenset().union(*refs_of))
    return _share(sum(map(gone.isdisjoint, refs_of)), len(refs_of))


def _vectors(brain: Brain) -> shapes.VectorsStatus:
    told = brain.keeper.semantic.status()
    return {
        "embedder": str(told["embedder"]),
        "vectors": int(str(told["vectors"])),
        "waiting": int(str(told["waiting"])),
        "model": str(told["model"]) if "model" in told else None,
        "weights": str(told["weights"]) if "weights" in told else None,
    }


@cache
def _versions() -> Mapping[str, str]:
    """What this owner runs on; asked of the packages' metadata, so that nothing is loaded."""
    found = {"braincore": __version__, "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in PACKAGES}
    return found | {"sqlite": sqlite3.sqlite_version}


_folders: dict[str, tuple[int, int]] = {}
"""Bytes of the files in a folder of the journal's objects, and its mtime: objects are only added or
taken away, and there can be many thousands."""


def _sizes(store: Path) -> shapes.Sizes:
    """Bytes on disk."""
    parts = dict.fromkeys(("journal", "graph", "index", "usage", "log"), 0)
    total = 0
    for name in os.listdir(store):
        found = _bytes(os.path.join(store, name))
        total += found
        part = name.partition(".")[0]
        if part in parts:
            parts[part] += found
    return {
        "journal": parts["journal"],
        "graph": parts["graph"],
        "index": parts["index"],
        "usage": parts["usage"],
        "log": parts["log"],
        "total": total,
    }


def _bytes(path: str) -> int:
    """Of a file or of everything in a folder; what goes away meanwhile counts nothing."""
    try:
        about = os.lstat(path)
        if not stat.S_ISDIR(about.st_mode):
            return about.st_size
        known = _folders.get(path)
        if known is not None and known[0] == about.st_mtime_ns:
            return known[1]
        found = sum(_bytes(os.path.join(path, name)) for name in os.listdir(path))
    except FileNotFoundError:
        return 0
    if os.path.basename(os.path.dirname(path)) == "objects":
        _folders[path] = about.st_mtime_ns, found
    return found


def _http(store: Path) -> tuple[str, str]:
    """The address of this owner on TCP and what is wrong with it, as its file says."""
    try:
        data = json.loads((store / "owner.json").read_bytes())
    except FileNotFoundError:
        return "", ""
    return str(data.get("http", "")), str(data.get("http_problem", ""))


def _rss_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def doctor(brain: Brain) -> shapes.Doctored:
    """Run the loop in a scratch repository, load every fixture, fire the installed hooks."""
    checks: list[shapes.Check] = []

    def said(name: str, problem: str, detail: str = "") -> None:
        checks.append({"check": name, "ok": not problem, "detail": problem or detail})

    said("projections", brain.keeper.problem, f"{brain.keeper.lag} commits behind")
    rules = brain.rules()
    broken = "; ".join(f"{e.path}:{e.line}: {e.message}. {e.hint}" for e in rules.errors)
    said("rules", broken, f"{len(rules.rules)} rules loaded")
    said("config", brain.config_problem, "config.toml is fine")
    edited = ", ".join(brain.keeper.hand_edited)
    said("memory", f"edited by hand and left as they are: {edited}" if edited else "", "in step")
    with tempfile.TemporaryDirectory(prefix="braincore-doctor-") as folder:
        said("loop", *_guarded(_loop, Path(folder) / "loop"))
        for name in fixtures.names():
            said(f"fixture {name}", *_guarded(_fixture, Path(folder) / name, name))
    for client, problem, detail in _installed_hooks(brain):
        said(f"hook {client}", problem, detail)
    return {"ok": all(c["ok"] for c in checks), "checks": checks}


def _guarded(step: Any, *arguments: Any) -> tuple[str, str]:
    try:
        return "", step(*arguments)
    except (BraincoreError, AssertionError, OSError) as error:
        return f"{type(error).__name__}: {error}", ""


def _loop(root: Path) -> str:
    """Remember, recall, abstain, refuse: in a repository made for it."""
    make_repository(root)
    (root / "app.py").write_text("def load(text):\n    return int(text)\n", encoding="utf-8")
    brain = open_brain(str(root))
    try:
        brain.attach()
        brain.index()
        person = Caller(Channel.PERSON, "doctor")
        brain.remember(
            Statement("The staging server listens on port 8443", target="staging_port"), person
        )
        found = brain.recall(
            RecallInput("which port does the staging server listen on?", target="staging_port"),
            person,
        )
        assert isinstance(found, Answer), "a remembered fact was not recalled"
        lost = brain.recall(RecallInput("who painted the office walls?"), person)
        assert isinstance(lost, Abstain) and lost.task, "an unanswerable question got an answer"
        bad = "def load(text):\n    return eval(text)\n"
        edit = Edit("app.py", (root / "app.py").read_text(encoding="utf-8"), bad)
        verdict = brain.check([edit], by_agent=True).verdict
        assert verdict is Verdict.DENY, f"eval of a variable was let through ({verdict})"
        before, after = brain.rebuild()
        assert before == after, "the rebuilt graph differs from the live one"
    finally:
        brain.close()
    return "remembered, recalled, abstained, refused, rebuilt equal"


def _fixture(root: Path, name: str) -> str:
    make_repository(root)
    brain = open_brain(str(root))
    try:
        count = fixtures.load(name, brain)
        live = brain.digest()
        brain.keeper.rebuild()
        assert live == brain.digest(), "rebuilt graph differs"
    finally:
        brain.close()
    return f"{count} records, rebuilt equal"


def _installed_hooks(brain: Brain) -> list[tuple[str, str, str]]:
    """Each installed hook, fired for real with an event that must come back answered."""
    from braincore.serve.install import installed_commands

    out = []
    event = '{"hook_event_name": "SessionStart", "session_id": "doctor", "source": "startup"}'
    for client, command in installed_commands(brain.place):
        try:
            done = subprocess.run(
                command,
                shell=True,
                input=event.encode(),
                capture_output=True,
                cwd=brain.place.root,
                timeout=20,
                check=False,
            )
        except subprocess.TimeoutExpired:
            out.append((client, "the hook command did not return within 20 s", ""))
            continue
        ok = done.returncode == 0 and b"guard active" in done.stdout
        problem = "" if ok else (done.stderr.decode(errors="replace").strip() or "no answer")
        out.append((client, problem, "answered"))
    if not out:
        out.append(
            (
                "(none)",
                "",
                f"no client is set up; run `braincore init --client claude` ({sys.platform})",
            )
        )
    return out
