"""What is asked of which texts: conversation turns, and functions of the standard library."""

import ast
import gzip
import hashlib
import json
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Question", "Store", "conversations", "functions"]

SKIPPED = {"test", "tests", "idlelib", "lib2to3", "turtledemo", "site-packages", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; `right`: the keys of the texts that hold the answer, none if nothing does."""

    text: str
    category: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Store:
    """Texts by key that share one brain, and the questions about them."""

    name: str
    texts: dict[str, str]
    questions: list[Question]


def conversations(folder: Path, limit: int) -> list[Store]:
    """The conversations of a folder in the format of recall-locomo: a turn a text, the speaker's
    name in it."""
    stores: list[Store] = []
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                if len(stores) < limit:
                    stores.append(_conversation(json.loads(line)))
    return stores


def _conversation(data: dict[str, object]) -> Store:
    texts = {}
    sessions, questions = data["sessions"], data["questions"]
    assert isinstance(sessions, list)
    assert isinstance(questions, list)
    for session in sessions:
        for turn in session["turns"]:
            seen = f" [{turn['image_caption']}]" if turn.get("image_caption") else ""
            texts[turn["id"]] = f"{turn['speaker']}: {turn['text']}{seen}"
    asked = [
        Question(q["question"], q["category"], frozenset(q["evidence"]) & texts.keys())
        for q in questions
        # An answerable question without evidence tells nothing about either.
        if q["unanswerable"] or frozenset(q["evidence"]) & texts.keys()
    ]
    return Store(str(data["id"]), texts, asked)


def functions(count: int) -> Store:
    """Functions of the running Python's library without their docstrings, asked for by the first
    line of it. The same ones each time: the first by the hash of their name."""
    found: dict[str, tuple[str, str]] = {}
    times: dict[str, int] = {}
    for key, text, first in _documented(Path(sysconfig.get_path("stdlib"))):
        found[key] = (text, first)
        times[first] = times.get(first, 0) + 1
    unique = (key for key, (_, first) in found.items() if times[first] == 1)
    chosen = sorted(unique, key=lambda k: hashlib.sha256(k.encode()).digest())[:count]
    texts = {key: found[key][0] for key in chosen}
    questions = [Question(found[key][1], "function", frozenset({key})) for key in chosen]
    return Store("stdlib", texts, questions)


def _documented(root: Path) -> Iterator[tuple[str, str, str]]:
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        if SKIPPED & set(path.parts):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in old modules
            tree = ast.parse(file.read_bytes())
        for name, node in _functions(tree, ""):
            first = (ast.get_docstring(node) or "").strip().split("\n")[0].strip()
            if len(first.split()) >= 4 and len(node.body) > 1:
                yield f"{path.as_posix()}::{name}", _text(name, node), first


def _functions(
    parent: ast.AST, within: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")


def _text(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Name, signature, and the names that the body uses, in their order."""
    used: dict[str, None] = {}
    for statement in node.body[1:]:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Name):
                used[inner.id] = None
            elif isinstance(inner, ast.Attribute):
                used[inner.attr] = None
    return f"{name}({ast.unparse(node.args)}): {' '.join(used)}"
