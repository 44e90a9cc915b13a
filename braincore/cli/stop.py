"""`braincore stop`: stop the owner process."""

import argparse

from braincore.cli.output import show
from braincore.client import Answer, stop
from braincore.locate import find_initialised

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore stop"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `stop`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `stop`; the exit code."""
    pid = stop(find_initialised(given.path))
    if pid is None:
        answer = Answer({"outcome": "not running"}, 0)
        return show(given, answer, lambda body: "no owner was running")
    done = Answer({"outcome": "stopped", "pid": pid}, 0)
    return show(given, done, lambda body: f"stopped the owner (pid {body['pid']})")
