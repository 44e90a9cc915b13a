"""Trust is the channel's, never the caller's word (SPEC §2).

trust = min(class of source_ref, ceiling of channel). Only verified evidence lifts an agent's record
above its ceiling; trust is then that class's.
"""

from urllib.parse import urlsplit

from braincore.errors import InvalidInput
from braincore.model.axes import Channel

__all__ = ["CEILINGS", "CLASSES", "WEB_HOSTS", "WEB_OTHER", "class_trust", "source_class", "trust"]

CEILINGS: dict[Channel, float] = {
    Channel.PERSON: 0.9,
    Channel.AGENT: 0.5,
    Channel.LLM: 0.3,
    Channel.OWNER: 0.85,
}

CLASSES: dict[str, float] = {
    "user": 0.9,
    "test": 0.85,
    "commit": 0.85,
    "file": 0.8,
    "import": 0.6,
    "agent": 0.5,
}

WEB_HOSTS: dict[str, float] = {
    "docs.python.org": 0.7,
    "peps.python.org": 0.7,
    "developer.mozilla.org": 0.7,
    "rfc-editor.org": 0.7,
    "www.rfc-editor.org": 0.7,
    "github.com": 0.5,
    "gitlab.com": 0.5,
    "stackoverflow.com": 0.5,
}
WEB_OTHER = 0.4


def source_class(source_ref: str) -> str:
    """The class of a source: the word before the first colon.

    Raises InvalidInput for an empty source or one of no known class.
    """
    name, colon, rest = source_ref.partition(":")
    if not colon or not rest.strip() or (name not in CLASSES and name != "url"):
        raise InvalidInput(
            f"{source_ref!r} is not a source",
            "Write user:NAME, commit:SHA, test:NODE_ID, file:PATH#L1-L9, url:ADDRESS, "
            "agent:CLIENT/SESSION or import:NAME.",
        )
    return name


def class_trust(source_ref: str) -> float:
    """The trust of a source's class, in [0, 1]; web pages by their host."""
    name = source_class(source_ref)
    if name == "url":
        return WEB_HOSTS.get(_host(source_ref.partition(":")[2]), WEB_OTHER)
    return CLASSES[name]


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # such as http://[x, also when a secret in the address was replaced
        return ""


def trust(source_ref: str, channel: Channel, *, verified: bool) -> float:
    """min(class, ceiling), or the class alone when the evidence was verified by the owner."""
    of_class = class_trust(source_ref)
    return of_class if verified else min(of_class, CEILINGS[channel])
