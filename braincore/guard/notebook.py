"""Jupyter notebooks: one cell edited, and the code a notebook holds.

A notebook is judged by its code, not by its JSON: an edit of an `.ipynb` file has the sources of
its Python code cells, joined by a blank line, as its texts, whichever tool writes the file.
"""

import json
import re
from collections.abc import Mapping

__all__ = ["code_of", "with_cell"]

_NUMBERED = re.compile(r"cell-(\d{1,6})")
_MAGIC = re.compile(r"^(\s*)([%!?])", re.MULTILINE)


def _parsed(raw: str) -> dict[str, object]:
    try:
        book = json.loads(raw.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as problem:
        raise ValueError("the notebook's JSON can't be read") from problem
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
        raise ValueError("the file has no notebook cells")
    return book


def _cells(book: Mapping[str, object]) -> list[object]:
    cells = book["cells"]
    assert isinstance(cells, list)
    return cells


def _source(cell: Mapping[str, object]) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _language(book: Mapping[str, object]) -> str:
    metadata = book.get("metadata")
    if isinstance(metadata, dict):
        for key, field in (("kernelspec", "language"), ("language_info", "name")):
            part = metadata.get(key)
            if isinstance(part, dict) and isinstance(part.get(field), str):
                return str(part[field])
    return "python"


def code_of(raw: str | None) -> str | None:
    """The Python code in a notebook's JSON; None for no notebook. ValueError if there is none.

    Lines that are IPython's and not Python (`%magic`, `!command`) become comments, a cell with a
    `%%magic` on top as a whole, so that what follows still parses; line numbers stay.
    """
    if raw is None:
        return None
    book = _parsed(raw)
    language = _language(book)
    if language.lower() not in ("python", "ipython"):
        raise ValueError(f"a notebook in {language} is not judged")
    sources: list[str] = []
    for cell in _cells(book):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = _source(cell)
            if source.lstrip().startswith("%%"):
                source = "\n".join(f"# {line}" for line in source.split("\n"))
            sources.append(_MAGIC.sub(r"\1# \2", source))
    return "\n\n".join(sources)


def _index(cells: list[object], cell_id: str) -> int | None:
    for index, cell in enumerate(cells):
        if isinstance(cell, dict) and cell.get("id") == cell_id:
            return index
    numbered = _NUMBERED.fullmatch(cell_id)
    if numbered and int(numbered[1]) < len(cells):
        return int(numbered[1])
    return None


def with_cell(raw: str, cell_id: str | None, source: str, kind: str | None, mode: str) -> str:
    """The notebook's JSON after one cell was replaced, inserted or deleted.

    Cells are named by their id or as `cell-N`. An insert comes after the named cell, or first. A
    request the client refuses (no such cell) is a ValueError that says so.
    """
    book = _parsed(raw)
    cells = _cells(book)
    index = None if cell_id is None else _index(cells, cell_id)
    if index is None and (cell_id is not None or mode != "insert"):
        raise ValueError(f"the notebook has no cell {cell_id}")
    if mode == "insert":
        at = 0 if index is None else index + 1
        cells.insert(at, {"cell_type": kind or "code", "source": source})
    elif mode == "delete":
        assert index is not None
        del cells[index]
    elif mode == "replace":
        assert index is not None
        old = cells[index]
        fields = dict(old) if isinstance(old, dict) else {}
        cells[index] = {**fields, "source": source, "cell_type": kind or fields.get("cell_type")}
    else:
        raise ValueError(f"{mode} is no way to edit a cell")
    return json.dumps(book)
