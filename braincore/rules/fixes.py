"""Fix templates: `$NAME` is what one metavariable bound, `$$$NAME` what a list of nodes bound."""

import re
from collections.abc import Callable, Iterator

__all__ = ["expand", "variables"]

_VARIABLE = re.compile(r"(\$\$\$|\$)([A-Z][A-Z0-9_]*)")


def variables(template: str) -> Iterator[tuple[str, bool]]:
    """The metavariables of a template: name, and True for `$$$NAME`."""
    for match in _VARIABLE.finditer(template):
        yield match[2], match[1] == "$$$"


def expand(template: str, indent: str, bound: Callable[[str, bool], str | None]) -> str | None:
    """The template with every variable replaced by `bound(name, is_list)`; None if one is unbound.

    The lines of the template after the first get `indent`, the indentation of the line where the
    match starts; what variables bound is put in as it stands in the source.
    """
    pieces: list[str] = []
    last = 0
    template = template.rstrip("\n")
    for match in _VARIABLE.finditer(template):
        value = bound(match[2], match[1] == "$$$")
        if value is None:
            return None
        pieces += (template[last : match.start()].replace("\n", f"\n{indent}"), value)
        last = match.end()
    pieces.append(template[last:].replace("\n", f"\n{indent}"))
    return "".join(pieces)
