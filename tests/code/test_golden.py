"""Grammars drift between versions and a query then loses symbols in silence: these would fail."""

from pathlib import Path

import pytest

from braincore.code import LANGUAGES, extract

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("language", LANGUAGES)
def test_symbols_of_the_golden_file(language: str) -> None:
    found = extract(f"src/{language}", (GOLDEN / f"{language}.src").read_bytes(), language)
    shown = [f"{one.kind}\t{one.qualified_name}\t{one.signature}" for one in found.symbols]
    assert shown == (GOLDEN / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    assert not found.has_error


@pytest.mark.parametrize("language", LANGUAGES)
def test_ids_in_the_golden_file_are_unique(language: str) -> None:
    found = extract(f"src/{language}", (GOLDEN / f"{language}.src").read_bytes(), language)
    assert len({one.node_id for one in found.symbols}) == len(found.symbols)
