import pytest

from braincore.code import decode
from braincore.code.text import line_at, line_ends


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16"], ids=["plain", "marked", "utf-16"]
)
def test_unicode_encodings_give_the_same_text(encoding: str) -> None:
    assert decode("é = 'π'\r\n".encode(encoding)) == "é = 'π'\r\n"


def test_big_endian_utf16() -> None:
    assert decode(b"\xfe\xff" + "é".encode("utf-16-be")) == "é"


def test_bytes_that_are_no_utf8_are_latin1() -> None:
    assert decode(b"caf\xe9") == "café"


@pytest.mark.parametrize("data", [b"", b"\xff\xfea", b"\0\0", b"\xef\xbb\xbf\xff", b"\xed\xa0\x80"])
def test_no_bytes_are_refused(data: bytes) -> None:
    assert not decode(data).startswith("\ufeff")


def test_lines_count_from_one() -> None:
    ends = line_ends(b"a\n\nb")
    assert [line_at(ends, offset) for offset in range(4)] == [1, 1, 2, 3]
