"""What a record is called and what it says, field by field, as phrases (SPEC §7, 4c)."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from braincore.model.axes import Kind
from braincore.model.records import Claim, Decision, Failure, Note, Record
from braincore.model.refs import RefType, ref_type
from braincore.model.said import said
from braincore.model.words import (
    LIGHT_VERBS,
    Phrase,
    clauses,
    exact_words,
    is_number,
    is_unit,
    phrase,
    statements,
    stem,
)

__all__ = [
    "Name",
    "bag_of",
    "cores",
    "implied",
    "names_of",
    "option_names",
    "run_together",
    "sequences",
    "told",
]

Name = Phrase

_LIGHT = frozenset(stem(w) for w in LIGHT_VERBS)
_CODE_NOUNS = "class function method symbol type interface module file"
_KIND_WORDS = {
    Kind.DECISION: "decision decided chosen rejected against instead alternative",
    Kind.FAILURE: "failure failed broke broken wrong fixed fix",
}


@lru_cache(maxsize=8192)
def _plain(text: str) -> Phrase:
    return phrase(text.replace("_", " "))


@lru_cache(maxsize=8192)
def sequences(text: str) -> tuple[str, ...]:
    """The exact words of a field in order, for anchors."""
    return tuple(exact_words(text.replace("_", " ")))


@lru_cache(maxsize=8192)
def run_together(text: str) -> str:
    """The exact words of a field without anything between them: a quick look before a slow one."""
    return "".join(sequences(text))


def _name(*parts: str) -> Name:
    """A name less the verbs that say nothing, if any other word is left."""
    return _plain(" / ".join(parts)).without(_LIGHT)


def names_of(record: Record) -> list[Name]:
    """What the record is called: target, aliases, title, the claim but for one slot; and for a
    note the content words of its sentence and of its clauses."""
    names: list[Name] = []
    if record.target:
        names.append(_name(record.target.rpartition("::")[2]))
    names += [_name(a) for a in record.aliases]
    if record.title:
        names.append(_name(record.title))
    if (claim := record.claim) is not None:
        names += _claim_names(claim, record.text)
    elif isinstance(record.body, Note) and record.target:
        names += _less(record.text, record.target)
    if isinstance(record.body, Decision):
        names.append(_name(record.body.problem))
    if isinstance(record.body, Note) or not names:
        names += _sentence_names(record.text)
    return [n for n in dict.fromkeys(names) if n.tokens]


def _sentence_names(text: str) -> list[Name]:
    """The sentence, the sentence less what it measures ("how long", "how many"), its clauses. One
    of a single word leans on the others ("…; Redis isn't"), so it is no name."""
    own = [_name(c) for c in ((clauses(text) or [text])[0], *statements(text))]
    whole = _name(text)
    pairs = [p for p in pairwise([*sequences(text), ""]) if is_number(p[0])]
    measures = {w for number, after in pairs for w in (number, after) if w == number or is_unit(w)}
    asked_for = whole.without(frozenset(map(stem, measures)))
    return [whole, asked_for, *(n for n in own if len(n.tokens) > 1)]


def option_names(record: Record) -> list[Name]:
    """What was turned down, with what it was turned down for."""
    if not isinstance(record.body, Decision):
        return []
    return [n for a in record.body.alternatives if (n := _name(a.option)).tokens]


def _claim_names(claim: Claim, text: str) -> list[Name]:
    """The claim but for one slot; its sentence says the predicate in words of its own."""
    qualifiers = [v for _, v in claim.qualifiers]
    names = [
        _name(claim.subject, claim.predicate, *qualifiers),
        _name(claim.predicate, claim.object, *qualifiers),
        _name(claim.subject, claim.object, *qualifiers),
    ]
    return names + _less(text, claim.subject) + _less(text, claim.object)


def _less(text: str, slot: str) -> list[Name]:
    """What a sentence says about the slot, when it names it: the sentence without it."""
    whole, asked = _plain(text), _plain(slot)
    if asked.share(whole.bag) < 1.0:
        return []
    return [whole.missing(asked.bag).without(_LIGHT)]


def bag_of(fields: Sequence[str]) -> frozenset[str]:
    """Every spelling that some fields offer."""
    return frozenset[str]().union(*(_plain(f).bag for f in fields))


@lru_cache(maxsize=4096)
def told(record: Record) -> frozenset[str]:
    """Every word of a record, with the kind of thing its target is."""
    return bag_of([*said(record), *implied(record)])


def implied(record: Record) -> list[str]:
    """What the kind of a record or its target says already, so that no text repeats it."""
    out = [_CODE_NOUNS] if record.target and ref_type(record.target) is RefType.SYMBOL else []
    return [*out, _KIND_WORDS[record.kind]] if record.kind in _KIND_WORDS else out


def cores(record: Record, name: Name, *, refused: bool) -> list[frozenset[str]]:
    """The parts of a record that speak of what the name names, each as one bag.

    A text of several clauses speaks of it in those that say the name; reasons, options and fixes
    are about the matter, yet mention others. `refused`: the options are asked for.
    """
    always = [record.target, record.title, *record.aliases, *implied(record)]
    match record.body:
        case Decision() as d:
            options = [t for a in d.alternatives for t in (a.option, a.rejected_because)]
            return [bag_of([*always, record.text, d.problem, *(options if refused else ())])]
        case Failure() as f:
            return [bag_of([*always, record.text, f.broke])]
        case _:
            pass
    if (claim := record.claim) is not None:
        always += [claim.subject, claim.predicate, claim.object, *(v for _, v in claim.qualifiers)]
    naming = [c for c in statements(record.text) if name.share(_plain(c).bag) > 0]
    return [bag_of([*always, c]) for c in naming] or [bag_of([*always, record.text])]
