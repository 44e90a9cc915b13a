import pytest
import tree_sitter_language_pack

from braincore.code import LANGUAGES, extract, language_of, parser_for
from braincore.code.grammars import _grammar, symbol_query
from braincore.errors import GrammarMissing


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("a/b.pyi", "python"),
        ("A.PY", "python"),
        ("a.mjs", "javascript"),
        ("a.cjs", "javascript"),
        ("a.jsx", "javascript"),
        ("a.d.ts", "typescript"),
        ("a.mts", "typescript"),
        ("a.cts", "typescript"),
        ("a.tsx", "tsx"),
        ("Makefile", None),
        ("a.py/readme", None),
        (".py", None),
        ("a.pyc", None),
    ],
)
def test_the_extension_says_the_language(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_grammar_and_a_query(language: str) -> None:
    assert not parser_for(language).parse(b"").root_node.has_error
    assert symbol_query(language).pattern_count > 5


def test_a_language_without_grammar_is_an_error_not_zero_symbols() -> None:
    with pytest.raises(GrammarMissing, match="cobol"):
        extract("a.cbl", b"", "cobol")


def test_a_grammar_that_does_not_load_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(language: str) -> None:
        raise LookupError(language)

    monkeypatch.setattr(tree_sitter_language_pack, "get_language", broken)
    _grammar.cache_clear()
    symbol_query.cache_clear()
    with pytest.raises(GrammarMissing):
        extract("a.py", b"x = 1", "python")
