"""Regular expressions of rules: RE2, linear in the text whatever the expression."""

from functools import lru_cache
from typing import Any

import re2

__all__ = ["AT", "compiled", "groups", "regex_complaint"]

AT = "at"
"""The name of the group that, when present, is reported instead of the whole match."""


@lru_cache(maxsize=512)
def compiled(regex: str) -> Any:
    """The compiled expression; raises `re2.error` if it isn't one."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(regex, options=options)  # type: ignore[no-untyped-call]


def groups(regex: str) -> frozenset[str]:
    """The named groups of a valid expression."""
    return frozenset(compiled(regex).groupindex)


def regex_complaint(regex: str) -> str | None:
    """Why `regex` can't be used; None if it can."""
    try:
        expression = compiled(regex)
    except re2.error as error:
        reason = error.args[0] if error.args else "invalid"
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    if expression.search("") is not None:
        return "it matches the empty text"
    return None
