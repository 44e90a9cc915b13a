"""The quick front matter is the dumper's, byte for byte, whatever the values are."""

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.journal.front import front_matter

NASTY = [
    *("yes", "No", "TRUE", "off", "null", "Null", "~", "", "=", "<<", "y", "n", "on", "12", "1e3"),
    *("0x1f", "1_000", "12:30", "2026-01-01", "2026-01-01T00:00:00.000000Z", "a: b", "a :b", "a:b"),
    *("a #b", "a#b", "- a", "-a", "? a", "a,b", "[a]", "{a}", "&a", "*a", "!a", "|", ">", "%a"),
    *("@a", "`a`", "'a'", '"a"', "a ", " a", "a  b", "a\nb", "a\n", "\n", "a\tb", "\x00", "\ufeff"),
    *(
        "é",
        "日本",
        "a-",
        "a.",
        "a/",
        "a+",
        "A_b",
        "x" * 200,
        "word " * 60,
        "a:",
        "user:ana",
        "http://x",
    ),
    *(
        "---",
        "...",
        "a" * 60,
        "a" * 61,
        " ".join(["abcdefghi"] * 6),
        "a:b:c d",
        "Inf",
        ".inf",
        "nan",
    ),
]
TEXTS = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=120),
    st.text("ab :-.#'\"\n0", max_size=80),
    st.from_regex(r"[a-z]{1,12}([ :][a-z]{1,12}){0,14}", fullmatch=True),
)
NUMBERS = st.floats(0, 1)
FLAT = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none(), st.integers(-5, 10**9))
NAMES = st.sampled_from(["id", "target", "valid_from", "sources", "a_much_longer_name_of_a_field"])
ENTRIES = st.one_of(FLAT, st.dictionaries(NAMES, st.one_of(FLAT, st.lists(FLAT)), max_size=3))
VALUES = st.one_of(FLAT, st.lists(ENTRIES, max_size=3), st.dictionaries(NAMES, FLAT, max_size=2))


@settings(max_examples=600, deadline=None)
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_equals_the_dumper(mapping: dict[str, Any]) -> None:
    whole = yaml.dump(
        mapping, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False, width=100
    )
    assert front_matter(mapping) == whole


def test_equals_the_dumper_for_every_nasty_text_everywhere() -> None:
    for text in NASTY:
        for value in (text, [text], [{"to": text, "strength": 0.5}], {"to": text}):
            mapping = {"before": "x", "field": value, "after": 0.25}
            whole = yaml.dump(
                mapping, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False, width=100
            )
            assert front_matter(mapping) == whole, repr(value)
