"""The small brain that the hard questions are put to, built once through the real verbs."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from braincore.brain import Brain, RecallInput, open_brain
from braincore.intake.statement import Caller, DecisionInput, FailureInput, Statement
from braincore.model.axes import Channel
from braincore.model.outcomes import Abstain, Answer, Stored
from braincore.model.records import Alternative, Claim, Record

ANN = Caller(Channel.PERSON, "ann")
BOT = Caller(Channel.AGENT, "claude-code/s1", "s1")

FACTS: dict[str, Statement] = {
    "staging port": Statement("The staging API listens on port 8443.", target="staging_port"),
    "production port": Statement(
        "The production API listens on port 8080.",
        target="production_port",
        claim=Claim("production API", "port", "8080"),
    ),
    "api timeout": Statement("API requests time out after 30 s.", target="api_timeout"),
    "worker timeout": Statement("Worker jobs time out after 90 s.", target="worker_timeout"),
    "billing v1": Statement("Billing API v1 answers in XML."),
    "billing v2": Statement("Billing API v2 answers in JSON."),
    "asr1603": Statement("ASR1603 modems need firmware 4.2.", target="ASR1603"),
    "asr1605": Statement("ASR1605 modems need firmware 5.1.", target="ASR1605"),
    "user a": Statement("User holds the profile of the account page.", target="a.py::User"),
    "user b": Statement("User holds the credentials of the console.", target="b.py::User"),
    "get user": Statement("GetUser caches profiles for 5 min.", target="auth/user.py::GetUser"),
    "backup": Statement("Postgres is backed up nightly; Redis isn't."),
    "access": Statement("Access tokens live 15 minutes.", target="access_tokens"),
    "refresh": Statement("Refresh tokens live 30 days.", target="refresh_tokens"),
    "jest": Statement("jest-native matchers are loaded in setup.ts.", target="jest-native"),
    "react": Statement("react-native is pinned to 0.72.", target="react-native"),
    "checkout": Statement(
        "The checkout service keeps its carts in PostgreSQL.",
        target="checkout_service",
        claim=Claim("checkout service", "database", "PostgreSQL"),
    ),
    "vue": Statement("Vue components live in src/ui.", target="Vue"),
    "search": Statement("I think the search index is rebuilt on Sundays.", target="search_index"),
    "legacy": Statement(
        "Legacy clients are refused.",
        target="legacy_clients",
        valid_from=datetime(2099, 1, 1, tzinfo=UTC),
    ),
    "beta": Statement(
        "The beta flag is on for all tenants.",
        target="beta_flag",
        valid_from=datetime(2020, 1, 1, tzinfo=UTC),
        valid_until=datetime(2021, 1, 1, tzinfo=UTC),
    ),
    "chinese": Statement("数据库端口是5432。"),
    "chinese ubuntu": Statement("测试服务器的操作系统是 Ubuntu。"),
    "russian": Statement("Сервер отчётов слушает порт 9090."),
    "payment": Statement("Never retry a payment automatically.", target="payment_retry"),
    "cache": Statement(
        'The build prints "cache miss" when the lock file changed.', target="build_cache"
    ),
    "cluster": Statement(
        "The staging cluster has 3 nodes.", target="staging_cluster", confidence=0.3
    ),
    "chrome": Statement(
        "Chrome ignores autocomplete=off.",
        target="chrome_autocomplete",
        source="url:https://blog.example/chrome",
    ),
    "deploy": Statement(
        "Deploys need two approvals; hotfixes need one approval.", target="deploys"
    ),
    "owner": Statement("Ann Lee owns billing.", claim=Claim("billing", "owner", "Ann Lee")),
    "grafana": Statement("Dashboards are served by Grafana.", target="dashboards"),
}

AGENT_FACTS: dict[str, Statement] = {
    "jenkins": Statement("Nightly builds run on Jenkins.", target="nightly_builds"),
    "feature flags": Statement("Feature flags are read from flags.toml.", target="feature_flags"),
}

DECISIONS: dict[str, DecisionInput] = {
    "orders": DecisionInput(
        title="PostgreSQL for orders",
        problem="where orders are stored",
        alternatives=(
            Alternative("MongoDB", "no transactions across collections"),
            Alternative("DynamoDB", "locks us in"),
        ),
        decision="Orders are stored in PostgreSQL.",
        reasoning="We need transactions and JSONB.",
        target="orders_store",
    ),
    "sessions": DecisionInput(
        title="Redis for sessions",
        problem="where sessions are kept",
        alternatives=(Alternative("Memcached", "loses everything on restart"),),
        decision="Sessions are kept in Redis.",
        reasoning="Expiry comes for free and lookups stay under a millisecond.",
        target="session_store",
    ),
    "rest": DecisionInput(
        title="REST for the public API",
        problem="which style the public API has",
        alternatives=(Alternative("GraphQL", "caching at the edge is hard"),),
        decision="The public API is REST.",
        reasoning="Partners already have clients for it.",
        target="public_api",
    ),
}


@dataclass(frozen=True)
class Small:
    """An open brain and the records of `FACTS` and the rest by the names they have there."""

    brain: Brain
    records: dict[str, Record]

    def ask(self, text: str, **more: object) -> Answer | Abstain:
        """Recall as a person; `more` as in RecallInput."""
        return self.brain.recall(replace(RecallInput(text), **more), ANN)  # type: ignore[arg-type]

    def name(self, record_id: str) -> str:
        """The name of a record by its id."""
        return next(n for n, r in self.records.items() if r.id == record_id)


def git(folder: Path, *args: str) -> str:
    """Run git there, with an identity of its own."""
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *args], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def stored(done: object) -> Record:
    """The record of a verb that must have stored one."""
    assert isinstance(done, Stored)
    return done.record


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """Thirty-odd records of every kind, said by a person and by an agent."""
    folder = tmp_path_factory.mktemp("hard questions")
    git(folder, "init", "-q")
    (folder / "auth").mkdir()
    (folder / "a.py").write_text("class User:\n    pass\n")
    (folder / "b.py").write_text("class User:\n    pass\n")
    (folder / "auth" / "user.py").write_text("def GetUser(ident):\n    return ident\n")
    (folder / "pool.py").write_text("def connect():\n    return engine.connect()\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Give each worker a pool of its own")
    brain = open_brain(str(folder))
    brain.index()
    known = {name: stored(brain.remember(given, ANN)) for name, given in FACTS.items()}
    known |= {name: stored(brain.remember(given, BOT)) for name, given in AGENT_FACTS.items()}
    mysql = stored(
        brain.decide(
            replace(
                DECISIONS["orders"],
                title="MySQL for orders",
                decision="Orders are stored in MySQL.",
                reasoning="It was there already.",
            ),
            ANN,
        )
    )
    for name, given in DECISIONS.items():
        old = mysql.id if name == "orders" else ""
        known[name] = stored(brain.decide(replace(given, supersedes=old), ANN))
    known["mysql"] = mysql
    known["pool"] = stored(
        brain.fail(
            FailureInput(
                title="Connection pool shared by forked workers",
                broke="Workers deadlocked at start.",
                why="The pool was made before the fork.",
                fix="Each worker makes its own pool.",
                evidence=f"commit:{git(folder, 'rev-parse', 'HEAD')}",
                target="connection_pool",
            ),
            ANN,
        )
    )
    yield Small(brain, known)
    brain.close()
