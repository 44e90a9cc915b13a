"""Every client's settings files: what was there comes back byte for byte, whoever else needs us."""

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from braincore.errors import BraincoreError
from braincore.locate import Place
from braincore.serve.clients import CLIENTS
from braincore.serve.install import install, installed_commands, uninstall

COMMAND = [sys.executable, "-I", "-m", "braincore.serve.mcp_stdio"]

JSON = {
    "empty object": "{}",
    "blank file": "",
    "blank file with a mark": "\ufeff\n",
    "no final newline": '{\n  "model": "opus"\n}',
    "tabs and CRLF": '{\r\n\t"model": "opus",\r\n\t"env": {"A": "1"}\r\n}\r\n',
    "byte order mark": '\ufeff{\n    "model": "opus"\n}\n',
    "minified": '{"model":"opus","mcpServers":{"a":{"command":"b"}}}',
    "comments": """{
  // mine, "quoted" and with a { brace
  "hooks": {
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "lint.sh"}]} // the linter
    ],
  },
  "mcpServers": {/* none yet */},
  "model": "opus", // last
}
""",
}
TOML = {
    "blank file": "",
    "blank file with a mark": "\ufeff",
    "plain": 'model = "o"\n\n[tui]\nnotifications = true\n',
    "no final newline": '# mine\nmodel = "o" # best',
    "CRLF": 'model = "o"\r\n\r\n[tui]\r\nx = 1\r\n',
    "byte order mark": '\ufeff[mcp_servers.other]\ncommand = "x"\n',
    "odd but valid": """# [mcp_servers.braincore]
text = \"\"\"
[mcp_servers.braincore]
command = "no"
\"\"\"
limit = nan
[mcp_servers."other.one"] # a server
args = [
  ["x"],
] # end

[[things]]
n = 1
""",
}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Place, Place]:
    """Two repositories with a brain, and a home of their own."""
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    out = []
    for name in ("one", "two"):
        root = tmp_path / f"re po-{name}"
        (root / ".git" / "braincore" / "journal.git").mkdir(parents=True)
        out.append(Place(root, root / ".git", root / ".git"))
    return out[0], out[1]


def files(place: Place, client: str) -> list[Path]:
    return [file.path for file in CLIENTS[client].files(place)]


def put(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


CASES = [
    (client, number, name)
    for client, kinds in (("claude", "jj"), ("codex", "jt"), ("gemini", "j"))
    for number, kind in enumerate(kinds)
    for name in (None, *(JSON if kind == "j" else TOML))
]


def text_of(client: str, number: int, name: str | None) -> str | None:
    texts = TOML if (client, number) == ("codex", 1) else JSON
    return None if name is None else texts[name]


@pytest.mark.parametrize(("client", "number", "name"), CASES)
def test_install_twice_and_uninstall_restores_every_byte(
    places: tuple[Place, Place], client: str, number: int, name: str | None
) -> None:
    place = places[0]
    path = files(place, client)[number]
    put(path, text_of(client, number, name))
    before = content(path)
    assert all(done.changed for done in install(place, client))
    once = content(path)
    assert once is not None and once != before
    assert not any(done.changed for done in install(place, client))
    assert content(path) == once
    uninstall(place)
    assert content(path) == before
    assert not [p for p in tree(place.store) if p.endswith(".json")]
    assert uninstall(place) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_of_ours_is_left_in_an_empty_home(places: tuple[Place, Place], client: str) -> None:
    home = Path(os.environ["HOME"])
    install(places[0], client)
    assert tree(home) and all(p.stat().st_mode & 0o077 == 0 for p in home.rglob("*.json"))
    uninstall(places[0])
    assert tree(home) <= {".local", ".local/state"} and home.is_dir()


def server_of(client: str, place: Place) -> dict[str, Any]:
    path = files(place, client)[-1]
    if client == "codex":
        return dict(tomllib.loads(path.read_text())["mcp_servers"]["braincore"])
    settings = json.loads(path.read_text())
    if client == "claude":
        settings = settings["projects"][str(place.root)]
    return dict(settings["mcpServers"]["braincore"])


@pytest.mark.parametrize("client", CLIENTS)
def test_the_server_is_run_by_this_interpreter(places: tuple[Place, Place], client: str) -> None:
    install(places[0], client)
    assert server_of(client, places[0]) == {"command": COMMAND[0], "args": COMMAND[1:]}
    assert client in dict(installed_commands(places[0]))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_moved_interpreter_is_replaced_in_place(
    places: tuple[Place, Place], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files(places[0], client)
    install(places[0], client)
    right = [content(p) for p in paths]
    monkeypatch.setattr(sys, "executable", "/old place/bin/python")
    install(places[0], client)
    assert [content(p) for p in paths] != right
    assert server_of(client, places[0])["command"] == "/old place/bin/python"
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(places[0].root.parent / "home"))
    install(places[0], client)
    assert [content(p) for p in paths] == right


@pytest.mark.parametrize("client", CLIENTS)
def test_two_repositories_and_one_user(places: tuple[Place, Place], client: str) -> None:
    one, two = places
    theirs = files(one, client)[-1]
    put(theirs, "" if client == "codex" else '{"a": 1, "projects": {}}')
    before = content(theirs)
    install(one, client)
    install(two, client)
    shared = [done for done in uninstall(one) if done.others]
    assert len(shared) == {"claude": 0, "codex": 2, "gemini": 1}[client]
    assert server_of(client, two)["args"] == COMMAND[1:]
    assert dict(installed_commands(two))[client]
    assert [done.changed for done in uninstall(two)] == [True] * len(files(two, client))
    assert content(theirs) == before


def test_a_repository_that_is_gone_needs_nothing(places: tuple[Place, Place]) -> None:
    one, two = places
    install(one, "gemini")
    install(two, "gemini")
    (one.store / "journal.git").rmdir()
    assert [done.changed for done in uninstall(two)] == [True]
    assert not files(one, "gemini")[0].exists()


def test_a_repository_that_never_asked_takes_nothing_away(places: tuple[Place, Place]) -> None:
    one, two = places
    install(one, "codex")
    assert uninstall(two) == []
    assert server_of("codex", one)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_user_changes_meanwhile_stays(places: tuple[Place, Place], client: str) -> None:
    place = places[0]
    path = files(place, client)[-1]
    put(path, 'model = "o"\n' if client == "codex" else '{\n  "model": "o"\n}\n')
    before = path.read_text()
    install(place, client)
    path.write_text(path.read_text().replace('"o"', '"p"'))
    install(place, client)
    uninstall(place)
    assert path.read_text() == before.replace('"o"', '"p"')


def test_keys_and_tables_of_the_users_on_our_server(places: tuple[Place, Place]) -> None:
    place = places[0]
    path = files(place, "codex")[1]
    put(path, '[mcp_servers.other]\ncommand = "x"\n')
    install(place, "codex")
    more = (
        "startup_timeout_sec = 20\n\n[mcp_servers.braincore.tools.recall]\nx = 1\n\n# next\n[z]\n"
    )
    path.write_text(path.read_text().replace(sys.executable, "/old/python") + more)
    install(place, "codex")
    settings = tomllib.loads(path.read_text())
    assert settings["mcp_servers"]["braincore"] == {
        "command": COMMAND[0],
        "args": COMMAND[1:],
        "startup_timeout_sec": 20,
        "tools": {"recall": {"x": 1}},
    }
    uninstall(place)
    assert path.read_text() == '[mcp_servers.other]\ncommand = "x"\n\n# next\n[z]\n'


BROKEN = ["{", "\ufeff[", '{"mcpServers": 3}', "mcp_servers = 3", "[mcp_servers]\nbraincore = 1\n"]
BROKEN += ['{"mcpServers": {"braincore": {"command": "mine"}}}', "mcp_servers = {a = {b = 1}}\n"]
BROKEN += ['[mcp_servers.braincore]\nurl = "http://127.0.0.1"\n', "a = 1\na = 2\n"]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("client", CLIENTS)
def test_settings_that_cannot_be_used_are_left_and_named(
    places: tuple[Place, Place], client: str, text: str
) -> None:
    place = places[0]
    paths = files(place, client)
    put(paths[-1], text)
    if client == "claude" and text.startswith('{"mcp'):
        inside = text.replace("mcpServers", str(place.root)).replace('"braincore"', '"mcpServers"')
        put(paths[-1], '{"projects": ' + inside.replace('{"command": "mine"}', "[]") + "}")
    before = content(paths[-1])
    with pytest.raises(BraincoreError, match=str(paths[-1])):
        install(place, client)
    assert content(paths[-1]) == before
    assert [p for p in paths if p.exists()] == [paths[-1]]
    assert uninstall(place) == []


def test_bytes_that_are_no_text_are_left(places: tuple[Place, Place]) -> None:
    for client in CLIENTS:
        path = files(places[0], client)[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\xff\xfe")
        with pytest.raises(BraincoreError, match="not UTF-8"):
            install(places[0], client)
        assert path.read_bytes() == b"\xff\xfe"
        path.unlink()


def test_folders_that_the_clients_environment_names(
    places: tuple[Place, Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for client in CLIENTS:
        install(places[0], client)
    made = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*") if p.is_file()}
    assert {
        "CODEX_HOME/hooks.json",
        "CODEX_HOME/config.toml",
        "GEMINI_CLI_HOME/.gemini/settings.json",
        "CLAUDE_CONFIG_DIR/.claude.json",
    } <= made
    assert not {p for p in made if p.startswith("home/") and ".local" not in p}


def test_a_linked_worktree_is_filed_where_the_client_looks(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    main = places[0]
    linked = Place(tmp_path / "tree", main.git_dir / "worktrees" / "tree", main.git_dir)
    hooks, server = files(linked, "claude")
    assert hooks == tmp_path / "tree" / ".claude" / "settings.local.json"
    install(linked, "claude")
    assert list(json.loads(server.read_text())["projects"]) == [str(main.root)]
    module = Place(tmp_path / "sub", main.git_dir / "modules" / "sub", main.git_dir / "modules/sub")
    install(module, "claude")
    assert list(json.loads(server.read_text())["projects"]) == [str(main.root), str(module.root)]


def test_what_is_private_in_the_clients_own_file_is_not_copied(
    places: tuple[Place, Place],
) -> None:
    path = files(places[0], "claude")[1]
    put(path, '{"oauthAccount": {"token": "do-not-copy"}, "projects": {}}')
    install(places[0], "claude")
    for kept in places[0].store.rglob("*.json"):
        assert "do-not-copy" not in kept.read_text()


def test_a_settings_file_behind_a_link_stays_behind_it(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    path = files(places[0], "gemini")[0]
    path.parent.mkdir()
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path.symlink_to(real)
    install(places[0], "gemini")
    assert path.is_symlink() and "braincore" in real.read_text()
    uninstall(places[0])
    assert path.is_symlink() and real.read_text() == "{}"


def test_each_worktree_gets_its_own_settings_back(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    main = places[0]
    linked = Place(tmp_path / "tree", main.git_dir / "worktrees" / "tree", main.git_dir)
    put(files(main, "claude")[0], "{ }\n")
    install(main, "claude")
    install(linked, "claude")
    uninstall(main)
    assert content(files(main, "claude")[0]) == b"{ }\n"
    uninstall(linked)
    assert content(files(linked, "claude")[0]) is None
