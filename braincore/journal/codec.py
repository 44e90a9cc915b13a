"""Records as files: Markdown with YAML front matter; events as JSON lines.

The text of a record is the body of the file, everything else is front matter. What is written is
read back equal, byte for byte of the text: unicode, CRLF, `---` lines and control characters too.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from braincore.errors import CodecError, InvalidInput
from braincore.model.axes import Channel, Kind, Lifecycle, Scope, TruthStatus
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
_TUPLES = frozenset({"superseded_by", "tags", "sources"})
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
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


@lru_cache(maxsize=64)
def _defaults(of: Any) -> dict[str, object]:
    return {f.name: _plain(f.default) for f in fields(of)}


def to_mapping(record: Record) -> dict[str, Any]:
    """A record as plain values, without the fields that hold their default."""
    default = _defaults(Record)
    out = {}
    for name in _COMMON:
        value = _plain(getattr(record, name))
        if value != default[name]:
            out[name] = value
    body_default = _defaults(cast(Any, type(record.body)))
    for f in fields(record.body):
        value = _plain(getattr(record.body, f.name))
        if value != body_default[f.name]:
            out[f.name] = value
    return out


@lru_cache(maxsize=32)
def _adapter(of: Any) -> TypeAdapter[Any]:
    return TypeAdapter(of)


def from_mapping(data: Mapping[str, Any], text: str) -> Record:
    """The record that plain values and a text describe. Raises ValueError naming the bad field."""
    unknown = set(data) - set(_COMMON)
    kind = Kind(data["kind"])
    body_type = BODIES[kind]
    known = {f.name for f in fields(body_type)}
    if stray := sorted(unknown - known):
        raise ValueError(f"{stray[0]}: no such field in a {kind}")
    common: dict[str, Any] = {k: data[k] for k in _COMMON if k in data}
    common["kind"] = kind
    for name, of in (
        ("channel", Channel),
        ("truth_status", TruthStatus),
        ("lifecycle", Lifecycle),
        ("scope", Scope),
    ):
        if name in common:
            common[name] = of(common[name])
    for name in ("created_at", "valid_from", "valid_until"):
        if common.get(name) is not None:
            common[name] = parse_time(common[name])
    for name in _TUPLES & common.keys():
        common[name] = tuple(map(str, common[name]))
    for name in ("trust", "confidence"):
        if name in common:
            common[name] = _unit(name, common[name])
    if "edges" in common:
        common["edges"] = tuple(_adapter(Edge).validate_python(e) for e in common["edges"])
    body = _adapter(cast(Any, body_type)).validate_python({k: data[k] for k in unknown})
    if kind_of_id(common["id"]) is not kind:
        raise ValueError(f"id: {common['id']} is not the id of a {kind}")
    if not common["source_ref"]:
        raise ValueError("source_ref: must not be empty")
    return Record(text=text, body=body, **common)


def _unit(name: str, value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name}: {value!r} is not a number between 0 and 1")
    return float(value)


def encode(record: Record) -> bytes:
    """A record as the bytes of its Markdown file."""
    front = yaml.dump(
        to_mapping(record),
        Dumper=yaml.CSafeDumper,
        allow_unicode=True,
        sort_keys=False,
        width=100,
    )
    return _OPENER + front.encode() + _OPENER + record.text.encode() + b"\n"


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
        if content.startswith(("<<<<<<< ", ">>>>>>> ")):
            raise CodecError(path, number, "a merge conflict marker was left in the record")
    try:
        mapping = yaml.load(head, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line_at = mark.line + 2 if mark is not None else 2
        raise CodecError(
            path, line_at, f"broken YAML: {getattr(error, 'problem', error)}"
        ) from None
    if not isinstance(mapping, dict):
        raise CodecError(path, 2, "the front matter must be a mapping of fields")
    try:
        return from_mapping(mapping, text.removesuffix("\n"))
    except KeyError as error:
        raise CodecError(path, 1, f"the field {error.args[0]} is missing") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "body"
        raise CodecError(path, _line_of(head, field), f"{field}: {first['msg']}") from None
    except (ValueError, TypeError) as error:
        field = str(error).partition(":")[0]
        raise CodecError(path, _line_of(head, field), str(error)) from None


def _line_of(head: str, field: str) -> int:
    """The line of a field in the file: front matter starts on line 2."""
    name = field.partition(".")[0]
    for number, line in enumerate(head.split("\n"), 2):
        if line.startswith(f"{name}:"):
            return number
    return 2


def encode_json(record: Record) -> bytes:
    """A record as one JSON line, without the line end."""
    return json.dumps({**to_mapping(record), "text": record.text}, ensure_ascii=False).encode()


def decode_json(line: bytes, path: str, number: int) -> Record:
    """The record of one JSON line. Raises CodecError with the line number."""
    try:
        data = json.loads(line)
        text = data.pop("text")
        return from_mapping(data, text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CodecError(path, number, f"not a record: {error}") from None
