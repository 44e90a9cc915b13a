"""A clock that is set back: records keep their order, and nothing is lost or withheld."""

from datetime import UTC, datetime, timedelta
from typing import Any

from braincore.brain import RecallInput, open_brain
from braincore.intake.statement import Caller, Statement
from braincore.model.axes import Channel
from braincore.model.outcomes import Answer


def test_clock_set_back_between_and_during_lives(desk: Any) -> None:
    desk.make()
    person = Caller(Channel.PERSON, "Ana")
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    stored = []
    for offset in (0, -3600, -86_400 * 400, 5):
        times = [now + timedelta(seconds=offset)]
        brain = open_brain(str(desk.root), clock=lambda t=times: t[0])
        try:
            for step in range(2):
                name = f"lamp_{len(stored)}"
                said = Statement(f"The switch of {name} hangs left", target=name)
                stored.append(brain.remember(said, person).record)
                times[0] -= timedelta(seconds=30 * step + 1)
            for record in stored:
                asked = RecallInput("where hangs the switch?", target=record.target)
                found = brain.recall(asked, person)
                assert isinstance(found, Answer), (record, found)
                assert [f.record.id for f in found.facts] == [record.id]
            before, after = brain.rebuild()
            assert before == after
        finally:
            brain.close()
    assert [r.created_at for r in stored] == sorted({r.created_at for r in stored})
    assert [r.id for r in stored] == sorted(r.id for r in stored)
