"""`braincore serve`: run the owner process in the foreground."""

import argparse
import os
import sys
from typing import Any

from braincore.cli.output import request
from braincore.client import serving
from braincore.errors import OwnerBusy
from braincore.locate import find_initialised

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore serve"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `serve`."""
    parser.add_argument(
        "--http",
        default="",
        metavar="[HOST:]PORT",
        help="listen on loopback TCP too; a running owner is told to",
    )


def run(given: argparse.Namespace) -> int:
    """Run `serve`; the exit code."""
    place = find_initialised(given.path)
    if (pid := serving(place)) is not None:
        if given.http:
            return request(given, "serve", {"http": given.http}, _text)
        raise OwnerBusy(str(place.store), pid)
    command = [sys.executable, "-I", "-m", "braincore.serve.owner", "--foreground"]
    command += ["--store", str(place.store), "--root", str(place.root)]
    if given.http:
        command += ["--http", given.http]
    if given.json:
        command.append("--json")
    os.execv(sys.executable, command)


def _text(body: dict[str, Any]) -> str:
    return f"{body['http']} (token in {body['token_file']})"
