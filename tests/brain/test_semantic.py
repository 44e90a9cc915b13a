"""Vectors behind the writers: made, kept, changed with the model, never in the way."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braincore.brain import Caller, RecallInput, Statement
from braincore.brain.semantic import NONE, Semantic, meaning
from braincore.index.embed import Identity
from braincore.index.vectors import VectorIndex
from braincore.model.axes import Channel
from braincore.model.outcomes import Abstain, Answer

PERSON = Caller(Channel.PERSON, "Ann")
SAID = {
    "staging_port": "Staging uses port 8443",
    "graph_db": "We use Kuzu as the graph database",
    "deploys": "Deploys go out on Tuesdays",
}


def fill(scratch: Any) -> dict[str, str]:
    return {
        target: scratch.brain.remember(Statement(text=text, target=target), PERSON).record.id
        for target, text in SAID.items()
    }


@pytest.fixture
def scratch(scratch: Any) -> Any:
    """The usual one with the packaged model."""
    use(scratch, "minilm")
    scratch.brain.rules()
    return scratch


def ask(scratch: Any, text: str, **more: Any) -> Answer | Abstain:
    found = scratch.brain.recall(RecallInput(text, explain=True, **more), PERSON)
    assert isinstance(found, Answer | Abstain)
    return found


def settled(scratch: Any, until: Any) -> Semantic:
    semantic = scratch.brain.keeper.semantic
    until(lambda: not semantic.waiting and semantic.status()["vectors"] == len(SAID))
    assert isinstance(semantic, Semantic)
    return semantic


def use(scratch: Any, embedder: str, model: str = "") -> None:
    folder = scratch.root / ".braincore"
    folder.mkdir(exist_ok=True)
    text = f'[recall]\nembedder = "{embedder}"\nmodel = "{model}"\n'
    (folder / "config.toml").write_text(text)


def test_what_is_said_is_found_by_meaning(scratch: Any, until: Any) -> None:
    ids = fill(scratch)
    ask(scratch, "warm up")
    settled(scratch, until)
    found = ask(scratch, "On what day do we release?")
    best = min((c for c in found.considered if c.vector_rank), key=lambda c: c.vector_rank or 0)
    assert best.id == ids["deploys"] and best.keyword_rank is None
    assert isinstance(found, Abstain)  # near in meaning is no proof
    answer = ask(scratch, "Which port does staging use?")
    assert isinstance(answer, Answer) and answer.facts[0].record.id == ids["staging_port"]
    assert answer.considered[0].cosine is not None and answer.considered[0].cosine > 0.5


def test_without_an_embedder_there_are_no_vectors(scratch: Any) -> None:
    use(scratch, "none")
    scratch.reopen()
    ids = fill(scratch)
    found = ask(scratch, "Which port does staging use?")
    assert isinstance(found, Answer) and found.facts[0].record.id == ids["staging_port"]
    assert all(c.cosine is None and c.vector_rank is None for c in found.considered)
    assert scratch.brain.keeper.semantic.status() == {
        "embedder": "none",
        "vectors": 0,
        "waiting": 0,
    }


def test_they_are_there_again_after_a_restart(scratch: Any, until: Any) -> None:
    fill(scratch)
    ask(scratch, "warm up")
    settled(scratch, until)
    scratch.reopen()
    ask(scratch, "warm up")
    semantic = scratch.brain.keeper.semantic
    until(lambda: semantic.status()["vectors"] == len(SAID))


def test_what_was_not_saved_is_made_again(scratch: Any, until: Any) -> None:
    fill(scratch)
    ask(scratch, "warm up")
    settled(scratch, until)
    scratch.reopen()
    folder = scratch.brain.place.store / "index" / "vectors"
    scratch.brain.close()
    for file in folder.iterdir():
        file.write_bytes(b"")
    scratch.reopen()
    ask(scratch, "warm up")
    settled(scratch, until)


def test_the_setting_changes_while_it_answers(scratch: Any, until: Any) -> None:
    ids = fill(scratch)
    ask(scratch, "warm up")
    settled(scratch, until)
    for embedder, there in (("none", False), ("minilm", True), ("none", False)):
        use(scratch, embedder, "" if there else "/left/in/the/file")
        scratch.clock.move(seconds=1)
        found = ask(scratch, "Which port does staging use?")
        assert isinstance(found, Answer) and found.facts[0].record.id == ids["staging_port"]
        status = scratch.brain.keeper.semantic.status
        until(lambda there=there, status=status: (status()["vectors"] == len(SAID)) == there)
        assert scratch.brain.keeper.semantic.problem == ""


def test_a_model_that_cannot_be_loaded_is_said_and_does_no_harm(scratch: Any, until: Any) -> None:
    use(scratch, "sentence-transformers", "/no/such/model")
    ids = fill(scratch)
    found = ask(scratch, "Which port does staging use?")
    assert isinstance(found, Answer) and found.facts[0].record.id == ids["staging_port"]
    until(lambda: "vectors: " in scratch.brain.keeper.problem)
    assert "embedder" in scratch.brain.keeper.problem or "install" in scratch.brain.keeper.problem


class TwoLong:
    """A model of two dimensions."""

    def __init__(self, name: str, bad: threading.Event | None = None) -> None:
        self.identity = Identity(name, "0", 2)
        self.bad = bad

    def embed(self, texts: Any) -> Any:
        if self.bad is not None and self.bad.is_set():
            raise RuntimeError("out of memory")
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))


def test_two_models_never_share_an_index(tmp_path: Path) -> None:
    one = VectorIndex(tmp_path, TwoLong("one").identity)
    one.put([("fact-1", "h")], TwoLong("one").embed(["x"]))
    one.save()
    one.close()
    assert len(VectorIndex(tmp_path, TwoLong("two").identity)) == 0
    assert len(VectorIndex(tmp_path, TwoLong("one").identity)) == 1


def test_a_failing_model_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Any, scratch: Any
) -> None:
    bad = threading.Event()
    bad.set()
    module = "braincore.brain.semantic"
    monkeypatch.setattr(f"{module}._loaded", lambda wanted: (TwoLong("x", bad), 0.0))
    monkeypatch.setattr(f"{module}.RETRY_SECONDS", 0.05)
    monkeypatch.setattr(f"{module}.DELAY_SECONDS", 0.0)
    fill(scratch)
    rows = list(scratch.brain.table)
    semantic = Semantic(tmp_path / "v", lambda: rows)
    semantic.configure("x", "")
    until(lambda: "out of memory" in semantic.problem)
    assert semantic.waiting == len(SAID)
    bad.clear()
    until(lambda: semantic.status()["vectors"] == len(SAID) and not semantic.problem)
    semantic.changed([(rows[0], None)])
    until(lambda: semantic.status()["vectors"] == len(SAID) - 1)
    assert rows[0].id not in semantic.nearest("anything", 10).ids
    semantic.configure(*NONE)
    assert semantic.nearest("anything", 10).ids == ()
    semantic.close()


def test_meaning_says_each_thing_once(scratch: Any) -> None:
    fill(scratch)
    texts = {r.target: meaning(r) for r in scratch.brain.table}
    assert texts["staging_port"] == "Staging uses port 8443\nstaging port"
    assert texts["deploys"] == "Deploys go out on Tuesdays"


def test_a_small_namespace_keeps_its_candidates(scratch: Any, until: Any) -> None:
    for n in range(120):
        text = f"Service {n} of the shop uses port {9000 + n} in staging"
        scratch.brain.remember(Statement(text=text, target=f"service_{n}"), PERSON)
    given = Statement(text="Staging uses port 8443", target="staging_port", namespace="mobile")
    wanted = scratch.brain.remember(given, PERSON).record.id
    ask(scratch, "warm up")
    semantic = scratch.brain.keeper.semantic
    until(lambda: semantic.status()["vectors"] == 121)
    found = ask(scratch, "Which port does staging use?", namespace="mobile")
    assert isinstance(found, Answer) and [f.record.id for f in found.facts] == [wanted]
    assert [(c.id, c.keyword_rank, c.vector_rank) for c in found.considered] == [(wanted, 1, 1)]
    other = ask(scratch, "Which port does service 7 of the shop use in staging?")
    assert len(other.considered) >= 50 and wanted not in {c.id for c in other.considered}
