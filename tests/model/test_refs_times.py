"""References are told by their spelling, times are read in every form."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.errors import InvalidInput
from braincore.model.axes import Kind, Lifecycle, TruthStatus
from braincore.model.records import is_record_id, kind_of_id, new_id
from braincore.model.refs import RefType, entity_ref, file_ref, path_of_ref, ref_type
from braincore.model.times import iso, parse_time
from braincore.model.transitions import LIFECYCLE, TRUTH, may_move


@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        ("fact-01K42BG8800B3MRVE237BRZBNM", RefType.RECORD),
        ("fact-01K42BG8800B3MRVE237BRZBN", RefType.ENTITY),
        ("poem-01K42BG8800B3MRVE237BRZBNM", RefType.ENTITY),
        ("src/a.py::f.g", RefType.SYMBOL),
        ("a.py::f", RefType.SYMBOL),
        ("src/a.py", RefType.FILE),
        ("./a.py", RefType.FILE),
        ("src/", RefType.FILE),
        ("database_migrations", RefType.ENTITY),
        ("test:tests/test_a.py::test_b", RefType.ENTITY),
        ("commit:0a1b", RefType.ENTITY),
        ("file:a/b.py#L1-2", RefType.ENTITY),
        ("url:https://example.org/a", RefType.ENTITY),
    ],
)
def test_a_reference_says_what_it_names(ref: str, kind: RefType) -> None:
    assert ref_type(ref) is kind


@given(st.text(min_size=1).filter(lambda t: "::" not in t and not t.startswith("./")))
def test_a_path_is_never_taken_for_an_entity(path: str) -> None:
    ref = file_ref(path)
    assert "/" in ref
    assert path_of_ref(ref) == path


@given(st.text())
def test_an_entity_is_never_taken_for_a_path(name: str) -> None:
    assert ref_type(entity_ref(name)) is not RefType.FILE


@given(st.sampled_from(Kind), st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1)))
def test_an_id_names_its_kind_and_sorts_by_time(kind: Kind, at: datetime) -> None:
    one = new_id(kind, at.replace(tzinfo=UTC))
    two = new_id(kind, at.replace(tzinfo=UTC) + timedelta(milliseconds=2))
    assert is_record_id(one)
    assert kind_of_id(one) is kind
    assert one < two


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("2026-01-01", 0),
        (" 2026-01-01T12:00:00Z ", 12),
        ("2026-01-01T12:00:00+03:00", 9),
        ("2026-01-01 12:00", 12),
        ("20260101T120000Z", 12),
        (date(2026, 1, 1), 0),
        (datetime(2026, 1, 1, 12), 12),
        (datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=-1))), 13),
    ],
)
def test_naive_means_utc_and_offsets_count(written: object, hour: int) -> None:
    assert parse_time(written) == datetime(2026, 1, 1, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        *("", "soon", "2026-13-01", "2026-02-30", "12:00", "1767225600", 5, None, True),
        *("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
    ],
)
def test_what_is_no_time_is_invalid_input(written: object) -> None:
    with pytest.raises(InvalidInput, match="is not a time"):
        parse_time(written)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.timezones()))
def test_iso_and_back(at: datetime) -> None:
    assert parse_time(iso(at)) == at.astimezone(UTC)
    assert iso(at).endswith("Z")


def test_moves_are_those_of_the_table() -> None:
    for old in Lifecycle:
        for new in Lifecycle:
            listed = any((t.old, t.new) == (old, new) for t in LIFECYCLE)
            assert may_move(old, new) is (listed or old is new)
    for before in TruthStatus:
        for after in TruthStatus:
            listed = any((t.old, t.new) == (before, after) for t in TRUTH)
            assert may_move(before, after) is (listed or before is after)
    assert not may_move(Lifecycle.STAGING, Lifecycle.CONSOLIDATED)
    assert not may_move(TruthStatus.HYPOTHESIS, TruthStatus.CONTRADICTED)
