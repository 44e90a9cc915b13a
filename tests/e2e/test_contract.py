"""The command line's contract: verbs, flags, exit codes and shapes that callers rely on."""

import json
from typing import Any

import pytest

VERBS = (
    "init remember recall decide outcome fail why check related context tasks review log status "
    "doctor rebuild serve stop hook uninstall"
).split()
FLAGS = {
    "init": "--client",
    "remember": "--source --kind --target --subject --predicate --object --valid-from --confidence",
    "recall": "--target --symbol --limit --offset --as-of --valid-at --allow-uncertainty --explain",
    "decide": "--title --problem --alternative --decision --reasoning --target --governs "
    "--supersedes --coexists",
    "fail": "--title --broke --why --fix --evidence --fragment --target",
    "check": "--file --content --diff",
    "context": "--budget",
    "log": "-n",
    "serve": "--http",
}
DECIDE = ["decide", "--title", "Kùzu", "--problem", "Which graph database serves the graph?"]
DECIDE += ["--alternative", "Neo4j: needs a server", "--decision", "Use Kùzu"]
DECIDE += ["--reasoning", "It is embedded"]
RECALL_KEYS = {"outcome", "facts", "rejected", "reason", "task"}
EVAL = "def load(text):\n    return eval(text)\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_json_and_c(verb: str, shared: Any) -> None:
    text = shared.run(verb, "--help", env=shared.env | {"COLUMNS": "200"}).stdout.decode()
    example = text.partition("example:\n")[2].strip()
    assert example.startswith(("braincore " + verb, "git diff | braincore check"))
    words = text.replace(",", " ").replace("[", " ").replace("]", " ").split()
    for flag in ("--json", "-C", *FLAGS.get(verb, "").split()):
        assert flag in words, flag


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "hook"])
def test_every_verb_says_in_one_json_object_what_is_wrong(verb: str, desk: Any) -> None:
    arguments = {
        "remember": ["x"],
        "recall": ["x"],
        "decide": DECIDE[1:],
        "outcome": ["a", "b"],
        "fail": ["--title=a", "--broke=b", "--why=c", "--fix=d", "--evidence=commit:HEAD"],
        "why": ["x"],
        "check": ["--diff", "-"],
        "related": ["x"],
        "context": ["x"],
    }.get(verb, [])
    done = desk.run(verb, *arguments, "--json", "-C", str(desk.folder), cwd=desk.folder, code=1)
    body = json.loads(done.stdout)
    assert body["outcome"] == "error"
    assert "not inside a git repository. Run `git init` there first" in body["error"]
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["remembr", "x"], "there is no verb 'remembr'. Did you mean `remember`?"),
        (["recall"], "the following arguments are required: query. See `braincore recall --help`"),
        (["recall", "a", "--targt", "b"], "unrecognized arguments: --targt"),
        (["log", "-n", "many"], "argument -n: invalid int value: 'many'"),
        (["recall", "a", "--limit", "0"], "limit: Input should be greater than or equal to 1"),
        (["recall", "a", "--as-of", "soon"], "soon"),
        (["remember", "a b", "--confidence", "7"], "confidence"),
        (["remember", "a b", "--source", "hearsay"], "hearsay"),
        (["remember", "", "--source", "user:a"], "text"),
        (["outcome", "decision-0", "x"], "No decision 'decision-0' exists"),
        ([*DECIDE, "--alternative", "none"], "'none' is no alternative"),
        (["check"], "nothing to check. Give --file PATH --content FILE, or --diff FILE."),
        (["check", "--diff", "/no/such"], "/no/such: No such file or directory"),
        (["status", "-C"], "argument -C: expected one argument"),
        (["-C", "/no/such/place", "status"], "/no/such/place does not exist"),
        (["init", "--client", "emacs"], "client 'emacs' is unknown. Use claude, codex, gemini."),
        (["hook", "emacs"], "client 'emacs' is unknown"),
        (["--json"], "no verb"),
    ],
)
def test_errors_are_one_message_and_exit_one(words: list[str], message: str, shared: Any) -> None:
    if "--json" not in words:
        assert message in shared.error(*words)
    body = shared.json(*words, code=1)
    assert body["outcome"] == "error" and message in body["error"]


def test_c_stands_before_or_after_the_verb(shared: Any) -> None:
    root, elsewhere = str(shared.root), shared.folder
    for words in (
        ["-C", root, "status", "--json"],
        ["--json", "-C", root, "status"],
        [f"-C{root}", "--json", "status"],
        ["status", "-C", root, "--json"],
        ["-C", "/", "status", "--json", "-C", root],
    ):
        body = json.loads(shared.run(*words, cwd=elsewhere).stdout)
        assert body["root"] == root, words
    (shared.root / "deep" / "er").mkdir(parents=True, exist_ok=True)
    assert shared.json("status", cwd=shared.root / "deep" / "er")["root"] == root
    assert shared.json("init", root, cwd=elsewhere)["root"] == root


def test_recall_answers_and_abstains_with_exit_zero(shared: Any) -> None:
    body = shared.json("recall", "who painted the office walls?")
    assert body.keys() >= RECALL_KEYS
    assert (body["outcome"], body["facts"], body["rejected"]) == ("abstain", [], [])
    assert body["reason"] == "no_accepted_facts" and body["task"].startswith("task-")
    assert shared.json("recall", "who painted the office walls?")["task"] == body["task"]
    asked = [t for t in shared.json("tasks")["tasks"] if t["id"] == body["task"]]
    assert len(asked) == 1 and asked[0]["asked"] == 2

    words = ["Staging listens on port 8443", "staging_port", "--source", "user:ana"]
    record = shared.remember(*words)
    body = shared.json("recall", "which port does staging use?", "--target", "staging_port")
    assert body.keys() >= RECALL_KEYS
    assert (body["outcome"], body["reason"], body["task"]) == ("answer", None, None)
    fact = body["facts"][0]
    assert {"id", "kind", "text", "score", "source_ref", "flags"} <= fact.keys()
    assert (fact["id"], fact["kind"], fact["text"]) == (record, "fact", words[0])
    assert fact["source_ref"] == "user:ana" and fact["flags"] == ["unconfirmed"]
    assert isinstance(fact["score"], float)
    found = shared.json("recall", "port", "--target", "staging_port", "--explain", "--limit", "1")
    assert found["facts"][0]["explain"]

    shared.remember("Perhaps the cache is too small", "cache_size", "--kind", "hypothesis")
    body = shared.json("recall", "is the cache too small?", "--target", "cache_size")
    assert body["outcome"] == "abstain" and body["reason"] == "unverified"
    assert [set(r) for r in body["rejected"]] == [{"id", "reason"}]
    body = shared.json("recall", "cache size", "--target", "cache_size", "--allow-uncertainty")
    assert body["outcome"] == "answer" and body["facts"][0]["flags"]


def test_as_of_and_valid_at(shared: Any) -> None:
    shared.remember("Mail goes through relay two", "mail_relay")
    query = ["recall", "which relay does mail go through?", "--target", "mail_relay"]
    assert shared.json(*query)["outcome"] == "answer"
    assert shared.json(*query, "--as-of", "2001-01-01")["outcome"] == "abstain"
    assert shared.json(*query, "--valid-at", "2001-01-01")["outcome"] == "abstain"
    assert shared.json(*query, "--as-of", "2999-01-01")["outcome"] == "answer"


def test_decide_stores_or_conflicts(shared: Any) -> None:
    about = ["--target", "graph_db", "--governs", "app.py::load"]
    first = shared.json(*DECIDE, *about)
    assert (first["outcome"], first["conflicts"]) == ("stored", [])
    other = [w if w not in ("Kùzu", "Use Kùzu") else "Take Neo4j" for w in DECIDE] + about
    body = shared.json(*other, code=2)
    assert body["outcome"] == "conflict" and body["id"] is None
    assert [c["id"] for c in body["conflicts"]] == [first["id"]]
    assert "--supersedes" in shared.run(*other, code=2).stdout.decode()
    second = shared.json(*other, "--supersedes", first["id"])
    assert second["outcome"] == "stored"
    shared.json("outcome", second["id"], "It took two days")
    for name in ("graph_db", "app.py::load"):
        (chain,) = shared.json("why", name)["chains"]
        assert [one["id"] for one in chain] == [first["id"], second["id"]]
        assert chain[-1]["in_force"] and chain[-1]["outcome"] == "It took two days"
    third = [w if w not in ("Kùzu", "Use Kùzu") else "Write our own" for w in DECIDE] + about
    assert shared.json(*third, "--coexists")["outcome"] == "stored"
    related = shared.json("related", "app.py::load")
    assert {first["id"], second["id"]} <= {r["id"] for r in related["records"]}


def test_check_allows_warns_and_denies(shared: Any) -> None:
    new = shared.folder / "new.py"
    keys = {"verdict", "findings", "repair_plan"}

    def check(text: str, code: int) -> dict[str, Any]:
        new.write_text(text)
        body = shared.json("check", "--file", "app.py", "--content", str(new), code=code)
        assert keys <= body.keys()
        for finding in body["findings"]:
            assert {"severity", "message", "path", "line", "why"} <= finding.keys()
            assert ("rule" in finding) != ("record" in finding)
        return body

    assert check("x = 1\n", 0)["verdict"] == "allow"
    warned = check("def f(x):\n    return x == None\n", 0)
    assert warned["verdict"] == "warn" and warned["findings"][0]["rule"] == "equals-none"
    denied = check(EVAL, 2)
    assert denied["verdict"] == "deny" and denied["repair_plan"]
    assert (denied["findings"][0]["path"], denied["findings"][0]["line"]) == ("app.py", 2)
    same = shared.json("check", "--file", "app.py", "--content", "-", stdin=EVAL.encode(), code=2)
    assert same["verdict"] == "deny"

    old = (shared.root / "app.py").read_text()
    shared.write({"app.py": old.replace("int(text)", "eval(text)")})
    diff = shared.git("diff").encode() + b"\n"
    shared.write({"app.py": old})
    assert shared.json("check", "--diff", "-", stdin=diff, code=2)["verdict"] == "deny"
    (shared.folder / "a.diff").write_bytes(diff)
    assert shared.json("check", "--diff", str(shared.folder / "a.diff"), code=2)["findings"]
    assert shared.json("check", "--diff", "-", stdin=b"")["verdict"] == "allow"


def test_check_reads_paths_from_where_one_stands(shared: Any) -> None:
    shared.write({"pkg/mod.py": EVAL})
    inside = shared.root / "pkg"
    words = ["check", "--file", "mod.py", "--content", "-"]
    body = shared.json(*words, stdin=EVAL.encode() + b"x = 1\n", cwd=inside)
    assert body["verdict"] == "allow"
    outside = str(shared.folder / "x.py")
    assert "outside the repository" in shared.error("check", "--file", outside, "--content", "-")


def test_failure_comes_back_as_a_denied_edit(shared: Any) -> None:
    broken = "def tell(clock):\n    return clock.moment.replace(tzinfo=None).isoformat()\n"
    shared.write({"clock.py": broken})
    shared.git("add", "-A")
    shared.git("commit", "-qm", "clock: drop the zone")
    words = ["--title", "Zone dropped", "--broke", "offsets were lost", "--why", "naive times"]
    words += ["--fix", "keep the zone", "--evidence", "commit:HEAD"]
    body = shared.json("fail", *words, "--fragment", "clock.py:2-2")
    assert body["outcome"] == "stored" and body["notes"] == []
    shared.write({"clock.py": "def tell(clock):\n    return clock.moment.isoformat()\n"})
    found = shared.json(
        "check", "--file", "clock.py", "--content", "-", stdin=broken.encode(), code=2
    )
    assert found["verdict"] == "deny" and found["findings"][0]["record"] == body["id"]
    assert found["repair_plan"][0]["evidence"].partition("commit:")[2]
    message = shared.error("fail", *words[:-1], "commit:" + "0" * 40)
    assert "0000" in message


def test_lists_and_numbers(shared: Any) -> None:
    shared.remember("The log is kept for two weeks", "log_retention")
    assert len(shared.json("log", "-n", "1")["log"]) == 1
    assert len(shared.json("log", "-n1")["log"]) == 1
    entry = shared.json("log", "-n", "1")["log"][0]
    assert {"commit", "at", "verb", "who", "channel", "why", "records"} <= entry.keys()
    assert "reviews" in shared.json("review")
    status = shared.json("status")
    assert status["rules"] > 0 and status["problem"] == "" and status["channel"] == "agent"
    context = shared.json("context", "how long is the log retention?", "--budget", "200")
    assert context["records"] and context["records"][0] in context["text"]
    assert shared.json("context", "hello") == {"text": "", "records": []}
    assert shared.json("rebuild")["equal"] is True
    doctor = shared.json("doctor")
    assert doctor["ok"], doctor
    for verb in ("log", "review", "status", "tasks", "rebuild"):
        assert shared.run(verb).stdout.strip()
