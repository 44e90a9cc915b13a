"""`braincore uninstall`: take hooks, journal and indexes away again."""

import argparse
from typing import Any

from braincore.cli.client import Answer, stop
from braincore.cli.output import show
from braincore.locate import find_initialised

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore uninstall --keep-memory"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `uninstall`."""
    parser.add_argument("--keep-memory", action="store_true", help="only take the hooks out")


def run(given: argparse.Namespace) -> int:
    """Run `uninstall`; the exit code."""
    from braincore.serve.install import remove_store, uninstall

    place = find_initialised(given.path)
    hooks = [done.path for done in uninstall(place)]
    gone: list[str] = []
    if not given.keep_memory:
        stop(place)
        gone = remove_store(place)
    return show(
        given, Answer({"outcome": "uninstalled", "hooks": hooks, "removed": gone}, 0), _text
    )


def _text(body: dict[str, Any]) -> str:
    lines = [f"hooks taken out of {path}" for path in body["hooks"]]
    lines += [f"removed {path}" for path in body["removed"]]
    lines.append("the team's .braincore/rules and config.toml were left; delete them if unwanted")
    return "\n".join(lines)
