"""A repository of its own for each run: its code, its records, its owner. All of it goes again."""

import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2

from braincore import locate
from braincore.cli.prepare import prepare
from braincore.client import stop
from braincore.intake.link import mentions
from braincore.journal.store import Change, Journal, Why
from braincore.locate import Place
from braincore.model.axes import Channel, EdgeType, Kind, Lifecycle, TruthStatus
from braincore.model.records import (
    Alternative,
    Claim,
    Decision,
    Edge,
    Failure,
    Fragment,
    Note,
    Record,
    new_id,
)
from braincore.model.table import Table

__all__ = [
    "SOURCES",
    "copy_sources",
    "edit_event",
    "generate_code",
    "generate_records",
    "owner_seconds",
    "repository",
    "statements",
    "store_records",
]

SOURCES = (".py", ".pyi", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs")
BEGAN = datetime(2025, 1, 1, tzinfo=UTC)

_NOUNS = (
    "account address agreement alert archive balance basket batch booking branch budget campaign "
    "card catalog channel charge claim client contract coupon courier credit customer delivery "
    "deposit device discount document export feature filter folder format gateway group holiday "
    "intake invoice journal label ledger license limit listing locale mandate margin member "
    "message notice offer order package parcel payment payout permit policy portal price profile "
    "quota quote receipt refund region report reserve route schedule segment session shipment "
    "snapshot statement stock supplier tariff task tenant ticket token tracker transfer trial "
    "voucher warehouse webhook"
).split()
_VERBS = (
    "apply archive assign build cancel check close collect compare count export fetch find hold "
    "list load merge move open parse post price print pull queue rank read release remove resolve "
    "route save send settle split store sync track update"
).split()


@contextmanager
def repository() -> Iterator[Place]:
    """A fresh repository with a brain's folders; its owner is stopped before it is deleted."""
    folder = Path(tempfile.mkdtemp(prefix="braincore-bench-"))
    try:
        root = folder / "repository"
        pygit2.init_repository(str(root), initial_head="main")
        place = locate.find(root)
        prepare(place)
        try:
            yield place
        finally:
            stop(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def commit_everything(root: Path) -> None:
    """Track every file, as a real repository does."""
    repo = pygit2.Repository(str(root))
    repo.index.add_all()
    repo.index.write()
    sign = pygit2.Signature("bench", "bench@localhost", int(BEGAN.timestamp()), 0)
    repo.create_commit("HEAD", sign, sign, "the tree", repo.index.write_tree(), [])


def copy_sources(source: Path, root: Path, limit: int) -> list[str]:
    """Copy source files, each where it was, into a repository and commit them; their paths."""
    paths = []
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(
            f for f in folders if f not in {"site-packages", "__pycache__", "node_modules", ".git"}
        )
        for name in sorted(names):
            file = Path(folder, name)
            if name.endswith(SOURCES) and file.is_file() and not file.is_symlink():
                paths.append(file.relative_to(source).as_posix())
    if len(paths) > limit:
        paths = paths[:: len(paths) // limit][:limit]
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target)
    commit_everything(root)
    return paths


def generate_code(root: Path, count: int, seed: int = 7) -> list[str]:
    """Write Python modules of about a hundred lines, some with old debt in them; their paths."""
    chance = random.Random(seed)
    paths = []
    for number in range(count):
        package = f"{_NOUNS[number // 30 % len(_NOUNS)]}_{number // 30}"
        path = f"src/{package}/{chance.choice(_NOUNS)}_{number}.py"
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_module(chance, paths[-3:]), encoding="utf-8")
        paths.append(path)
    commit_everything(root)
    return paths


def _module(chance: random.Random, others: Sequence[str]) -> str:
    lines = ['"""Generated for a benchmark."""', "", "import json", "import logging", ""]
    for other in others:
        lines.append(f"from {other[:-3].replace('/', '.')} import Service as Base")
    noun = chance.choice(_NOUNS)
    base = "(Base)" if others else ""
    lines += ["", "log = logging.getLogger(__name__)", "", "", f"class Service{base}:"]
    lines += [f'    """Everything about one {noun}."""', ""]
    for name in _names(chance, 5):
        lines += _function(chance, name, "    ", "self, ")
    for name in _names(chance, 6):
        lines += ["", *_function(chance, name, "", "")]
    return "\n".join(lines) + "\n"


def _names(chance: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[f"{chance.choice(_VERBS)}_{chance.choice(_NOUNS)}"] = None
    return list(found)


def _function(chance: random.Random, name: str, margin: str, own: str) -> list[str]:
    verb, noun = chance.choice(_VERBS), chance.choice(_NOUNS)
    body = [
        f"def {name}({own}{noun}, limit={chance.randrange(10, 900)}):",
        f'    """{verb.capitalize()} a {noun}, at most `limit` of its rows."""',
        f"    rows = [row for row in {noun}.rows if row.{verb}_at is not None]",
        f"    if len(rows) > limit: log.warning('%s rows of a {noun}', len(rows))",
        f"    total = sum(row.amount * {chance.randrange(2, 99)} for row in rows[:limit])",
    ]
    if chance.random() < 0.06:
        body += [f"    if {noun} == None:", "        return {}"]
    if chance.random() < 0.04:
        body += [
            f"    try:\n{margin}        {verb}({noun})",
            "    except Exception:",
            "        pass",
        ]
    body.append(f'    return json.dumps({{"{noun}": total, "rows": len(rows)}})')
    return [margin + line for line in body] + [""]


def broken_lines(number: int) -> str:
    """The fragment of the failure of a number: three lines that no generated module has."""
    verb, noun = _VERBS[number % len(_VERBS)], _NOUNS[number // 7 % len(_NOUNS)]
    return (
        f"    for attempt in range({number % 9 + 2}):\n"
        f"        reply = gateway.{verb}_{noun}(request, timeout={number})\n"
        f"        backlog.append(reply.{noun})\n"
    )


def generate_records(count: int, paths: Sequence[str], seed: int = 11) -> list[Record]:
    """Facts, decisions and failures of one sentence, one in ten a failure with a fragment."""
    chance = random.Random(seed)
    table = Table()
    out = []
    for number in range(count):
        at = BEGAN + timedelta(seconds=number)
        path = paths[number % len(paths)] if paths else ""
        match number % 10:
            case 0:
                record = _failure(number, at, path)
            case 1 | 2:
                record = _decision(chance, number, at, path)
            case _:
                record = _fact(chance, number, at)
        out.append(record.linked(*mentions(record.title or record.text, table)))
    return out


def _record(kind: Kind, number: int, at: datetime, text: str, body: object) -> Record:
    return Record(
        id=new_id(kind, at),
        kind=kind,
        text=text,
        source_ref=f"user:bench{number % 5}",
        channel=Channel.PERSON,
        trust=0.9,
        created_at=at,
        valid_from=at,
        body=body,  # type: ignore[arg-type]
        truth_status=TruthStatus.CONFIRMED,
        lifecycle=Lifecycle.WORKING,
    )


def _fact(chance: random.Random, number: int, at: datetime) -> Record:
    one, two = chance.choice(_NOUNS), chance.choice(_NOUNS)
    text = f"The {one} service {number} keeps each {two} for {chance.randrange(1, 400)} days"
    record = _record(Kind.FACT, number, at, text, Note(Claim(f"{one} {number}", "keeps", two)))
    return record.linked(Edge(EdgeType.ABOUT, f"{one}_{number}", 0.5))


def _decision(chance: random.Random, number: int, at: datetime, path: str) -> Record:
    one, two = chance.choice(_NOUNS), chance.choice(_NOUNS)
    text = f"Every {one} {number} is written by one worker of the {two} pool"
    body = Decision(
        f"One writer for {one} {number}",
        f"Who writes the {one} {number}?",
        (Alternative("every worker", f"two of them wrote the same {two}"),),
        text,
        f"Locks around each {two} cost more than a queue",
    )
    record = _record(Kind.DECISION, number, at, text, body)
    governs = (Edge(EdgeType.GOVERNS, path, 0.5),) if path and number % 4 == 1 else ()
    return record.linked(Edge(EdgeType.ABOUT, f"{one}_{number}", 0.5), *governs)


def _failure(number: int, at: datetime, path: str) -> Record:
    title = f"Retries flooded the gateway, case {number}"
    body = Failure(
        title,
        "The gateway refused every request for an hour",
        "each attempt was sent at once and kept in memory",
        "wait between attempts and keep only the last reply",
        "commit:" + f"{number:040x}",
        Fragment(broken_lines(number), "python", (path,) if path else ()),
    )
    record = _record(Kind.FAILURE, number, at, f"{title}: {body.why}", body)
    about = (Edge(EdgeType.ABOUT, path, 0.5),) if path else ()
    return record.linked(Edge(EdgeType.EVIDENCE, body.evidence, 0.5), *about)


def store_records(place: Place, records: Sequence[Record]) -> None:
    """Put records into the journal of a brain that is not open, in commits of a thousand."""
    journal = Journal(place.store / "journal.git")
    try:
        for first in range(0, len(records), 1000):
            part = records[first : first + 1000]
            changes = [Change(None, record) for record in part]
            journal.commit(
                changes, Why("import", "import:bench", "owner", "bench"), part[-1].created_at
            )
    finally:
        journal.close()


def statements(data: Path | None) -> Iterator[str]:
    """Sentences without end: lines of the text files of a folder, else generated ones."""
    number = 0
    if data is not None:
        for file in sorted(data.rglob("*")):
            if file.suffix in (".txt", ".md", ".jsonl"):
                for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                    if text := line.strip():
                        number += 1
                        yield f"{text[:2000]} ({number})"
    chance = random.Random(3)
    while True:
        number += 1
        one, two, verb = chance.choice(_NOUNS), chance.choice(_NOUNS), chance.choice(_VERBS)
        yield (
            f"Node {number} may {verb} up to {chance.randrange(2, 900)} rows of a {one} "
            f"for each {two} before the nightly run"
        )


def edit_event(root: Path, path: str, old: str, new: str) -> bytes:
    """A client's event before an edit, as it arrives on the hook's stdin."""
    return json.dumps(
        {
            "session_id": "00000000-0000-4000-8000-000000000000",
            "transcript_path": "/dev/null",
            "cwd": str(root),
            "permission_mode": "acceptEdits",
            "hook_event_name": "PreToolUse",
            "tool_name": "Edit",
            "tool_input": {
                "file_path": str(root / path),
                "old_string": old,
                "new_string": new,
                "replace_all": False,
            },
        }
    ).encode()


def owner_seconds(place: Place) -> tuple[int, float] | None:
    """Process id and CPU seconds of the running owner so far; None where that can't be seen."""
    try:
        pid = int(json.loads((place.store / "owner.json").read_bytes())["pid"])
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError, KeyError):
        return None
    return pid, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
