"""`braincore VERB …`: parse, ask the owner, print. One file a command beside this one."""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from braincore import __version__
from braincore.cli.output import printable, to_nowhere
from braincore.errors import BraincoreError

__all__ = ["COMMANDS", "main", "module_of", "parser_of"]

COMMANDS: dict[str, str] = {
    "init": "set a repository up: brain, code index, hooks",
    "remember": "store a fact with its source",
    "recall": "answer from what is verified, or abstain and say why",
    "decide": "store a decision with its alternatives and reasons",
    "outcome": "add what became of a decision",
    "fail": "store a failure, so that it can't come back unseen",
    "import": "store what a file of JSON lines says",
    "why": "the chain of decisions behind a target or symbol",
    "check": "judge an edit before it is written",
    "related": "what is known about a symbol or path",
    "context": "what a prompt should bring along",
    "tasks": "what the brain needs to know",
    "review": "what waits for a person",
    "log": "the journal: who changed which belief, when, why",
    "index": "bring the code index to the working tree",
    "status": "the brain in numbers",
    "doctor": "run the whole loop and say what is wrong",
    "rebuild": "fill graph and indexes anew from the journal",
    "serve": "run the owner process in the foreground",
    "stop": "stop the owner process",
    "mcp": "the stdio MCP server: protocol on stdin and stdout",
    "hook": "what a client's hook runs: event on stdin, answer on stdout",
    "uninstall": "take hooks, journal and indexes away again",
}


_MODULES = {"import": "import_file"}
"""Verbs whose module has another name: Python has a word of its own for one."""


def module_of(verb: str) -> str:
    """The name of the module with a verb's arguments and its run."""
    return _MODULES.get(verb, verb)


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {text}" for name, text in COMMANDS.items()]
    return (
        "usage: braincore [-C PATH] VERB [ARGUMENTS] [--json] [--debug]\n\n"
        "The memory of a code repository for the coding agents that work in it.\n\nverbs:\n"
        + "\n".join(lines)
        + '\n\nexample:\n  braincore init && braincore recall "why do we use kuzu?"\n\n'
        "`braincore VERB --help` shows the arguments of a verb with an example."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. 0 done, 1 error, 2 conflict, deny or abstain of a check."""
    _open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        return _run(given)
    except BraincoreError as error:
        if as_json:
            sys.stdout.write(json.dumps({"outcome": "error", "error": str(error)}) + "\n")
        else:
            sys.stderr.write(f"braincore: {printable(str(error), sys.stderr)}\n")
        return 1
    except BrokenPipeError:
        to_nowhere()  # the reader left; nothing is wrong
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("braincore: interrupted\n")
        return 130


def _run(given: list[str]) -> int:
    path = None
    while given and (given[0] in ("--json", "--debug") or given[0].startswith("-C")):
        if given[0] == "--json":
            given = [*given[1:], "--json"]
            if len(set(given)) == 1:
                break
        elif given[0] == "--debug":
            os.environ["BRAINCORE_DEBUG"] = "1"
            given = given[1:]
        elif given[0] == "-C":
            if len(given) < 2:
                raise _Usage("-C needs a path")
            path, given = given[1], given[2:]
        else:
            path, given = given[0][2:], given[1:]
    if not given or given[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    if given[0] in ("-V", "--version", "version"):
        print(f"braincore {__version__}")
        return 0
    name, rest = given[0], given[1:]
    if name not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, 1)
        hint = f"Did you mean `{near[0]}`?" if near else "See `braincore --help`."
        raise _Usage(f"there is no verb {name!r}. {hint}")
    module = _module(name)
    parsed: Any = parser_of(name).parse_args(rest)
    if parsed.debug:
        os.environ["BRAINCORE_DEBUG"] = "1"
    # A hook stands wherever its client put it, and says itself when that place is gone.
    parsed.path = parsed.path or path or ("" if name == "hook" else _here())
    code: int = module.run(parsed)
    return code


def _module(name: str) -> Any:
    return importlib.import_module(f"braincore.cli.{module_of(name)}")


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a verb's arguments."""
    module = _module(name)
    parser = _Parser(
        prog=f"braincore {name}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--debug", action="store_true", help="say on stderr what is done and why")
    parser.add_argument("-C", dest="path", default=None, metavar="PATH", help="the repository")
    return parser


class _Usage(BraincoreError):
    """The words of the command line are off."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong as every other error: exit 1, since 2 means conflict, deny or abstain."""

    def error(self, message: str) -> NoReturn:
        raise _Usage(f"{message}. See `{self.prog} --help`")


def _open_streams() -> None:
    """Streams that came closed lead nowhere; else the next file opened would take their place."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(fd, "w" if fd else "r", closefd=False))


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise _Usage(
            "the working directory was deleted. Change to an existing one, or use -C PATH"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
