"""Ranked lists of one question, an independent control, and what they are worth."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.recall.data import Question

__all__ = ["Asked", "Control", "Scores", "fused"]

DEPTH = 50
"""Ranks that count: each list has so many."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the ranked keys of each list, and how recall answered it. `top`: the key
    of its first fact, "" when it abstained."""

    question: Question
    lists: Mapping[str, Sequence[str]]
    milliseconds: float
    top: str = ""
    flags: tuple[str, ...] = ()

    def rank(self, name: str) -> int | None:
        """The place of the first right text in a list, from 1; None when it isn't in it."""
        for rank, key in enumerate(self.lists[name][:DEPTH], 1):
            if key in self.question.right:
                return rank
        return None


@dataclass(slots=True)
class Scores:
    """Recall any@k and mean reciprocal rank of one list over many questions."""

    ranks: list[int | None] = field(default_factory=list)

    @classmethod
    def of(cls, asked: Iterable[Asked], name: str) -> "Scores":
        """Those of a list, over the questions that have an answer."""
        return cls([a.rank(name) for a in asked if a.question.right])

    def at(self, k: int) -> float:
        """The share of questions with a right text among the first k."""
        return sum(r is not None and r <= k for r in self.ranks) / max(1, len(self.ranks))

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank."""
        return sum(1 / r for r in self.ranks if r is not None) / max(1, len(self.ranks))

    @property
    def measures(self) -> Mapping[str, float]:
        """All of them by name."""
        return {"any1": self.at(1), "any5": self.at(5), "any10": self.at(10), "mrr": self.mrr}


def fused(lists: Sequence[Sequence[str]], key: Callable[[str], str] = str) -> list[str]:
    """Reciprocal rank fusion as the textbook has it, 1 / (60 + rank)."""
    scores: dict[str, float] = {}
    for ranked in lists:
        for rank, one in enumerate(ranked, 1):
            scores[one] = scores.get(one, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda one: (-scores[one], key(one)))


class Control:
    """BM25 that shares nothing with ours: SQLite's, over Porter stems."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE texts "
            "USING fts5(key UNINDEXED, text, tokenize='porter unicode61')"
        )
        self._db.executemany("INSERT INTO texts VALUES (?, ?)", texts.items())

    def search(self, text: str, limit: int = DEPTH) -> list[str]:
        """The keys of the best texts, best first."""
        words = dict.fromkeys(re.findall(r"[^\W_]+", text.casefold()))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        found = self._db.execute(
            "SELECT key FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), key LIMIT ?",
            (match, limit),
        )
        return [str(key) for (key,) in found]

    def close(self) -> None:
        """Let go of it."""
        self._db.close()
