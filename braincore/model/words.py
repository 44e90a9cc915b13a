"""The words of a text: how questions, names and records are split so that they can be compared.

Plain words are compared by stem, identifiers and numbers exactly. `camelCase`, `snake_case` and
`dotted.names` are split into parts; runs of Chinese, Japanese and Korean characters into bigrams.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer

__all__ = [
    "clauses",
    "content_words",
    "exact_words",
    "identifier_parts",
    "identifiers",
    "is_number",
    "name_key",
    "proper_names",
    "quoted",
    "search_terms",
    "stem",
    "words",
]

_ENGLISH = snowballstemmer.stemmer("english")
_RUSSIAN = snowballstemmer.stemmer("russian")

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|\d+(?:[.,:]\d+)+|[^\W_{_CJK}]+(?:['’][^\W\d_]+)?")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")
_IDENTIFIER = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|/|->)[\w$.-]+)+"  # dotted, path or scoped
    r"|[A-Za-z_$]+[\w$]*_[\w$]+"  # snake_case
    r"|\b[a-z]+[a-z0-9]*[A-Z]\w*"  # camelCase
    r"|\b[A-Z][a-z0-9]+[A-Z]\w*"  # PascalCase
    r"|\b\w+(?:-\w+)+"  # hyphen-ated
    r"|\b[A-Za-z]+\d\w*\b"  # ASR1603, v1, utf8
)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CLAUSE = re.compile(
    r"(?:;|\.\s|:\s|\s[—–]\s|,?\s(?:because|since|so that|so as|in order|after|when|unless)\s)"
)

STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "and",
        "or",
        "but",
        "nor",
        "so",
        "yet",
        "if",
        "then",
        "else",
        "than",
        "as",
        "of",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "on",
        "onto",
        "to",
        "with",
        "without",
        "within",
        "over",
        "under",
        "about",
        "between",
        "through",
        "during",
        "per",
        "via",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "do",
        "does",
        "did",
        "done",
        "doing",
        "have",
        "has",
        "had",
        "having",
        "will",
        "would",
        "shall",
        "should",
        "can",
        "could",
        "may",
        "might",
        "must",
        "it",
        "its",
        "it's",
        "they",
        "them",
        "their",
        "there",
        "here",
        "he",
        "she",
        "his",
        "her",
        "we",
        "us",
        "our",
        "ours",
        "you",
        "your",
        "yours",
        "i",
        "me",
        "my",
        "mine",
        "who",
        "whom",
        "whose",
        "which",
        "what",
        "when",
        "where",
        "why",
        "how",
        "not",
        "no",
        "all",
        "any",
        "both",
        "each",
        "few",
        "more",
        "most",
        "other",
        "some",
        "such",
        "only",
        "own",
        "same",
        "too",
        "very",
        "just",
        "also",
        "s",
        "t",
        "re",
        "ll",
        "ve",
        "d",
        "don",
        "doesn",
        "didn",
        "isn",
        "aren",
        "wasn",
        "weren",
        "won't",
        "can't",
        "don't",
    ]
)
"""Words that carry no content of their own. Polarity ("not", "no") is compared apart."""

INTENT_WORDS = frozenset(
    [
        "please",
        "tell",
        "explain",
        "show",
        "list",
        "describe",
        "give",
        "find",
        "know",
        "remember",
        "recall",
        "look",
        "status",
        "reason",
        "reasons",
        "rationale",
        "decision",
        "decisions",
        "decide",
        "decided",
        "deciding",
        "choose",
        "chose",
        "chosen",
        "choice",
        "pick",
        "picked",
        "select",
        "selected",
        "settle",
        "settled",
        "agree",
        "agreed",
        "policy",
        "rule",
        "currently",
        "current",
        "now",
        "today",
        "latest",
        "actually",
        "really",
        "exactly",
        "again",
        "still",
        "already",
        "ever",
        "always",
        "never",
        "anything",
        "something",
        "everything",
        "use",
        "uses",
        "used",
        "using",
        "happen",
        "happens",
        "happened",
        "get",
        "gets",
        "got",
        "make",
        "makes",
        "made",
        "take",
        "takes",
        "go",
        "goes",
        "going",
        "need",
        "needs",
        "want",
        "wants",
        "like",
        "kind",
        "sort",
        "way",
        "thing",
        "things",
        "question",
        "answer",
        "currently",
        "supposed",
        "team",
        "project",
        "repo",
        "repository",
        "codebase",
        "code",
    ]
)
"""What a question asks with rather than about; dropped when anything else is left."""


def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "'")


def words(text: str) -> list[str]:
    """All words of a text in order, folded; identifiers split into parts, CJK runs whole."""
    out: list[str] = []
    for raw in _WORD.findall(unicodedata.normalize("NFKC", text)):
        if raw.isascii() and any(c.isupper() for c in raw[1:]) and any(c.islower() for c in raw):
            out.extend(_fold(p) for p in _CAMEL.findall(raw))
        else:
            out.append(_fold(raw).removesuffix("'s"))
    return out


def is_number(word: str) -> bool:
    """True for words that are compared exactly because they hold a digit."""
    return any(c.isdigit() for c in word)


def _is_cjk(word: str) -> bool:
    return bool(re.match(rf"[{_CJK}]", word))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a folded word; words with digits and CJK words are their own stem."""
    if is_number(word) or _is_cjk(word):
        return word
    if word.isascii():
        return str(_ENGLISH.stemWord(word))
    if re.match(r"[\u0400-\u04ff]", word):
        return str(_RUSSIAN.stemWord(word))
    return word


def _bigrams(word: str) -> Iterable[str]:
    return (word[i : i + 2] for i in range(len(word) - 1)) if len(word) > 1 else (word,)


def content_words(text: str, *, question: bool = False) -> frozenset[str]:
    """The stems that carry meaning. For a question, intent words go too if any word is left."""
    plain = [w for w in words(text) if w not in STOP_WORDS]
    if question:
        plain = [w for w in plain if w not in INTENT_WORDS] or plain
    out: set[str] = set()
    for word in plain:
        if _is_cjk(word):
            out.update(_bigrams(word))
        else:
            out.add(stem(word))
    return frozenset(out)


def exact_words(text: str) -> frozenset[str]:
    """All folded words, unstemmed: what anchors are looked up in."""
    return frozenset(words(text))


def identifier_parts(name: str) -> tuple[str, ...]:
    """An identifier as its folded parts: `GetUser`, `get_user` and `get user` agree."""
    return tuple(words(name))


def name_key(name: str) -> str:
    """One spelling for all spellings of a name: folded parts joined by `_`."""
    return "_".join(identifier_parts(name)) or _fold(name.strip())


def identifiers(text: str) -> list[str]:
    """The substrings of a text that look like code, paths, versions or product numbers."""
    return [m.group().rstrip(".-") for m in _IDENTIFIER.finditer(text)]


def quoted(text: str) -> list[str]:
    """The quoted strings of a text."""
    return [next(g for g in m.groups() if g) for m in _QUOTED.finditer(text)]


def proper_names(text: str) -> list[str]:
    """Capitalised words that don't open a sentence, folded; common words are left out."""
    out = []
    for m in re.finditer(r"\b[A-Z][\w]*", text):
        before = text[: m.start()].rstrip()
        word = _fold(m.group())
        if before and before[-1] not in ".!?:\n" and word not in STOP_WORDS | INTENT_WORDS:
            out.append(word)
    return out


def numbers(text: str) -> list[str]:
    """The numbers of a text as written."""
    return _NUMBER.findall(text)


def clauses(text: str) -> list[str]:
    """A text cut at "because", ";", ". " and the like; the first is its main clause."""
    return [c for c in (p.strip() for p in _CLAUSE.split(text)) if c]


def search_terms(text: str) -> list[str]:
    """The terms a text is indexed and searched by: stems, with whole identifiers and bigrams."""
    out: list[str] = []
    for word in words(text):
        if _is_cjk(word):
            out.extend(_bigrams(word))
        elif word not in STOP_WORDS:
            out.append(stem(word))
    out.extend(key for name in identifiers(text) if "_" in (key := name_key(name)))
    return out
