"""Trust is the channel's: golden values of min(class, ceiling), worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.errors import InvalidInput
from braincore.intake.trust import CLASSES, class_trust, source_class, trust
from braincore.model.axes import Channel

# Ceilings: person .9, agent .5, llm .3, owner .85. A row: source, then what each channel gives it
# unverified, then the class itself, which is what verified evidence is worth in any channel.
GOLDEN = [
    # source                              person agent llm  owner class
    ("user:ann", 0.9, 0.5, 0.3, 0.85, 0.9),
    ("test:tests/test_a.py::test_x", 0.85, 0.5, 0.3, 0.85, 0.85),
    ("commit:abc123", 0.85, 0.5, 0.3, 0.85, 0.85),
    ("file:a.py#L1-L2", 0.8, 0.5, 0.3, 0.8, 0.8),
    ("url:https://docs.python.org/3/", 0.7, 0.5, 0.3, 0.7, 0.7),
    ("url:https://github.com/o/r", 0.5, 0.5, 0.3, 0.5, 0.5),
    ("url:https://blog.example/x", 0.4, 0.4, 0.3, 0.4, 0.4),
    ("url:https://docs.python.org.evil.example/", 0.4, 0.4, 0.3, 0.4, 0.4),
    ("url:https://evil.example/docs.python.org", 0.4, 0.4, 0.3, 0.4, 0.4),
    ("url:https://docs.python.org@evil.example/", 0.4, 0.4, 0.3, 0.4, 0.4),
    ("url:not an address", 0.4, 0.4, 0.3, 0.4, 0.4),
    ("import:peps", 0.6, 0.5, 0.3, 0.6, 0.6),
    ("agent:claude-code/s1", 0.5, 0.5, 0.3, 0.5, 0.5),
]
CHANNELS = (Channel.PERSON, Channel.AGENT, Channel.LLM, Channel.OWNER)


@pytest.mark.parametrize(("source", "person", "agent", "llm", "owner", "verified"), GOLDEN)
def test_trust_by_hand(
    source: str, person: float, agent: float, llm: float, owner: float, verified: float
) -> None:
    for channel, wanted in zip(CHANNELS, (person, agent, llm, owner), strict=True):
        assert trust(source, channel, verified=False) == wanted
        assert trust(source, channel, verified=True) == verified


@pytest.mark.parametrize(
    "bad", ["", "user", "user:", "user: ", ":x", "rumour:x", "http://x", "USER:x"]
)
def test_what_is_no_source_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInput, match="is not a source"):
        source_class(bad)


@given(st.sampled_from([*CLASSES]), st.sampled_from(CHANNELS), st.booleans())
def test_trust_is_never_above_the_class(name: str, channel: Channel, verified: bool) -> None:
    assert 0 <= trust(f"{name}:x", channel, verified=verified) <= class_trust(f"{name}:x") <= 1
