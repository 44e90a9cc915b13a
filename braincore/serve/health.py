"""How the brain is: `status` in numbers, `doctor` by running the whole loop."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from braincore import __version__, fixtures, shapes
from braincore.brain import Brain, Caller, RecallInput, Statement, make_repository, open_brain
from braincore.errors import BraincoreError
from braincore.model.axes import Channel
from braincore.model.edits import Edit, Verdict
from braincore.model.outcomes import Abstain, Answer

__all__ = ["doctor", "status"]


def status(brain: Brain, caller: Caller) -> shapes.Status:
    """Numbers only; cheap enough to ask often."""
    rules = brain.rules()
    files, symbols, errors = brain.code.counts()
    with brain.keeper.lock:
        kinds = Counter(str(r.kind) for r in brain.table)
        lives = Counter(str(r.lifecycle) for r in brain.table)
        truths = Counter(str(r.truth_status) for r in brain.table)
        tasks = len(brain.table.open_tasks())
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
        "http": http or None,
        "http_problem": http_problem,
        "records": sum(kinds.values()),
        "kinds": dict(sorted(kinds.items())),
        "lifecycle": dict(sorted(lives.items())),
        "truth": dict(sorted(truths.items())),
        "open_tasks": tasks,
        "recalls": asked,
        "abstain_rate": round(usage.abstains / asked, 4) if asked else None,
        "files": files,
        "symbols": symbols,
        "files_with_syntax_errors": errors,
        "rules": len(rules.rules),
        "rule_errors": [f"{e.path}:{e.line}: {e.message}. {e.hint}" for e in rules.errors],
        "config_problem": brain.config_problem,
        "hand_edited": brain.keeper.hand_edited,
        "journal_head": head,
        "projection_lag": brain.keeper.lag,
        "problem": brain.keeper.problem,
        "rss_mb": _rss_mb(),
        "channel": str(caller.channel),
    }


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
