"""The names under which a symbol is known beyond its file: module name, node id, fingerprint."""

from hashlib import sha256

__all__ = ["digest", "fingerprint", "module_name", "node_id"]


def digest(*parts: str) -> str:
    """SHA-256, in hex, of `parts` joined by zero bytes."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def module_name(path: str) -> str:
    """The module part of a full qualified name; two paths never share one.

    A Python file whose folders and stem are all identifiers is named as `import` would, keeping
    `__init__`: `a/b.py` → `a.b`, `a/__init__.py` → `a.__init__`. Any other file is its path after
    `./`, with `%` and `:` escaped so that the `::` after it stays the first: `foo-bar.py` →
    `./foo-bar.py`, `src/x.ts` → `./src/x.ts`. Neither form can look like the other, as a dotted
    name holds no slash.
    """
    stem, dot, extension = path.rpartition(".")
    parts = stem.split("/")
    if dot and extension == "py" and all(part.isidentifier() for part in parts):
        return ".".join(parts)
    return "./" + path.replace("%", "%25").replace(":", "%3A")


def node_id(
    path: str, qualified_name: str, kind: str, signature_hash: str, ordinal: int = 0
) -> str:
    """SHA-256 of `module::qualified.name`, kind and signature hash, zero-byte joined.

    Twins, alike in all three, are numbered from 0; the number is a fourth part except for the
    first of them.
    """
    full_name = f"{module_name(path)}::{qualified_name}"
    twin = (str(ordinal),) if ordinal else ()
    return digest(full_name, kind, signature_hash, *twin)


def fingerprint(
    project_id: str,
    file_path: str,
    qualified_name: str,
    symbol_type: str,
    signature: str,
    language: str,
) -> str:
    """SPEC §5's EntityFingerprint: SHA-256 of the six, in this order, zero-byte joined."""
    return digest(project_id, file_path, qualified_name, symbol_type, signature, language)
