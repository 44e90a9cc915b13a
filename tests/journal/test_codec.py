"""What is written is read back equal; what can't be read says where and why."""

import contextlib
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.errors import CodecError, InvalidInput
from braincore.journal.codec import BODIES, decode, decode_json, encode, encode_json, path_of
from braincore.journal.packed import pack, unpack
from braincore.model.axes import (
    Channel,
    EdgeType,
    EventOutcome,
    EventType,
    Kind,
    LearningKind,
    Lifecycle,
    Scope,
    TruthStatus,
)
from braincore.model.records import (
    Alternative,
    Candidate,
    Claim,
    Decision,
    Edge,
    Event,
    Failure,
    Fragment,
    Learning,
    Note,
    Pattern,
    Record,
    Review,
    RuleMirror,
    Summary,
    Task,
    new_id,
)
from braincore.model.table import keys_of

NASTY = [
    *("", " ", "\n", "---", "a\n---\nb", "---\n", "\n---\n", "a: b", "- a", "#", "'", '"', "\\"),
    *(
        "a\r\nb",
        "\r",
        "\r\n---\r\n",
        "\x00",
        "\x07",
        "\x1b[31m",
        "\x7f",
        "\x85",
        "\u2028",
        "\u2029",
    ),
    *(
        "\ufeff",
        "\ufeffa",
        "\ufffe",
        "😀",
        "日本語",
        "e\u0301",
        "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b",
    ),
    *(
        "yes",
        "null",
        "~",
        "1",
        "1.0",
        "0x10",
        "2026-01-01",
        "{a}",
        "[a]",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
    ),
    *("\t", "a\tb", "trailing ", "trailing\n", "\n\n", "...", "?", "@", "`", "%", "=", "<<"),
]
texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=40),
    st.lists(st.sampled_from(NASTY), max_size=4).map("\n".join),
)
units = st.floats(0, 1)
zones = st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m)))
times = st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1), timezones=zones).map(
    lambda at: at.astimezone(UTC)
)
many = st.lists(texts, max_size=3).map(tuple)

BODIES_OF = {
    Note: st.builds(
        Note,
        claim=st.none()
        | st.builds(
            Claim, texts, texts, texts, st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
        ),
        aliases=many,
    ),
    Event: st.builds(
        Event,
        st.sampled_from(EventType),
        st.sampled_from(EventOutcome),
        units,
        texts,
        many,
    ),
    Decision: st.builds(
        Decision,
        texts,
        texts,
        st.lists(st.builds(Alternative, texts, texts), max_size=3).map(tuple),
        texts,
        texts,
        texts,
    ),
    Failure: st.builds(
        Failure,
        *[texts] * 5,
        st.none() | st.builds(Fragment, texts, texts, many),
    ),
    Learning: st.builds(Learning, st.sampled_from(LearningKind)),
    Summary: st.builds(Summary, texts),
    Pattern: st.builds(Pattern, st.integers(0, 99), many),
    RuleMirror: st.builds(RuleMirror, texts, texts),
    Task: st.builds(Task, *[texts] * 4, st.integers(1, 9), st.booleans()),
    Review: st.builds(
        Review,
        texts,
        texts,
        st.lists(st.builds(Candidate, texts, units), max_size=3).map(tuple),
        st.booleans(),
    ),
}


@st.composite
def records(draw: st.DrawFn, kind: Kind) -> Record:
    at = draw(times)
    return Record(
        id=new_id(kind, at),
        kind=kind,
        text=draw(texts),
        source_ref="user:" + draw(texts),
        channel=draw(st.sampled_from(Channel)),
        trust=draw(units),
        created_at=at,
        valid_from=draw(times),
        body=draw(BODIES_OF[BODIES[kind]]),
        confidence=draw(units),
        truth_status=draw(st.sampled_from(TruthStatus)),
        lifecycle=draw(st.sampled_from(Lifecycle)),
        valid_until=draw(st.none() | times),
        superseded_by=draw(many),
        target=draw(texts),
        scope=draw(st.sampled_from(Scope)),
        namespace=draw(texts),
        tags=draw(many),
        sources=draw(many),
        edges=draw(
            st.lists(
                st.builds(Edge, st.sampled_from(EdgeType), texts, units),
                max_size=3,
            ).map(tuple)
        ),
    )


@pytest.mark.parametrize("kind", Kind)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_kind_comes_back_equal(kind: Kind, data: st.DataObject) -> None:
    record = data.draw(records(kind))
    assert decode(encode(record), "x.md") == record
    line = encode_json(record)
    assert b"\n" not in line
    assert decode_json(line, "x.jsonl", 1) == record
    keys = keys_of(record)
    row = pack(record, keys)
    assert b"\n" not in row
    assert unpack(row) == (record, keys)


AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
FACT = Record(
    id="fact-01K42BG8800B3MRVE237BRZBNM",
    kind=Kind.FACT,
    text="the text",
    source_ref="user:maya",
    channel=Channel.PERSON,
    trust=0.9,
    created_at=AT,
    valid_from=AT,
    body=Note(),
)


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts_come_back_byte_for_byte(text: str) -> None:
    body = Note(Claim(text, text, text, ((text, text),)), (text,))
    record = replace(FACT, text=text, target=text, tags=(text,), body=body)
    assert decode(encode(record), "x.md") == record


def test_a_huge_text_comes_back() -> None:
    record = replace(FACT, text="ж---\n" * 400_000, target="y" * 100_000)
    assert decode(encode(record), "x.md") == record
    assert decode_json(encode_json(record), "x", 1) == record


def test_a_file_turned_into_crlf_reads_as_before() -> None:
    record = replace(FACT, text="one\ntwo\n---\nthree", tags=("a", "b"))
    assert decode(encode(record).replace(b"\n", b"\r\n"), "x.md") == record


def test_a_byte_order_mark_is_no_part_of_the_record() -> None:
    assert decode(b"\xef\xbb\xbf" + encode(FACT), "x.md") == FACT


def test_half_a_character_is_refused() -> None:
    for write in (encode, encode_json):
        with pytest.raises(InvalidInput, match="half a character"):
            write(replace(FACT, text="\ud800"))


def test_times_are_read_in_every_form_and_zone() -> None:
    data = encode(FACT).decode()
    for written in ("2026-03-01", "2026-03-01T00:00:00Z", "'2026-03-01T03:00:00+03:00'"):
        changed = data.replace(
            "valid_from: '2026-03-01T12:00:00.000000Z'", f"valid_from: {written}"
        )
        assert changed != data
        assert decode(changed.encode(), "x.md").valid_from == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("kind: fact", "kind: [fact", 4, "broken YAML"),
        ("kind: fact", "kind: fact\n\tx: y", 4, "broken YAML"),
        ("kind: fact", "kind: fact\nx: \x07", 4, "broken YAML"),
        ("kind: fact", "kind: poem", 3, "kind: 'poem' is none of fact"),
        ("kind: fact", "kind: decision", 2, "title|problem|alternatives|id"),
        ("kind: fact\n", "", 2, "kind: the field is missing"),
        ("channel: person\n", "", 2, "channel: the field is missing"),
        ("channel: person", "channel: mcp", 5, "channel: 'mcp' is none of person"),
        ("channel: person", "channel: person\ncolour: red", 6, "colour: no such field in a fact"),
        ("trust: 0.9", "trust: high", 6, "trust: 'high' is not a number"),
        ("trust: 0.9", "trust: 1.5", 6, "trust: 1.5 is not a number"),
        ("trust: 0.9", "trust: .nan", 6, "trust: nan is not a number"),
        ("trust: 0.9", "trust: true", 6, "trust: True is not a number"),
        ("trust: 0.9", "trust: 0.9\ntarget: 5", 7, "target: 5 is not text"),
        ("trust: 0.9", "trust: 0.9\ntags: red", 7, "tags: 'red' is not a list"),
        ("trust: 0.9", "trust: 0.9\ntags: [1]", 7, "tags: 1 is not text"),
        ("trust: 0.9", "trust: 0.9\nsuperseded_by: x", 7, "superseded_by: 'x' is not a list"),
        ("trust: 0.9", "trust: 0.9\nedges: 5", 7, "edges: 5 is not a list"),
        ("trust: 0.9", "trust: 0.9\nedges: [{to: a}]", 7, "edges: .* not made of type, to"),
        ("trust: 0.9", "trust: 0.9\nedges: [{type: X, to: a}]", 7, "edges: 'X' is none of"),
        ("trust: 0.9", "trust: 0.9\nclaim: {subject: a}", 7, "claim.predicate: .* is missing"),
        (
            "trust: 0.9",
            "trust: 0.9\nclaim: {subject: a, predicate: b, object: c, colour: d}",
            7,
            "claim: no such field as colour",
        ),
        ("valid_from: '2026-03-01T12:00:00.000000Z'", "valid_from: soon", 8, "valid_from: 'soon'"),
        ("valid_from: '2026-03-01T12:00:00.000000Z'", "valid_from: 5", 8, "valid_from: 5 is not a"),
        (
            "valid_from: '2026-03-01T12:00:00.000000Z'",
            "valid_from: 2026-13-45",
            8,
            "month must be in 1..12",
        ),
        (
            "valid_from: '2026-03-01T12:00:00.000000Z'",
            "valid_from: '9999-12-31T23:59:59-12:00'",
            8,
            "is not a time",
        ),
        (
            "valid_from: '2026-03-01T12:00:00.000000Z'",
            "valid_from: 9999-12-31T23:59:59-12:00",
            8,
            "is not a time",
        ),
        ("trust: 0.9", "trust: " + "9" * 5000, 6, "broken YAML: Exceeds the limit"),
        ("source_ref: user:maya", "source_ref: ''", 4, "source_ref: must not be empty"),
        ("fact-01K42BG8800B3MRVE237BRZBNM", "fact-../../etc/passwd", 2, "id: .* not the id of a"),
        ("fact-01K42BG8800B3MRVE237BRZBNM", "'5'", 2, "id: 5 is not the id of a fact"),
        ("kind: fact", "<<<<<<< HEAD\nkind: fact\n=======", 3, "merge conflict marker"),
        ("kind: fact\n", "kind: fact\n>>>>>>> theirs\n", 4, "merge conflict marker"),
        ("---\nid", "id", 1, "no front matter"),
        ("---\nid", "----\nid", 1, "no front matter"),
        ("---\nthe text", "the text", 1, "front matter never ends"),
        ("trust: 0.9", "trust: 0.9\n5: six", 2, "a mapping of named fields"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_with_its_line(old: str, new: str, line: int, problem: str) -> None:
    data = encode(FACT).decode()
    assert data.count(old) == 1
    with pytest.raises(CodecError, match=problem) as caught:
        decode(data.replace(old, new).encode(), "facts/x.md")
    assert str(caught.value).startswith(f"facts/x.md:{line}: "), str(caught.value)


@pytest.mark.parametrize("data", [b"", b"---\n", b"---\n---\n", b"---\n- a\n---\n", b"\xff\xfe-"])
def test_what_is_no_record_at_all_is_a_codec_error(data: bytes) -> None:
    with pytest.raises(CodecError, match=r"^x\.md:\d+: "):
        decode(data, "x.md")


def test_bytes_that_are_not_utf_8_are_told_with_their_line() -> None:
    data = encode(FACT).replace(b"the text", b"caf\xe9")
    with pytest.raises(CodecError, match=r"^x\.md:10: not UTF-8"):
        decode(data, "x.md")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_file_is_a_record_or_a_codec_error_and_nothing_else(data: st.DataObject) -> None:
    good = data.draw(st.sampled_from([encode(FACT), encode_json(FACT)]))
    at = data.draw(st.integers(0, len(good)))
    size = data.draw(st.integers(0, 12))
    bad = good[:at] + data.draw(st.binary(max_size=6)) + good[at + size :]
    for read in (lambda: decode(bad, "x"), lambda: decode_json(bad, "x", 1)):
        with contextlib.suppress(CodecError):
            assert isinstance(read(), Record)


@pytest.mark.parametrize(
    "line",
    [b"", b"5", b"[]", b"{}", b'{"text": "a"}', b"\xff", b"[" * 100_000, b'{"text": 5}'],
)  # fmt: skip
def test_a_bad_json_line_is_told_with_its_number(line: bytes) -> None:
    with pytest.raises(CodecError, match=r"^x\.jsonl:7: not a record"):
        decode_json(line, "x.jsonl", 7)


def test_a_path_spreads_records_by_the_random_end_of_the_id() -> None:
    assert path_of(FACT.id) == "facts/M/N/fact-01K42BG8800B3MRVE237BRZBNM.md"


def test_without_the_c_loader_the_codec_refuses_to_load() -> None:
    program = "import yaml; del yaml.CSafeLoader; import braincore.journal.codec"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "without libyaml" in done.stderr
