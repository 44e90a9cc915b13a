"""Write docs/cli.md and docs/mcp.md from the code: `python docs/tools/reference.py`.

A test says when they are out of date.
"""

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from braincore.cli.main import COMMANDS, module_of, parser_of
from braincore.serve.mcp.tools import INSTRUCTIONS, TOOLS, Tool

__all__ = ["PAGES"]

DOCS = Path(__file__).parents[1]
MADE = "<!-- Made by docs/tools/reference.py; change the code instead. -->\n"
EVERYWHERE = ("help", "json", "debug", "path")

CLI_HEAD = """# Command line

`braincore VERB [ARGUMENTS] [--json] [--debug] [-C PATH]`

Every verb takes these:

| | |
|---|---|
| `--json` | print the answer as one JSON object ([the shapes](rest.md)); an error too |
| `--debug` | say on stderr what is done and how long it takes ([reading the log](operations.md)) |
| `-C PATH` | the repository, or a folder in it; else the working directory |
| `--help` | the arguments, with an example |

Exit codes: 0 done, also for an abstain of `recall` or `why`; 1 an error, which says what to do
next; 2 a conflict, or an edit that must not be written. The first verb that needs the owner process
starts it.
"""

MCP_HEAD = f"""# MCP

The tools that a coding agent has. `braincore init --client CLIENT` enters the server with the
client ([clients](clients.md)); by hand it is `braincore mcp` on standard input and output, or
`/mcp` over HTTP ([REST](rest.md)). Each tool runs the verb of the [command line](cli.md) of that
name, or the one named here, as an agent. The server tells the client:

> {INSTRUCTIONS}

An abstain, a conflict and a denied edit are results. Only what can't be carried out as asked is
marked as an error; its text says what to do.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", " or ")


def _named(action: argparse.Action) -> str:
    """How an argument is written: `--limit N`, `query`."""
    value = _cell(str(action.metavar or action.dest.upper()))
    shown = "" if action.nargs == 0 else f" {value}"
    if not action.option_strings:
        return f"`{_cell(str(action.metavar or action.dest))}`"
    return ", ".join(f"`{name}{shown}`" for name in action.option_strings)


def _told(action: argparse.Action) -> str:
    parts = [action.help or ""]
    if action.choices is not None:
        parts.append("one of " + ", ".join(f"`{c}`" for c in action.choices))
    if action.option_strings and action.required:
        parts.append("required")
    if action.default not in (None, "", False, []) and action.nargs != 0:
        parts.append(f"default `{action.default}`")
    if isinstance(action, argparse._AppendAction):
        parts.append("may be given several times")
    return _cell("; ".join(p for p in parts if p))


def _verb(name: str) -> Iterator[str]:
    module = importlib.import_module(f"braincore.cli.{module_of(name)}")
    yield f"\n## {name}\n\n{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.\n"
    actions = [a for a in parser_of(name)._actions if a.dest not in EVERYWHERE]
    if actions:
        yield "\n| argument | meaning |\n|---|---|\n"
        yield from (f"| {_named(a)} | {_told(a)} |\n" for a in actions)
    yield f"\n```sh\n{module.EXAMPLE}\n```\n"


def _cli() -> str:
    return "".join([MADE, CLI_HEAD, *(part for name in COMMANDS for part in _verb(name))])


def _type(schema: Any) -> str:
    if schema["type"] == "array":
        return f"list of {schema['items']['type']}s" if "items" in schema else "list"
    return str(schema["type"])


def _tool(tool: Tool) -> Iterator[str]:
    runs = "" if tool.verb == tool.name else f" Runs [{tool.verb}](cli.md#{tool.verb})."
    yield f"\n## {tool.name}\n\n{tool.description}{runs}"
    yield " Reads only.\n" if tool.reads else "\n"
    if tool.properties:
        yield "\n| argument | type | meaning |\n|---|---|---|\n"
    for name, schema in tool.properties.items():
        meaning = [schema.get("description", ""), "required" if name in tool.required else ""]
        yield f"| `{name}` | {_type(schema)} | {_cell('; '.join(m for m in meaning if m))} |\n"
    yield f"\nResult: {', '.join(f'`{name}`' for name in tool.output)}.\n"


def _mcp() -> str:
    return "".join([MADE, MCP_HEAD, *(part for tool in TOOLS for part in _tool(tool))])


PAGES = {"cli.md": _cli, "mcp.md": _mcp}
"""The pages that are made, and what makes them."""


if __name__ == "__main__":
    for page, make in PAGES.items():
        (DOCS / page).write_text(make(), encoding="utf-8")
