"""Questions to a brain of another domain: what must hold is that none is answered wrongly without a
flag, and that most of those on record are answered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from braincore.brain import Brain, RecallInput, open_brain
from braincore.intake.statement import Caller, DecisionInput, Statement
from braincore.model.axes import Channel
from braincore.model.outcomes import Answer, Stored
from braincore.model.records import Alternative, Claim

BO = Caller(Channel.PERSON, "bo")

FACTS = {
    "upload": Statement("Uploads larger than 25 MB are rejected.", target="upload_limit"),
    "avatar": Statement("Avatars larger than 2 MB are rejected.", target="avatar_limit"),
    "kafka": Statement("The event bus runs on Kafka 3.6.", target="event_bus"),
    "celery": Statement(
        "Thumbnails are rendered by Celery.",
        target="thumbnails",
        claim=Claim("thumbnails", "rendered by", "Celery"),
    ),
    "cdn": Statement("Static assets are served by Cloudflare; images come from S3."),
    "flags": Statement("LaunchDarkly holds the feature toggles.", target="LaunchDarkly"),
    "python": Statement("The workers run Python 3.11.", target="worker_runtime"),
    "node": Statement("The frontend builds with Node 20.", target="frontend_build"),
    "merge": Statement("Pull requests are merged by squash.", target="merge_strategy"),
    "secrets": Statement("Never log an email address.", target="logging"),
    "quota": Statement("Free accounts get 3 projects.", target="free_plan"),
    "paid": Statement("Paid accounts get 50 projects.", target="paid_plan"),
    "oncall": Statement(
        "Mira is on call for the importer.", claim=Claim("importer", "on call", "Mira")
    ),
    "german": Statement("Rechnungen werden als PDF verschickt.", target="Rechnungen"),
    "ru": Statement("Отчёты хранятся в каталоге reports.", target="отчёты"),
}
DECISION = DecisionInput(
    title="Monorepo with pnpm",
    problem="how packages are versioned together",
    alternatives=(Alternative("Lerna", "unmaintained"), Alternative("Yarn", "slow installs")),
    decision="All packages live in one repository managed by pnpm.",
    reasoning="One lock file, one review.",
    target="package_layout",
)

TABLE = """
upload limit | upload
are uploads larger than 25 MB rejected? | upload
are uploads larger than 2 MB rejected? | -
are avatars larger than 2 MB rejected? | avatar
are avatars larger than 2 GB rejected? | -
what size of avatars is rejected? | avatar
are attachments larger than 25 MB rejected? | -
event bus | kafka
what does the event bus run on? | kafka
which broker does the event bus run on? | kafka
does the event bus run on RabbitMQ? | -
does the event bus run on Kafka 2.8? | -
how many partitions does the event bus have? | -
who renders thumbnails? | celery
what are thumbnails rendered by? | celery
are thumbnails rendered by Celery? | celery
who renders invoices? | -
are images served by Cloudflare? | -
who serves static assets? | cdn
where do images come from? | cdn
what holds the feature toggles? | flags
launchdarkly | flags
launch darkly toggles | flags
which Python do the workers run? | python
do the workers run Python 3.12? | -
which node does the frontend build with? | node
does the frontend build with Python 3.11? | -
how are pull requests merged? | merge
who merges pull requests? | merge
may we log an email address? | secrets
may we log a phone number? | -
how many projects do free accounts get? | quota
how many projects do paid accounts get? | paid
how many projects do trial accounts get? | -
do free accounts get 50 projects? | -
who is on call for the importer? | oncall
who is on call for the exporter? | -
why a monorepo with pnpm? | repo
why don't we use Lerna? | repo
why not npm? | -
why was Yarn turned down? | repo
why do we use Lerna? | -
wie werden Rechnungen verschickt? | german
где хранятся отчёты? | ru
где хранятся журналы? | -
what is the password of the event bus? | -
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Brain, dict[str, str]]]:
    """The brain and the names of its records by id."""
    folder: Path = tmp_path_factory.mktemp("other domain")
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "refs").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    brain = open_brain(str(folder))
    names = {}
    for name, given in FACTS.items():
        done = brain.remember(given, BO)
        names[done.record.id] = name
    decided = brain.decide(DECISION, BO)
    assert isinstance(decided, Stored)
    names[decided.record.id] = "repo"
    yield brain, names
    brain.close()


def rows() -> list[tuple[str, str]]:
    """(question, record on top or "-")."""
    parts = [line.rpartition("|") for line in TABLE.splitlines() if line]
    return [(question.strip(), wanted.strip()) for question, _, wanted in parts]


def test_most_of_what_is_on_record_is_answered(other: Any) -> None:
    brain, _ = other
    known = [question for question, wanted in rows() if wanted != "-"]
    answers = [isinstance(brain.recall(RecallInput(q), BO), Answer) for q in known]
    assert sum(answers) >= 0.85 * len(known)


@pytest.mark.parametrize(("question", "wanted"), rows())
def test_never_confidently_wrong(other: Any, question: str, wanted: str) -> None:
    brain, names = other
    found = brain.recall(RecallInput(question), BO)
    if isinstance(found, Answer) and not found.facts[0].flags:
        assert names[found.facts[0].record.id] == wanted
