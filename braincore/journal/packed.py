"""Records as rows of plain values by position, for a cache that nobody else writes.

Reading one back checks nothing, which is what makes it fast: ten thousand in a third of a second
rather than three. So a row is good only under the `FORMAT` that it was written with.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from braincore.journal.codec import BODIES
from braincore.model import axes, records, table, words
from braincore.model.records import Record
from braincore.model.table import Keys

__all__ = ["FORMAT", "pack", "unpack"]

Turn = Callable[[Any], Any]


_SOURCES = [__file__, *(str(module.__file__) for module in (axes, records, table, words))]

FORMAT = sha256(b"\0".join(Path(file).read_bytes() for file in _SOURCES)).hexdigest()[:16]
"""Names what a row depends on: the fields of records, and how keys are made of words."""


def _inner(of: UnionType) -> Any:
    (inner,) = [a for a in get_args(of) if a is not NoneType]
    return inner


def _unless_none(turn: Turn | None) -> Turn | None:
    return None if turn is None else lambda v: None if v is None else turn(v)


def _to_plain(of: Any) -> Turn | None:
    """How a value of a type becomes plain; None when it is already."""
    if of is datetime:
        return lambda at: at.astimezone(UTC).isoformat()
    if isinstance(of, UnionType) and NoneType in get_args(of):
        return _unless_none(_to_plain(_inner(of)))
    if get_origin(of) is tuple:
        turn = _to_plain(get_args(of)[0])
        return None if turn is None else lambda v: [turn(one) for one in v]
    if is_dataclass(of):
        turns = _fields(of, _to_plain)
        return lambda v: [
            t(getattr(v, name)) if t is not None else getattr(v, name) for name, t in turns
        ]
    return None


def _from_plain(of: Any) -> Turn | None:
    """How a plain value becomes one of a type again; None when it is one already."""
    if of is datetime:
        return datetime.fromisoformat
    if isinstance(of, UnionType) and NoneType in get_args(of):
        return _unless_none(_from_plain(_inner(of)))
    if get_origin(of) is tuple:
        turn = _from_plain(get_args(of)[0])
        return tuple if turn is None else lambda v: tuple(map(turn, v))
    if is_dataclass(of):
        return _maker(of)
    if isinstance(of, type) and issubclass(of, StrEnum):
        return {str(member): member for member in of}.__getitem__
    return None


def _maker(of: Any) -> Turn:
    turns = [turn for _, turn in _fields(of, _from_plain)]
    make = cast(Callable[..., Any], of)
    places = [(at, turn) for at, turn in enumerate(turns) if turn is not None]

    def made(row: list[Any]) -> Any:
        for at, turn in places:
            row[at] = turn(row[at])
        return make(*row)

    return made


def _fields(
    of: Any, turn: Callable[[Any], Turn | None], leave: Sequence[str] = ()
) -> list[tuple[str, Turn | None]]:
    hints = get_type_hints(of)
    return [(f.name, turn(hints[f.name])) for f in fields(of) if f.name not in leave]


_BODY_OUT = {kind: _to_plain(of) for kind, of in BODIES.items()}
_BODY_IN = {kind: _maker(of) for kind, of in BODIES.items()}
_BODY = "body"
_OUT = _fields(Record, _to_plain, (_BODY,))
_NAMES = [name for name, _ in _fields(Record, _from_plain)]
_AT_BODY, _AT_KIND = _NAMES.index(_BODY), _NAMES.index("kind")
_IN = [
    (at, turn)
    for at, (name, turn) in enumerate(_fields(Record, _from_plain))
    if turn is not None and name != _BODY
]


def pack(record: Record, keys: Keys) -> bytes:
    """A record and its keys as one line of JSON, without the line end."""
    row = [t(getattr(record, n)) if t is not None else getattr(record, n) for n, t in _OUT]
    turn = _BODY_OUT[record.kind]
    assert turn is not None
    row.insert(_AT_BODY, turn(record.body))
    return json.dumps([keys.text, keys.names, row], ensure_ascii=False).encode()


def unpack(line: bytes) -> tuple[Record, Keys]:
    """What `pack` wrote under the same FORMAT."""
    text, names, row = json.loads(line)
    for at, turn in _IN:
        row[at] = turn(row[at])
    row[_AT_BODY] = _BODY_IN[row[_AT_KIND]](row[_AT_BODY])
    return Record(*row), Keys(text, tuple(names))
