"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, is up to
date with the code, and every page is two clicks away."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from braincore.cli.main import COMMANDS, parser_of
from braincore.config import _SECTIONS, Config
from braincore.serve.mcp.tools import TOOLS

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[str, Callable[[], str]]:
    """What makes each page that is made from the code."""
    spec = importlib.util.spec_from_file_location("reference", DOCS / "tools" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, Callable[[], str]] = module.PAGES
    return made


@pytest.mark.parametrize("page", ["cli.md", "mcp.md"])
def test_reference_is_up_to_date(page: str) -> None:
    made = pages()[page]()
    assert (DOCS / page).read_text(encoding="utf-8") == made, "run `make docs`"


def test_reference_has_every_verb_tool_and_argument() -> None:
    cli, mcp = pages()["cli.md"](), pages()["mcp.md"]()
    for verb in COMMANDS:
        section = cli.partition(f"\n## {verb}\n")[2].partition("\n## ")[0]
        for action in parser_of(verb)._actions:
            assert action.help, f"{verb} {action.dest} has no help"
            if action.dest not in ("help", "json", "debug", "path"):
                name = [*action.option_strings, str(action.metavar or action.dest)][0]
                assert name.replace("|", " or ") in section, name
    for tool in TOOLS:
        section = mcp.partition(f"\n## {tool.name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{name}` |" in section for name in tool.properties), tool.name


def test_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict"]
    command += ["-f", str(DOCS / "tools" / "mkdocs.yml"), "-d", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files = [f for f in (tmp_path / "site").rglob("*") if f.suffix in (".html", ".css", ".js")]
    assert len(files) > 20
    for file in files:
        text = file.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|link)[^>]*?(?:src|href)=[\"']([^\"']+)", text)
        loaded += re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", text)
        for address in loaded:
            assert not address.startswith(("http:", "https:", "//")), f"{file.name}: {address}"


def test_every_page_is_at_most_two_clicks_from_the_first() -> None:
    def linked(page: Path) -> set[Path]:
        found = re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
        return {(page.parent / target).resolve() for target in found}

    first = DOCS / "index.md"
    near = linked(first)
    reached = {first} | near | {page for one in near for page in linked(one)}
    assert set(DOCS.rglob("*.md")) <= reached


def test_documented_defaults_are_those_of_the_code() -> None:
    text = (DOCS / "operations.md").read_text(encoding="utf-8")
    for section, keys in _SECTIONS.items():
        for key in keys:
            row = re.search(rf"^\| `\[{section}\] {key}` \| ([^|]+) \|", text, re.M)
            assert row is not None, key
            said = tomllib.loads(f"x = {row[1]}")["x"]
            assert said == getattr(Config(), key), key
