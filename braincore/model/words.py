"""The words of a text: how questions, names and records are split so that they can be compared.

Plain words are compared by stem, identifiers and numbers exactly. `camelCase`, `snake_case` and
`dotted.names` are split into parts; runs of Chinese, Japanese and Korean characters into bigrams.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

__all__ = [
    "ASIDES",
    "DIALOGUE",
    "LIGHT_VERBS",
    "Phrase",
    "clauses",
    "content_words",
    "exact_words",
    "identifier_parts",
    "identifiers",
    "is_negation",
    "is_number",
    "is_stop",
    "is_unit",
    "joined_name",
    "name_key",
    "phrase",
    "proper_names",
    "question_words",
    "quoted",
    "same_name",
    "search_terms",
    "statement_words",
    "statements",
    "stem",
    "words",
]

_ENGLISH = snowballstemmer.stemmer("english")
_RUSSIAN = snowballstemmer.stemmer("russian")

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(
    rf"[{_CJK}]+|\d+(?:[.,:]\d+)+|[A-Za-z](?:\+\+|#)(?!\w)|[^\W_{_CJK}]+(?:['’][^\W\d_]+)?"
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")
_STATEMENT = re.compile(rf"{_WORD.pattern}|(?<=\d)\s?%|(?<![\w)])-(?=\d)|[<>≤≥!=]=?(?=\s*[\d'\"])")
_IDENTIFIER = re.compile(
    r"(?<![A-Za-z_$])[A-Za-z_$][\w$]*(?:(?:\.|::|/|->)[\w$.-]+)+"  # dotted, path or scoped
    r"|(?<![A-Za-z_$])[A-Za-z_$][\w$]*_[\w$]+"  # snake_case
    r"|\b[a-z][a-z0-9]*[A-Z]\w*"  # camelCase
    r"|\b[A-Z][a-z0-9]+[A-Z]\w*"  # PascalCase
    r"|\b\w+(?:-\w+)+"  # hyphen-ated
    r"|\b[A-Za-z]+\d\w*\b"  # ASR1603, v1, utf8
)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)")
_SENTENCE = r";|[.!?]\s|\s[—–]\s|,?\s(?:because|since|but|while|whereas|although|though)\s"
_STATED_APART = re.compile(rf"(?:{_SENTENCE})")
_CLAUSE = re.compile(rf"(?:{_SENTENCE}|:\s|,?\s(?:so that|so as|in order|after|when|unless)\s)")
_PERCENT = re.compile(r"(?<=\d)\s?%")
_SCRIPTS = re.compile(
    r"[\u3040-\u309f]+|[\u30a0-\u30ff]+|[\uac00-\ud7af]+|[^\u3040-\u30ff\uac00-\ud7af]+"
)
_CJK_FUNCTION = re.compile(
    "为什么|為什麼|什么|什麼|怎么|怎麼|哪个|哪個|哪些|哪里|哪裡|哪儿|多少|多久|是否|我们|我們|"
    "[是的了吗嗎呢吧和与與及在]|なぜ|どの|どこ|どれ|です|ます|[何誰はがのをにでとも]|"
    "무엇|어디|어느|얼마|왜|몇"
)

STOP_WORDS = frozenset(
    """a an the this that these those and or but nor so yet if then else than as of at by for from
    in into on onto to with without within over under about between through during per via across
    along amid among around behind beside near throughout toward towards upon is are
    was were be been being am do does did done doing have has had having will would shall should
    can could may might must it its it's they them their there here he she his her we us our ours
    you your yours i me my mine who whom whose which what when where why how not no all any both
    each few more most other some such only own same too very just also s t re ll ve d don cannot
    i'm i've i'd we're we've we'd you're they're that's there's what's who's where's how's let's
    и в во на с со о об от до из за по к ко у не но а или что как где когда почему зачем кто чей
    какой какая какое какие каким какую каком каких сколько это этот эта эти мы вы он она они оно
    наш наша наше наши нам нас ли же бы для при есть был была было были быть""".split()
)
"""Words that carry no content of their own. Polarity ("not", "no") is compared apart."""

DIALOGUE = frozenset(
    """please tell explain show list describe give find know remember recall look say""".split()
)
"""What a request opens with; content anywhere else."""

_HEADS = frozenset(
    """status state reason reasons rationale decision decisions choice policy rule answer question
    kind sort type name way thing things""".split()
)
"""Nouns that stand for what follows ("reason for", "status of"); content anywhere else."""

_AFTER_HEAD = frozenset(["of", "for", "on", "about", "behind", "to", "why", "regarding"])

LIGHT_VERBS = frozenset(
    """use uses used using decide decides decided deciding choose chooses chose chosen choosing
    pick picks picked select selects selected settle settled agree agreed happen happens happened
    need needs needed want wants wanted supposed take takes took taken""".split()
)
"""Verbs that say no more than that something is so."""

ASIDES = frozenset(
    """currently current now nowadays today latest actually really exactly again still already ever
    always never anything something everything""".split()
)
"""Adverbs and pronouns of a question that name nothing; `never` counts as polarity."""

_OWN_PLACE = frozenset(["team", "project", "repo", "repository", "codebase", "code"])
_DEGREES = frozenset(
    "long many much often old big large far high fast deep soon quickly frequently".split()
)
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), 2
    )
}
_UNITS = {
    spelling: name
    for name, spellings in {
        "millisecond": "ms msec millisecond milliseconds",
        "microsecond": "us µs μs microsecond microseconds",
        "second": "s sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "d day days",
        "week": "w week weeks",
        "month": "month months",
        "year": "y yr yrs year years",
        "kilobyte": "kb kib kilobyte kilobytes",
        "megabyte": "mb mib megabyte megabytes",
        "gigabyte": "gb gib gigabyte gigabytes",
        "terabyte": "tb tib terabyte terabytes",
        "percent": "% percent",
    }.items()
    for spelling in spellings.split()
}
_UNIT_NAMES = frozenset(_UNITS.values())
_BY_LENGTH = sorted((unit for unit in _UNITS if unit != "%"), key=len, reverse=True)
_WITH_UNIT = re.compile(rf"(\d+(?:[.,]\d+)*)({'|'.join(_BY_LENGTH)})")


def _fold(word: str) -> str:
    """One spelling for case, compatibility forms and the accents of Latin letters (`Kùzu`, `kuzu`);
    marks on other scripts are letters of their own."""
    folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    if folded.isascii():
        return folded
    out: list[str] = []
    latin = False
    for char in unicodedata.normalize("NFD", folded):
        if not (latin and unicodedata.combining(char)):
            out.append(char)
            latin = "a" <= char <= "z"
    return unicodedata.normalize("NFC", "".join(out))


def _is_camel(raw: str) -> bool:
    if not raw.isascii() or raw.islower():
        return False
    return raw[1:] != raw[1:].lower() and raw != raw.upper()


@lru_cache(maxsize=65536)
def _split(raw: str) -> tuple[str, ...]:
    """The folded parts of one run of letters and digits."""
    if _is_camel(raw):
        return tuple(_fold(p) for p in _CAMEL.findall(raw)) or (_fold(raw),)
    word = _fold(raw).removesuffix("'s")
    measured = _WITH_UNIT.fullmatch(word)
    return (measured[1], measured[2]) if measured else (word,)


def words(text: str) -> list[str]:
    """All words of a text in order, folded; identifiers split into parts, CJK runs whole."""
    return [p for raw in _runs(text) for p in _split(raw)]


def _runs(text: str) -> list[str]:
    """The runs of letters and digits as written; `v1.2` and `1.2` are one version."""
    return _WORD.findall(re.sub(r"\b[vV](?=\d+\.\d)", "", unicodedata.normalize("NFKC", text)))


def statement_words(text: str) -> list[str]:
    """`words`, and the signs without which two statements would look the same: %, −, <, ≥, C++."""
    found = _STATEMENT.findall(unicodedata.normalize("NFKC", text))
    return [p for raw in found for p in (_split(raw) if raw[0].isalnum() else (raw.strip(),))]


def is_number(word: str) -> bool:
    """True for words that are compared exactly because they hold a digit."""
    return not word.isalpha() and any(c.isdigit() for c in word)


def is_unit(word: str) -> bool:
    """True for a unit in the spelling of `exact_words`."""
    return word in _UNIT_NAMES


def is_negation(word: str) -> bool:
    """True for a folded word that turns a statement into its opposite."""
    return word in _NEGATIONS or word.endswith("n't")


_NEGATIONS = frozenset("not no never cannot without neither nor none не нет никогда".split())


def is_stop(word: str) -> bool:
    """True for a folded word that carries no content; contracted negations are among them."""
    return word in STOP_WORDS or word.endswith("n't")


def _is_cjk(word: str) -> bool:
    return not word.isascii() and bool(re.match(rf"[{_CJK}]", word))


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


def _exact(word: str, before: str) -> str:
    """One spelling for a number word, a grouped number and a unit that follows a number."""
    if is_number(before) and word in _UNITS:
        return _UNITS[word]
    if word in _NUMBER_WORDS:
        return _NUMBER_WORDS[word]
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", word):
        return word.replace(",", "")
    return word


def exact_words(text: str) -> list[str]:
    """All folded words in order, unstemmed, numbers and units in one spelling: what anchors are
    looked up in."""
    out: list[str] = []
    for word in words(_PERCENT.sub(" percent", text)):
        out.append(_exact(word, out[-1] if out else ""))
    return out


def _bigrams(word: str) -> Iterable[str]:
    return (word[i : i + 2] for i in range(len(word) - 1)) if len(word) > 1 else (word,)


def _cjk_terms(run: str) -> list[str]:
    """Bigrams of a CJK run cut at function words; Hiragana is grammar as long as anything else
    is there."""
    pieces = [p for part in _CJK_FUNCTION.split(run) if part for p in _SCRIPTS.findall(part)]
    solid = [p for p in pieces if not "\u3040" <= p[0] <= "\u309f"] or pieces
    return [b for p in solid for b in _bigrams(p)]


def content_words(text: str, *, question: bool = False) -> frozenset[str]:
    """The stems that carry meaning. For a question, intent words go too if any word is left."""
    plain = question_words(text) if question else [w for w in words(text) if not is_stop(w)]
    out: set[str] = set()
    for word in plain:
        out.update(_cjk_terms(word) if _is_cjk(word) else (stem(word),))
    return frozenset(out)


def question_words(text: str) -> list[str]:
    """The words of a question that say what it is about, in order. What it is asked with is
    dropped by place ("list …", "reason for …", "how long …", "our team") if any word is left."""
    said = words(text)
    out: list[str] = []
    for i, word in enumerate(said):
        before = said[i - 1] if i else ""
        after = said[i + 1] if i + 1 < len(said) else ""
        asking = (
            word in LIGHT_VERBS
            or word in ASIDES
            or (word in DIALOGUE and not out)
            or (word in _HEADS and after in _AFTER_HEAD)
            or (word in _DEGREES and before == "how")
            or (word in _OWN_PLACE and before in ("this", "our"))
        )
        measured = word in _UNITS and is_number(before)
        if measured or not (is_stop(word) or asking):
            out.append(word)
    return out or [w for w in said if not is_stop(w)]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text as it is compared. `tokens`: its content words, each as the spellings that count as
    it (alone, or joined with a neighbour) and as the parts that count together. `bag`: every
    spelling that it offers."""

    tokens: tuple[tuple[frozenset[str], frozenset[str]], ...]
    bag: frozenset[str]

    def share(self, bag: frozenset[str]) -> float:
        """How much of this phrase stands in the bag, 0 to 1; 0 for an empty one."""
        if not self.tokens:
            return 0.0
        return sum(_stands(t, bag) for t in self.tokens) / len(self.tokens)

    def missing(self, bag: frozenset[str]) -> "Phrase":
        """The part of this phrase that doesn't stand in the bag."""
        return Phrase(tuple(t for t in self.tokens if not _stands(t, bag)), self.bag)

    def without(self, stems: frozenset[str]) -> "Phrase":
        """This phrase less the words with these stems, if any other is left."""
        kept = tuple(t for t in self.tokens if not t[0] & stems)
        return Phrase(kept or self.tokens, self.bag)


def _stands(token: tuple[frozenset[str], frozenset[str]], bag: frozenset[str]) -> bool:
    spellings, parts = token
    return not spellings.isdisjoint(bag) or (bool(parts) and parts <= bag)


@lru_cache(maxsize=8192)
def phrase(text: str, keep: tuple[str, ...] | None = None) -> Phrase:
    """The phrase of a text; `keep`: only these words (folded) are its content."""
    runs: list[tuple[str, tuple[str, ...]]] = []
    for raw in _runs(_PERCENT.sub(" percent", text)):
        parts = _split(raw)
        if _is_camel(raw):
            runs.append((_fold(raw), parts))
        else:
            for part in parts:
                runs.append((_exact(part, runs[-1][0] if runs else ""), (part,)))
    tokens: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    bag: set[str] = set()
    for i, (joined, parts) in enumerate(runs):
        if _is_cjk(joined):
            terms = _cjk_terms(joined)
            bag.update(terms)
            if keep is None or joined in keep:
                tokens.update((t, (frozenset([t]), frozenset())) for t in terms)
            continue
        spellings = {stem(joined)}
        for left, right in ((i - 1, i), (i, i + 1)):
            if left < 0 or right == len(runs):
                continue
            one, two = runs[left][0], runs[right][0]
            if not (is_number(one) and is_number(two)):
                spellings.add(stem(one + two))
        bag |= spellings | {stem(p) for p in parts}
        if keep is not None and set(parts).isdisjoint(keep):
            continue
        if len(parts) == 1 and is_stop(joined):
            continue
        together = frozenset(stem(p) for p in parts) if len(parts) > 1 else frozenset[str]()
        known = tokens.get(stem(joined), (frozenset[str](), together))
        tokens[stem(joined)] = (known[0] | spellings, together)
    return Phrase(tuple(tokens.values()), frozenset(bag))


def same_name(one: str, two: str) -> bool:
    """True for two spellings of one name: `ClickHouse`, `clickhouse` and `click_house` agree,
    `v1_0` and `v10` don't."""
    return joined_name(one) == joined_name(two)


def joined_name(name: str) -> str:
    """What two spellings of one name share (see `same_name`)."""
    return re.sub(r"(?<=\D)_|_(?=\D)", "", name_key(name))


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
    """Capitalised words that don't open a sentence, as written; common words are left out."""
    out = []
    for m in re.finditer(r"\b[A-Z][\w]*(?:\+\+|#)?", text):
        before = text[: m.start()].rstrip()
        word = _fold(m.group())
        common = is_stop(word) or word in LIGHT_VERBS | ASIDES | DIALOGUE | _UNITS.keys()
        if before and before[-1] not in ".!?:\n" and not common:
            out.append(m.group())
    return out


def clauses(text: str) -> list[str]:
    """A text cut at "because", "but", ";", ". " and the like; the first is its main clause."""
    return [c for c in (p.strip() for p in _CLAUSE.split(text)) if c]


def statements(text: str) -> list[str]:
    """A text cut where a new subject may begin: sentences, and clauses after "but", "because"."""
    return [c for c in (p.strip() for p in _STATED_APART.split(text)) if c]


@lru_cache(maxsize=65536)
def _run_terms(raw: str) -> tuple[str, ...]:
    out = [stem(_fold(raw))] if _is_camel(raw) else []
    for word in _split(raw):
        if _is_cjk(word):
            out.extend(_bigrams(word))
        elif not is_stop(word):
            out.append(stem(word))
    return tuple(out)


def search_terms(text: str) -> list[str]:
    """The terms a text is indexed and searched by: stems, with whole identifiers and bigrams."""
    out: list[str] = []
    for raw in _runs(text):
        out.extend(_run_terms(raw))
    out.extend(key for name in identifiers(text) if "_" in (key := name_key(name)))
    return out
