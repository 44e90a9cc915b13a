"""The words of texts: what is the same word, what is not, and what carries no content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.model.words import (
    clauses,
    content_words,
    exact_words,
    identifier_parts,
    identifiers,
    is_negation,
    name_key,
    phrase,
    proper_names,
    question_words,
    quoted,
    same_name,
    search_terms,
    statement_words,
    statements,
    stem,
    words,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The API listens", ["the", "api", "listens"]),
        ("getUserById", ["get", "user", "by", "id"]),
        ("HTTPServer", ["http", "server"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("auth.GetUser", ["auth", "get", "user"]),
        ("src/a-b.py::User", ["src", "a", "b", "py", "user"]),
        ("ASR1603", ["asr1603"]),
        ("v1 and v1.2.3", ["v1", "and", "1.2.3"]),
        ("30s 5min 10kb", ["30", "s", "5", "min", "10", "kb"]),
        ("utf8 k8s i18n", ["utf8", "k8s", "i18n"]),
        ("12:30 1,000 3.11", ["12:30", "1,000", "3.11"]),
        ("C C++ C#", ["c", "c++", "c#"]),
        ("Ann's don’t", ["ann", "don't"]),
        ("VUE Vue vue", ["vue", "vue", "vue"]),
        ("ＡＰＩ", ["api"]),
        ("数据库port端口", ["数据库", "port", "端口"]),
        ("", []),
        ("… — !", []),
    ],
)
def test_words(text: str, wanted: list[str]) -> None:
    assert words(text) == wanted


def test_signs_that_make_another_statement() -> None:
    assert statement_words("p < 5%, exit -1") == ["p", "<", "5", "%", "exit", "-", "1"]
    assert statement_words("a -> b, <div>, e-mail") == words("a -> b, <div>, e-mail")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("30 s", ["30", "second"]),
        ("30s", ["30", "second"]),
        ("30 seconds", ["30", "second"]),
        ("5 %", ["5", "percent"]),
        ("1,000", ["1000"]),
        ("two nodes", ["2", "nodes"]),
        ("s", ["s"]),
    ],
)
def test_numbers_and_units_have_one_spelling(text: str, wanted: list[str]) -> None:
    assert exact_words(text) == wanted


@pytest.mark.parametrize(
    ("one", "two"),
    [("listens", "listening"), ("stored", "store"), ("tokens", "token"), ("отчёты", "отчётов")],
)
def test_inflections_share_a_stem(one: str, two: str) -> None:
    assert stem(one) == stem(two)


@pytest.mark.parametrize(
    ("one", "two"), [("v1", "v2"), ("asr1603", "asr1605"), ("jest", "react"), ("30", "90")]
)
def test_stems_that_differ(one: str, two: str) -> None:
    assert stem(one) != stem(two)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("Vue", "VUE", True),
        ("ClickHouse", "clickhouse", True),
        ("GetUser", "get_user", True),
        ("staging port", "staging-port", True),
        ("v1_0", "v10", False),
        ("v1", "v2", False),
        ("ASR1603", "ASR1605", False),
        ("jest-native", "react-native", False),
        ("User", "Users", False),
        ("端口", "端口", True),
        ("端口", "密码", False),
        ("C++", "C", False),
    ],
)
def test_same_name(one: str, two: str, same: bool) -> None:
    assert same_name(one, two) is same


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("why did we choose Redis?", ["redis"]),
        ("show me the list of ports", ["ports"]),
        ("list the list endpoints", ["endpoints"]),
        ("what is the status of staging?", ["staging"]),
        ("the status page", ["status", "page"]),
        ("how long do tokens live in our project?", ["tokens", "live"]),
        ("the long tail", ["long", "tail"]),
        ("which project owns it", ["project", "owns"]),
        ("go version", ["go", "version"]),
        ("is it 30 s?", ["30", "s"]),
        ("what did we decide?", ["decide"]),
        ("why isn't it used", ["used"]),
        ("какой порт", ["порт"]),
    ],
)
def test_what_a_question_is_about(question: str, wanted: list[str]) -> None:
    assert question_words(question) == wanted


@pytest.mark.parametrize("word", ["not", "never", "isn't", "haven't", "cannot", "without", "не"])
def test_negations(word: str) -> None:
    assert is_negation(word)


@pytest.mark.parametrize("word", ["note", "knot", "nothing's", "can"])
def test_no_negations(word: str) -> None:
    assert not is_negation(word)


@pytest.mark.parametrize(
    ("one", "two", "share"),
    [
        ("staging port", "the port of staging", 1.0),
        ("GraphQL", "graphql", 1.0),
        ("graphql", "GraphQL", 1.0),
        ("GraphQL", "graph ql", 1.0),
        ("websocket", "web socket", 1.0),
        ("web socket", "websocket", 1.0),
        ("time out", "timeout", 1.0),
        ("ASR 1603", "ASR1603", 1.0),
        ("staging port", "production port", 0.5),
        ("30 s", "30 seconds", 1.0),
        ("30 s", "30 ms", 0.5),
        ("two nodes", "2 nodes", 1.0),
        ("数据库端口", "数据库的端口", 0.75),
        ("数据库端口", "数据库密码", 0.5),
        ("", "anything", 0.0),
        ("the of", "the of", 0.0),
    ],
)
def test_shares(one: str, two: str, share: float) -> None:
    assert phrase(one).share(phrase(two).bag) == pytest.approx(share)


def test_a_phrase_of_kept_words_only() -> None:
    kept = phrase("which port does staging use", ("port", "staging"))
    assert kept.share(phrase("staging port").bag) == 1.0
    assert kept.missing(phrase("port").bag).share(phrase("staging").bag) == 1.0
    assert kept.without(frozenset(["port"])).share(phrase("staging").bag) == 1.0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("see auth.GetUser and get_user", ["auth.GetUser", "get_user"]),
        ("in src/a.py::User.", ["src/a.py::User"]),
        ("react-native v1 ASR1603", ["react-native", "v1", "ASR1603"]),
        ("callMe CallMe call", ["callMe", "CallMe"]),
        ("plain words", []),
    ],
)
def test_identifiers(text: str, wanted: list[str]) -> None:
    assert identifiers(text) == wanted


def test_quotes_and_names() -> None:
    assert quoted("say \"no\", `x y`, 'z', “w”, it's") == ["no", "x y", "z", "w"]
    assert proper_names("Redis is on Staging. The API runs C++.") == ["Staging", "API", "C++"]


def test_clauses_and_statements() -> None:
    text = "Redis caches after login; Celery restarts because Kafka lags."
    assert clauses(text) == ["Redis caches", "login", "Celery restarts", "Kafka lags."]
    assert statements(text) == ["Redis caches after login", "Celery restarts", "Kafka lags."]


def test_search_terms_find_all_spellings() -> None:
    assert set(search_terms("GraphQL")) >= {"graphql", "graph", "ql", "graph_ql"}
    assert "graphql" in search_terms("graphql")
    assert set(search_terms("LaunchDarkly")) & set(search_terms("launchdarkly"))
    assert set(search_terms("数据库")) == {"数据", "据库"}


@given(st.text(max_size=80))
def test_folding_twice_changes_nothing(text: str) -> None:
    once = " ".join(words(text))
    assert words(once) == once.split() or not once.isascii()


@given(st.text(max_size=80))
def test_every_phrase_holds_itself(text: str) -> None:
    own = phrase(text)
    assert own.share(own.bag) == (1.0 if own.tokens else 0.0)


@given(st.text(alphabet="abcXYZ_-. 123", max_size=30))
def test_a_key_is_its_own_key(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key or not identifier_parts(name)
    assert same_name(name, key) or not identifier_parts(name)


@given(st.text(max_size=80), st.booleans())
def test_content_never_fails(text: str, question: bool) -> None:
    assert isinstance(content_words(text, question=question), frozenset)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("Kùzu", "kuzu", True),
        ("café", "CAFE", True),
        ("cafe\u0301", "café", True),
        ("naïve", "naive", True),
        ("が", "か", False),
        ("ёлка", "елка", False),
        ("Ångström", "angstrom", True),
    ],
)
def test_accents_of_latin_letters_do_not_count(one: str, two: str, same: bool) -> None:
    assert (words(one) == words(two)) is same
