"""`make check-clients`: braincore as the real clients meet it. Needs npm and the npm registry.

The official MCP inspector lists and calls every tool, over stdio and over HTTP. Gemini CLI and
Codex, each set up by `braincore init --client`, play a session against a scripted model: it recalls
over MCP, tries an edit that a rule denies, then one that nothing denies; what came back to it and
what became of the files is checked. One JSON line a check; exit code 1 when one fails.
`--with-claude` has Claude Code play too, which isn't free software.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
from scripted_model import Model

PACKAGES = {
    "@modelcontextprotocol/inspector": "0.22.0",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.171.0",
}
CLAUDE = {"@anthropic-ai/claude-code": "2.1.332"}
FACT = "Staging listens on port 8443"
WHY = "protected.py is made from a template"
RULE = f"""id: protected-by-template
message: protected.py must not be edited
why: {WHY}
severity: critical
category: architecture
languages: [python]
paths: [protected.py]
rule:
  pattern: x = 2
repair: edit the template instead
"""
WARNED = "ok.py is read by the build"
WARNING = (
    RULE.replace("protected-by-template", "read-by-build")
    .replace(WHY, WARNED)
    .replace("critical", "low")
    .replace("protected.py", "ok.py")
)
CLOCK = "def tell(clock):\n    return clock.moment.replace(tzinfo=None).isoformat()\n"
FAILURE = ["title=Two", "broke=the build", "why=two is too much", "fix=one", "evidence=commit:HEAD"]
DECISION = ["title=Language", "problem=Which language?", 'alternatives=["C: slow to write"]']
CALLS: dict[str, list[str]] = {
    "remember": ["text=The cache lives in memory", "target=cache_place"],
    "recall": ["query=which port does staging use?", "target=staging_port"],
    "why": ["name=staging_port"],
    "decide": [*DECISION, "decision=Python", "reasoning=quick to write"],
    "record_failure": [*FAILURE, "fragment=clock.py:2-2"],
    "check_edit": ["path=protected.py", "content=x = 2"],
    "related": ["name=ok.py"],
    "context": ["prompt=which port does staging use?"],
    "tasks": [],
    "review": [],
    "status": [],
}
FORBIDDEN = {"$ref", "$defs", "anyOf", "oneOf", "allOf"}


class Failed(Exception):
    """A check's message."""


def expect(true: object, message: str) -> None:
    """Raise Failed unless it is so."""
    if not true:
        raise Failed(message)


class Desk:
    """A repository with a brain in a home of its own, and the clients."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.root = folder / "repo"
        self.programs = programs
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "XDG_RUNTIME_DIR": str(folder),
        }
        (folder / "home").mkdir()
        self.root.mkdir()
        for name in ("protected.py", "ok.py"):
            (self.root / name).write_text("x = 1\n")
        (self.root / "clock.py").write_text(CLOCK)
        self.run("git", "init", "-q")
        self.run("git", "config", "user.name", "Ana")
        self.run("git", "config", "user.email", "ana@example.org")
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "begin")
        self.braincore("init")
        (self.root / ".braincore" / "rules" / "template.yml").write_text(RULE)
        (self.root / ".braincore" / "rules" / "build.yml").write_text(WARNING)
        self.braincore("remember", FACT, "--target", "staging_port")

    def run(self, *words: str, seconds: float = 180, **env: str) -> str:
        """Run a command in the repository; its output. Raises Failed."""
        done = subprocess.run(
            words,
            cwd=self.root,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        said = done.stdout.decode(errors="replace")
        errors = done.stderr.decode(errors="replace")[-1500:]
        expect(done.returncode == 0, f"{words[0]} → {done.returncode}: {errors} {said[-500:]}")
        return said

    def braincore(self, *words: str) -> dict[str, Any]:
        """Run a verb; its answer."""
        command = [sys.executable, "-m", "braincore.cli.main", *words, "--json"]
        answer: dict[str, Any] = json.loads(self.run(*command))
        return answer

    def program(self, name: str) -> str:
        """The path of an installed client."""
        return str(self.programs / "node_modules" / ".bin" / name)

    def inspect(self, server: list[str], method: str, *more: str) -> dict[str, Any]:
        """What the inspector is told."""
        said = self.run(self.program("mcp-inspector"), "--cli", *server, "--method", method, *more)
        answer: dict[str, Any] = json.loads(said)
        return answer


def keys_in(value: object) -> Iterator[str]:
    """All keys of a JSON value, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_in(inner)


def inspected(desk: Desk, server: list[str]) -> str:
    """The inspector lists the tools, whose schemas every client takes, and calls each of them."""
    tools = desk.inspect(server, "tools/list")["tools"]
    names = {tool["name"] for tool in tools}
    expect(names == set(CALLS), f"tools {sorted(names)} are not those that are called here")
    for tool in tools:
        for schema in (tool["inputSchema"], tool.get("outputSchema", {"type": "object"})):
            expect(schema.get("type") == "object", f"{tool['name']}: a schema is no object")
            bad = FORBIDDEN & set(keys_in(schema))
            expect(not bad, f"{tool['name']}: {sorted(bad)} in a schema")
    answers = {}
    for name, arguments in CALLS.items():
        words = [word for argument in arguments for word in ("--tool-arg", argument)]
        answer = desk.inspect(server, "tools/call", "--tool-name", name, *words)
        expect(not answer.get("isError"), f"{name}: {answer}")
        expect(isinstance(answer.get("structuredContent"), dict), f"{name}: nothing structured")
        answers[name] = answer["structuredContent"]
    expect(FACT in json.dumps(answers["recall"]), f"recall: {answers['recall']}")
    expect(answers["check_edit"]["verdict"] == "deny", f"check_edit: {answers['check_edit']}")
    return f"{len(tools)} tools listed and called"


def over_stdio(desk: Desk) -> str:
    """The server as it is installed."""
    return inspected(desk, [sys.executable, "-I", "-m", "braincore.serve.mcp_stdio"])


def over_http(desk: Desk) -> str:
    """The owner on loopback TCP, with its token."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    said = desk.braincore("serve", "--http", str(port))
    token = Path(said["token_file"]).read_text().strip()
    url = said["http"].rstrip("/") + "/mcp"
    server = [url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    return inspected(desk, server)


@contextmanager
def played(desk: Desk) -> Iterator[Model]:
    """A session against the scripted model; afterwards what came of it is checked."""
    for name in ("protected.py", "ok.py"):
        (desk.root / name).write_text("x = 1\n")
    model = Model(str(desk.root))
    try:
        yield model
    finally:
        model.close()
    late = "not checked (owner did not answer in time)" in model.told
    expect(not late, "a hook came too late: this machine is too busy for this check")
    expect(len(model.seen) == 3, f"{len(model.seen)} of 3 results came back; tools {model.tools}")
    expect(FACT in model.seen[1], f"recall gave the model {model.seen[1][:600]}")
    expect(WHY in model.seen[2], f"the denied edit gave the model {model.seen[2][:600]}")
    expect("template instead" in model.seen[2], "the repair plan didn't reach the model")
    expect(WARNED in model.told, "the warning on the allowed edit didn't reach the model")
    expect("guard active" in model.told, "the session's start didn't reach the model")
    expect((desk.root / "protected.py").read_text() == "x = 1\n", "the denied edit was made")
    expect((desk.root / "ok.py").read_text() == "x = 2\n", "the allowed edit was not made")


SESSION = "recall, denial with its reason, warning and greeting reached the model; files are right"


def gemini(desk: Desk) -> str:
    """Gemini CLI, set up by `init --client gemini` beside settings of its own."""
    settings = Path(desk.env["HOME"], ".gemini", "settings.json")
    settings.parent.mkdir()
    own = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
    }
    settings.write_text(json.dumps(own, indent=2))
    desk.braincore("init", "--client", "gemini")
    with played(desk) as model:
        key = secrets.token_hex(8)
        env = {"GEMINI_API_KEY": key, "GOOGLE_GEMINI_BASE_URL": model.url}
        env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
        words = ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "make x two"]
        desk.run(desk.program("gemini"), *words, **env)
    return SESSION


def codex(desk: Desk, model_name: str) -> str:
    """Codex, set up by `init --client codex` beside settings of its own, its hooks trusted."""
    settings = Path(desk.env["HOME"], ".codex", "config.toml")
    settings.parent.mkdir(exist_ok=True)
    desk.braincore("uninstall", "--keep-memory")
    with played(desk) as model:
        settings.write_text(
            f"""model = "{model_name}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{model.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[projects."{desk.root}"]
trust_level = "trusted"
"""
        )
        desk.braincore("init", "--client", "codex")
        words = ["exec", "--dangerously-bypass-hook-trust", "make x two"]
        desk.run(desk.program("codex"), *words, SCRIPTED_KEY=secrets.token_hex(8))
    return SESSION


def claude(desk: Desk) -> str:
    """Claude Code, set up by `init --client claude`."""
    desk.braincore("init", "--client", "claude")
    with played(desk) as model:
        env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": secrets.token_hex(8)}
        env |= dict.fromkeys(("DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"), "1")
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false"}
        words = ["-p", "make x two", "--permission-mode", "acceptEdits"]
        words += ["--allowedTools", "Edit,Read,mcp__braincore__recall"]
        # Its own install script would put this in place of a stub.
        (binary,) = desk.programs.glob("node_modules/@anthropic-ai/claude-code-*/claude")
        desk.run(str(binary), *words, **env)
    return SESSION


def programs(packages: dict[str, str]) -> Path:
    """The clients at their pinned versions, in a temporary folder that the next run finds again."""
    folder = Path(tempfile.gettempdir(), f"braincore-clients-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    expect(folder.stat().st_uid == os.getuid(), f"{folder} is somebody else's")
    manifest = json.dumps({"private": True, "dependencies": packages})
    done = folder / "done.json"
    if not done.exists() or done.read_text() != manifest:
        (folder / "package.json").write_text(manifest)
        npm = shutil.which("npm")
        expect(npm, "npm isn't there; install Node.js 20 or newer")
        command = [str(npm), "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        expect(made.returncode == 0, f"npm install: {made.stderr[-800:]}")
        done.write_text(manifest)
    return folder


def main() -> int:
    """Run every check; the exit code."""
    # Short: the path of a socket may be no longer than 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="bc-")).resolve()
    with_claude = "--with-claude" in sys.argv[1:]
    failures = 0
    try:
        desk = Desk(folder, programs(PACKAGES | (CLAUDE if with_claude else {})))
        checks: list[tuple[str, Callable[[], str]]] = [
            ("inspector over stdio", lambda: over_stdio(desk)),
            ("inspector over HTTP", lambda: over_http(desk)),
            ("session with Gemini CLI", lambda: gemini(desk)),
            ("session with Codex, here-doc", lambda: codex(desk, "scripted")),
            ("session with Codex, apply_patch", lambda: codex(desk, "gpt-5.5")),
        ]
        if with_claude:
            checks.append(("session with Claude Code", lambda: claude(desk)))
        for name, check in checks:
            began = time.monotonic()
            try:
                detail, ok = check(), True
            except (Failed, OSError, subprocess.TimeoutExpired) as problem:
                detail, ok = str(problem), False
            failures += not ok
            seconds = round(time.monotonic() - began, 1)
            line = {"check": name, "ok": ok, "seconds": seconds, "detail": detail}
            print(json.dumps(line), flush=True)
        desk.braincore("uninstall")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
