"""edits_of against what the clients really send, and against what they might."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.guard.tools import ToolEdits, edits_of
from braincore.model.edits import Edit

FIXTURES = Path(__file__).parent.parent / "fixtures" / "clients"
BEFORE = "import os\n\n\ndef f():\n    x = 1\n    return x\n"
AFTER = BEFORE.replace("x = 1", "x = 2")
CHANGE = Edit("src/a.py", BEFORE, AFTER)


def call(
    tool: str, fields: Mapping[str, object], files: Mapping[str, str], cwd: str = "/repo"
) -> ToolEdits:
    return edits_of(tool, fields, root="/repo", cwd=cwd, read=files.get)


def notebook(*cells: tuple[str, str], language: str = "python") -> str:
    return json.dumps(
        {
            "cells": [
                {"id": f"c{n}", "cell_type": kind, "source": source.splitlines(keepends=True)}
                for n, (kind, source) in enumerate(cells)
            ],
            "metadata": {"kernelspec": {"language": language}},
        }
    )


EVENTS = sorted(
    path
    for client in ("claude", "codex", "gemini")
    for pattern in ("PreToolUse.*.json", "BeforeTool.*.json")
    for path in (FIXTURES / client).glob(pattern)
)
FILES = {
    "a.py": "x = 1\n",
    "ok.py": "x = 1\n",
    "protected.py": "x = 1\n",
    "n.ipynb": notebook(("markdown", "# t"), ("code", "x=1")),
}
EXPECTED = {
    "claude/PreToolUse.Bash": Edit("a.py", "x = 1\n", "x = 2\n"),
    "claude/PreToolUse.Edit": Edit("protected.py", "x = 1\n", "x = 2\n"),
    "claude/PreToolUse.MultiEdit": Edit("a.py", "x = 1\n", "x = 2\n"),
    "claude/PreToolUse.NotebookEdit": Edit("n.ipynb", "x=1", "x=2"),
    "claude/PreToolUse.Write": Edit("a.py", "x = 1\n", "x = 2\n"),
    "codex/PreToolUse.Bash": Edit("protected.py", "x = 1\n", "x = 2\n"),
    "codex/PreToolUse.apply_patch": Edit("protected.py", "x = 1\n", "x = 2\n"),
    "gemini/BeforeTool.replace": Edit("protected.py", "x = 1\n", "x = 2\n"),
}


def test_there_are_fixtures() -> None:
    names = {f"{path.parent.name}/{path.stem}" for path in EVENTS}
    assert names >= set(EXPECTED) | {"claude/PreToolUse.Read", "gemini/BeforeTool.mcp_tiny_recall"}


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_fixture(path: Path) -> None:
    event = json.loads(path.read_text())["stdin"]
    result = call(event["tool_name"], event["tool_input"], FILES, event["cwd"])
    edit = EXPECTED.get(f"{path.parent.name}/{path.stem}")
    assert result == ToolEdits(() if edit is None else (edit,))


EDIT = {"old_string": "x = 1", "new_string": "x = 2"}
HUNK = "-    x = 1\n+    x = 2\n     return x\n"
ENVELOPE = f"*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n{HUNK}*** End Patch\n"
DIFF = f"--- a/src/a.py\n+++ b/src/a.py\n@@ -2,5 +2,5 @@\n \n \n def f():\n{HUNK}"
WAYS: list[tuple[str, dict[str, object]]] = [
    ("Edit", {"file_path": "/repo/src/a.py", **EDIT}),
    ("Edit", {"file_path": "src/a.py", **EDIT, "replace_all": True}),
    ("Write", {"file_path": "/repo/src/a.py", "content": AFTER}),
    ("MultiEdit", {"file_path": "/repo/src/a.py", "edits": [EDIT]}),
    (
        "MultiEdit",
        {
            "file_path": "/repo/src/a.py",
            "edits": [
                {"old_string": "x = 1", "new_string": "y = 1"},
                {"old_string": "y = 1", "new_string": "x = 2"},
            ],
        },
    ),
    ("replace", {"file_path": "/repo/src/a.py", **EDIT, "expected_replacements": 1}),
    (
        "replace",
        {
            "file_path": "src/a.py",
            "old_string": "x = 1\n  return x",
            "new_string": "x = 2\nreturn x",
        },
    ),
    ("write_file", {"file_path": "src/a.py", "content": AFTER}),
    ("edit", {"filePath": "/repo/src/a.py", "oldString": "x = 1", "newString": "x = 2"}),
    ("write", {"filePath": "/repo/src/../src/a.py", "content": AFTER}),
    ("apply_patch", {"command": ENVELOPE}),
    ("apply_patch", {"input": ENVELOPE}),
    ("patch", {"patchText": ENVELOPE}),
    ("Bash", {"command": f"apply_patch <<'EOF'\n{ENVELOPE}EOF\n"}),
    ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{ENVELOPE}EOF\n"]}),
    ("shell", {"command": ["apply_patch", ENVELOPE]}),
    ("exec_command", {"cmd": "sed -i 's/x = 1/x = 2/' a.py", "workdir": "/repo/src"}),
    ("run_shell_command", {"command": "sed -i -e '/^def f/,$s/1$/2/' a.py", "directory": "src"}),
    ("Bash", {"command": "sed -i '' 's/x = 1/x = 2/' src/a.py"}),
    ("Bash", {"command": f"cat > src/a.py <<'EOF'\n{AFTER}EOF\n"}),
    ("Bash", {"command": f"cd src && cat <<EOF > a.py\n{AFTER}EOF\n"}),
    ("Bash", {"command": f"cat <<'EOF' | tee src/a.py\n{AFTER}EOF\n"}),
    ("Bash", {"command": f"printf '%s' {shlex.quote(AFTER)} > src/a.py"}),
    ("Bash", {"command": f"echo {shlex.quote(AFTER[:-1])} > /repo/src/a.py"}),
    ("Bash", {"command": f"git apply <<'EOF'\n{DIFF}EOF\n"}),
    ("Bash", {"command": f"patch -p1 <<'EOF'\n{DIFF}EOF\n"}),
    ("Bash", {"command": f"cat > /tmp/d <<'EOF'\n{DIFF}EOF\ngit apply /tmp/d"}),
    ("Bash", {"command": "perl -pi -e 's/x = 1/x = 2/' src/a.py"}),
    ("Bash", {"command": "sed 's/x = 1/x = 2/' src/a.py > t && mv t src/a.py"}),
    ("Bash", {"command": "bash -c \"sed -i 's/x = 1/x = 2/' src/a.py\""}),
    ("Bash", {"command": "for f in src/a.py; do sed -i 's/x = 1/x = 2/' $f; done"}),
]


@pytest.mark.parametrize(("tool", "fields"), WAYS)
def test_every_way_to_write_is_the_same_edit(tool: str, fields: dict[str, object]) -> None:
    assert call(tool, fields, {"src/a.py": BEFORE}).edits == (CHANGE,)


@pytest.mark.parametrize(
    "tool",
    ["Read", "TodoWrite", "WebFetch", "mcp__tiny__write", "mcp_tiny_recall", "Task", "", "Grep"],
)
def test_tools_that_write_no_files_are_answered_at_once(tool: str) -> None:
    def read(path: str) -> str | None:
        raise AssertionError(path)

    fields = {"file_path": "/repo/a.py", "content": "x", "command": "rm a.py"}
    assert edits_of(tool, fields, root="/repo", cwd="/repo", read=read) == ToolEdits()


@pytest.mark.parametrize(
    ("old", "new", "every", "before", "after"),
    [
        ("x", "y", False, "x x", None),
        ("x", "y", True, "x x", "y y"),
        ("absent", "y", False, "x", None),
        ("x", "x", False, "x", None),
        ("", "new", False, None, "new"),
        ("", "new", False, "", "new"),
        ("", "new", False, "x", None),
        ("x", "y", False, None, None),
        ("a\nb", "a\nc\nd", False, "a\r\nb\r\n", "a\r\nc\r\nd\r\n"),
        ("b", "b\nc", False, "a\r\nb\r\n", "a\r\nb\r\nc\r\n"),
        ("a\r\nb", "c", False, "a\r\nb\r\n", "c\r\n"),
        ("c\nd", "e", False, "a\r\nc\nd", "a\r\ne"),
        ('"a"', '"b"', False, "x = \u201ca\u201d", 'x = "b"'),
        ("  x", "y", False, "x", None),
    ],
)
def test_edit(old: str, new: str, every: bool, before: str | None, after: str | None) -> None:
    files = {} if before is None else {"f": before}
    fields = {"file_path": "f", "old_string": old, "new_string": new, "replace_all": every}
    expected = () if after is None else (Edit("f", before, after),)
    assert call("Edit", fields, files) == ToolEdits(expected)


def test_multi_edit_is_all_or_nothing() -> None:
    edits = [EDIT, {"old_string": "absent", "new_string": "y"}]
    fields = {"file_path": "src/a.py", "edits": edits}
    assert call("MultiEdit", fields, {"src/a.py": BEFORE}) == ToolEdits()
    edits = [{"old_string": "", "new_string": "a\n"}, {"old_string": "a", "new_string": "b"}]
    fields = {"file_path": "n.py", "edits": edits}
    assert call("MultiEdit", fields, {}).edits == (Edit("n.py", None, "b\n"),)


def test_gemini_replaces_as_many_as_it_expects() -> None:
    fields: dict[str, object] = {"file_path": "f", "old_string": "x", "new_string": "y"}
    assert call("replace", fields, {"f": "x x"}) == ToolEdits()
    expected = ToolEdits((Edit("f", "x x", "y y"),))
    assert call("replace", {**fields, "expected_replacements": 2}, {"f": "x x"}) == expected
    assert call("replace", {**fields, "expected_replacements": 3}, {"f": "x x"}) == ToolEdits()
    assert call("replace", {**fields, "allow_multiple": True}, {"f": "x x"}) == expected
    assert call("replace", fields, {"f": "z"}).unknown


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        ({"cell_id": "c1", "new_source": "x = 2"}, "x = 2\n\n# %magic\nz"),
        ({"cell_id": "cell-1", "new_source": "x = 2"}, "x = 2\n\n# %magic\nz"),
        ({"cell_id": "c1", "new_source": "", "edit_mode": "delete"}, "# %magic\nz"),
        ({"cell_id": "c1", "new_source": "n", "edit_mode": "insert"}, "x = 1\n\nn\n\n# %magic\nz"),
        (
            {"new_source": "n", "edit_mode": "insert", "cell_type": "code"},
            "n\n\nx = 1\n\n# %magic\nz",
        ),
        ({"cell_id": "c1", "new_source": "n", "cell_type": "markdown"}, "# %magic\nz"),
        ({"cell_id": "c0", "new_source": "text"}, None),
    ],
)
def test_notebook_edit(fields: dict[str, object], after: str | None) -> None:
    raw = notebook(("markdown", "# t"), ("code", "x = 1"), ("code", "%magic\nz"))
    result = call("NotebookEdit", {"notebook_path": "/repo/n.ipynb", **fields}, {"n.ipynb": raw})
    before = "x = 1\n\n# %magic\nz"
    assert result == ToolEdits(() if after is None else (Edit("n.ipynb", before, after),))


def test_a_notebook_is_its_code_whatever_writes_it() -> None:
    raw = notebook(("code", "x = 1"))
    new = notebook(("code", "x = 2"))
    expected = ToolEdits((Edit("n.ipynb", "x = 1", "x = 2"),))
    assert call("Write", {"file_path": "n.ipynb", "content": new}, {"n.ipynb": raw}) == expected
    assert (
        call("Bash", {"command": "sed -i 's/x = 1/x = 2/' n.ipynb"}, {"n.ipynb": raw}) == expected
    )
    created = call("Write", {"file_path": "n.ipynb", "content": new}, {})
    assert created.edits == (Edit("n.ipynb", None, "x = 2"),)


@pytest.mark.parametrize(
    ("fields", "files", "said"),
    [
        ({"cell_id": "c9", "new_source": "x"}, {"n.ipynb": notebook()}, True),
        (
            {"cell_id": "c0", "new_source": "x", "edit_mode": "?"},
            {"n.ipynb": FILES["n.ipynb"]},
            True,
        ),
        ({"cell_id": "c0", "new_source": "x"}, {"n.ipynb": "not json"}, True),
        ({"cell_id": "c0", "new_source": "x"}, {"n.ipynb": "[" * 100_000}, True),
        ({"cell_id": "c0", "new_source": "x"}, {"n.ipynb": "[]"}, True),
        ({"cell_id": "c0", "new_source": "x"}, {}, False),
        (
            {"cell_id": "c0", "new_source": "y"},
            {"n.ipynb": notebook(("code", "x"), language="R")},
            True,
        ),
    ],
)
def test_notebooks_that_cannot_be_judged(
    fields: dict[str, object], files: dict[str, str], said: bool
) -> None:
    result = call("NotebookEdit", {"notebook_path": "n.ipynb", **fields}, files)
    assert result.edits == ()
    assert bool(result.unknown) is said


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("Edit", {}),
        ("Edit", {"file_path": "f", "old_string": 1, "new_string": "x"}),
        ("Edit", {"file_path": ["f"], "old_string": "x", "new_string": "y"}),
        ("Edit", {"file_path": "", "old_string": "x", "new_string": "y"}),
        ("Edit", {"file_path": "a\0b", "old_string": "x", "new_string": "y"}),
        ("MultiEdit", {"file_path": "f"}),
        ("MultiEdit", {"file_path": "f", "edits": ["x"]}),
        ("Write", {"file_path": "f"}),
        ("NotebookEdit", {"notebook_path": "f.ipynb", "new_source": "x", "cell_id": 3}),
        ("apply_patch", {"command": 3}),
        ("Bash", {"command": None}),
        ("Bash", {"command": ["rm", 1]}),
    ],
)
def test_input_of_another_shape_is_said(tool: str, fields: dict[str, object]) -> None:
    result = call(tool, fields, {})
    assert result.edits == ()
    assert len(result.unknown) == 1


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a.py", "src/a.py"),
        ("./../a.py", "a.py"),
        ("/repo//src/./a.py", "src/a.py"),
        ("//repo/a.py", "a.py"),
        ("~/a.py", "src/~/a.py"),
        ("dir\\a.py", "src/dir\\a.py"),
        ("cafe\u0301.py", "src/cafe\u0301.py"),
        ("caf\u00e9.py", "src/caf\u00e9.py"),
        ("../../other/a.py", None),
        ("/repository/a.py", None),
        ("C:\\repo\\a.py", None),
    ],
)
def test_paths(path: str, inside: str | None) -> None:
    result = call("Write", {"file_path": path, "content": "x"}, {}, cwd="/repo/src")
    if inside is None:
        assert result.edits == ()
        assert len(result.outside) == 1
    else:
        assert result == ToolEdits((Edit(inside, None, "x"),))


@pytest.mark.parametrize(
    "path", ["C:\\Users\\me\\repo\\src\\a.py", "c:/Users/me/repo/src/a.py", "src/a.py"]
)
def test_windows_paths(path: str) -> None:
    root = "C:\\Users\\me\\repo"
    fields = {"file_path": path, "content": "x"}
    result = edits_of("Write", fields, root=root, cwd=root, read={}.get)
    assert result == ToolEdits((Edit("src/a.py", None, "x"),))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = """file_path filePath old_string new_string content command edits cwd input notebook_path
cell_id new_source edit_mode expected_replacements replace_all"""
FIELDS = st.sampled_from(NAMES.split())
TOOL_NAMES = """Edit MultiEdit Write NotebookEdit apply_patch Bash shell replace write_file edit
write exec_command Read mcp__x__y"""
TOOLS = st.sampled_from(TOOL_NAMES.split())


@settings(deadline=None)
@given(TOOLS, st.dictionaries(FIELDS, JSON), st.text() | st.none())
def test_never_raises(tool: str, fields: dict[str, object], content: str | None) -> None:
    result = edits_of(tool, fields, root="/repo", cwd="/repo", read=lambda path: content)
    assert all(edit.before != edit.after for edit in result.edits)
