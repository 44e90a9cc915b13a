"""REST: one contract with the command line, described by the owner itself; who may come in."""

import http.client
import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from braincore.serve.openapi import STATUSES, document
from braincore.serve.verbs import VERBS

JSON = "application/json"
DECISION = {
    "title": "Kùzu",
    "problem": "Which graph database serves the graph?",
    "alternatives": ["Neo4j: needs a server"],
    "decision": "Use Kùzu",
    "reasoning": "It is embedded",
    "target": "graph_db",
    "governs": ["app.py::load"],
}
FAILURE = {
    "title": "Zone dropped",
    "broke": "offsets were lost",
    "why": "naive times",
    "fix": "keep the zone",
    "evidence": "commit:HEAD",
    "fragment": "app.py",
}


class Door(http.client.HTTPConnection):
    """A connection to an owner: by its Unix socket, or by TCP."""

    def __init__(self, desk: Any, tcp: str = "") -> None:
        host, _, port = tcp.removeprefix("http://").rpartition(":")
        super().__init__(host or "localhost", int(port or 80), timeout=60)
        self._path = "" if tcp else (desk.store / "socket").read_text().strip()

    def connect(self) -> None:
        if not self._path:
            super().connect()
            return
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


class Said:
    """Status, headers and body of an answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.data = response.read()

    @property
    def body(self) -> Any:
        return json.loads(self.data)

    def error(self, status: int) -> str:
        """The text of the error this must be."""
        assert self.status == status, (self.status, self.data)
        assert self.headers["Content-Type"] == JSON and self.headers["X-Braincore-Exit"] == "1"
        body = self.body
        assert body.keys() == {"outcome", "error"} and body["outcome"] == "error"
        return str(body["error"])


def ask(
    desk: Any,
    path: str,
    body: Any = None,
    *,
    method: str = "POST",
    tcp: str = "",
    headers: Mapping[str, str] | None = None,
) -> Said:
    """One request; `body` is sent as JSON unless it is bytes."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    door = Door(desk, tcp)
    try:
        given = {"Content-Type": JSON, **(headers or {})}
        door.request(method, path, data, given)
        return Said(door.getresponse())
    finally:
        door.close()


# — the contract —


@pytest.fixture(scope="module")
def described(shared: Any) -> dict[str, Any]:
    """The document as the owner serves it."""
    said = ask(shared, "/v1/openapi.json", method="GET")
    assert said.status == 200 and said.headers["Content-Type"] == JSON
    body = said.body
    assert isinstance(body, dict)
    return body


def closed(found: Any) -> Any:
    """A schema in which an object has no other keys than the named ones."""
    if isinstance(found, list):
        return [closed(one) for one in found]
    if not isinstance(found, dict):
        return found
    out = {key: closed(value) for key, value in found.items()}
    return {"additionalProperties": False, **out} if "properties" in out else out


def validator(described: dict[str, Any], schema: Any) -> Draft202012Validator:
    return Draft202012Validator(closed({"components": described["components"], **schema}))


def schema_of(described: dict[str, Any], verb: str) -> Any:
    operation = described["paths"][f"/v1/{verb}"]["post"]
    return operation["responses"]["200"]["content"][JSON]["schema"]


def test_the_document_describes_every_verb_and_error(described: dict[str, Any]) -> None:
    assert described == json.loads(json.dumps(document()))
    assert described["openapi"].startswith("3.1")
    assert {p.removeprefix("/v1/") for p in described["paths"]} == {
        *VERBS,
        *("ping", "stop", "serve"),
    }
    for path, item in described["paths"].items():
        operation = item["post"]
        assert operation["summary"] and operation["operationId"] == path.removeprefix("/v1/")
        assert operation["responses"].keys() == {"200", *STATUSES}
        assert "X-Braincore-Exit" in operation["responses"]["200"]["headers"]
        for schema in (
            operation["requestBody"]["content"][JSON]["schema"],
            operation["responses"]["200"]["content"][JSON]["schema"],
        ):
            Draft202012Validator.check_schema(schema)
    text = json.dumps(described)
    for ref in set(text.split('"$ref": "#/')[1:]):
        found: Any = described
        for part in ref.partition('"')[0].split("/"):
            found = found[part]
    shapes = described["components"]["schemas"]
    assert all(shapes[name].get("description") for name in shapes), "every shape says what it is"
    assert {"400", "401", "403", "404", "413", "421", "426", "503"} <= STATUSES.keys()


def test_what_a_verb_answers_is_what_the_document_says(
    brain: Any, described: dict[str, Any]
) -> None:
    """Every verb, in each of its outcomes."""
    seen: dict[str, set[str]] = {}

    def say(verb: str, body: Any, exit_code: int = 0) -> Any:
        said = ask(brain, f"/v1/{verb}", body)
        assert said.status == 200, (verb, said.data)
        assert said.headers["X-Braincore-Exit"] == str(exit_code)
        problems = list(validator(described, schema_of(described, verb)).iter_errors(said.body))
        assert not problems, (verb, said.body, problems)
        asked = described["paths"][f"/v1/{verb}"]["post"]["requestBody"]["content"][JSON]
        validator(described, asked["schema"]).validate(body)
        seen.setdefault(verb, set()).add(str(said.body.get("outcome") or said.body.get("verdict")))
        return said.body

    say("init", {})
    stored = say("remember", {"text": "Staging listens on port 8443", "target": "staging_port"})
    assert say("remember", {"text": "Staging listens on port 8443", "target": "staging_port"})[
        "duplicate"
    ]
    say(
        "remember",
        {"text": "Auth uses Redis", "subject": "Auth", "predicate": "uses", "object": "Redis"},
    )
    question = {"query": "which port does staging use?", "target": "staging_port", "explain": True}
    assert say("recall", question)["facts"][0]["id"] == stored["id"]
    assert say("recall", {"query": "who painted the office walls?"})["outcome"] == "abstain"
    first = say("decide", DECISION)["id"]
    assert say("decide", DECISION | {"title": "Neo", "decision": "Take Neo4j"}, 2)["conflicts"]
    say("outcome", {"id": first, "text": "It took two days"})
    say("recall", {"query": "graph_db", "target": "graph_db"})
    assert say("why", {"name": "graph_db"})["chains"][0][0]["outcome"]
    say("why", {"name": "nothing_here"})
    assert say("related", {"name": "app.py::load"})["records"]
    failed = say("fail", FAILURE)
    assert say("recall", {"query": "zone dropped"})["facts"][0]["id"] == failed["id"]
    old = (brain.root / "app.py").read_text()
    brain.write({"app.py": "x = 1\n"})
    assert say("check", {"path": "app.py", "content": old}, 2)["findings"][0]["record"]
    denied = say("check", {"path": "c.py", "content": "def load(t):\n    return eval(t)\n"}, 2)
    assert denied["findings"][0]["rule"] and denied["repair_plan"]
    say("check", {"path": "b.py", "content": "def f(x):\n    return x == None\n"})
    say("check", {"diff": ""})
    assert say("context", {"prompt": "which staging_port is it?"})["records"] == [stored["id"]]
    assert len(say("record", {"prompt": "Why?", "response": "So.", "success": True})["events"]) == 2
    assert say("tasks", {})["tasks"]
    say("review", {})
    assert say("log", {"limit": 3})["log"][0]["records"]
    say("index", {})
    say("status", {})
    say("rebuild", {})
    say("doctor", {})
    lines = '{"text": "Pump nine is green", "target": "pump_nine"}\n{"txet": "x"}'
    assert say("import", {"name": "pumps.jsonl", "content": lines}, 1)["rejected"]
    say("ping", {})
    assert seen.keys() == {*VERBS, "ping"}
    assert seen["decide"] == {"stored", "conflict"}
    assert seen["recall"] == seen["why"] == {"answer", "abstain"}
    assert seen["check"] == {"allow", "warn", "deny"}
    text = json.dumps(brain.json("status"))
    validator(described, schema_of(described, "status")).validate(json.loads(text))
    say("stop", {})


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/recall", {"query": "x", "lmit": 3}, 400, "lmit: "),
        ("/v1/recall", {}, 400, "query: "),
        ("/v1/recall", {"query": 3}, 400, "query: "),
        ("/v1/recall", {"query": "x", "limit": 0}, 400, "limit: "),
        ("/v1/remember", {"text": "x y", "tags": ["a", 1]}, 400, "tags.1: "),
        ("/v1/recall", b'{"query": "x"', 400, "JSON"),
        ("/v1/recall", b"[" * 100_000, 400, "JSON"),
        ("/v1/recall", b'{"query": "\xff"}', 400, "JSON"),
        ("/v1/recall", b'{"query": "\\ud800"}', 400, "JSON"),
        ("/v1/recall", ["x"], 400, "request: "),
        ("/v1/status", {"verbose": True}, 400, "verbose: "),
        ("/v1/stop", {"now": True}, 400, "now: "),
        ("/v1/serve", {}, 400, "http: "),
        ("/v1/remember", {"text": ""}, 400, "empty"),
        ("/v1/related", {"name": "app.py::lod"}, 400, "Did you mean app.py::load?"),
        ("/v1/recal", {"query": "x"}, 404, "Did you mean recall?"),
        ("/v1/zzzzz", {}, 404, "/v1/openapi.json"),
        ("/v2/recall", {}, 404, "/v1/openapi.json"),
        ("/", {}, 404, "/v1/openapi.json"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(
    path: str, body: Any, status: int, message: str, shared: Any
) -> None:
    assert message in ask(shared, path, body).error(status)
    assert ask(shared, "/v1/ping", {}).status == 200


@pytest.mark.parametrize("verb", [*VERBS, "stop", "serve"])
def test_other_methods_are_refused_and_say_which_will_do(verb: str, shared: Any) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        said = ask(shared, f"/v1/{verb}", method=method)
        assert "use POST" in said.error(405)
        assert said.headers["Allow"] == "POST"
    assert "GET /v1/openapi.json" in ask(shared, "/v1/openapi.json", {}).error(404)


def test_only_json_is_read(shared: Any) -> None:
    """A page may send text/plain or a form without asking first; JSON it may not."""
    body = json.dumps({"query": "x"}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"):
        said = ask(shared, "/v1/recall", body, headers={"Content-Type": kind})
        assert "Send application/json" in said.error(415)
    for kind in ("application/json; charset=utf-8", "Application/JSON"):
        assert ask(shared, "/v1/recall", body, headers={"Content-Type": kind}).status == 200
    assert ask(shared, "/v1/status", headers={"Content-Type": ""}).status == 200


def test_a_request_too_large_is_turned_away_before_it_is_read(shared: Any) -> None:
    door = Door(shared)
    door.putrequest("POST", "/v1/check")
    door.putheader("Content-Type", JSON)
    door.putheader("Content-Length", str(40 << 20))
    door.endheaders()
    assert "33 MB" in Said(door.getresponse()).error(413)
    door.close()


# — who may come in —


HOSTS = ["example.org", "example.org:80", "localhost.example.org", "127.0.0.1.example.org", ""]


@pytest.mark.parametrize("host", HOSTS)
def test_a_foreign_host_is_refused_on_the_socket(host: str, shared: Any) -> None:
    said = ask(shared, "/v1/ping", {}, headers={"Host": host})
    assert "no name of this owner" in said.error(403)


def test_pages_may_not_ask(shared: Any, served: str) -> None:
    token = {"Authorization": f"Bearer {token_of(shared)}"}
    for origin in ("https://example.org", "null", "http://127.0.0.1", served + "0", "file://"):
        for tcp in ("", served):
            said = ask(shared, "/v1/ping", {}, tcp=tcp, headers={"Origin": origin, **token})
            assert "may not ask" in said.error(403)
    own = {"Origin": served, **token}
    assert ask(shared, "/v1/ping", {}, tcp=served, headers=own).status == 200


@pytest.fixture(scope="module")
def served(shared: Any) -> Iterator[str]:
    """The address of an owner that was told to listen on TCP."""
    body = shared.json("serve", "--http", "0")
    assert body["outcome"] == "serving" and body["http"].startswith("http://127.0.0.1:")
    assert body["token_file"] == str(shared.store / "http.token")
    yield body["http"]


def token_of(desk: Any) -> str:
    return str((desk.store / "http.token").read_text().strip())


def test_tcp_needs_the_token_everywhere(shared: Any, served: str) -> None:
    file = shared.store / "http.token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = token_of(shared)
    assert len(token) >= 40
    paths = ("/v1/ping", "/v1/status", "/v1/stop", "/v1/openapi.json", "/v1/hook/claude", "/mcp")
    for path in (*paths, "/", "/v1/mcp-stdio"):
        for given in ("", "Bearer", "Bearer " + token[:-1], "Basic " + token, token, "Bearer é"):
            headers = {"Authorization": given} if given else {}
            said = ask(shared, path, {}, tcp=served, headers=headers)
            assert "token" in said.error(401)
            assert said.headers["WWW-Authenticate"] == "Bearer"
    for scheme in ("Bearer", "bearer"):
        good = {"Authorization": f"{scheme} {token}"}
        body = ask(shared, "/v1/status", {}, tcp=served, headers=good).body
        assert body["http"] == served and body["channel"] == "agent"
    assert ask(shared, "/v1/status", {}).status == 200, "the socket needs no token"


@pytest.mark.parametrize("host", [*HOSTS, "localhost", "127.0.0.1", "127.0.0.1:1", "braincore"])
def test_a_name_that_leads_here_by_somebodys_dns_is_refused(
    host: str, shared: Any, served: str
) -> None:
    headers = {"Host": host, "Authorization": f"Bearer {token_of(shared)}"}
    said = ask(shared, "/v1/ping", {}, tcp=served, headers=headers)
    assert "no name of this owner" in said.error(403)


def test_own_names_are_accepted(shared: Any, served: str) -> None:
    port = served.rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"):
        headers = {"Host": host, "Authorization": f"Bearer {token_of(shared)}"}
        assert ask(shared, "/v1/ping", {}, tcp=served, headers=headers).status == 200


def test_nobody_can_say_who_he_is(another: Any) -> None:
    """Headers that proxies set name no caller, on no door, whatever the owner's environment."""
    desk = another()
    desk.env["FORWARDED_ALLOW_IPS"] = "*"
    desk.make()
    desk.run("init")
    served = desk.json("serve", "--http", "0")["http"]
    child = subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "AIDER_MODEL": "x"})
    try:
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
            forged = {name: f"pid:{child.pid}", "Authorization": f"Bearer {token_of(desk)}"}
            for tcp in ("", served):
                body = {"text": f"Forged by {name} at {tcp or 'the socket'}"}
                said = ask(desk, "/v1/remember", body, tcp=tcp, headers=forged).body
                assert said["channel"] == "agent" and "aider" not in said["source_ref"]
            forged.pop("Authorization")
            assert ask(desk, "/v1/ping", {}, tcp=served, headers=forged).status == 401
    finally:
        child.kill()
        child.wait()


def test_serve_again_says_the_same_and_another_port_is_refused(shared: Any, served: str) -> None:
    assert shared.json("serve", "--http", served.removeprefix("http://"))["http"] == served
    assert shared.json("serve", "--http", "0")["http"] == served
    assert "listens at" in shared.error("serve", "--http", "1")
    text = shared.run("status").stdout.decode()
    assert served in text
    assert served in shared.run("serve", "--http", "0").stdout.decode()


@pytest.mark.parametrize(
    "address", ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "example.org:0", "[::ffff:127.0.0.1]:0"]
)
def test_only_loopback_is_listened_at(address: str, shared: Any) -> None:
    assert "does not listen on" in shared.error("serve", "--http", address)


@pytest.mark.parametrize("address", ["", "http", "127.0.0.1", "70000", "127.0.0.1:", "1:2:3", "-1"])
def test_what_is_no_address_is_refused(address: str, shared: Any) -> None:
    said = ask(shared, "/v1/serve", {"http": address})
    assert any(word in said.error(400) for word in ("is no address", "does not listen on"))


def test_a_foreground_owner_announces_its_address(brain: Any, until: Any) -> None:
    brain.run("stop")
    owner = brain.start("serve", "--http", "0", "--json")
    assert owner.stdout is not None
    body = json.loads(owner.stdout.readline())
    good = {"Authorization": f"Bearer {token_of(brain)}"}
    assert ask(brain, "/v1/ping", {}, tcp=body["http"], headers=good).body["pid"] == owner.pid
    assert ask(brain, "/v1/stop", {}, tcp=body["http"], headers=good).status == 200
    owner.communicate(timeout=60)
    assert brain.json("status")["http"] is None, "the next owner was not asked to"
    taken = socket.create_server(("127.0.0.1", 0))
    brain.run("stop")
    port = str(taken.getsockname()[1])
    assert (
        f"127.0.0.1:{port} can't be had"
        in brain.run("serve", "--http", port, code=1).stderr.decode()
    )
    assert brain.json("status")["http"] is None, "and the store is free again"
    taken.close()


def test_an_owner_on_tcp_stays_when_idle(brain: Any, another: Any, until: Any, owners: Any) -> None:
    """Over TCP nobody could start the next one; without, an owner leaves meanwhile."""
    other = another()
    other.make()
    other.run("init")
    for desk in (brain, other):
        (desk.root / ".braincore" / "config.toml").write_text("[owner]\nidle_minutes = 0.01\n")
    url = brain.json("serve", "--http", "0")["http"]
    before = brain.owner()
    other.run("status")
    until(lambda: not owners(other.folder), "the owner without TCP leaves")
    other.run("status")
    until(lambda: not owners(other.folder), "and the next one too")
    good = {"Authorization": f"Bearer {token_of(brain)}"}
    assert ask(brain, "/v1/ping", {}, tcp=url, headers=good).body["pid"] == before


def test_the_docs_name_every_status() -> None:
    text = (Path(__file__).parents[2] / "docs" / "rest.md").read_text(encoding="utf-8")
    assert {line[2:5] for line in text.splitlines() if line[2:5].isdigit()} == STATUSES.keys()


def test_config_switches_tcp_on(brain: Any, until: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        brain.run("stop")
        config = brain.root / ".braincore" / "config.toml"
        config.write_text(f'[serve]\nhttp = "127.0.0.1:{port}"\n')
        problem = until(lambda: brain.json("status")["http_problem"], "the port is taken")
        assert "can't be had" in problem and brain.json("status")["http"] is None
    brain.run("stop")
    url = until(lambda: brain.json("status")["http"], "it listens")
    assert url == f"http://127.0.0.1:{port}"
    brain.run("stop")
    config.write_text('[serve]\nhttp = "0.0.0.0:80"\n')
    problem = until(lambda: brain.json("status")["http_problem"], "no loopback")
    assert "does not listen on" in problem
