"""The JSON shapes of every verb's answer: one contract for the command line's `--json`, REST, MCP
and Python.

Times are ISO 8601 in UTC, as `2026-11-30T12:00:00.000001Z`. Scores, trust and confidence are in
[0, 1] unless said otherwise. Lines count from 1. Paths are relative to the repository's root, with
`/`; a symbol is `path::qualified.name`. Later versions may add keys; none changes its meaning.
"""

import sys
from typing import Literal, NotRequired, TypeAlias

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic makes no schema from the older standard one
    from typing_extensions import TypedDict

__all__ = [
    "Alternative",
    "ChainLink",
    "Checked",
    "Conflict",
    "Considered",
    "Context",
    "Decided",
    "Doctored",
    "Failed",
    "Imported",
    "Indexed",
    "Initialised",
    "Log",
    "Pong",
    "Rebuilt",
    "Recalled",
    "Recorded",
    "RejectedLine",
    "Related",
    "Reviews",
    "Serving",
    "Status",
    "Stopping",
    "Stored",
    "Tasks",
    "VerdictName",
    "Why",
]


class Failed(TypedDict):
    """What went wrong and what to do next, in one text; every status but 200 comes with this."""

    outcome: Literal["error"]
    error: str


class Stored(TypedDict):
    """A record was stored, or (`duplicate`) an equal one strengthened.

    `channel` is the door it came through as the owner saw it: person or agent. `notes` say what
    the record can't do yet.
    """

    outcome: Literal["stored"]
    id: str
    duplicate: bool
    kind: str
    channel: str
    trust: float
    truth_status: str
    lifecycle: str
    source_ref: str
    notes: list[str]


class Brief(TypedDict):
    """What a list shows of a record."""

    id: str
    kind: str
    text: str
    source_ref: str
    truth_status: str
    created_at: str
    target: NotRequired[str]
    title: NotRequired[str]


class StoredDecision(Stored):
    """A decision was stored; `conflicts` is empty."""

    conflicts: list[Brief]


class Conflict(TypedDict):
    """A decision that was not stored, and the ones that stand in its way; exit code 2.

    `supersedes` or `coexists` in a second request resolves it, as `next` says.
    """

    outcome: Literal["conflict"]
    id: None
    conflicts: list[Brief]
    reason: str
    next: str


Decided: TypeAlias = StoredDecision | Conflict


class Alternative(TypedDict):
    """An option that was weighed and why it was rejected."""

    option: str
    rejected_because: str


class Claim(TypedDict):
    """What a fact says in a form that can be compared."""

    subject: str
    predicate: str
    object: str


class Fact(TypedDict):
    """One record of an answer. `score` ranks within this answer only: its factors span 0 to 3.

    `flags` warn (unconfirmed, probable, historical …): a fact with flags is no certain answer.
    Decisions carry title, problem, reasoning and alternatives; failures title, why, fix and
    evidence; a parsed statement its claim. `explain`, on request, has every term of the score.
    """

    id: str
    kind: str
    text: str
    score: float
    source_ref: str
    flags: list[str]
    truth_status: str
    lifecycle: str
    trust: float
    confidence: float
    target: str
    valid_from: str
    valid_until: str | None
    created_at: str
    title: NotRequired[str]
    problem: NotRequired[str]
    reasoning: NotRequired[str]
    alternatives: NotRequired[list[Alternative]]
    why: NotRequired[str]
    fix: NotRequired[str]
    evidence: NotRequired[str]
    claim: NotRequired[Claim]
    explain: NotRequired[dict[str, float | bool | None]]


class Rejected(TypedDict):
    """A record that was on the topic and withheld, and why."""

    id: str
    reason: str


class Considered(TypedDict):
    """One candidate of a question: its fused score, its rank in each list (from 1; null: not in
    it), its calibrated cosine (null: no vector), and why it was not taken (null: it was)."""

    id: str
    rrf: float
    keyword_rank: int | None
    vector_rank: int | None
    graph_rank: int | None
    cosine: float | None
    reason: str | None


class Recalled(TypedDict):
    """An answer, best first, or an abstain with its reason, the id of the brain task and what to
    do `next`.

    `total` counts the accepted records of all pages. `considered`, on request (`explain`), has
    every candidate, best fused score first.
    """

    outcome: Literal["answer", "abstain"]
    facts: list[Fact]
    rejected: list[Rejected]
    reason: str | None
    task: str | None
    total: int
    next: str | None
    considered: NotRequired[list[Considered]]


class EdgeTo(TypedDict):
    """A typed link from a record to another, an entity, a path or a symbol."""

    type: str
    to: str


class ChainLink(TypedDict):
    """One decision of a chain. `in_force` until something supersedes it; `stale` names the code it
    speaks of that is gone; `outcome` is None until somebody tells it."""

    id: str
    title: str
    problem: str
    alternatives: list[Alternative]
    decision: str
    reasoning: str
    outcome: str | None
    superseded_by: list[str]
    in_force: bool
    source_ref: str
    truth_status: str
    created_at: str
    target: str
    edges: list[EdgeTo]
    stale: list[str]


class Why(TypedDict):
    """Decision chains, each from the oldest decision to what holds now; or an abstain."""

    outcome: Literal["answer", "abstain"]
    reason: str | None
    next: str | None
    chains: list[list[ChainLink]]


class Finding(TypedDict):
    """Something the edit introduces; either a `rule` id or a `record` id says what found it.

    `line` is in the text after the edit. `severity`: critical, high, medium, low or info.
    """

    rule: NotRequired[str]
    record: NotRequired[str]
    severity: str
    message: str
    path: str
    line: int
    why: str
    snippet: str


class RepairStep(TypedDict):
    """One step of a repair plan."""

    path: str
    line: int
    change: str
    why: str
    evidence: str


VerdictName: TypeAlias = Literal["allow", "warn", "deny", "abstain"]


class Checked(TypedDict):
    """The verdict on an edit. `deny` and `abstain` mean: don't write it; exit code 2."""

    verdict: VerdictName
    findings: list[Finding]
    repair_plan: list[RepairStep]
    notes: list[str]
    next: str | None


class RelatedRecord(Brief):
    """A record linked to the code; `edges` are the types of its links there."""

    edges: list[str]
    stale: list[str]


class Neighbour(TypedDict):
    """An edge of the code graph: its other end, and whether it leads `out` or `in`."""

    relation: str
    direction: str
    ref: str


class Related(TypedDict):
    """What is known about a symbol or path; `ref` is its full form, `dependents` what depends on
    it within two hops."""

    ref: str
    records: list[RelatedRecord]
    code: list[Neighbour]
    dependents: list[str]


class Context(TypedDict):
    """A block for a prompt, quoted and labelled, and the ids in it; both empty when nothing on
    record is named."""

    text: str
    records: list[str]


class Task(TypedDict):
    """An open brain task: what the brain would need to know. `asked` counts the recalls."""

    id: str
    query: str
    why: str
    needs: str
    asked: int
    target: str | None
    created_at: str


class Tasks(TypedDict):
    """The open brain tasks, most asked first."""

    tasks: list[Task]


class Candidate(TypedDict):
    """One candidate of a review."""

    ref: str
    score: float


class Review(TypedDict):
    """Something that waits for a person's decision."""

    id: str
    subject: str
    reason: str
    closed: bool
    candidates: list[Candidate]


class Reviews(TypedDict):
    """All reviews."""

    reviews: list[Review]


class Entry(TypedDict):
    """One commit of the journal; `records` are the ids it touched."""

    commit: str
    at: str
    verb: str
    who: str
    channel: str
    why: str
    subject: str
    records: list[str]


class Log(TypedDict):
    """Commits of the journal, newest first."""

    log: list[Entry]


class Skipped(TypedDict):
    """A file that was passed over."""

    path: str
    reason: str


class Indexed(TypedDict):
    """What the code index holds now; `changed` and `removed` count files."""

    files: int
    symbols: int
    syntax_errors: int
    changed: int
    removed: int
    skipped: list[Skipped]
    seconds: float


class Initialised(Indexed):
    """A brain that is ready; `restored` are team files brought back after `git clean`."""

    outcome: Literal["ready"]
    root: str
    store: str
    rules: int
    rule_errors: list[str]
    restored: list[str]
    version: str


class RejectedLine(TypedDict):
    """A line of an imported file that can't be stored, and why."""

    line: int
    reason: str


class Imported(TypedDict):
    """What the lines of a file came to. `duplicates` were on record already; `rejected` lines were
    left out, the others are stored."""

    outcome: Literal["imported"]
    stored: int
    duplicates: int
    rejected: list[RejectedLine]
    seconds: float


class Rebuilt(TypedDict):
    """Graph and indexes made anew; `equal` says that the graph came out as it was."""

    outcome: Literal["rebuilt"]
    digest: str
    equal: bool
    records: int
    seconds: float


class VectorsStatus(TypedDict):
    """The vectors of records: what makes them, how many there are, how many are still to be made.
    `model` and the sha256 of its `weights` are null until it is loaded."""

    embedder: str
    vectors: int
    waiting: int
    model: str | None
    weights: str | None


class Sizes(TypedDict):
    """Bytes on disk in the store; `total` has what is named here and the rest."""

    journal: int
    graph: int
    index: int
    usage: int
    log: int
    total: int


class SlowRequest(TypedDict):
    """A request that took more than 1 s, or a hook more than 0.3 s, and when it ended."""

    verb: str
    seconds: float
    at: str


class Status(TypedDict):
    """The brain in numbers. `http` is the owner's address on TCP, None when it has none;
    `projection_lag` counts commits; a problem that is empty is none.

    Rates are in [0, 1], null where there is nothing to count: `freshness` is the share of records
    with code references whose code is all there, `contradiction_rate` that of records under an open
    review, `abstain_rate` that of recalls. `slow`: the last ten of this owner, newest first.
    """

    version: str
    root: str
    store: str
    branch: str
    pid: int
    uptime_seconds: float
    http: str | None
    http_problem: str
    records: int
    kinds: dict[str, int]
    lifecycle: dict[str, int]
    truth: dict[str, int]
    freshness: float | None
    contradiction_rate: float | None
    recalls: int
    abstain_rate: float | None
    open_tasks: int
    files: int
    symbols: int
    files_with_syntax_errors: int
    rules: int
    rule_errors: list[str]
    config_problem: str
    hand_edited: list[str]
    journal_head: str | None
    projection_lag: int
    vectors: VectorsStatus
    problem: str
    slow: list[SlowRequest]
    sizes: Sizes
    rss_mb: float
    versions: dict[str, str]
    channel: str


class Check(TypedDict):
    """One step of the doctor."""

    check: str
    ok: bool
    detail: str


class Doctored(TypedDict):
    """What the doctor found; exit code 1 unless all is well."""

    ok: bool
    checks: list[Check]


class Recorded(TypedDict):
    """Events that were noted, in order."""

    outcome: Literal["recorded"]
    events: list[str]


class Pong(TypedDict):
    """The owner is there; `protocol` is what clients must speak."""

    version: str
    pid: int
    protocol: str


class Stopping(TypedDict):
    """The owner finishes what runs, then ends."""

    outcome: Literal["stopping"]
    pid: int


class Serving(TypedDict):
    """The owner listens on TCP: the root of its addresses, and the file with the token."""

    outcome: Literal["serving"]
    http: str
    token_file: str
