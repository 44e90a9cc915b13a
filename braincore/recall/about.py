"""Is this record about what was asked? (SPEC §7, 4b and c)

A score is no gate: cosine ≥ .6 passes 69 % of wrong-number twins. What counts is whether the names
agree both ways, or the record is linked to what the question is anchored to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from braincore.model.axes import Reason
from braincore.model.records import Record
from braincore.model.said import STATED, said
from braincore.model.words import (
    Phrase,
    exact_words,
    identifier_parts,
    is_negation,
    is_stop,
    is_unit,
    name_key,
    phrase,
    same_name,
    stem,
    words,
)
from braincore.recall.names import (
    Name,
    bag_of,
    cores,
    implied,
    names_of,
    option_names,
    run_together,
    sequences,
    told,
)
from braincore.recall.question import Question

__all__ = ["Fit", "about", "ambiguous", "doubted"]

MIN_QUESTION = 0.9
MIN_NAME = 0.6


@dataclass(frozen=True, slots=True)
class Fit:
    """How a record fits a question. `reason` None: it is about it. `probable`: passed only by
    coverage ≥ .9 of the question and ≥ .6 of the name, or by a link alone."""

    reason: Reason | None
    probable: bool
    question_coverage: float
    name_coverage: float
    linked: bool

    @property
    def accepted(self) -> bool:
        """True when the record may go on to the gate."""
        return self.reason is None

    @property
    def sure(self) -> bool:
        """True when it was accepted without a doubt."""
        return self.reason is None and not self.probable


def _stands_in(anchor: tuple[str, ...], fields: Sequence[str]) -> bool:
    size = len(anchor)
    joined = "".join(anchor)
    for field in fields:
        if joined not in run_together(field):
            continue
        own = sequences(field)
        # `GetUser` and `getuser` name the same thing, and so do `web-socket` and `WebSocket`.
        if any(own[i : i + size] == anchor for i in range(len(own) - size + 1)) or any(
            "".join(own[i : i + n]) == joined for i in range(len(own)) for n in range(1, 4)
        ):
            return True
    return False


def _linked(question: Question, record: Record) -> bool:
    if question.target:
        return _is_about(record, question.target)
    if question.symbols:
        return any(e.to in question.symbols for e in record.edges) or (
            record.target in question.symbols
        )
    symbols = _symbols(record)
    return any(_names_any(name, symbols) for name in question.names)


def _symbols(record: Record) -> list[str]:
    """The symbols a record is linked to by a statement, not by a mention."""
    refs = [e.to for e in record.edges if _stated(e.strength) and "::" in e.to]
    return [*refs, record.target] if "::" in record.target else refs


def _names_any(name: str, refs: Sequence[str]) -> bool:
    return any(_names_symbol(name, ref) for ref in refs)


def _is_about(record: Record, target: str) -> bool:
    if record.target and same_name(record.target, target):
        return True
    return any(
        e.to == target or same_name(e.to, target) for e in record.edges if _stated(e.strength)
    )


def _stated(strength: float) -> bool:
    return strength >= STATED


def _names_symbol(identifier: str, ref: str) -> bool:
    """`auth.GetUser` names `auth/user.go::GetUser`: the last part is the symbol's, the others are
    somewhere in its path."""
    last = identifier.replace("::", ".").rpartition(".")[2]
    own = ref.rpartition("::")[2].rpartition(".")[2]
    return same_name(last, own) and set(identifier_parts(identifier)) <= set(identifier_parts(ref))


def about(question: Question, record: Record) -> Fit:
    """Veto by anchors, then accept by names that agree both ways or by a link."""
    fields = said(record)
    linked = _linked(question, record)
    if not linked and _far(question, record, fields):
        return Fit(Reason.OFF_TOPIC, False, 0.0, 0.0, False)
    bag = told(record)
    covered = question.content.share(bag)
    symbols = _symbols(record)
    named = {tuple(exact_words(n)) for n in question.names if _names_any(n, symbols)}
    if any(a not in named and not _stands_in(a, fields) for a in question.anchors):
        return Fit(Reason.ANCHOR_MISMATCH, False, covered, 0.0, linked)
    if question.target or question.symbols:
        return _about_given(question, record, bag, covered, linked)
    names = names_of(record)
    if question.refusal:
        names += option_names(record)
    asked = question.whole.bag
    best = max((n.share(asked) for n in names), default=0.0)
    if covered == 1.0 and any(n.share(asked) == 1.0 and _says(question, record, n) for n in names):
        doubt = _denies_more(question, record) or _swaps(question, record)
        doubt = doubt or not _numbers_fit(question, fields)
        return Fit(None, doubt, covered, 1.0, linked)
    filled = any(_fills(question, n, bag) for n in names if n.share(asked) == 1.0)
    if filled or (best >= MIN_NAME and covered >= MIN_QUESTION):
        return Fit(None, True, covered, best, linked)
    if linked:
        return Fit(None, True, covered, best, True)
    reason = Reason.MENTION_ONLY if covered >= MIN_QUESTION else Reason.OFF_TOPIC
    return Fit(reason, False, covered, best, False)


def _far(question: Question, record: Record, fields: Sequence[str]) -> bool:
    """True when less than half of what is asked can stand in the record: a quick look, since most
    candidates by meaning share no word, and phrases cost 50 times as much. What has no fixed
    beginning (numbers, units, other scripts) counts as there."""
    text = " ".join([*fields, *implied(record)]).casefold()
    rest = question.content.without(question.asked)
    return all(_may_stand(p, text) * 2 < len(p.tokens) for p in (question.content, rest))


def _may_stand(asked: Phrase, text: str) -> int:
    return sum(
        any(_begins(s, text) for s in spellings)
        or (bool(parts) and all(_begins(s, text) for s in parts))
        for spellings, parts in asked.tokens
    )


def _begins(spelling: str, text: str) -> bool:
    if not (spelling.isascii() and spelling.isalpha()) or is_unit(spelling):
        return True
    return spelling[:3] in text


def _fills(question: Question, name: Name, bag: frozenset[str]) -> bool:
    """All but the noun after which/what is told, and more of it than the name alone."""
    if not question.asked:
        return False
    rest = question.content.without(question.asked)
    return rest.share(bag) == 1.0 and bool(rest.missing(name.bag).tokens)


def _about_given(
    question: Question, record: Record, bag: frozenset[str], covered: float, linked: bool
) -> Fit:
    """With an explicit target or symbol the link decides; what is not told is a doubt."""
    if not linked:
        return Fit(Reason.OFF_TOPIC, False, covered, 0.0, False)
    given = bag_of([question.target, *question.symbols])
    extra = bool(question.content.missing(bag | given).tokens)
    return Fit(None, extra or _denies_more(question, record), covered, 1.0, True)


def _says(question: Question, record: Record, name: Name) -> bool:
    """One part of the record that speaks of the name says all that is asked."""
    return any(
        question.content.share(core | name.bag) == 1.0
        for core in cores(record, name, refused=question.refusal)
    )


def _denies_more(question: Question, record: Record) -> bool:
    """The question takes for granted that something is not so, and the record doesn't say that."""
    if not question.negated:
        return False
    if any(n.share(question.whole.bag) == 1.0 for n in option_names(record)):
        return False
    return not any(is_negation(w) for w in words(f"{record.text} {record.title}"))


def _swaps(question: Question, record: Record) -> bool:
    """ "X instead of Y" is asked, and it is X that was turned down."""
    chosen = phrase(question.preferred).bag
    return bool(question.preferred) and any(n.share(chosen) == 1.0 for n in option_names(record))


def _numbers_fit(question: Question, fields: Sequence[str]) -> bool:
    """Each number of the question stands by the same word as in the record, if by any it tells."""
    near = _by_number(sequences(question.text), 2)
    if not near:
        return True
    own: dict[str, set[str]] = {}
    everything: set[str] = set()
    for field in fields:
        everything.update(stem(w) for w in sequences(field))
        for number, found in _by_number(sequences(field), 3).items():
            own.setdefault(number, set()).update(found)
    for number, found in near.items():
        known = found & everything
        if known and known.isdisjoint(own.get(number, set())):
            return False
    return True


def _by_number(said: Sequence[str], reach: int) -> dict[str, set[str]]:
    """For each number the stems of the content words at most `reach` away and nearer to no other
    number."""
    out: dict[str, set[str]] = {}
    numbers = [i for i, word in enumerate(said) if word[0].isdigit()]
    for i, word in enumerate(said):
        if word[0].isdigit():
            places = range(max(0, i - reach), min(len(said), i + reach + 1))
            out.setdefault(word, set()).update(
                stem(said[j])
                for j in places
                if not (is_stop(said[j]) or said[j][0].isdigit())
                and all(abs(j - i) <= abs(j - k) for k in numbers)
            )
    return out


def ambiguous(question: Question, fits: Sequence[tuple[Record, Fit]]) -> list[str]:
    """The ids of records that fit equally but are about different things; [] when one stands out.

    Full agreement with different entities is a set; with different symbols of one name, or only
    probable agreement with different targets, it is an ambiguity.
    """
    if question.target or question.symbols:
        return []
    by_symbol: dict[str, dict[str, list[str]]] = {}
    for record, _ in fits:
        if "::" in record.target:
            last = name_key(record.target.rpartition("::")[2].rpartition(".")[2])
            by_symbol.setdefault(last, {}).setdefault(record.target, []).append(record.id)
    twins = [
        i for found in by_symbol.values() if len(found) > 1 for ids in found.values() for i in ids
    ]
    if twins:
        return twins
    group = [(r, f) for r, f in fits if not f.sure]
    if not group or len(group) < len(fits):
        return []
    top = max((f.question_coverage, f.name_coverage) for _, f in group)
    equal = [r for r, f in group if (f.question_coverage, f.name_coverage) == top]
    things = {name_key(r.target) for r in equal if r.target}
    return [r.id for r in equal if r.target] if len(things) > 1 else []


def doubted(fit: Fit) -> Fit:
    """The same fit with a doubt."""
    return replace(fit, probable=True)
