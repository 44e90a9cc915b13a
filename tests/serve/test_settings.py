"""Settings: what is the user's stays, byte for byte; what is ours comes and goes."""

import json
import re
import shlex
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from braincore.errors import InvalidInput
from braincore.serve.settings import (
    HookEntry,
    hook_command,
    is_ours,
    merge_hooks,
    merge_server,
    remove_hooks,
    remove_server,
    server_shape,
    uninstall_text,
)

FILE = "/opt/braincore/serve/hook_client.py"
COMMAND = hook_command("/opt/bin/python", FILE, "claude")
MOVED = hook_command("/new home/bin/python", "/new home/braincore/serve/hook_client.py", "claude")


def entries(command: str = COMMAND, timeout: int = 5) -> dict[str, list[HookEntry]]:
    return {
        "PreToolUse": [HookEntry("Edit|Write", command, timeout)],
        "SessionStart": [HookEntry(None, command, 10)],
    }


def plain(text: str) -> Any:
    """The value of a JSONC text, by another way than the module's own parser."""
    token = r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/'
    bare = re.sub(token, lambda m: m[1] or " ", text.removeprefix("\ufeff"), flags=re.DOTALL)
    commas = r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])'
    return json.loads(re.sub(commas, lambda m: m[1] or "", bare, flags=re.DOTALL))


def ours(text: str) -> list[tuple[str, str | None, str, int]]:
    return [
        (event, group.get("matcher"), handler["command"], handler["timeout"])
        for event, groups in plain(text).get("hooks", {}).items()
        for group in groups
        for handler in group.get("hooks", [])
        if is_ours(handler["command"])
    ]


WANTED = [("PreToolUse", "Edit|Write", COMMAND, 5), ("SessionStart", None, COMMAND, 10)]

USERS = {
    "empty object": "{}",
    "no final newline": '{\n  "model": "opus"\n}',
    "tabs and CRLF": '{\r\n\t"model": "opus",\r\n\t"env": {"A": "1"}\r\n}\r\n',
    "byte order mark": '\ufeff{\n    "model": "opus"\n}\n',
    "minified": '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "one line": '{ "model": "opus" }\n',
    "empty containers": '{\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
    "own hooks": """{
  // mine, "quoted" and with a { brace
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint.sh"}]} // the linter
      /* nothing else */
    ],
  },
  "permissions": {"allow": ["Bash(ls:*)"]}, // last
}
""",
    "comments only": "{\n  // nothing yet\n}\n",
    "blank file": "",
    "blank file with a mark": "\ufeff\n",
}


@pytest.mark.parametrize("text", USERS.values(), ids=USERS)
def test_install_twice_and_uninstall_restores_every_byte(text: str) -> None:
    installed = merge_hooks(merge_hooks(text, entries()), entries())
    assert ours(installed) == WANTED
    assert installed == merge_hooks(text, entries())
    assert uninstall_text(installed, text, installed) == text
    assert remove_hooks(installed, text) == text


@pytest.mark.parametrize("text", USERS.values(), ids=USERS)
def test_merge_keeps_users_lines(text: str) -> None:
    installed = merge_hooks(text, entries())
    for line in text.splitlines():
        assert line.strip().replace(",", "").strip("{}[]\ufeff") in installed.replace(",", "")
    assert installed.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in installed) == ("\r\n" in text)
    assert not re.search(r"(?<!\r)\n", installed) or "\r\n" not in text


def test_missing_file_is_created_and_goes_again() -> None:
    created = merge_hooks(None, entries())
    assert ours(created) == WANTED
    assert created.endswith("}\n")
    assert uninstall_text(created, None, created) is None
    assert remove_hooks(created) is None


def test_indentation_follows_the_users() -> None:
    installed = merge_hooks('{\n   "a": 1\n}\n', entries())
    assert '\n   "hooks": {\n      "PreToolUse": [\n         {\n' in installed


def test_moved_installation_is_replaced_in_place() -> None:
    text = merge_hooks(USERS["own hooks"], entries())
    moved = merge_hooks(text, entries(MOVED, 7))
    assert [entry[2:] for entry in ours(moved)] == [(MOVED, 7), (MOVED, 10)]
    assert "lint.sh" in moved
    assert merge_hooks(moved, entries()) == text


def test_entries_of_ours_no_longer_wanted_go() -> None:
    text = merge_hooks(USERS["one line"], entries())
    fewer = {"PreToolUse": [HookEntry("Edit", COMMAND, 5)]}
    assert merge_hooks(text, fewer) == merge_hooks(USERS["one line"], fewer)


def test_users_key_on_our_entry_survives_a_new_install() -> None:
    text = merge_hooks(None, entries()).replace(
        '"timeout": 5', '"timeout": 5, "onFailure": "block"'
    )
    assert '"onFailure": "block"' in merge_hooks(text, entries(MOVED))


def test_entry_without_timeout_gets_one() -> None:
    text = merge_hooks(None, entries())
    short = re.sub(r',\s*"timeout": 5', "", text)
    assert short != text
    assert merge_hooks(short, entries()) == text


def test_duplicates_of_ours_are_reduced_to_one() -> None:
    group = json.dumps({"matcher": "Edit|Write", "hooks": [{"command": COMMAND, "timeout": 5}]})
    text = '{"hooks": {"PreToolUse": [' + group + ", " + group + "]}}"
    assert ours(merge_hooks(text, entries())) == WANTED


def test_removal_after_edits_takes_only_ours() -> None:
    original = USERS["own hooks"]
    installed = merge_hooks(original, entries())
    edited = installed.replace("lint.sh", "lint2.sh").replace("opus", "x")
    assert uninstall_text(edited, original, installed) == original.replace("lint.sh", "lint2.sh")


def test_removal_spares_a_users_handler_in_our_group() -> None:
    installed = merge_hooks(None, entries())
    mine = '{"type": "command", "command": "mine.sh"}'
    edited = installed.replace('"timeout": 5\n          }', '"timeout": 5\n          }, ' + mine)
    assert edited != installed
    removed = uninstall_text(edited, None, installed)
    assert removed is not None
    assert plain(removed) == {
        "hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [json.loads(mine)]}]}
    }


def test_removal_spares_comments_in_our_containers() -> None:
    installed = merge_hooks(None, entries())
    edited = installed.replace('"PreToolUse": [', '"PreToolUse": [ // keep me')
    removed = uninstall_text(edited, None, installed)
    assert removed is not None
    assert "// keep me" in removed
    assert plain(removed) == {"hooks": {"PreToolUse": []}}


def test_line_comment_before_ours_never_swallows_what_follows() -> None:
    group = json.dumps({"hooks": [{"type": "command", "command": COMMAND}]})
    text = f'{{"hooks": {{"Stop": [1, // one\n{group}, 2], "a": [// c\n{group}]}}}}'
    removed = remove_hooks(text)
    assert removed is not None
    assert plain(removed) == {"hooks": {"Stop": [1, 2], "a": []}}


def test_text_without_ours_is_returned_as_it_is() -> None:
    for text in USERS.values():
        assert remove_hooks(text) == text
    assert remove_hooks('{"hooks": null}') == '{"hooks": null}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or } was expected"),
        ('\ufeff{"a" 1}', "line 1, column 6: a colon was expected"),
        ('{"a": [1, 2}', "line 1, column 12: a comma or ] was expected"),
        ('{"a": tru}', "line 1, column 7: a value was expected"),
        ('{"a": "x}', "line 1, column 7: a string in double quotes was expected"),
        ("{\r\n\r\n  a: 1}", "line 3, column 3: a string in double quotes"),
        ('{"a": 1} x', "line 1, column 10: nothing more"),
        ("{", "line 1, column 2: a string in double quotes"),
        ('{"a": 1 /* open', "line 1, column 9: a comma or } was expected"),
        ('{"a": ' + "[" * 5000, "nested deeper than 100"),
        ("[]", "no JSON object"),
        ('{"hooks": {}, "hooks": {}}', 'the key "hooks" twice'),
        ('{"hooks": null}', '"hooks" in the settings is no object'),
        ('{"hooks": []}', '"hooks" in the settings is no object'),
        ('{"hooks": {"Stop": [], "Stop": []}}', 'the key "Stop" twice'),
        ('{"hooks": {"PreToolUse": {}}}', '"PreToolUse" under "hooks" in the settings is no array'),
    ],
)
def test_unusable_settings_are_named(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(problem)):
        merge_hooks(text, entries())


def test_huge_numbers_are_left_alone() -> None:
    text = '{"n": ' + "9" * 5000 + "}"
    assert remove_hooks(merge_hooks(text, entries())) == text


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"/usr/bin/python3 -S -E -I {FILE} claude", True),
        (COMMAND, True),
        (hook_command("/a b/python", "/it's here/braincore/serve/hook_client.py", "codex"), True),
        (r"C:\py\python.exe C:\lib\braincore\serve\hook_client.py claude", True),
        ("python '/a b/braincore/serve/hook_client.py' claude", True),
        ("cat /opt/braincore/serve/hook_client.py.bak", False),
        ("python /opt/mybraincore/serve/hook_client.py", False),
        ("echo braincore", False),
    ],
)
def test_ours_is_told_by_the_path(command: str, expected: bool) -> None:
    assert is_ours(command) is expected


def test_command_quotes_spaces_and_quotes() -> None:
    path = "/it's a home/braincore/serve/hook_client.py"
    words = shlex.split(hook_command("/my env/bin/python", path, "gemini"))
    assert words[:4] == ["/my env/bin/python", "-S", "-E", "-I"]
    assert words[-2:] == [path, "gemini"]


@pytest.mark.parametrize(("python", "file"), [("python3", FILE), ("/p", "x.py"), ("/p", "/x.py")])
def test_command_refuses_paths_that_would_not_be_found_again(python: str, file: str) -> None:
    with pytest.raises(InvalidInput):
        hook_command(python, file, "claude")


def test_foreign_command_is_not_merged() -> None:
    with pytest.raises(InvalidInput, match="isn't a hook of ours"):
        merge_hooks("{}", {"Stop": [HookEntry(None, "rm -rf /", 5)]})


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
handlers = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.text()}, optional={"timeout": st.integers()}
)
groups = st.fixed_dictionaries(
    {"hooks": st.lists(handlers, max_size=2)}, optional={"matcher": st.text()}
)
events = st.sampled_from(["PreToolUse", "SessionStart", "Stop"])
servers = st.dictionaries(st.sampled_from(["a", "Braincore"]), values, max_size=2)
OURS = ("hooks", "mcpServers", "projects")
settings = st.builds(
    lambda rest, hooks: {**rest, **hooks},
    st.dictionaries(st.text().filter(lambda key: key not in OURS), values, max_size=3),
    st.fixed_dictionaries(
        {},
        optional={
            "hooks": st.dictionaries(events, st.lists(groups, max_size=2), max_size=3),
            "mcpServers": servers,
            "projects": st.dictionaries(
                st.sampled_from(["/r", "/s"]),
                st.fixed_dictionaries({}, optional={"mcpServers": servers, "x": values}),
            ),
        },
    ),
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A settings text with blanks, line ends, comments and trailing commas anywhere."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    blanks = ["", "", " ", "\t", newline, newline + "  ", newline + "\t"]
    comments = [
        "/* , } ] */",
        '/* "x" */' + newline,
        "// it's { [ " + newline,
        "//" + newline + " ",
    ]
    gap = st.sampled_from(blanks + comments)
    trailing = st.sampled_from(["", "", ","])

    def render(value: object) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        texts = []
        for item in value:
            key = json.dumps(item) + draw(gap) + ":" if isinstance(value, dict) else ""
            inner = render(value[item]) if isinstance(value, dict) else render(item)
            texts.append(draw(gap) + key + draw(gap) + inner + draw(gap))
        body = ",".join(texts) + (draw(trailing) if texts else "") + draw(gap)
        return "{" + body + "}" if isinstance(value, dict) else "[" + body + "]"

    whole = draw(st.sampled_from(["", "\ufeff"])) + draw(gap) + render(draw(settings)) + draw(gap)
    assume(not whole.encode("utf-8", "replace").isspace())
    return whole


@given(documents())
@example('{"hooks":{"Stop":[]}}')
def test_any_settings_survive_install_twice_and_uninstall(text: str) -> None:
    installed = merge_hooks(text, entries())
    assert merge_hooks(installed, entries()) == installed
    assert ours(installed) == WANTED or sorted(ours(installed), key=str) == sorted(WANTED, key=str)
    assert uninstall_text(installed, text, installed) == text
    removed = remove_hooks(installed, text)
    assert removed is not None
    assert plain(removed) == plain(text)
    assert re.findall("it's", removed) == re.findall("it's", text)


@given(documents(), st.sampled_from(["Edit|Write", "Bash", None]))
def test_any_settings_survive_a_move(text: str, matcher: str | None) -> None:
    before = {"PreToolUse": [HookEntry(matcher, MOVED, 1)], "Stop": [HookEntry(None, MOVED, 1)]}
    installed = merge_hooks(merge_hooks(text, before), entries(), text)
    assert sorted(ours(installed), key=str) == sorted(WANTED, key=str)
    removed = remove_hooks(installed, text)
    assert removed is not None
    assert plain(removed) == plain(text)


SERVER = ["/my env/bin/python", "-I", "-m", "braincore.serve.mcp_stdio"]
PATHS = [("mcpServers",), ("projects", "/r", "mcpServers")]


@given(documents(), st.sampled_from(PATHS), st.booleans())
def test_any_settings_take_a_server_and_lose_it_again(
    text: str, path: tuple[str, ...], shape: bool
) -> None:
    hooked = merge_hooks(text, entries())
    installed = merge_server(hooked, path, SERVER)
    assert merge_server(installed, path, SERVER) == installed
    found = plain(installed)
    for key in path:
        found = found[key]
    assert found["braincore"] == {"command": SERVER[0], "args": SERVER[1:]}
    moved = merge_server(installed, path, ["/p", *SERVER[1:]])
    assert merge_server(moved, path, SERVER) == merge_server(installed, path, SERVER)
    original = server_shape(text, path) if shape else text
    removed = remove_server(installed, path, original)
    assert removed is not None and plain(removed) == plain(hooked)
    removed = remove_hooks(removed, text)
    assert removed is not None and plain(removed) == plain(text)
    assert re.findall("it's", removed) == re.findall("it's", text)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("text", USERS.values(), ids=USERS)
def test_a_server_cut_out_leaves_every_byte(text: str, path: tuple[str, ...]) -> None:
    installed = merge_server(text, path, SERVER)
    assert remove_server(installed, path, server_shape(text, path)) == text
    assert remove_server(merge_server(None, path, SERVER), path, None) is None
