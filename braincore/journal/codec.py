"""Records as files: Markdown with YAML front matter; events as JSON lines.

The text of a record is the body of the file, everything else is front matter. What is written is
read back equal, byte for byte of the text: unicode, CRLF, `---` lines and control characters too.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Any, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from braincore.errors import CodecError, InvalidInput
from braincore.journal.front import front_matter
from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, Scope, TruthStatus
from braincore.model.records import (
    Body,
    Decision,
    Edge,
    Event,
    Failure,
    Learning,
    Note,
    Pattern,
    Record,
    Review,
    RuleMirror,
    Summary,
    Task,
    is_record_id,
    kind_of_id,
)
from braincore.model.times import iso, parse_time

__all__ = ["decode", "decode_json", "encode", "encode_json", "folder_of", "path_of"]

if not hasattr(yaml, "CSafeLoader"):  # the pure loader is ten times too slow for a rebuild
    raise InvalidInput(
        "PyYAML was built without libyaml", "Install a PyYAML wheel: `pip install -U pyyaml`."
    )

BODIES: dict[Kind, type[Body]] = {
    Kind.FACT: Note,
    Kind.RELATION: Note,
    Kind.ENTITY: Note,
    Kind.HYPOTHESIS: Note,
    Kind.EVENT: Event,
    Kind.DECISION: Decision,
    Kind.FAILURE: Failure,
    Kind.LEARNING: Learning,
    Kind.SUMMARY: Summary,
    Kind.PATTERN: Pattern,
    Kind.RULE: RuleMirror,
    Kind.TASK: Task,
    Kind.REVIEW: Review,
}

FOLDERS: dict[Kind, str] = {
    Kind.FACT: "facts",
    Kind.RELATION: "relations",
    Kind.ENTITY: "entities",
    Kind.HYPOTHESIS: "hypotheses",
    Kind.EVENT: "events",
    Kind.DECISION: "decisions",
    Kind.FAILURE: "failures",
    Kind.LEARNING: "learnings",
    Kind.SUMMARY: "summaries",
    Kind.PATTERN: "patterns",
    Kind.RULE: "rules",
    Kind.TASK: "tasks",
    Kind.REVIEW: "reviews",
}

_COMMON = [f.name for f in fields(Record) if f.name not in ("text", "body")]
_REQUIRED = [
    f.name
    for f in fields(Record)
    if f.default is MISSING and f.name not in ("text", "body", "kind")
]
_TUPLES = ("superseded_by", "tags", "sources")
_STRINGS = ("id", "source_ref", "target", "namespace")
_UNITS = ("trust", "confidence")
_ENUMS: dict[str, type[StrEnum]] = {
    "channel": Channel,
    "truth_status": TruthStatus,
    "lifecycle": Lifecycle,
    "scope": Scope,
}
_SHARED = frozenset(_COMMON)
_OPENER = b"---\n"


def folder_of(kind: Kind) -> str:
    """The folder of `memory/` that holds a kind."""
    return FOLDERS[kind]


def path_of(record_id: str) -> str:
    """Where a record lies in the journal's tree: `<folder>/<c>/<c>/<id>.md`.

    The two levels are the last characters of the id, which are random: so a folder stays small and
    the cost of a commit does not grow with the number of records.
    """
    return f"{FOLDERS[kind_of_id(record_id)]}/{record_id[-1]}/{record_id[-2]}/{record_id}.md"


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in _names(cast(Any, type(value)))}
    return value


@lru_cache(maxsize=64)
def _names(of: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(of))


@lru_cache(maxsize=64)
def _defaults(of: Any) -> dict[str, object]:
    return {f.name: _plain(f.default) for f in fields(of)}


def to_mapping(record: Record, leave: Collection[str] = ()) -> dict[str, Any]:
    """A record as plain values, without the fields that hold their default and those to `leave`."""
    out = {}
    for of, given in ((Record, record), (type(record.body), record.body)):
        for name, default, plain in _written(cast(Any, of)):
            value = getattr(given, name)
            if value == plain or name in leave:
                continue
            value = _plain(value)
            if value != default:
                out[name] = value
    return out


@lru_cache(maxsize=64)
def _written(of: Any) -> list[tuple[str, object, object]]:
    """Name and default of each field that front matter holds, plain and as it is."""
    names = _COMMON if of is Record else _names(of)
    default = {f.name: f.default for f in fields(of)}
    return [(name, _defaults(of)[name], default[name]) for name in names]


@lru_cache(maxsize=32)
def _adapter(of: Any) -> TypeAdapter[Any]:
    return TypeAdapter(of)


def from_mapping(data: Mapping[str, Any], text: str) -> Record:
    """The record that plain values and a text describe. Raises ValueError, its message opening with
    the bad field and a colon."""
    if "kind" not in data:
        raise ValueError("kind: the field is missing")
    kind = Kind(_one_of("kind", data["kind"], Kind))
    body_type = BODIES[kind]
    unknown = [name for name in data if name not in _SHARED]
    known = _names(cast(Any, body_type))
    for name in unknown:
        if name not in known:
            raise ValueError(f"{name}: no such field in a {kind}")
    for name in _REQUIRED:
        if name not in data:
            raise ValueError(f"{name}: the field is missing")
    if not isinstance(text, str):
        raise ValueError(f"text: {text!r} is not text")
    common: dict[str, Any] = {k: data[k] for k in _COMMON if k in data}
    common["kind"] = kind
    for name in _STRINGS:
        if not isinstance(common.get(name, ""), str):
            raise ValueError(f"{name}: {common[name]!r} is not text; quote it")
    for name, of in _ENUMS.items():
        if name in common:
            common[name] = _one_of(name, common[name], of)
    for name in ("created_at", "valid_from", "valid_until"):
        if name in common and (name != "valid_until" or common[name] is not None):
            common[name] = _time(name, common[name])
    for name in _TUPLES:
        if name in common:
            common[name] = _strings(name, common[name])
    for name in _UNITS:
        if name in common:
            common[name] = _unit(name, common[name])
    if "edges" in common:
        common["edges"] = tuple(_edge(e) for e in _list("edges", common["edges"]))
    if not is_record_id(common["id"]) or kind_of_id(common["id"]) is not kind:
        raise ValueError(f"id: {common['id']} is not the id of a {kind}")
    if not common["source_ref"].strip():
        raise ValueError("source_ref: must not be empty")
    body = _body(body_type, {k: data[k] for k in unknown})
    return Record(text=text, body=body, **common)


def _body(of: type[Body], given: dict[str, Any]) -> Body:
    try:
        body = cast(Body, _adapter(cast(Any, of)).validate_python(given))
    except ValidationError as error:
        raise ValueError(_first(error)) from None
    _no_strays(given, _plain(body), "")
    scores = [("score", body.score)] if isinstance(body, Event) else []
    scores += [("candidates", c.score) for c in body.candidates] if isinstance(body, Review) else []
    for name, score in scores:
        _unit(name, score)
    return body


_EDGE = frozenset({"type", "to", "strength"})


def _edge(given: object) -> Edge:
    if not isinstance(given, Mapping) or not {"type", "to"} <= given.keys() <= _EDGE:
        raise ValueError(f"edges: {given!r} is not made of type, to and strength")
    if not isinstance(given["to"], str):
        raise ValueError(f"edges: {given['to']!r} is not text; quote it")
    strength = _unit("edges", given.get("strength", 0.5))
    return Edge(EdgeType(_one_of("edges", given["type"], EdgeType)), given["to"], strength)


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] in ("missing", "missing_argument"):
        return f"{'.'.join(map(str, first['loc']))}: the field is missing"
    return f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"


def _no_strays(given: object, built: object, at: str) -> None:
    """What was given and not taken is an error: the parser itself passes over unknown fields."""
    if isinstance(given, Mapping) and isinstance(built, Mapping):
        for name, value in given.items():
            if name not in built:
                raise ValueError(f"{at or name}: no such field as {name}")
            _no_strays(value, built[name], at or str(name))
    elif isinstance(given, list | tuple) and isinstance(built, list):
        for one, two in zip(given, built, strict=False):
            _no_strays(one, two, at)


def _one_of(name: str, value: object, of: type[StrEnum]) -> StrEnum:
    try:
        return of(cast(str, value))
    except (ValueError, TypeError):
        raise ValueError(f"{name}: {value!r} is none of {', '.join(of)}") from None


def _time(name: str, value: object) -> datetime:
    if not isinstance(value, str | date):
        raise ValueError(f"{name}: {value!r} is not a time")
    try:
        return parse_time(value)
    except InvalidInput as error:
        raise ValueError(f"{name}: {error}") from None


def _list(name: str, value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name}: {value!r} is not a list")
    return list(value)


def _strings(name: str, value: object) -> tuple[str, ...]:
    out = []
    for one in _list(name, value):
        if not isinstance(one, str):
            raise ValueError(f"{name}: {one!r} is not text; quote it")
        out.append(one)
    return tuple(out)


def _unit(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name}: {value!r} is not a number between 0 and 1")
    return float(value)


def encode(record: Record) -> bytes:
    """A record as the bytes of its Markdown file. Raises InvalidInput for what is not Unicode."""
    front = front_matter(to_mapping(record))
    try:
        return _OPENER + front.encode() + _OPENER + record.text.encode() + b"\n"
    except UnicodeEncodeError:
        raise _not_unicode(record) from None


def _not_unicode(record: Record) -> InvalidInput:
    return InvalidInput(f"{record.id} holds half a character", "Send it as valid Unicode.")


def decode(data: bytes, path: str) -> Record:
    """The record a Markdown file holds. Raises CodecError with the line of what is wrong."""
    try:
        raw = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CodecError(path, line, "not UTF-8 text") from None
    end_of_line = "\r\n" if raw.startswith("---\r\n") else "\n"
    if not raw.startswith(f"---{end_of_line}"):
        raise CodecError(path, 1, "no front matter: the file must open with a line of ---")
    head, fence, text = raw[3:].partition(f"{end_of_line}---{end_of_line}")
    if not fence:
        raise CodecError(path, 1, "the front matter never ends: a line with only --- is needed")
    if end_of_line == "\r\n":  # an editor or git turned the whole file into CRLF
        head, text = head.replace("\r\n", "\n"), text.replace("\r\n", "\n")
    head = head.removeprefix("\n")
    for number, content in enumerate(head.split("\n"), 2):
        if content.startswith(("<<<<<<< ", "||||||| ", ">>>>>>> ")) or content == "=======":
            raise CodecError(path, number, "a merge conflict marker was left in the record")
    mapping = _yaml(head, path)
    try:
        return from_mapping(mapping, text.removesuffix("\n"))
    except ValueError as error:
        field = str(error).partition(":")[0]
        raise CodecError(path, _line_of(head, field), str(error)) from None


def _yaml(head: str, path: str) -> dict[str, Any]:
    try:
        mapping = yaml.load(head, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = mark.line + 2 if mark is not None else 2
        if isinstance(error, yaml.reader.ReaderError):
            at = 2 + head.count("\n", 0, error.position)
        raise CodecError(path, at, f"broken YAML: {_said(error)}") from None
    except (ValueError, OverflowError, RecursionError) as error:
        # What looks like a date or a number to YAML and is none.
        raise CodecError(path, _line_of_bad(head), f"broken YAML: {error}") from None
    if not isinstance(mapping, dict) or not all(isinstance(key, str) for key in mapping):
        raise CodecError(path, 2, "the front matter must be a mapping of named fields")
    return mapping


def _said(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", "") or getattr(error, "reason", "") or error)


def _line_of_bad(head: str) -> int:
    """The line of the first field whose own lines can't be loaded; 2 when none is to blame."""
    lines = head.split("\n")
    starts = [n for n, line in enumerate(lines) if line and not line[0].isspace()]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        try:
            yaml.load("\n".join(lines[start:end]), Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        except (ValueError, OverflowError, RecursionError):
            return start + 2
    return 2


def _line_of(head: str, field: str) -> int:
    """The line of a field in the file: front matter starts on line 2."""
    name = field.partition(".")[0]
    for number, line in enumerate(head.split("\n"), 2):
        if line.startswith(f"{name}:"):
            return number
    return 2


def encode_json(record: Record) -> bytes:
    """A record as one JSON line, without the line end."""
    row = {**to_mapping(record), "text": record.text}
    try:
        return json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _not_unicode(record) from None


def decode_json(line: bytes, path: str, number: int) -> Record:
    """The record of one JSON line. Raises CodecError with the line number."""
    try:
        data = json.loads(line)
        if not isinstance(data, dict) or "text" not in data:
            raise ValueError("text: the field is missing")
        return from_mapping(data, data.pop("text"))
    except (ValueError, RecursionError) as error:
        raise CodecError(path, number, f"not a record: {error}") from None
