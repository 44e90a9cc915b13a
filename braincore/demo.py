"""`make demo`: the main job on a real repository, braincore's own history and code.

Everything shown is a real command, run in a clone in a temporary folder.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]

FIX = "Graph relations from the schema"
BROKEN_FILE = "braincore/graph/queries.py"
FIXED_LINE = "_RELATIONS = tuple(sorted({relation for relation, _, _ in pairs()}))\n"


class _Stage:
    """Runs commands in the clone and shows them as a person would have typed them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bold, self.dim, self.off = (
            ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
        )

    def say(self, text: str) -> None:
        print(f"\n{self.bold}{text}{self.off}", flush=True)

    def run(self, *words: str, expect: int = 0, typed: str = "") -> str:
        shown = typed or " ".join(shlex.quote(w) for w in ("braincore", *words))
        print(f"{self.dim}$ {shown}{self.off}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "braincore.cli.main", "-C", str(self.root), *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=self.root,
            # The MCP entry goes into a file of the user's: not of whoever runs the demo.
            env=os.environ | {"CLAUDE_CONFIG_DIR": str(self.root.parent)},
            check=False,
        )
        print("".join(f"  {line}\n" for line in (done.stdout + done.stderr).splitlines()), end="")
        if done.returncode != expect:
            raise SystemExit(f"the demo expected exit code {expect}, got {done.returncode}")
        return done.stdout

    def hook(self, event: dict[str, object]) -> str:
        """Fire the installed PreToolUse hook exactly as the client does."""
        settings = json.loads((self.root / ".claude/settings.local.json").read_text())
        command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        done = subprocess.run(
            command,
            shell=True,
            input=json.dumps(event),
            capture_output=True,
            text=True,
            cwd=self.root,
            check=True,
        )
        return done.stdout


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    return done.stdout


def _edit(root: Path, old: str, new: str) -> dict[str, object]:
    """The event that Claude Code sends before it edits a file."""
    return {
        "session_id": "00000000-0000-4000-8000-000000000000",
        "transcript_path": str(root / "transcript.jsonl"),
        "cwd": str(root),
        "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {
            "file_path": str(root / BROKEN_FILE),
            "old_string": old,
            "new_string": new,
            "replace_all": False,
        },
        "tool_use_id": "toolu_demo",
    }


def _line_of(file: Path, text: str) -> int:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def main() -> int:
    """Run the demo; 0 when all of it went as it should."""
    source = Path(__file__).resolve().parent.parent
    fix = _git(source, "log", "--format=%H", f"--grep=^{FIX}$", "--max-count=1").strip()
    if not fix or not _git(source, "rev-parse", "--verify", "-q", f"{fix}^").strip():
        print("The demo needs braincore's own git history: run it in a full clone.")
        return 1
    with tempfile.TemporaryDirectory(prefix="braincore-demo-") as folder:
        root = Path(folder) / "braincore"
        subprocess.run(["git", "clone", "-q", str(source), str(root)], check=True)
        stage = _Stage(root)
        try:
            _tell(stage, fix)
        finally:
            subprocess.run(
                [sys.executable, "-m", "braincore.cli.main", "-C", str(root), "stop"],
                capture_output=True,
                check=False,
            )
    print("\nThe clone and its brain are gone again. `braincore init` sets up your own repository.")
    return 0


def _tell(stage: _Stage, fix: str) -> None:
    root = stage.root
    stage.say("A repository gets a brain (this is a clone of braincore itself)")
    stage.run("init", "--client", "claude")

    stage.say("A fact is remembered with its source; the owner looks the quote up in the file")
    line = _line_of(root / "docs/architecture.md", "kuzu 0.11.3 (pinned")
    stage.run(
        "remember",
        "kuzu 0.11.3 (pinned: last release, file format tied to it)",
        "--source",
        f"file:docs/architecture.md#L{line}",
        "--target",
        "kuzu_version",
    )
    stage.say("A decision, with what was rejected and why")
    stage.run(
        "decide",
        "--title",
        "One owner process per repository",
        "--problem",
        "How can CLI, hooks and editors share one brain?",
        "--alternative",
        "A lock file and retries: Kùzu locks out readers, too",
        "--alternative",
        "A server the user starts: one more thing to forget",
        "--decision",
        "One process per repository owns the store",
        "--reasoning",
        "One writer queue, warm indexes, and thin clients that start in milliseconds",
        "--target",
        "owner_process",
        "--governs",
        "braincore/serve/owner.py::main",
        "--source",
        "file:docs/decisions/0002-one-owner-process.md",
    )
    stage.say("A failure from this repository's history: the fix commit is the evidence")
    broken = root.parent / "queries_before_the_fix.py"
    broken.write_text(_git(root, "show", f"{fix}^:{BROKEN_FILE}"), encoding="utf-8")
    first = _line_of(broken, "_RELATIONS = [")
    last = first + broken.read_text(encoding="utf-8").splitlines()[first:].index("]") + 1
    stage.run(
        "fail",
        "--title",
        "Relation names kept by hand",
        "--broke",
        "the graph's digest asked for tables that the schema no longer had",
        "--why",
        "the list in queries.py repeated schema.cypher and fell behind it",
        "--fix",
        "take the relation names from the schema: `pairs()`",
        "--evidence",
        f"commit:{fix}",
        "--fragment",
        f"{broken}:{first}-{last}",
        "--target",
        f"{BROKEN_FILE}::digest",
    )

    stage.say("It answers, with the source …")
    stage.run("recall", "Which Kùzu version is pinned?")
    stage.run("why", "braincore/serve/owner.py::main")
    stage.say("… and where it knows nothing it abstains; asked twice, that is still one task")
    stage.run("recall", "What is our refund policy for annual plans?")
    stage.run("recall", "What is our refund policy for annual plans?")
    stage.run("tasks")

    stage.say("An agent brings the failure back: Claude Code's own hook event, before the edit")
    old_lines = broken.read_text(encoding="utf-8").splitlines(keepends=True)[first - 1 : last]
    answer = stage.hook(_edit(root, FIXED_LINE, "".join(old_lines)))
    output = json.loads(answer)["hookSpecificOutput"]
    print(f"  permissionDecision: {output['permissionDecision']}")
    print(
        "".join(f"  {line}\n" for line in output["permissionDecisionReason"].splitlines()), end=""
    )
    if output["permissionDecision"] != "deny":
        raise SystemExit("the demo expected a deny")

    stage.say("A harmless edit of the same file passes silently")
    answer = stage.hook(_edit(root, "MAX_DEPTH = 20\n", "MAX_DEPTH = 20  # SPEC §4\n"))
    print(f"  the hook printed {len(answer)} bytes")
    if answer:
        raise SystemExit("the demo expected silence")

    stage.say("Every belief has a history")
    stage.run("log", "-n", "6")


if __name__ == "__main__":
    sys.exit(main())
