"""The packaged int8 model is the official one, and no model is ever fetched."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from braincore.errors import InvalidInput
from braincore.index import embed
from braincore.index.embed import (
    MiniLM,
    SentenceTransformers,
    background,
    make_embedder,
    measured_background,
)

ROOT = Path(__file__).parents[2]


def _paragraphs() -> Iterator[str]:
    for file in sorted(ROOT.glob("docs/**/*.md")):
        yield from file.read_text(encoding="utf-8").split("\n\n")


TEXTS = [
    "",
    "word " * 1000,
    "def getUserById(self, user_id: int) -> User | None: ...",
    "数据库迁移 и миграции баз данных, naïve café, Straße",
    "a\u200bb \u00ad soft, \x00 zero, \ufffd unknown, 🙂 smile",
    "[SEP] [MASK] ##ing [UNK]",
    *list(_paragraphs())[:94],
]


@pytest.fixture(scope="module")
def fp32(official: Path) -> SentenceTransformers:
    """The official weights in sentence-transformers."""
    return SentenceTransformers(str(official))


def test_int8_vectors_are_those_of_the_official_model(fp32: SentenceTransformers) -> None:
    assert len(TEXTS) == 100
    ours, theirs = MiniLM().embed(TEXTS), fp32.embed(TEXTS)
    assert ours.shape == theirs.shape
    assert (ours * theirs).sum(axis=1).min() >= 0.99


def test_tokens_are_those_of_the_official_tokenizer(official: Path) -> None:
    theirs = Tokenizer.from_file(str(official / "tokenizer.json"))
    theirs.no_padding()
    theirs.enable_truncation(embed.MAX_TOKENS)
    ours = MiniLM()._tokenizer
    for text in TEXTS:
        assert ours.encode(text).ids == theirs.encode(text).ids, text


def test_the_vocabulary_is_the_official_one(official: Path) -> None:
    shipped = ROOT / "braincore" / "index" / "data" / embed.VOCABULARY
    assert shipped.read_bytes() == (official / "vocab.txt").read_bytes()


def test_sentence_transformers_gives_unit_rows_in_order(fp32: SentenceTransformers) -> None:
    found = fp32.embed([*TEXTS, "half a character \ud800"])
    assert found.dtype == np.float32
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(101), abs=1e-5)
    assert np.abs(found[7] - fp32.embed([TEXTS[7]])[0]).max() < 1e-5
    assert fp32.embed([]).shape == (0, 384)
    assert measured_background(fp32) == pytest.approx(background(MiniLM()), abs=0.01)


def test_identity_follows_the_weights(
    fp32: SentenceTransformers, official: Path, tmp_path: Path
) -> None:
    assert fp32.identity.dimensions == 384
    again = make_embedder("sentence-transformers", str(official))
    assert again is not None
    assert again.identity == fp32.identity
    copy = tmp_path / official.name
    again._model.save(str(copy))  # type: ignore[attr-defined]
    from safetensors.numpy import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    name = sorted(weights)[0]
    weights[name] = weights[name] + 1
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    other = SentenceTransformers(str(copy)).identity
    assert other.name == fp32.identity.name
    assert other.weights != fp32.identity.weights


@pytest.mark.parametrize(
    "model", ["sentence-transformers/all-MiniLM-L6-v2", "/nowhere/at/all", str(ROOT / "docs")]
)
def test_a_model_that_is_not_here_is_named_and_not_fetched(model: str) -> None:
    with pytest.raises(InvalidInput, match="Nothing is downloaded") as caught:
        SentenceTransformers(model)
    assert model in str(caught.value)


def test_loading_asks_no_network_and_prints_nothing(official: Path) -> None:
    code = (
        "import socket, sys\n"
        "def no(*args, **kwargs): raise SystemExit('network')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = no\n"
        "from braincore.errors import InvalidInput\n"
        "from braincore.index.embed import SentenceTransformers\n"
        "SentenceTransformers(sys.argv[1]).embed(['one', 'two three'])\n"
        "try:\n"
        "    SentenceTransformers('nobody/has-this')\n"
        "except InvalidInput:\n"
        "    raise SystemExit(7)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(official)], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")


def test_hnswlib_is_here() -> None:
    assert importlib.util.find_spec("hnswlib") is not None
