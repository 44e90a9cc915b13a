"""A brain with records in it, its settings, and the wait until everything has followed."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.measure import say
from braincore.brain import Brain, Caller, DecisionInput, Imported, Statement, open_brain
from braincore.locate import Place
from braincore.model.axes import Channel

__all__ = ["PERSON", "brain_of", "embedder", "import_all", "settled", "vectors_made"]

PERSON = Caller(Channel.PERSON, "bench")
STUCK_SECONDS = 120.0


def embedder(place: Place, name: str) -> None:
    """Set `[recall] embedder` for whoever opens this brain next, and for who has it open."""
    config = place.brain / "config.toml"
    before = config.read_text(encoding="utf-8") if config.exists() else ""
    kept = [line for line in before.splitlines() if not line.startswith(("[recall]", "embedder"))]
    text = "\n".join([*kept, "[recall]", f'embedder = "{name}"', ""])
    config.write_text(text, encoding="utf-8")


@contextmanager
def brain_of(place: Place) -> Iterator[Brain]:
    """The open brain of a repository."""
    brain = open_brain(str(place.root))
    try:
        brain.attach()
        yield brain
    finally:
        brain.close()


def import_all(brain: Brain, lines: Sequence[Statement | DecisionInput], name: str) -> int:
    """Import statements as `braincore import` does; how many became records. All must go in."""
    numbered = [Imported(number, line) for number, line in enumerate(lines, 1)]
    done = brain.import_records(numbered, PERSON, name)
    if done.rejected:
        raise SystemExit(f"{len(done.rejected)} lines were rejected: {done.rejected[0].reason}")
    return done.stored


def settled(brain: Brain) -> None:
    """Wait until graph and keyword index on disk have everything."""
    _ = brain.keeper.graph
    while brain.keeper.keyword.waiting:
        time.sleep(0.02)


def vectors_made(brain: Brain, count: int) -> None:
    """Wait until this many records have a vector. Ends the bench when nothing comes any more."""
    semantic = brain.keeper.semantic
    have, since, shown = -1, time.monotonic(), time.monotonic()
    while True:
        status = semantic.status()
        made = int(str(status["vectors"]))
        if made >= count and not status["waiting"]:
            return
        now = time.monotonic()
        if made != have:
            have, since = made, now
        if semantic.problem or now - since > STUCK_SECONDS:
            raise SystemExit(f"vectors: {made} of {count} made. {semantic.problem}")
        if now - shown > 20:
            say(f"{made} of {count} vectors made")
            shown = now
        time.sleep(0.1)
