"""Patches: the `*** Begin Patch` envelope and unified diffs."""

import difflib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braincore.guard.overlay import ToolEdits
from braincore.guard.patch import apply_patch_edits, unified_diff_edits
from braincore.model.edits import Edit

TEXT = "import os\n\n\ndef f(a):\n    x = 1\n    return x\n\n\ndef g(a):\n    x = 1\n    return x\n"


def envelope(body: str, files: dict[str, str], cwd: str = "/repo") -> ToolEdits:
    text = f"*** Begin Patch\n{body}*** End Patch\n"
    return apply_patch_edits(text, root="/repo", cwd=cwd, read=files.get)


def unified(text: str, files: dict[str, str], strip: int = 1) -> ToolEdits:
    return unified_diff_edits(text, root="/repo", cwd="/repo", read=files.get, strip=strip)


def update(chunks: str, before: str) -> str | None:
    result = envelope(f"*** Update File: a.py\n{chunks}", {"a.py": before})
    if not result.edits:
        return None
    assert result.edits[0].path == "a.py"
    return result.edits[0].after


def test_add_delete_update_and_move() -> None:
    result = envelope(
        "*** Add File: new/n.py\n+x = 1\n+\n+y = 2\n"
        "*** Delete File: old.py\n"
        "*** Update File: a.py\n*** Move to: b/a.py\n@@\n-x\n+y\n"
        "*** Update File: /repo/c.py\n@@ def f\n z\n+w\n",
        {"old.py": "o\n", "a.py": "x\n", "c.py": "z\ndef f\nz\n"},
    )
    assert result.edits == (
        Edit("new/n.py", None, "x = 1\n\ny = 2\n"),
        Edit("old.py", "o\n", None),
        Edit("a.py", "x\n", None),
        Edit("b/a.py", None, "y\n"),
        Edit("c.py", "z\ndef f\nz\n", "z\ndef f\nz\nw\n"),
    )
    assert result.unknown == ()


@pytest.mark.parametrize(
    ("chunks", "before", "after"),
    [
        (" a\n-b\n+B\n c\n", "a\nb\nc\n", "a\nB\nc\n"),
        ("@@\n-b\n+B\n@@\n-d\n+D\n", "a\nb\nc\nd\n", "a\nB\nc\nD\n"),
        ("@@ def g(a):\n-    x = 1\n+    x = 2\n", TEXT, TEXT[:-27] + TEXT[-27:].replace("1", "2")),
        ("@@\n+new\n", "a\n", "a\nnew\n"),
        ("@@\n a\n+b\n*** End of File\n", "a\nx\na\n", "a\nx\na\nb\n"),
        ("@@\n a\n\n-b\n+c\n", "a\n\nb\n", "a\n\nc\n"),
        ("@@\n-a\n+b\n", "a", "b\n"),
        ("@@\n-a \n+b\n", "a   \n", "b\n"),
        ("@@\n-  a\n+b\n", "\ta\n", "b\n"),
        ("@@\n-a - 'b'\n+c\n", "a \u2013 \u2018b\u2019\n", "c\n"),
        ("@@\n a\n-b\n+c\n", "a\r\nb\r\nd\r\n", "a\r\nc\r\nd\r\n"),
        ("@@\n-a\n+b\n \n", "a\n", "b\n"),
        ("@@\n-absent\n+b\n", "a\n", None),
        ("@@ absent\n-a\n+b\n", "a\n", None),
        ("@@\n-b\n+B\n@@\n-a\n+A\n", "a\nb\n", None),
        ("junk\n", "a\n", None),
    ],
)
def test_chunks(chunks: str, before: str, after: str | None) -> None:
    assert update(chunks, before) == after


def test_exact_context_wins_over_forgiving() -> None:
    assert update("@@\n-a\n+b\n", "  a\na\n") == "  a\nb\n"


def test_a_file_that_does_not_apply_is_named_and_the_others_are_judged() -> None:
    result = envelope(
        "*** Update File: a.py\n@@\n-no\n+b\n*** Update File: gone.py\n@@\n-x\n+y\n"
        "*** Delete File: gone2.py\n*** Add File: b.py\n+b\n",
        {"a.py": "a\n"},
    )
    assert [edit.path for edit in result.edits] == ["b.py"]
    assert [reason.partition(":")[0] for reason in result.unknown] == [
        "a.py",
        "gone.py",
        "gone2.py",
    ]


def test_paths_are_seen_from_the_working_folder() -> None:
    result = envelope("*** Add File: n.py\n+1\n*** Add File: ../../x\n+1\n", {}, cwd="/repo/src")
    assert result == ToolEdits((Edit("src/n.py", None, "1\n"),), ("/x",))


def test_the_envelope_may_be_wrapped_or_have_crlf() -> None:
    body = "*** Begin Patch\r\n*** Update File: a.py\r\n@@\r\n-x\r\n+y\r\n"
    text = f"<<'EOF'\r\n{body}*** End Patch\r\nEOF"
    result = apply_patch_edits(text, root="/repo", cwd="/repo", read={"a.py": "x\n"}.get)
    assert result.edits == (Edit("a.py", "x\n", "y\n"),)
    no_end = apply_patch_edits(body, root="/repo", cwd="/repo", read={"a.py": "x\n"}.get)
    assert no_end.edits == result.edits
    assert apply_patch_edits("", root="/repo", cwd="/repo", read={}.get).unknown


def test_git_creates_deletes_renames_and_copies() -> None:
    result = unified(
        "diff --git a/n.py b/n.py\nnew file mode 100644\nindex 000..111\n"
        "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        "diff --git a/e.py b/e.py\nnew file mode 100644\nindex 000..e69\n"
        "diff --git a/d.py b/d.py\ndeleted file mode 100644\n"
        "--- a/d.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/z.py b/z.py\ndeleted file mode 100644\nindex e69..000\n"
        "diff --git a/r.py b/s t.py\nsimilarity index 100%\nrename from r.py\nrename to s t.py\n"
        "diff --git a/p.py b/q.py\nsimilarity index 50%\nrename from p.py\nrename to q.py\n"
        "--- a/p.py\n+++ b/q.py\n@@ -1 +1 @@\n-x\n+y\n"
        "diff --git a/c.py b/k.py\ncopy from c.py\ncopy to k.py\n"
        "diff --git a/m.py b/m.py\nold mode 100644\nnew mode 100755\n",
        {"d.py": "x\n", "z.py": "", "r.py": "r\n", "p.py": "x\n", "c.py": "c\n", "m.py": "m\n"},
    )
    assert set(result.edits) == {
        Edit("n.py", None, "a\nb\n"),
        Edit("e.py", None, ""),
        Edit("d.py", "x\n", None),
        Edit("z.py", "", None),
        Edit("r.py", "r\n", None),
        Edit("s t.py", None, "r\n"),
        Edit("p.py", "x\n", None),
        Edit("q.py", None, "y\n"),
        Edit("k.py", None, "c\n"),
    }
    assert result.unknown == ()


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (r'"a/caf\303\251.py"', r'"b/caf\303\251.py"', "café.py"),
        (r'"a/BOSS\350\241\200.lua"', r'"b/BOSS\350\241\200.lua"', "BOSS血.lua"),
        (r'"a/q\"\\\t.py"', r'"b/q\"\\\t.py"', 'q"\\\t.py'),
        ("a/a -> b.py", "b/a -> b.py", "a -> b.py"),
        ("a/two words.py\t", "b/two words.py\t", "two words.py"),
        ("a/dir/x.py\t2026-01-01 00:00:00", "b/dir/x.py\t2026-01-01 00:00:00", "dir/x.py"),
        ("x.py", "x.py", "x.py"),
        ("dir/x.py", "dir/x.py", "dir/x.py"),
        ("x.py.orig", "x.py", "x.py"),
    ],
)
def test_names(old: str, new: str, path: str) -> None:
    result = unified(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n", {path: "x\n"})
    assert result == ToolEdits((Edit(path, "x\n", "y\n"),))
    header = f"diff --git {old.partition(chr(9))[0]} {new.partition(chr(9))[0]}\n"
    if old.startswith(("a/", '"a/')):
        again = unified(f"{header}--- {old}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n", {path: "x\n"})
        assert again == result
        emptied = unified(f"{header}deleted file mode 100644\n", {path: ""})
        assert emptied == ToolEdits((Edit(path, "", None),))


def test_strip() -> None:
    text = "--- p/q/x.py\n+++ p/q/x.py\n@@ -1 +1 @@\n-x\n+y\n"
    assert unified(text, {"x.py": "x\n"}, strip=2).edits[0].path == "x.py"
    assert unified(text, {"p/q/x.py": "x\n"}, strip=0).edits[0].path == "p/q/x.py"


def test_offsets_drift_and_line_ends() -> None:
    before = "".join(f"{n}\n" for n in range(40))
    shifted = "new\n" * 7 + before
    hunks = "@@ -5,3 +5,2 @@\n 4\n-5\n 6\n@@ -30,3 +29,4 @@\n 29\n 30\n+x\n 31\n"
    result = unified(f"--- a/f\n+++ b/f\n{hunks}", {"f": shifted})
    assert result.edits[0].after == shifted.replace("\n5\n", "\n", 1).replace("30\n", "30\nx\n")
    crlf = shifted.replace("\n", "\r\n")
    result = unified(f"--- a/f\n+++ b/f\n{hunks}", {"f": crlf})
    assert result.edits[0].after == crlf.replace("\n5\r\n", "\n", 1).replace(
        "30\r\n", "30\r\nx\r\n"
    )


def test_no_newline_at_the_end_of_the_file() -> None:
    text = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n"
    assert unified(text, {"f": "x"}).edits == (Edit("f", "x", "y\n"),)
    text = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"
    assert unified(text, {"f": "x\n"}).edits == (Edit("f", "x\n", "y"),)


def test_lines_that_look_like_headers_are_lines() -> None:
    text = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n y\n"
    text += "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n"
    result = unified(text, {"f": "-- a/x\ny\n", "g": "1\n"})
    assert result.edits == (Edit("f", "-- a/x\ny\n", "++ b/x\ny\n"), Edit("g", "1\n", "2\n"))


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n", {"f": "z\n"}),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n", {}),
        ("--- a/f\n+++ b/f\n@@ -1,3 +1 @@\n-x\n+y\n", {"f": "x\n"}),
        ("--- a/f\n+++ b/f\n@@ what @@\n-x\n+y\n", {"f": "x\n"}),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n", {"f": "x\n"}),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", {"f": "x\nmore\n"}),
        ("diff --git a/f b/f\nBinary files a/f and b/f differ\n", {"f": "x"}),
        ("hello\n", {"f": "x"}),
    ],
)
def test_what_does_not_apply_is_said(text: str, files: dict[str, str]) -> None:
    result = unified(text, files)
    assert result.edits == ()
    assert len(result.unknown) == 1


LINES = st.lists(st.sampled_from(["a", "b", "", "- x", "+ y", "@@ -1 +1 @@", "é", "\\ x", "c\r"]))
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + ("\n" if end and lines else ""), LINES, st.booleans()
)


def diff_of(before: str, after: str) -> str:
    def lines(text: str) -> list[str]:
        return re.findall(r"[^\n]*\n|[^\n]+", text)

    parts = difflib.unified_diff(lines(before), lines(after), "a/dir/f.py", "b/dir/f.py")
    return "".join(
        part if part.endswith("\n") else part + "\n\\ No newline at end of file\n" for part in parts
    )


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_the_diff_of_two_texts_leads_from_one_to_the_other(before: str, after: str) -> None:
    # Line ends of the file's own kind are given to what is added, so both have to be LF here.
    before, after = before.replace("c\r\n", "c\rd\n"), after.replace("c\r\n", "c\rd\n")
    result = unified(diff_of(before, after), {"dir/f.py": before})
    if before == after:
        assert result.edits == ()
    else:
        assert result == ToolEdits((Edit("dir/f.py", before, after),))


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=50))
def test_never_raises(patch: str, before: str) -> None:
    files = {"f": before}
    unified(patch, files)
    unified(f"--- a/f\n+++ b/f\n{patch}", files)
    envelope(patch, files)
    envelope(f"*** Update File: f\n{patch}", files)
