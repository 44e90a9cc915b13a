"""At least one edge for every record: to its target, its evidence, what it names (SPEC §2)."""

from collections.abc import Sequence

from braincore.model.axes import EdgeType
from braincore.model.records import Claim, Edge
from braincore.model.refs import file_ref
from braincore.model.said import STATED
from braincore.model.table import Table
from braincore.model.words import (
    STOP_WORDS,
    clauses,
    identifiers,
    name_key,
    proper_names,
    quoted,
    words,
)

__all__ = ["MENTION", "STATED", "about", "evidence", "mentions"]

MENTION = 0.2
"""Strength of an edge to something the text merely names; never enough to be on topic."""

LOOKED_AT = 4000
"""Characters of a text in which names are looked for: it gets eight edges at most."""


def about(target: str, claim: Claim | None) -> list[Edge]:
    """Edges to the target and to the subject of the claim."""
    names = [target] if target else []
    if claim is not None:
        names += [claim.subject]
    return _unique(Edge(EdgeType.ABOUT, _entity(n), STATED) for n in names)


def evidence(source_ref: str, places: Sequence[str]) -> list[Edge]:
    """An edge to the evidence itself, and to the files it points at (ten at most)."""
    if source_ref.partition(":")[0] not in ("commit", "test", "file", "url"):
        return []
    return _unique(
        Edge(EdgeType.EVIDENCE, ref, STATED) for ref in (source_ref, *map(file_ref, places[:10]))
    )


def mentions(text: str, table: Table) -> list[Edge]:
    """Edges to what the text names: identifiers, proper names, quoted strings, known entities.

    When it names nothing, the words its main clause opens with become the entity it is about. Of a
    long text only the beginning is looked through.
    """
    text = text[:LOOKED_AT]
    found = [n for n in (*quoted(text), *identifiers(text), *proper_names(text)) if len(n) >= 3]
    said = words(text)
    known = [
        key
        for size in (3, 2, 1)
        for key in dict.fromkeys("_".join(said[i : i + size]) for i in range(len(said) - size + 1))
        if len(key) >= 3 and key not in STOP_WORDS and table.has_key(key)
    ]
    names = [*found, *known]
    if not names:
        opening: list[str] = []
        for word in words((clauses(text) or [text])[0]):
            if word in STOP_WORDS:
                if opening:
                    break
            else:
                opening.append(word)
        names = ["_".join(opening[:2])] if opening else []
    return _unique(Edge(EdgeType.ABOUT, _entity(n), MENTION) for n in names)[:8]


def _entity(name: str) -> str:
    """Symbols and paths keep their spelling, entities get one for all."""
    return name if "::" in name or "/" in name else name_key(name)


def _unique(edges: object) -> list[Edge]:
    seen: dict[tuple[EdgeType, str], Edge] = {}
    for edge in edges:  # type: ignore[attr-defined]
        if edge.to:
            seen.setdefault((edge.type, edge.to), edge)
    return list(seen.values())
