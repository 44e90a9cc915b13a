"""What happens in a session, noted as events: they are evidence, never answers."""

from datetime import timedelta

from braincore.brain.parts import Parts
from braincore.errors import InvalidInput
from braincore.intake.redact import redact
from braincore.intake.statement import Caller
from braincore.model.axes import EventOutcome, EventType, Kind, Lifecycle
from braincore.model.records import Event, Record, new_id

__all__ = ["Noting"]

KEPT = 2000
"""So many characters of a prompt or response are kept."""

LOOKED_AT = 10 * KEPT
"""Redacted before it is cut to KEPT, so that no part of a secret is left at the cut."""

AGENT_TRUST = 0.5


class Noting(Parts):
    """Events that clients tell of."""

    def interaction(
        self, prompt: str, response: str, success: bool | None, caller: Caller
    ) -> list[str]:
        """Note a prompt and its response, which turned out well, badly, or unknown; the two ids."""
        asked = _kept(prompt)
        if not asked:
            raise InvalidInput("the prompt is empty", "Give what was asked.")
        outcome = EventOutcome.NEUTRAL
        if success is not None:
            outcome = EventOutcome.SUCCESS if success else EventOutcome.FAILURE
        told = _kept(response) or "(no response)"
        parts = (
            (EventType.PROMPT, EventOutcome.NEUTRAL, asked),
            (EventType.RESPONSE, outcome, told),
        )
        with self.keeper.lock:
            events: list[Record] = []
            began = self.table.next_time(self.clock())
            for number, (kind, ended, text) in enumerate(parts):
                at = began + timedelta(microseconds=number)
                events.append(
                    Record(
                        id=new_id(Kind.EVENT, at),
                        kind=Kind.EVENT,
                        text=text,
                        source_ref=caller.ref,
                        channel=caller.channel,
                        trust=AGENT_TRUST,
                        created_at=at,
                        valid_from=at,
                        body=Event(kind, ended, _SCORE[ended], caller.session),
                        lifecycle=Lifecycle.WORKING,
                    )
                )
            self.keeper.note(events)
        return [event.id for event in events]


_SCORE = {EventOutcome.SUCCESS: 1.0, EventOutcome.FAILURE: 0.0, EventOutcome.NEUTRAL: 0.5}


def _kept(text: str) -> str:
    """The beginning of a text, redacted; valid Unicode without NULs."""
    plain = text[:LOOKED_AT].encode("utf-8", "replace").decode().replace("\x00", "")
    return redact(plain.strip())[:KEPT]
