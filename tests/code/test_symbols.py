"""Files that are broken, huge, deep or oddly encoded."""

import pytest

from braincore.code import LANGUAGES, extract
from braincore.model.symbols import FileSymbols


def names(found: FileSymbols) -> list[str]:
    return [one.qualified_name for one in found.symbols]


def python(source: str | bytes) -> FileSymbols:
    return extract("a.py", source if isinstance(source, bytes) else source.encode(), "python")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_file_holds_nothing(language: str) -> None:
    assert extract("a", b"", language) == FileSymbols("a", language, (), ())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def a():\n    return (1,\n\ndef b():\n    x\n\nclass C:\n    K = 1\n", ["a", "b", "C"]),
        ("x = (\n\ndef b():\n    x\nY = 3\ndef c(): pass\n", ["b", "Y", "c"]),
        ('def a():\n    x = """abc\n\ndef b():\n    pass\n', ["a", "b"]),
        (
            "def a(:\n    pass\nclass K:\n    def z(self)\n        pass\n    def y(self): pass\n"
            "def b():\n    pass\n",
            ["K", "K.y", "b"],
        ),
        (
            "class C:\n    def m(self):\n        foo(\n    def n(self):\n        pass\ndef d(): 1",
            ["C", "C.m", "C.n", "d"],
        ),
    ],
    ids=["bracket", "module", "string", "head", "method"],
)
def test_a_syntax_error_costs_one_definition_at_most(source: str, expected: list[str]) -> None:
    found = python(source)
    assert found.has_error
    assert set(expected) <= set(names(found))


def test_a_syntax_error_in_javascript_costs_one_definition_at_most() -> None:
    source = (
        b"function a() {\n  if (x {\n}\n\nclass C {\n  m() {\n    if (y) {\n  }\n  n() {\n"
        b"    return 1;\n  }\n}\n\nexport function d() {}\nconst e = () => 1;\n"
    )
    for language in ("javascript", "typescript", "tsx"):
        found = extract("a", source, language)
        assert found.has_error
        assert names(found) == ["a", "C", "C.m", "C.n", "d", "e"]


def test_a_syntax_error_before_every_definition_costs_itself() -> None:
    source = '"""Doc\n(of the\nmodule."""\n\nx = [(\ny = "\nLIMIT = 1\n\ndef a(): pass\n'
    assert names(python(source)) == ["LIMIT", "a"]


def test_a_mended_file_keeps_its_offsets() -> None:
    source = "def a():\n    return (1,\n\n\ndef b():\n    x()\n"
    found = python(source)
    b = found.symbols[-1]
    assert source.encode()[b.start_byte : b.end_byte] == b"def b():\n    x()"
    assert (b.first_line, b.last_line) == (5, 6)
    assert [(one.source, one.target, one.line) for one in found.references] == [("b", "x", 6)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_an_encoding_changes_no_identity(encoding: str) -> None:
    source = "class É:\n    def é(self, a):\n        return 'ü'\n"
    found = python(source.encode(encoding))
    assert names(found) == ["É", "É.é"]
    assert found == python(source)


def test_line_endings_change_no_identity() -> None:
    source = 'def f():\n    if x:\n        """a\n        b"""\n\n\nclass A:\n    pass\n'
    unix, dos = python(source).symbols, python(source.replace("\n", "\r\n")).symbols
    assert [(one.node_id, one.body_hash, one.last_line) for one in unix] == [
        (one.node_id, one.body_hash, one.last_line) for one in dos
    ]


def test_nul_bytes_do_not_end_the_file() -> None:
    found = python(b"def a(): pass\n\0\0def b(): pass\ndef c(): pass\n")
    assert names(found) == ["a", "b", "c"]
    assert found.has_error


def test_lines_and_bytes_include_decorators() -> None:
    source = b"x = 1\n\n@d\n@e\ndef f():\n    pass\n\n\ny = 2\n"
    one = python(source).symbols[0]
    assert (one.first_line, one.last_line) == (3, 6)
    assert source[one.start_byte : one.end_byte] == b"@d\n@e\ndef f():\n    pass"


def test_conditional_and_nested_definitions() -> None:
    found = python(
        "try:\n    import a\n    def f(): 1\nexcept E:\n    LIMIT = 2\n    def f(): 2\n"
        "class A:\n    class B:\n        async def m(self):\n            class C: pass\n"
        "    if x:\n        def n(self): pass\n"
    )
    assert [(one.kind, one.qualified_name) for one in found.symbols] == [
        *[("function", "f"), ("constant", "LIMIT"), ("function", "f"), ("class", "A")],
        *[("class", "A.B"), ("method", "A.B.m"), ("class", "A.B.m.C"), ("method", "A.n")],
    ]


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("x = " + "(" * 5000 + "1" + ")" * 5000, "python"),
        ("x = " + "(" * 5000, "python"),
        ("f(" * 5000 + ")" * 5000, "python"),
        ("f()" + ".g()" * 5000, "python"),
        ("".join(" " * depth + "if x:\n" for depth in range(5000)) + " " * 5000 + "y", "python"),
        ("if (x) {" * 5000 + "}" * 5000, "javascript"),
        ("<a>" * 5000 + "</a>" * 5000, "tsx"),
        ("type A = " + "[" * 5000 + "]" * 5000, "typescript"),
    ],
    ids=["parens", "open", "calls", "chain", "ifs", "blocks", "elements", "types"],
)
def test_deep_nesting_is_read(source: str, language: str) -> None:
    tail = "\ndef last(): pass\n" if language == "python" else "\nfunction last() {}\n"
    assert "last" in names(extract("a", (source + tail).encode(), language))


def test_twenty_thousand_symbols() -> None:
    source = "".join(f"def f{i % 10000}(a, b=1):\n    return g(a)\n" for i in range(20000))
    found = python(source)
    assert len({one.node_id for one in found.symbols}) == 20000
    assert len(found.references) == 20000
