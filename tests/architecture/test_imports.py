"""Import order is the architecture: each package imports only what stands before it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "braincore"

# What a package may import besides itself. Values (model), errors and locate stand before all.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "disk": set(),
    # The contract of all surfaces: types alone, so that the Python API costs no import.
    "shapes": set(),
    "locate": {"errors"},
    "client": {"errors", "locate"},
    "config": {"errors"},
    "model": {"errors"},
    "code": {"model", "errors"},
    "identity": {"model", "errors", "code"},
    "intake": {"model", "errors", "code", "identity"},
    "lifecycle": {"model", "errors", "code", "identity"},
    "gate": {"model", "errors", "code", "identity", "lifecycle"},
    "recall": {"model", "errors", "code", "identity", "lifecycle", "gate"},
    "rules": {"model", "errors", "code", "identity"},
    "guard": {"model", "errors", "code", "identity", "rules"},
    "journal": {"model", "errors", "disk"},
    "graph": {"model", "errors", "disk"},
    "index": {"model", "errors", "disk"},
    "brain": {
        *("model", "errors", "disk", "locate", "config", "code", "identity", "intake", "lifecycle"),
        *("recall", "gate", "rules", "guard", "journal", "graph", "index"),
    },
    "fixtures": {"model", "errors", "brain", "journal"},
    "serve": {"shapes", "model", "errors", "disk", "locate", "client", "brain", "fixtures"},
    "cli": {"errors", "locate", "client"},
    "api": {"errors", "locate", "client", "shapes", "cli"},
    "demo": set(),
}
# The command line reaches the owner over the socket; only these two verbs work on files themselves.
CLI_SETUP = {"init", "uninstall"}

HEAVY = {"kuzu": "graph", "pygit2": "journal index", "tantivy": "index", "re2": "rules guard"}


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            if node.module == "braincore":
                yield from (f"braincore.{alias.name}" for alias in node.names)
            elif node.module:
                yield node.module


def _rooms() -> list[tuple[str, Path]]:
    out = []
    for file in sorted(PACKAGE.rglob("*.py")):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room != "__init__":
            out.append((room, file))
    return out


@pytest.mark.parametrize(
    ("room", "file"), _rooms(), ids=lambda v: v.stem if isinstance(v, Path) else v
)
def test_imports_only_what_stands_before(room: str, file: Path) -> None:
    allowed = ALLOWED[room] | {room}
    if room == "cli" and file.stem in CLI_SETUP:
        allowed = allowed | {"serve"}
    for name in _imports(file):
        parts = name.split(".")
        if parts[0] == "braincore" and len(parts) > 1 and parts[1] != "__version__":
            assert parts[1] in allowed, f"{file.name} in {room}/ imports {name}"
        elif parts[0] in HEAVY:
            assert room in HEAVY[parts[0]].split(), f"{file.name} in {room}/ imports {name}"


def test_every_folder_has_a_place_in_the_order() -> None:
    folders = {room for room, _ in _rooms()}
    assert folders <= ALLOWED.keys()


def test_the_hook_client_imports_nothing_of_ours() -> None:
    file = PACKAGE / "serve" / "hook_client.py"
    assert set(_imports(file)) <= {"sys", "time", "_socket", "posix"}
