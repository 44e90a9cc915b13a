"""TOML settings: our table comes and goes, and no other line moves."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.errors import InvalidInput
from braincore.serve.toml_settings import merge_toml_server, remove_toml_server

COMMAND = ["/my env/bin/python", "-I", "-m", "braincore.serve.mcp_stdio"]
PIECES = [
    "# [mcp_servers.braincore]\n",
    "\n",
    "[tui] # [x]\nnotifications = true\n",
    '[mcp_servers.other]\ncommand = "a"\nargs = [\n  ["b"],\n  "[c]",\n]\n',
    "[mcp_servers.other.env]\nA = '''\n[tui]\nargs = 1\n'''\n",
    '[mcp_servers."braincore.x"]\ncommand = "y"\n',
    "[[things]]\nn = 1\n",
    "[[things]]\nn = nan # not a number\n",
    "[mcp_servers]\n",
    "   # last words",
]
FIRST = ["", 'model = "o"\n', "mcp_servers = {}\n", 'mcp_servers.dotted.command = "z"\n']


def read(text: str) -> dict[str, object]:
    return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)


@given(
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(FIRST),
    st.permutations(PIECES).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n])),
    st.booleans(),
)
def test_any_settings_take_the_table_and_lose_it_again(
    mark: str, first: str, pieces: list[str], crlf: bool
) -> None:
    text = mark + first + "\n".join(pieces)
    text = text.replace("\n", "\r\n") if crlf else text
    try:
        before = read(text)
    except tomllib.TOMLDecodeError:
        assert refused(text)
        return
    if first.startswith("mcp_servers ="):
        assert refused(text)
        return
    installed = merge_toml_server(text, COMMAND)
    assert merge_toml_server(installed, COMMAND) == installed
    assert installed.startswith(text)
    assert ("\r\n" in installed) == ("\r\n" in text) or not text.strip("\ufeff")
    moved = merge_toml_server(installed, ["/p", *COMMAND[1:]])
    assert merge_toml_server(moved, COMMAND) == installed
    removed = remove_toml_server(installed, text)
    assert removed is not None and read(removed) == before
    assert removed.rstrip("\r\n") == text.rstrip("\r\n")


def test_our_name_inside_a_string_is_never_taken_for_our_table() -> None:
    text = "a = '''\n[mcp_servers.braincore]\nargs = 1\n'''\n"
    installed = merge_toml_server(text, COMMAND)
    assert installed.startswith(text)
    with pytest.raises(InvalidInput, match="by hand"):
        remove_toml_server(installed)
    with pytest.raises(InvalidInput, match="by hand"):
        merge_toml_server(installed, ["/p", *COMMAND[1:]])


def refused(text: str) -> bool:
    try:
        merge_toml_server(text, COMMAND)
    except InvalidInput:
        return True
    return False
