"""What a statement is linked to."""

import time
from dataclasses import replace
from datetime import UTC, datetime

from braincore.intake.link import MENTION, mentions
from braincore.model.axes import Channel, EdgeType, Kind
from braincore.model.records import Edge, Note, Record, new_id
from braincore.model.table import Table

AT = datetime(2026, 3, 1, tzinfo=UTC)
FACT = Record(
    id=new_id(Kind.FACT, AT),
    kind=Kind.FACT,
    text="x",
    source_ref="user:maya",
    channel=Channel.PERSON,
    trust=0.9,
    created_at=AT,
    valid_from=AT,
    body=Note(),
)


def test_known_names_are_met_in_any_spelling_the_longest_first() -> None:
    table = Table([replace(FACT, target="Job Queue"), replace(FACT, id="fact-b", target="queue")])
    edges = mentions("the job queue is drained at night", table)
    assert edges == [
        Edge(EdgeType.ABOUT, "job_queue", MENTION),
        Edge(EdgeType.ABOUT, "queue", MENTION),
    ]
    assert mentions("the café is closed", table) == [Edge(EdgeType.ABOUT, "cafe", MENTION)]


def test_a_long_text_takes_no_longer_than_its_beginning() -> None:
    table = Table([replace(FACT, target="needle")])
    noise = " ".join(f"w{n}x" for n in range(10_000))
    began = time.thread_time()
    assert len(mentions(noise, table)) == 8
    assert time.thread_time() - began < 0.5
