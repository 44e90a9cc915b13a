"""`braincore serve`: run the owner process in the foreground."""

import argparse
import os
import sys

from braincore.client import serving
from braincore.errors import OwnerBusy
from braincore.locate import find_initialised

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore serve"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `serve`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `serve`; the exit code."""
    place = find_initialised(given.path)
    if (pid := serving(place)) is not None:
        raise OwnerBusy(str(place.store), pid)
    command = [sys.executable, "-I", "-m", "braincore.serve.owner", "--foreground"]
    command += ["--store", str(place.store), "--root", str(place.root)]
    os.execv(sys.executable, command)
