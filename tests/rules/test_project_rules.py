"""The project's own rules: they load, their cases hold, and the tree keeps them."""

from pathlib import Path

from braincore.code import language_of
from braincore.rules.cases import run_cases
from braincore.rules.load import load_cases, load_rules
from braincore.rules.match import findings

ROOT = Path(__file__).parents[2]
RULES = ROOT / ".braincore" / "rules"


def _texts() -> list[tuple[str, str]]:
    return [(p.name, p.read_text(encoding="utf-8")) for p in sorted(RULES.glob("*.yml"))]


def test_they_load_and_their_cases_hold() -> None:
    loaded = load_rules(_texts())
    assert not loaded.errors
    assert len(loaded.rules) >= 3
    for rule in loaded.rules:
        file = RULES / f"{rule.id}.cases.yml"
        assert run_cases(rule, load_cases(file.name, file.read_text(encoding="utf-8"))) == []


def test_the_tree_keeps_them() -> None:
    rules = load_rules(_texts()).rules
    found = []
    for file in sorted((ROOT / "braincore").rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8")
        found += [
            f"{f.path}:{f.line} {f.source}" for f in findings(rules, path, language_of(path), text)
        ]
    assert found == []
