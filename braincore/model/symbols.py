"""Code as values: symbols, references between them, and what one file holds (SPEC §5)."""

from dataclasses import dataclass

__all__ = ["FileSymbols", "Reference", "Symbol", "symbol_ref"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition in a file. Lines count from 1, bytes from 0; the end line is inclusive.

    `node_id` is stable under moves inside the file; `signature_hash` covers what breaks callers,
    `text_hash` the text of the signature, `body_hash` the body without layout and comments.
    """

    path: str
    language: str
    kind: str
    name: str
    qualified_name: str
    signature: str
    signature_hash: str
    text_hash: str
    body_hash: str
    first_line: int
    last_line: int
    start_byte: int
    end_byte: int
    node_id: str
    fingerprint: str

    @property
    def ref(self) -> str:
        """How people and records name this symbol: `path::qualified.name`."""
        return symbol_ref(self.path, self.qualified_name)


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of a name. `type` is CALLS, IMPORTS or INHERITS; `source` a qualified name in the file
    ("" for the module level); `target` the name as written (dotted); `module` the import path that
    brought the name in, if any."""

    type: str
    source: str
    target: str
    module: str
    line: int


@dataclass(frozen=True, slots=True)
class FileSymbols:
    """All that one file defines and uses. `has_error`: the parser met a syntax error."""

    path: str
    language: str
    symbols: tuple[Symbol, ...]
    references: tuple[Reference, ...]
    has_error: bool = False


def symbol_ref(path: str, qualified_name: str) -> str:
    """`path::qualified.name`."""
    return f"{path}::{qualified_name}"
