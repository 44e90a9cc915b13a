"""A fragment that broke is told again whatever its layout, and only when an edit brings it back."""

import pytest

from braincore.guard.negative import MIN_TOKENS, Armed, brought_back, solid_tokens
from braincore.model.axes import Severity
from braincore.model.edits import Edit

FRAGMENT = "    handle = open(path)\n    return handle.read(), handle\n"
BROKEN = f"def load(path):\n{FRAGMENT}"
FIXED = "def load(path):\n    with open(path) as handle:\n        return handle.read()\n"


def armed(places: tuple[str, ...] = ("leak.py",), text: str = FRAGMENT) -> Armed:
    return Armed("failure-1", "Leak", "no close", "with open", "commit:abc", "python", places, text)


COMMENTED = BROKEN.replace("(path)\n    ", "(path)  # quick\n\n    ")
OVER_LINES = BROKEN.replace("open(path)", "open(\n        path\n    )")
DEEPER = "class Loader:\n" + "".join(f"    {line}\n" for line in BROKEN.splitlines())


@pytest.mark.parametrize(
    "after",
    [
        BROKEN,
        BROKEN.replace("    ", "\t"),
        BROKEN.replace("\n", "\r\n"),
        COMMENTED,
        OVER_LINES,
        DEEPER,
    ],
    ids=["exact", "tabs", "crlf", "comment and blank line", "broken over lines", "indented deeper"],
)
def test_it_is_told_again_whatever_the_layout(after: str) -> None:
    found = brought_back(Edit("leak.py", FIXED, after), "python", [armed()])
    assert [f.severity for f in found] == [Severity.HIGH]
    assert found[0].line >= 2
    assert "with open" in found[0].repair


@pytest.mark.parametrize(
    "after",
    [
        FIXED,
        BROKEN.replace("open(path)", "open(name)"),
        BROKEN.replace("handle.read(), handle", "handle.read()"),
        f'"""{BROKEN}"""\n',
        "".join(f"# {line}\n" for line in BROKEN.splitlines()),
    ],
    ids=["the fix", "another name", "a part", "in a string", "in comments"],
)
def test_other_code_is_not_it(after: str) -> None:
    assert brought_back(Edit("leak.py", FIXED, after), "python", [armed()]) == []


def test_what_the_file_already_had_is_not_held_against_the_edit() -> None:
    legacy = BROKEN + "\n\nx = 1\n"
    assert brought_back(Edit("leak.py", legacy, legacy + "y = 2\n"), "python", [armed()]) == []
    twice = legacy + BROKEN.replace("load", "load_again")
    found = brought_back(Edit("leak.py", legacy, twice), "python", [armed()])
    assert [f.line for f in found] == [8]


def test_in_another_place_it_warns_and_of_unknown_place_it_blocks() -> None:
    edit = Edit("other.py", None, BROKEN)
    assert brought_back(edit, "python", [armed()])[0].severity is Severity.MEDIUM
    assert brought_back(edit, "python", [armed(places=())])[0].severity is Severity.HIGH


def test_a_deleted_file_or_another_language_brings_nothing_back() -> None:
    assert brought_back(Edit("leak.py", BROKEN, None), "python", [armed()]) == []
    assert brought_back(Edit("leak.ts", None, BROKEN), "typescript", [armed()]) == []


def test_a_fragment_without_grammar_is_compared_by_words() -> None:
    one = Armed("f", "t", "w", "x", "commit:a", "", ("deploy.cfg",), "retries = 0 # forever\n")
    edit = Edit("deploy.cfg", "retries = 3\n", "[net]\nretries   =  0   # forever\n")
    assert len(brought_back(edit, "", [one])) == 1


def test_layout_does_not_count_as_tokens() -> None:
    assert solid_tokens("if x:\n    pass\n", "python") == 4 < MIN_TOKENS
    assert solid_tokens(FRAGMENT, "python") > MIN_TOKENS
