"""`python -m bench.recall`: is the fused list at least as good as the better of its parts?"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.measure import Bench, Figure, median, p95, say, spent_in
from bench.recall.data import Question, Store, conversations, functions
from bench.recall.lists import DEPTH, Asked, Control, Scores, fused
from bench.scratch import repository
from bench.stores import PERSON, brain_of, import_all, settled, vectors_made
from braincore.brain import Brain, RecallInput, Statement
from braincore.model.outcomes import Abstain, Answer, Considered

DATA = Path(__file__).parents[3] / "shared" / "data" / "recall-locomo"
MARGIN = 0.01
PARTS = ("keyword", "vector")
LIMIT = 5


def stored(brain: Brain, store: Store) -> dict[str, str]:
    """Import the texts of a store; the key of each record by its id. Equal texts are one record
    and have the first one's key."""
    prefix = f"import:bench/{store.name}/"
    lines = [Statement(text, source=prefix + key) for key, text in store.texts.items()]
    import_all(brain, lines, store.name)
    return {r.id: r.source_ref.removeprefix(prefix) for r in brain.table if r.source_ref}


def merged(brain: Brain, store: Store, keys: Mapping[str, str]) -> dict[str, str]:
    """The key under which each text of a store is on record."""
    prefix = f"import:bench/{store.name}/"
    found = {key: key for key in keys.values()}
    for record in brain.table:
        for source in record.sources:
            found[source.removeprefix(prefix)] = keys[record.id]
    return found


def lists_of(considered: Sequence[Considered], keys: Mapping[str, str]) -> dict[str, list[str]]:
    """The keys of each list that recall looked at, best first; `hybrid` is the fused one."""
    known = [c for c in considered if c.id in keys]
    out = {"hybrid": [keys[c.id] for c in known]}
    for name in ("keyword", "vector", "graph"):
        ranked = [(rank, c.id) for c in known if (rank := getattr(c, f"{name}_rank")) is not None]
        out[name] = [keys[i] for _, i in sorted(ranked)]
    out["two_lists"] = fused([out["keyword"], out["vector"]])
    return out


def ask(brain: Brain, question: Question, keys: Mapping[str, str], control: Control) -> Asked:
    """Ask one question as anybody would, and note what every list had."""
    found: list[Answer | Abstain] = []
    asked = RecallInput(question.text, limit=LIMIT, explain=True)
    spent = spent_in(lambda: found.append(brain.recall(asked, PERSON)))
    answer = found[0]
    lists = {**lists_of(answer.considered, keys), "control": control.search(question.text)}
    if isinstance(answer, Abstain):
        return Asked(question, lists, spent)
    first = answer.facts[0]
    return Asked(question, lists, spent, keys.get(first.record.id, ""), tuple(first.flags))


def asked_of(store: Store) -> list[Asked]:
    """Every question of a store, put to a brain that holds its texts and nothing else."""
    with repository() as place, brain_of(place) as brain:
        keys = stored(brain, store)
        canonical = merged(brain, store, keys)
        settled(brain)
        control = Control({key: store.texts[key] for key in keys.values()})
        ask(brain, Question("is anybody there?", "", frozenset()), keys, control)
        vectors_made(brain, len(keys))
        out = []
        for question in store.questions:
            right = frozenset(canonical[key] for key in question.right)
            out.append(ask(brain, replace(question, right=right), keys, control))
        control.close()
    short = sum(min(len(a.lists[name]) for name in PARTS) < min(DEPTH, len(keys)) for a in out)
    say(f"{store.name}: {len(keys)} records, {len(out)} questions; {short} with a shorter list")
    return out


def ranked(bench: Bench, name: str, asked: Sequence[Asked]) -> None:
    """Recall any@k and MRR of the fused list beside the better of keywords and vectors."""
    shown = ("keyword", "vector", "two_lists", "graph", "control")
    scores = {n: Scores.of(asked, n) for n in ("hybrid", *shown)}
    bench.found(f"{name}_questions", len(scores["hybrid"].ranks))
    for measure, value in scores["hybrid"].measures.items():
        each = {n: scores[n].measures[measure] for n in shown}
        better = max(PARTS, key=lambda n: each[n])
        bench.figure(
            f"{name}_{measure}",
            Figure(
                value,
                "share" if measure != "mrr" else "",
                each[better],
                f"{better} alone",
                note="; ".join(f"{n} {v:.3f}" for n, v in each.items()),
            ),
        )
    loss = max(scores[n].at(5) for n in PARTS) - scores["hybrid"].at(5)
    bench.figure(
        f"{name}_loss",
        Figure(
            max(0.0, loss),
            "share",
            None,
            "",
            MARGIN,
            note=f"any@5 of the better list minus that of the fused one: {loss:+.4f}; the control "
            f"minus the fused one: {scores['control'].at(5) - scores['hybrid'].at(5):+.4f}",
        ),
    )


def categories(bench: Bench, name: str, asked: Sequence[Asked]) -> None:
    """Recall any@5 by kind of question."""
    for category in sorted({a.question.category for a in asked if a.question.right}):
        part = [a for a in asked if a.question.category == category]
        each = {n: Scores.of(part, n) for n in ("hybrid", *PARTS, "control")}
        better = max(PARTS, key=lambda n: each[n].at(5))
        note = "; ".join(
            f"{n} any@1 {s.at(1):.3f} any@5 {s.at(5):.3f} any@10 {s.at(10):.3f} MRR {s.mrr:.3f}"
            for n, s in each.items()
        )
        bench.figure(
            f"{name}_any5_{category}",
            Figure(
                each["hybrid"].at(5),
                "share",
                each[better].at(5),
                f"{better} alone",
                note=f"{len(each['hybrid'].ranks)} questions; {note}",
            ),
        )


def abstention(bench: Bench, name: str, asked: Sequence[Asked]) -> None:
    """What recall answers when nothing answers, and how often it abstains when something does."""
    for group, some in (
        ("unanswerable", [a for a in asked if not a.question.right]),
        ("answerable", [a for a in asked if a.question.right]),
    ):
        if not some:
            continue
        wrong = [a for a in some if a.top and a.top not in a.question.right]
        unsure = [a for a in wrong if not set(a.flags) - {"unconfirmed"}]
        abstained = [a for a in some if not a.top]
        bench.found(f"{name}_{group}", len(some))
        bench.figure(
            f"{name}_{group}_confidently_wrong",
            Figure(
                _share((a for a in wrong if not a.flags), some),
                "share",
                _share((a for a in some if a.lists["keyword"]), some) if group[0] == "u" else None,
                "answering whatever a keyword finds" if group[0] == "u" else "",
                note="unflagged, and the first fact isn't a right one. Imports are flagged "
                f"unconfirmed; without counting that flag {_share(unsure, some):.4f}, "
                f"flagged in whatever way {_share(wrong, some):.4f}",
            ),
        )
        bench.figure(f"{name}_{group}_abstained", Figure(_share(abstained, some), "share"))


def _share(some: Iterable[Asked], of: Sequence[Asked]) -> float:
    return sum(1 for _ in some) / max(1, len(of))


def latency(bench: Bench, name: str, asked: Sequence[Asked], budget: float | None) -> None:
    """CPU of one question, the model's run included."""
    times = [a.milliseconds for a in asked]
    abstained = [a.milliseconds for a in asked if not a.top]
    note = f"explained; {len(abstained)} abstained, which writes a task"
    for measure, some in (("p50", median), ("p95", p95)):
        bench.figure(
            f"{name}_recall_{measure}",
            Figure(
                some(times), "ms CPU", None, "", budget if measure == "p95" else None, note=note
            ),
        )


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("recall", "Does fusing the lists find more than the better of them?")
    folder = bench.data or DATA
    wanted = bench.size("conversations", 1000, 1)
    talks = conversations(folder, wanted) if folder.is_dir() else []
    bench.found("conversations", len(talks))
    if talks:
        asked = [a for store in talks for a in asked_of(store)]
        ranked(bench, "talk", asked)
        categories(bench, "talk", asked)
        abstention(bench, "talk", asked)
        latency(bench, "talk", asked, 15.0)
    else:
        say(f"no conversations in {folder}: that half is left out; bench/README.md has the format")
    store = functions(bench.size("functions", 700, 200))
    asked = asked_of(store)
    ranked(bench, "code", asked)
    abstention(bench, "code", asked)
    latency(bench, "code", asked, 15.0)
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
