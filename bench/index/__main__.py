"""`python -m bench.index`: a whole tree, the same tree again, one changed file, beside ctags."""

import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from bench.measure import Bench, Figure, cpu, interleave, median, say, spent_in
from bench.scratch import SOURCES, copy_sources, repository
from braincore.brain import open_brain
from braincore.code import language_of, parser_for
from braincore.locate import Place

LANGUAGES = "--languages=Python,JavaScript,TypeScript"


def ctags() -> str | None:
    """The universal-ctags command, where there is one."""
    found = shutil.which("ctags") or shutil.which("universal-ctags")
    if found is None:
        return None
    return found if b"Universal Ctags" in cpu([found, "--version"]).out else None


def whole(bench: Bench, place: Place, paths: list[str]) -> None:
    """The full index of a tree, each time into an empty store."""
    program = ctags()
    say(f"ctags: {program or 'not found, so there is no ratio'}")

    def everything() -> float:
        for folder in ("graph", "index"):
            shutil.rmtree(place.store / folder, ignore_errors=True)
        brain = open_brain(str(place.root))
        try:
            _ = brain.keeper.graph
            spent = _used(lambda: brain.index())
            counts.append(brain.code.counts())
            return spent
        finally:
            brain.close()

    def parsed() -> float:
        sources = [
            (parser_for(language), (place.root / path).read_bytes())
            for path in paths
            if (language := language_of(path)) is not None
        ]
        return spent_in(lambda: [parser.parse(text) for parser, text in sources])

    def tags() -> float:
        if program is None:
            return 0.0
        out = str(place.root.parent / "tags")
        return cpu([program, "-R", LANGUAGES, "-f", out, str(place.root)]).cpu

    counts: list[tuple[int, int, int]] = []
    ours, theirs, parsing = interleave(bench.size("full_rounds", 3, 2), everything, tags, parsed)
    bench.found("symbols", counts[-1][1])
    if counts[-1][0] != len(paths):
        say(f"{counts[-1][0]} of {len(paths)} files were indexed")
    bench.figure(
        "full_index",
        Figure(
            median(ours),
            "ms CPU",
            median(theirs) if program is not None else None,
            "universal-ctags" if program is not None else "universal-ctags is not installed",
            4.0,
            of_ratio=True,
            note=f"{counts[-1][1]} symbols in {counts[-1][0]} files",
        ),
    )
    bench.figure(
        "full_index_over_parse",
        Figure(median(ours), "ms CPU", median(parsing), "tree-sitter parsing the same files"),
    )


def again(bench: Bench, place: Place, paths: list[str]) -> None:
    """The tree unchanged, and with one file changed, beside a stat of every file."""
    files = [place.root / path for path in paths]
    middle = sorted(files, key=lambda f: f.stat().st_size)[len(files) // 2]
    comment = "#" if middle.suffix in (".py", ".pyi") else "//"
    brain = open_brain(str(place.root))
    try:
        brain.index()

        def changed() -> float:
            with middle.open("a", encoding="utf-8") as out:
                out.write(f"{comment} {time.monotonic_ns()}\n")
            return _used(lambda: brain.index())

        rounds = bench.size("rounds", 11, 3)
        same, one, stats = interleave(
            rounds,
            lambda: _used(lambda: brain.index()),
            changed,
            lambda: _used(lambda: [os.stat(file) for file in files]),
        )
    finally:
        brain.close()
    budget = 500.0 * max(1.0, len(files) / 3000)
    what = "os.stat of each file"
    bench.figure(
        "unchanged",
        Figure(median(same), "ms CPU", median(stats), what, budget, note=f"{len(files)} files"),
    )
    more = f"of {middle.stat().st_size:,} bytes; of it {median(one) - median(same):.1f} more than "
    bench.figure(
        "one_changed_file",
        Figure(median(one), "ms CPU", median(same), "unchanged", 50.0, note=f"{more}unchanged"),
    )


def _used(action: Callable[[], object]) -> float:
    """CPU of this process and of workers it waited for, in milliseconds."""
    before = _children()
    return spent_in(action, time.process_time) + (_children() - before) * 1000


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def main() -> int:
    """Run the bench; the exit code."""
    bench = Bench("index", "What the code index costs.")
    source = bench.data or Path(sysconfig.get_path("stdlib"))
    with repository() as place:
        paths = copy_sources(source, place.root, bench.size("files", 3000, 200))
        bench.found("files", len(paths))
        say(f"{len(paths)} files ({', '.join(SOURCES)}) of {source.name}")
        whole(bench, place, paths)
        again(bench, place, paths)
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
