"""A repository that is deleted under an open brain: every verb says so, none fails blindly."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from braincore.brain import Caller, RecallInput, Statement
from braincore.errors import StoreError
from braincore.model.axes import Channel

ANN = Caller(Channel.PERSON, "Ann")
ASKED: dict[str, Callable[[Any], object]] = {
    "recall": lambda brain: brain.recall(RecallInput("Who is it?"), ANN),
    "remember": lambda brain: brain.remember(Statement(text="It rains", target="weather"), ANN),
    "why": lambda brain: brain.why("staging_port"),
    "related": lambda brain: brain.related("app.py"),
}


@pytest.mark.parametrize("verb", ASKED)
def test_it_is_said(scratch: Any, verb: str) -> None:
    scratch.brain.remember(Statement(text="Staging uses port 1", target="staging_port"), ANN)
    scratch.brain.keeper.graph  # noqa: B018 - everything is open and up to date
    shutil.rmtree(scratch.root)
    with pytest.raises(StoreError) as raised:
        for _ in range(2):  # an abstain on the way is no fault: its task is what can't be stored
            ASKED[verb](scratch.brain)
    assert str(scratch.root) in str(raised.value)
