"""Bytes of a source file as text and lines: the one reading that all of `code` shares."""

import codecs
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

__all__ = ["decode", "line_at", "line_ends"]

_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode(data: bytes) -> str:
    """The text of `data`; never fails, and never keeps a byte order mark.

    A UTF-16 or UTF-8 mark decides; without one it is UTF-8, else Latin-1, which maps every byte.
    Damaged UTF-16 keeps what can be read. Line endings stay as they are.
    """
    if data.startswith(_UTF16_BOMS):
        return data.decode("utf-16", errors="replace")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def line_ends(source: bytes) -> list[int]:
    """The offset after each line of `source`, for `line_at`."""
    return list(accumulate(len(line) + 1 for line in source.split(b"\n")))


def line_at(ends: Sequence[int], offset: int) -> int:
    """The line, from 1, that holds the byte at `offset`."""
    return bisect_right(ends, offset) + 1
