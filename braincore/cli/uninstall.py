"""`braincore uninstall`: take hooks, journal and indexes away again."""

import argparse
from typing import Any

from braincore.cli.output import show
from braincore.cli.prepare import withdraw
from braincore.client import Answer, stop
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
    done = uninstall(place)
    gone: list[str] = []
    if not given.keep_memory:
        stop(place)
        gone = remove_store(place)
        if withdraw(place):
            gone.append(str(place.brain))
    body: dict[str, Any] = {"outcome": "uninstalled", "removed": gone}
    body["hooks"] = [one.path for one in done if one.changed]
    body["shared"] = [one.path for one in done if one.others]
    body["left"] = [str(place.brain)] if place.brain.exists() else []
    return show(given, Answer(body, 0), _text)


def _text(body: dict[str, Any]) -> str:
    lines = [f"taken out of {path}" for path in body["hooks"]]
    lines += [f"left, since other repositories need it: {path}" for path in body["shared"]]
    lines += [f"removed {path}" for path in body["removed"]]
    lines += [f"left, since the team's rules or settings are in it: {p}" for p in body["left"]]
    return "\n".join(lines)
