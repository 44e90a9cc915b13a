"""A file's symbols and references as text: what workers send and the code index keeps."""

import json
from typing import NamedTuple

from braincore.model.symbols import FileSymbols, Reference, Symbol

__all__ = ["Packed", "pack", "unpack_references", "unpack_symbols"]


class Packed(NamedTuple):
    """`FileSymbols` in a form that is cheap to send, keep and read in part."""

    path: str
    language: str
    error: bool
    total: int
    names: tuple[str, ...]
    """The qualified names, each once."""
    symbols: str
    references: str


def pack(file: FileSymbols) -> Packed:
    """The text form of a file; field by field, since `astuple` copies and is ten times slower."""
    symbols = [
        (
            s.kind,
            s.name,
            s.qualified_name,
            s.signature,
            s.signature_hash,
            s.text_hash,
            s.body_hash,
            s.first_line,
            s.last_line,
            s.start_byte,
            s.end_byte,
            s.node_id,
            s.fingerprint,
        )
        for s in file.symbols
    ]
    references = [(r.type, r.source, r.target, r.module, r.line) for r in file.references]
    return Packed(
        file.path,
        file.language,
        file.has_error,
        len(symbols),
        tuple(dict.fromkeys(s.qualified_name for s in file.symbols)),
        json.dumps(symbols, ensure_ascii=False),
        json.dumps(references, ensure_ascii=False),
    )


def unpack_symbols(path: str, language: str, text: str) -> tuple[Symbol, ...]:
    """The symbols of a packed file."""
    return tuple(Symbol(path, language, *row) for row in json.loads(text))


def unpack_references(text: str) -> tuple[Reference, ...]:
    """The references of a packed file."""
    return tuple(Reference(*row) for row in json.loads(text))
