"""The brain of a repository from Python: a thin client of its owner process.

    with braincore.open("path/to/repository") as brain:
        found = brain.recall("which port does staging use?")

Every verb is one request to the owner, which is started if none serves; answers are the JSON
objects of `braincore.shapes`. Who calls is found out by the owner, as for the command line: a
person at a terminal, else an agent. Standard library only.
"""

import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, cast

from braincore.client import ask
from braincore.errors import BraincoreError, InvalidInput
from braincore.locate import Place, find, find_initialised

if TYPE_CHECKING:
    from types import TracebackType

    from braincore import shapes

__all__ = ["Brain", "open"]

Time = date | datetime | str | None
"""A time with a zone, a UTC day, or either as ISO 8601 text; None or "": not said."""

PathName = str | os.PathLike[str]

PART_RECORDS = 2000
PART_CHARACTERS = 4 << 20
"""So much is imported with one request: others are served in between."""


def open(path: PathName = ".", *, create: bool = False) -> "Brain":
    """The brain of the repository that `path` lies in; with `create`, made if there is none.

    Raises NotARepository, or NotInitialised when there is no brain.
    """
    if not create:
        return Brain(find_initialised(path))
    from braincore.cli.prepare import prepare

    place = find(path)
    brain = Brain(place)
    if prepare(place):
        brain._ask("init", {})
    return brain


class Brain:
    """One repository's brain. Every method may be called from any thread.

    Each raises BraincoreError, whose text says what to do next. Paths are absolute or from the
    repository's root; a symbol is `path::qualified.name`.
    """

    def __init__(self, place: Place) -> None:
        """See `open`."""
        self._place = place
        self._closed = False

    def __enter__(self) -> "Brain":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        problem: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<braincore.Brain of {self._place.root}>"

    def close(self) -> None:
        """Ask nothing any more. The owner goes on and leaves when idle."""
        self._closed = True

    def _ask(self, verb: str, arguments: Mapping[str, object]) -> Any:
        if self._closed:
            raise InvalidInput("this brain is closed", "Open it again with braincore.open(PATH).")
        body = {name: _plain(name, value) for name, value in arguments.items()}
        answer = ask(self._place, verb, body)
        assert answer is not None
        return answer.body

    # — what enters —

    def remember(
        self,
        text: str,
        *,
        source: str = "",
        kind: str = "",
        target: str = "",
        subject: str = "",
        predicate: str = "",
        object: str = "",
        valid_from: Time = None,
        valid_until: Time = None,
        confidence: float | None = None,
        scope: str = "local",
        namespace: str = "main",
        tags: Iterable[str] = (),
        symbols: Iterable[str] = (),
    ) -> "shapes.Stored":
        """Store a statement with its source, or strengthen the record that already says it."""
        body = _arguments(locals())
        return cast("shapes.Stored", self._ask("remember", body))

    def decide(
        self,
        *,
        title: str,
        problem: str,
        alternatives: Iterable[str],
        decision: str,
        reasoning: str,
        source: str = "",
        target: str = "",
        governs: Iterable[PathName] = (),
        supersedes: str = "",
        coexists: bool = False,
        namespace: str = "main",
        scope: str = "local",
    ) -> "shapes.Decided":
        """Store a decision, or say what it conflicts with. An alternative is written
        `option: why it was rejected`."""
        body = _arguments(locals())
        return cast("shapes.Decided", self._ask("decide", body))

    def outcome(self, id: str, text: str) -> "shapes.Stored":
        """Add what became of a decision."""
        return cast("shapes.Stored", self._ask("outcome", {"id": id, "text": text}))

    def record_failure(
        self,
        *,
        title: str,
        broke: str,
        why: str,
        fix: str,
        evidence: str,
        fragment: PathName = "",
        target: str = "",
        source: str = "",
        namespace: str = "main",
        scope: str = "local",
    ) -> "shapes.Stored":
        """Store a failure. `evidence` is `commit:SHA` or `test:ID` and must exist; `fragment`, as
        `FILE[:L1-L2]`, is the code that broke: with it the same edit is refused later."""
        body = _arguments(locals())
        return cast("shapes.Stored", self._ask("fail", body))

    def record_interaction(
        self, prompt: str, response: str, success: bool | None = None
    ) -> "shapes.Recorded":
        """Note one turn of a session; `success` says how it worked out, None when unknown."""
        body = {"prompt": prompt, "response": response, "success": success}
        return cast("shapes.Recorded", self._ask("record", body))

    def import_records(
        self, records: Iterable[Mapping[str, object]], *, name: str = "python"
    ) -> "shapes.Imported":
        """Store many records, each with the fields of a line of `braincore import`; `name` says
        where they come from.

        A record that can't be stored is reported (`line` counts from 1) and the others go in; to
        import the same again adds nothing. Raises BraincoreError when the import stopped midway.
        """
        began = time.monotonic()
        total: shapes.Imported = {
            "outcome": "imported",
            "stored": 0,
            "duplicates": 0,
            "rejected": [],
            "seconds": 0.0,
        }
        for first, lines in _parts(records, total["rejected"]):
            body = {"name": name, "content": "\n".join(lines), "first_line": first}
            try:
                done = cast("shapes.Imported", self._ask("import", body))
            except BraincoreError as error:
                if first == 1:
                    raise
                raise BraincoreError(
                    f"stopped at record {first}, after {total['stored']} were stored: {error} "
                    "Import them again to go on: what is stored is not stored twice."
                ) from error
            total["stored"] += done["stored"]
            total["duplicates"] += done["duplicates"]
            total["rejected"] += done["rejected"]
        total["rejected"].sort(key=lambda one: one["line"])
        total["seconds"] = round(time.monotonic() - began, 3)
        return total

    # — what is asked —

    def recall(
        self,
        query: str,
        *,
        target: str = "",
        symbols: Iterable[str] = (),
        limit: int = 5,
        offset: int = 0,
        as_of: Time = None,
        valid_at: Time = None,
        allow_uncertainty: bool = False,
        explain: bool = False,
        namespace: str = "main",
    ) -> "shapes.Recalled":
        """Answer from what is verified, or abstain and say why. `as_of`: what was believed then;
        `valid_at`: what held then; not both."""
        body = _arguments(locals())
        return cast("shapes.Recalled", self._ask("recall", body))

    def why(self, name: str) -> "shapes.Why":
        """The decision chains of a target, symbol or path, to what holds now."""
        return cast("shapes.Why", self._ask("why", {"name": name}))

    def related(self, name: PathName) -> "shapes.Related":
        """The records linked to a symbol or path, and the code around it."""
        return cast("shapes.Related", self._ask("related", {"name": name}))

    def check_edit(
        self, path: PathName = "", content: str | None = None, *, diff: str | None = None
    ) -> "shapes.Checked":
        """Judge an edit before it is written: a file's new content, or a unified diff."""
        body = {"path": path, "content": content, "diff": diff}
        return cast("shapes.Checked", self._ask("check", body))

    def context(self, prompt: str, *, budget: int = 800) -> "shapes.Context":
        """What a prompt should bring along, within a budget of tokens."""
        return cast("shapes.Context", self._ask("context", {"prompt": prompt, "budget": budget}))

    def context_for_prompt(self, prompt: str, *, budget: int = 800) -> str:
        """The text of `context`: quoted records that the prompt names, or ""."""
        return self.context(prompt, budget=budget)["text"]

    def tasks(self) -> "shapes.Tasks":
        """What the brain needs to know, most asked first."""
        return cast("shapes.Tasks", self._ask("tasks", {}))

    def review(self) -> "shapes.Reviews":
        """What waits for a person's decision."""
        return cast("shapes.Reviews", self._ask("review", {}))

    def log(self, *, limit: int = 20) -> "shapes.Log":
        """The newest commits of the journal."""
        return cast("shapes.Log", self._ask("log", {"limit": limit}))

    def status(self) -> "shapes.Status":
        """The brain in numbers."""
        return cast("shapes.Status", self._ask("status", {}))

    # — what is kept in step —

    def index(self) -> "shapes.Indexed":
        """Bring the code index to the working tree."""
        return cast("shapes.Indexed", self._ask("index", {}))

    def rebuild(self) -> "shapes.Rebuilt":
        """Fill graph and indexes anew from the journal."""
        return cast("shapes.Rebuilt", self._ask("rebuild", {}))


def _parts(
    records: Iterable[Mapping[str, object]], rejected: "list[shapes.RejectedLine]"
) -> Iterator[tuple[int, list[str]]]:
    """Lines of JSON that fit a request, with the number of the first; of a record that JSON can't
    carry the line is empty and the reason goes to `rejected`."""
    first, size, lines = 1, 0, list[str]()
    for number, record in enumerate(records, 1):
        try:
            line = json.dumps(_plain("record", record), ensure_ascii=False)
        except InvalidInput as error:
            rejected.append({"line": number, "reason": str(error)})
            line = ""
        lines.append(line)
        size += len(line)
        if len(lines) >= PART_RECORDS or size >= PART_CHARACTERS:
            yield first, lines
            first, size, lines = number + 1, 0, []
    if lines:
        yield first, lines


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """A method's arguments as a request; what is None stands for its default."""
    return {k: v for k, v in given.items() if k != "self" and v is not None}


def _plain(name: str, value: object) -> object:
    """An argument as JSON has it. Raises InvalidInput for what JSON can't carry."""
    match value:
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InvalidInput(
                    f"{name} is no valid Unicode", "Decode it with errors='replace'."
                ) from None
            return value
        case datetime():
            if value.tzinfo is None:
                raise InvalidInput(
                    f"{name}={value!r} has no time zone", "Use datetime.now(UTC) or .astimezone()."
                )
            return value.isoformat()
        case date():
            return value.isoformat()
        case os.PathLike():
            return _plain(name, os.fsdecode(value))
        case Mapping():
            return {str(k): _plain(f"{name}.{k}", v) for k, v in value.items()}
        case bytes() | bytearray():
            raise InvalidInput(f"{name} is bytes", "Decode it to text first.")
        case Iterable():
            return [_plain(name, one) for one in value]
        case _:
            raise InvalidInput(
                f"{name}={value!r} can't be sent", "Give text, a number or a list of texts."
            )
