"""`graph_fixtures/`: small named brains in journal form, for tests, demo, docs and doctor."""

from pathlib import Path

from braincore.brain import Brain
from braincore.errors import UnknownReference
from braincore.journal.codec import decode
from braincore.journal.store import Change, Why
from braincore.model.axes import Kind

__all__ = ["load", "names"]


def folder() -> Path:
    """Where the fixtures lie: in the wheel, or beside the package."""
    inside = Path(__file__).parent / "_graph_fixtures"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "graph_fixtures"


def names() -> list[str]:
    """The names of all fixtures."""
    return sorted(p.name for p in folder().iterdir() if p.is_dir())


def load(name: str, brain: Brain) -> int:
    """Commit every record of a fixture to a brain, oldest first; returns how many."""
    base = folder() / name
    if not base.is_dir():
        raise UnknownReference("fixture", name, names())
    records = [
        decode(file.read_bytes(), file.relative_to(base).as_posix())
        for file in sorted(base.rglob("*.md"))
        if file.name != "README.md"
    ]
    records.sort(key=lambda r: r.id.partition("-")[2])
    for record in records:
        if record.kind is Kind.EVENT:
            brain.keeper.note([record])
        else:
            brain.keeper.commit(
                [Change(brain.table.get(record.id), record)],
                Why("fixture", "import:fixture", "owner", name),
            )
    return len(records)
