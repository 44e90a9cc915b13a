"""What the end of an edge is: a record, a symbol, a file, or an entity. Told by its spelling alone,
so that a rebuild never depends on what happens to exist."""

import re
from enum import StrEnum

from braincore.model.records import is_record_id

__all__ = ["RefType", "entity_ref", "file_ref", "path_of_ref", "ref_type"]

_SCHEME = re.compile(r"(?:commit|test|file|url|user|agent|import):")


class RefType(StrEnum):
    """The kinds of edge end."""

    RECORD = "record"
    SYMBOL = "symbol"
    FILE = "file"
    ENTITY = "entity"


def ref_type(ref: str) -> RefType:
    """The kind of thing a reference names."""
    if is_record_id(ref):
        return RefType.RECORD
    if _SCHEME.match(ref):
        return RefType.ENTITY
    if "::" in ref:
        return RefType.SYMBOL
    return RefType.FILE if "/" in ref else RefType.ENTITY


def file_ref(path: str) -> str:
    """A repository path as a reference: files at the root get `./`, so that no entity is met."""
    return path if "/" in path else f"./{path}"


def path_of_ref(ref: str) -> str:
    """The repository path of a file or symbol reference."""
    return ref.partition("::")[0].removeprefix("./")


def entity_ref(name: str) -> str:
    """An entity name as a reference never looks like a path: slashes become underscores."""
    return name.replace("/", "_")
