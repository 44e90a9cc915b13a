"""What an edit touches: lines, and definitions whose callers may break."""

from hypothesis import given
from hypothesis import strategies as st

from braincore.code import extract
from braincore.guard.touched import broken_signatures, changed_lines, defined_on
from braincore.model.edits import Edit

BEFORE = "def load(path):\n    return path\n\n\ndef save(path, data):\n    return data\n"


def broken(after: str) -> list[str]:
    one = extract("a.py", BEFORE.encode(), "python").symbols
    two = extract("a.py", after.encode(), "python").symbols
    return [s.qualified_name for s in broken_signatures(one, two)]


def test_changed_lines_are_those_of_the_text_before() -> None:
    assert changed_lines(Edit("a.py", BEFORE, BEFORE.replace("return data", "return 1"))) == {6}
    assert changed_lines(Edit("a.py", BEFORE, BEFORE)) == set()
    assert changed_lines(Edit("a.py", "a\nb\n", "a\nx\nb\n")) == {2}
    assert changed_lines(Edit("a.py", None, "a\n")) == {1}


def defined(before: str, after: str, path: str = "a.py") -> set[str]:
    edit = Edit(path, before, after)
    return defined_on(edit, changed_lines(edit))


def test_only_a_changed_definition_is_worth_parsing() -> None:
    assert defined(BEFORE, BEFORE.replace("return data", "return 1")) == set()
    assert defined(BEFORE, BEFORE.replace("path, data", "path")) == {"save"}
    assert defined("    async def f(\n        a,\n    ): ...\n", "") == {"f"}
    script = "export async function load(a: string) {\n  return a\n}\nclass A {\n  get size() {\n"
    assert defined(script, "", "a.ts") == {"load", "A", "size"}


def test_a_parameter_less_or_a_function_less_breaks_callers() -> None:
    assert broken(BEFORE) == []
    assert broken(BEFORE.replace("return data", "return 1")) == []
    assert broken(BEFORE.replace("(path, data)", "(path)")) == ["save"]
    assert broken("def load(path):\n    return path\n") == ["save"]
    assert broken(BEFORE + "\n\ndef more():\n    pass\n") == []


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_changed_lines_lie_in_the_text_or_right_behind_it(one: list[str], two: list[str]) -> None:
    edit = Edit("x", "\n".join(one), "\n".join(two))
    found = changed_lines(edit)
    assert all(1 <= n <= len(one) + 1 for n in found)
    assert bool(found) == (one != two)
