"""Two graphs in a scratch folder, and how much trial a run is to have."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from braincore.graph.store import GraphStore


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[GraphStore]:
    store = GraphStore(tmp_path / "live" / "graph.kuzu")
    yield store
    store.close()


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GraphStore, GraphStore]]:
    """A graph written step by step and one written at once; `renew` before use."""
    folder = tmp_path_factory.mktemp("two")
    stores = GraphStore(folder / "slow" / "graph.kuzu"), GraphStore(folder / "fast" / "graph.kuzu")
    yield stores
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def trials() -> int:
    """How often things are tried: BRAINCORE_TRIALS, 1 in CI."""
    return int(os.environ.get("BRAINCORE_TRIALS", "1"))
