"""Docs speak of what is there: every verb, config key, rule field and dependency is documented, and
the commands of README and quick start run."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from braincore.cli.main import COMMANDS, module_of
from braincore.config import _SECTIONS
from braincore.rules import load

ROOT = Path(__file__).parents[2]
DOCS = {
    p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in ROOT.glob("docs/**/*.md")
}
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_verb_is_in_the_changelog_and_has_an_example() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for verb in COMMANDS:
        assert f"`{verb}`" in changelog, verb
        source = (ROOT / "braincore" / "cli" / f"{module_of(verb)}.py").read_text(encoding="utf-8")
        assert f"braincore {verb}" in source.partition("EXAMPLE")[2], verb


def test_every_setting_is_documented() -> None:
    for section, keys in _SECTIONS.items():
        for key in keys:
            assert f"`[{section}] {key}`" in DOCS["docs/operations.md"], key


def test_every_rule_field_is_documented() -> None:
    for field in load._KEYS:
        assert f"`{field}`" in DOCS["docs/rules.md"], field


def test_every_shipped_rule_is_listed() -> None:
    for file in ROOT.glob("rules/**/*.yml"):
        if not file.name.endswith(".cases.yml"):
            assert f"`{file.stem}`" in DOCS["docs/rules.md"], file.stem


def test_every_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        assert name in DOCS["docs/architecture.md"], name


@pytest.mark.parametrize("name", ["README.md", *DOCS])
def test_links_lead_somewhere(name: str) -> None:
    text = README if name == "README.md" else DOCS[name]
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), target


def _commands(text: str) -> list[str]:
    """The braincore commands of the `sh` blocks, continuation lines joined."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if "braincore " in line and not line.startswith("make")]


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md"])
def test_the_commands_of_the_docs_run(name: str, tmp_path: Path) -> None:
    commands = _commands(README if name == "README.md" else DOCS[name])
    assert len(commands) >= 6
    repo = tmp_path / "repo"
    repo.mkdir()
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    entry = bin_dir / "braincore"
    entry.write_text(f'#!/bin/sh\nexec {sys.executable} -m braincore.cli.main "$@"\n')
    entry.chmod(0o755)
    env = {
        "PATH": f"{bin_dir}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }

    def sh(command: str) -> int:
        done = subprocess.run(
            command, shell=True, cwd=repo, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 2), f"{command}\n{done.stdout}{done.stderr}"
        return done.returncode

    (repo / "clock.py").write_text(
        "from datetime import datetime, UTC\n\n\ndef now():\n    return datetime.now(UTC)\n"
    )
    (repo / "clock_before.py").write_text(
        "from datetime import datetime\n\ndef now():\n    return datetime.now()\n"
    )
    sh(
        "git init -q && git config user.name a && git config user.email a@example.org && "
        "git add . && git commit -qm 'Fix clock'"
    )
    try:
        codes = [sh(command) for command in commands]
    finally:
        sh("braincore stop")
    assert codes.count(2) <= 1
