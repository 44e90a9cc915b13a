"""What of a record goes into the graph as JSON, since no column of its own holds it."""

from collections.abc import Iterable

from braincore.graph.projection import json_body
from braincore.journal.codec import to_mapping
from braincore.model.records import Record

__all__ = ["bodies"]


_COLUMNS = frozenset(
    [
        *("id", "kind", "title", "target", "namespace", "truth_status", "lifecycle", "source_ref"),
        *("trust", "confidence", "created_at", "valid_from", "valid_until", "edges"),
        "superseded_by",
    ]
)


def bodies(records: Iterable[Record]) -> dict[str, str]:
    """The JSON body of each record, for the graph."""
    return {record.id: json_body(to_mapping(record, leave=_COLUMNS)) for record in records}
