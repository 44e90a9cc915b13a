import pytest

from braincore.code import DEDENT, INDENT, NEWLINE, find_fragment, tokens

SOURCE = '''\
import os

class A:
    def first(self, x):
        """Doc."""
        if x:  # why
            return os.path.join(
                x,
                "a  b",
            )
        y = 1
        return y

    def second(self):
        y = 1
        return y
'''


def texts(source: str, language: str = "python") -> list[str]:
    return [token.text for token in tokens(source, language)]


def find(fragment: str, source: str = SOURCE, language: str = "python") -> list[int]:
    return find_fragment(tokens(source, language), tokens(fragment, language))


def test_blocks_show_as_markers() -> None:
    assert texts("if x:\n  a\n  b\nc\n") == [
        *["if", "x", ":", INDENT, "a", NEWLINE, "b", DEDENT, "c"]
    ]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("f(a,b)", "f( a,\n   b )  # c"),
        ("if x: a; b\nc", "if x:\n    a\n    b\n\n# c\nc\n"),
        ("if x:\n\ta\n", "if x:\n  a"),
        ("x = 1 + \\\n  2", "x = 1 + 2"),
        ("def f(): pass", "def f():\r\n    pass\r\n"),
        ("try: a\nexcept E: b", "try:\n  a\nexcept E:\n  b"),
        ("if (lambda: 0)(): x", "if (lambda: 0)():\n x"),
        ("if lambda: 0: x", "if lambda: 0:\n x"),
        ("a;\nb", "a\nb"),
    ],
)
def test_layout_and_comments_do_not_show(left: str, right: str) -> None:
    assert texts(left) == texts(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("if x:\n    a\n    b\n", "if x:\n    a\nb\n"),
        ("if a:\n if b:\n  c\n d", "if a:\n if b:\n  c\nd"),
        ("return\nf()", "return f()"),
        ("'a'", '"a"'),
        ("f(a,)", "f(a)"),
        ("'a b'", "'a  b'"),
        ("match: int", "match:\n int"),
    ],
)
def test_what_means_something_else_differs(left: str, right: str) -> None:
    assert texts(left) != texts(right)


def test_a_string_is_one_token() -> None:
    source = "x = f'{a['b']}' + rb'''q\n'w'''"
    assert texts(source) == ["x", "=", "f'{a['b']}'", "+", "rb'''q\n'w'''"]


def test_ecma_strings_templates_and_regular_expressions_are_one_token() -> None:
    source = "x = `a${`b ${1}`} c` + /[/'\"]+/g // c\n+ 'it' /* d */"
    expected = ["x", "=", "`a${`b ${1}`} c`", "+", "/[/'\"]+/g", "+", "'it'"]
    assert texts(source, "typescript") == expected


def test_jsx_text_is_words() -> None:
    source = "const a = <b c='//'>don't\n   stop // it</b>; d"
    assert texts(source, "tsx") == [
        *["const", "a", "=", "<", "b", "c", "=", "'//'", ">", "don't", "stop", "it"],
        *["<", "/", "b", ">", ";", "d"],
    ]


def test_a_line_break_after_return_shows_in_javascript() -> None:
    assert texts("return // c\nx", "javascript") == ["return", NEWLINE, "x"]
    assert texts("return x", "javascript") == ["return", "x"]


def test_tokens_know_their_lines() -> None:
    assert [token.line for token in tokens("a\n\n# c\nb(\n1)", "python")] == [1, 4, 4, 4, 5, 5]
    assert [token.line for token in tokens("a\r\nb", "")] == [1, 2]


def test_a_language_without_grammar_has_words_and_punctuation() -> None:
    assert texts("foo->bar(1)  é", "") == ["foo", "-", ">", "bar", "(", "1", ")", "é"]
    assert texts("a b", "cobol") == ["a", "b"]


def test_bytes_are_decoded() -> None:
    assert tokens("é = 1".encode("utf-16"), "python") == tokens("é = 1", "python")


@pytest.mark.parametrize(
    ("fragment", "lines"),
    [
        ("y = 1\nreturn y", [11, 15]),
        ("        y = 1\n        return y\n", [11, 15]),
        ("y = 1\n        return y", [11, 15]),  # cut where the first line's indentation ends
        ('return os.path.join(x, "a  b",)', [7]),
        ('                x,\n                "a  b",\n            )\n        y = 1', [8]),
        ('x,\n    "a  b"', [8]),
        ("        if x:\n            return os.path.join(", [6]),
        ("    def second(self):\n        y = 1\n", [14]),
        ("return y\n\n    def second", [12]),
        ("y = 1\n    return y", [11, 15]),
        ("            )\n        y = 1", [10]),
        ("if x:\n    y = 1", []),
        ("return\ny", []),
        ("os.path.join(y", []),
        ("", []),
        ("  # only a comment\n", []),
    ],
)
def test_a_fragment_is_found_whatever_its_layout(fragment: str, lines: list[int]) -> None:
    assert find(fragment) == lines


def test_a_fragment_that_does_not_parse_is_found() -> None:
    source = "function f(a) {\n  if (a) {\n    return `x${a}`;\n  } else {\n    g(/'/);\n  }\n}\n"
    assert find("} else {\n g(\n/'/\n)", source, "javascript") == [4]
    assert find("return `x${a}`;\n}", source, "javascript") == [3]
    assert find("elif b:\n    c", "if a:\n    x\nelif b:\n    c\n") == [3]


def test_occurrences_do_not_overlap() -> None:
    assert find("a a", "a a a a a", "") == [1, 1]


def test_searching_is_linear() -> None:
    haystack = tokens("a\n" * 200_000 + "b", "")
    needle = tokens("a " * 50_000 + "b", "")
    assert find_fragment(haystack, needle) == [150_001]
