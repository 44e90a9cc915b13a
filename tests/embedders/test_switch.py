"""The embedder is changed in config.toml and back, through the command line, without a network."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

E2E = Path(__file__).parents[1] / "e2e" / "conftest.py"
NO_NETWORK = """
import socket

def refuse(self, address):
    if self.family != socket.AF_UNIX:
        print("NETWORK TRIED", file=open(LOG, "a"))
        raise OSError("no network")
    return real(self, address)

class Local(socket.socket):
    connect = connect_ex = refuse

real, socket.socket = socket.socket.connect, Local
"""
FACTS = {
    "invoices": "The billing service keeps its invoices in Postgres.",
    "sessions": "Login sessions live in Redis for two hours.",
    "thumbnails": "Images are resized by a worker before they are stored.",
}


def _shared() -> Any:
    """The desk of the end-to-end tests."""
    spec = importlib.util.spec_from_file_location("e2e_desk", E2E)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHARED = _shared()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Any]:
    """A repository with a brain and three facts, whose owner can't reach a network."""
    found = SHARED.Desk()
    found.tried = tmp_path / "tried"
    (tmp_path / "sitecustomize.py").write_text(f"LOG = {str(found.tried)!r}\n{NO_NETWORK}")
    found.env["PYTHONPATH"] = str(tmp_path)
    found.make()
    found.run("init")
    use(found, "none")
    for target, text in FACTS.items():
        found.remember(text, target)
    yield found
    found.run("stop")
    SHARED.kill_owners(found.folder)


def use(desk: Any, embedder: str, model: str = "") -> None:
    """Set the embedder as a person does."""
    desk.write(
        {".braincore/config.toml": f'[recall]\nembedder = "{embedder}"\nmodel = "{model}"\n'}
    )


def cosines(desk: Any) -> list[float | None]:
    """Asks for the invoices, finds them, and returns the calibrated cosine of what was found."""
    found = desk.json("recall", "invoices of the billing service", "--explain")
    assert found["facts"], found
    assert found["facts"][0]["text"] == FACTS["invoices"]
    return [fact["explain"]["cosine"] for fact in found["facts"]]


def model_on_disk(desk: Any) -> str:
    """The model that the file of vectors is of, or nothing."""
    file = desk.store / "index" / "vectors" / "vectors.rows"
    if not file.exists():
        return ""
    head = json.loads(file.read_bytes().split(b"\n", 2)[1])
    assert sum(i is not None for i in head["ids"]) >= len(FACTS)
    return str(head["model"][0])


def test_none_minilm_sentence_transformers_none(desk: Any, official: Path) -> None:
    assert cosines(desk) == [None]

    for embedder, model, name in (
        ("minilm", "", "all-MiniLM-L6-v2/int8"),
        ("sentence-transformers", str(official), "sentence-transformers/model"),
        ("minilm", "", "all-MiniLM-L6-v2/int8"),
    ):
        use(desk, embedder, model)
        cosines(desk)
        SHARED.wait_for(lambda: None not in cosines(desk), f"vectors of {embedder}", 240)
        SHARED.wait_for(lambda name=name: model_on_disk(desk) == name, f"rows of {name}", 240)
        assert all(cosine is not None and 0.3 < cosine <= 1 for cosine in cosines(desk))

    use(desk, "none")
    assert cosines(desk) == [None]
    use(desk, "sentence-transformers", "nobody/has-this")
    assert cosines(desk) == [None]
    assert "Nothing is downloaded" in desk.log_text()
    assert not desk.tried.exists()
