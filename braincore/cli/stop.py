"""`braincore stop`: stop the owner process."""

import argparse
import time

from braincore.cli.client import Answer, ask
from braincore.cli.output import show
from braincore.locate import find_initialised

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore stop"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `stop`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `stop`; the exit code."""
    place = find_initialised(given.path)
    answer = ask(place, "stop", {}, start=False)
    if answer is None:
        return show(
            given, Answer({"outcome": "not running"}, 0), lambda body: "no owner was running"
        )
    deadline = time.monotonic() + 60
    while (place.store / "owner.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    done = Answer({"outcome": "stopped", "pid": answer.body["pid"]}, 0)
    return show(given, done, lambda body: f"stopped the owner (pid {body['pid']})")
