"""What a request may say: parsed and checked once, at the boundary."""

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "CheckRequest",
    "ContextRequest",
    "DecideRequest",
    "FailRequest",
    "ImportRequest",
    "LogRequest",
    "NameRequest",
    "NoRequest",
    "OutcomeRequest",
    "RecallRequest",
    "RecordRequest",
    "RememberRequest",
    "ServeRequest",
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RememberRequest(_Request):
    """`remember`."""

    text: str
    source: str = ""
    kind: str = ""
    target: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    valid_from: str = ""
    valid_until: str = ""
    confidence: float | None = None
    scope: str = "local"
    namespace: str = "main"
    tags: list[str] = Field(default_factory=list)
    symbols: list[str] = Field(default_factory=list)


class RecallRequest(_Request):
    """`recall`."""

    query: str
    target: str = ""
    symbols: list[str] = Field(default_factory=list)
    limit: int = Field(5, ge=1, le=200)
    offset: int = Field(0, ge=0)
    as_of: str = ""
    valid_at: str = ""
    allow_uncertainty: bool = False
    explain: bool = False
    namespace: str = "main"


class DecideRequest(_Request):
    """`decide`; an alternative is `option: why it was rejected`."""

    title: str
    problem: str
    alternatives: list[str]
    decision: str
    reasoning: str
    source: str = ""
    target: str = ""
    governs: list[str] = Field(default_factory=list)
    supersedes: str = ""
    coexists: bool = False
    namespace: str = "main"
    scope: str = "local"


class OutcomeRequest(_Request):
    """`outcome`."""

    id: str
    text: str


class FailRequest(_Request):
    """`fail`."""

    title: str
    broke: str
    why: str
    fix: str
    evidence: str
    fragment: str = ""
    target: str = ""
    source: str = ""
    namespace: str = "main"
    scope: str = "local"


class ImportRequest(_Request):
    """`import`: some lines of a file; `first_line` is the number of the first of them."""

    name: str
    content: str
    first_line: int = Field(1, ge=1)


class CheckRequest(_Request):
    """`check`: one file with its content, or a unified diff."""

    path: str = ""
    content: str | None = None
    diff: str | None = None


class NameRequest(_Request):
    """`why`, `related`: a target, symbol or path."""

    name: str


class ContextRequest(_Request):
    """`context`."""

    prompt: str
    budget: int = Field(800, ge=50, le=20000)


class LogRequest(_Request):
    """`log`."""

    limit: int = Field(20, ge=1, le=10000)


class RecordRequest(_Request):
    """`record`: one turn of a session; `success` says how the response worked out, if known."""

    prompt: str
    response: str
    success: bool | None = None


class ServeRequest(_Request):
    """`serve`: listen on loopback TCP too, at `[HOST:]PORT`."""

    http: str


class NoRequest(_Request):
    """Verbs without arguments."""
