"""The owner process: lock, listen, and only then load what serves.

    python -m braincore.serve.owner --store STORE --root ROOT [--foreground] [--http [HOST:]PORT]

The lock comes before the socket, the socket before the brain: a client that connects waits for the
record table, and not for graph and indexes. Exit code 0 also when another owner already serves.
Until lock and socket are had, this imports the standard library only: of many owners started at
once, all but one leave before they cost anything.
"""

import argparse
import ctypes
import importlib
import json
import logging
import os
import signal
import sys
from functools import partial

from braincore import locate
from braincore.errors import BraincoreError, OwnerBusy, StoreError
from braincore.serve import tcp
from braincore.serve.claim import Claim
from braincore.serve.logs import log_to

__all__ = ["main"]

log = logging.getLogger("braincore")


def main(arguments: list[str] | None = None) -> int:
    """Serve one store until idle, asked to stop, or replaced."""
    parser = argparse.ArgumentParser(prog="braincore-owner", description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--foreground", action="store_true")
    parser.add_argument("--http", default="", metavar="[HOST:]PORT")
    parser.add_argument("--json", action="store_true", help="announce the address as JSON")
    given = parser.parse_args(arguments)
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        del os.environ[name]
    # numpy's own threads gain nothing on rows of this size, and spin on cores that others need.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _share_memory()
    os.umask(0o077)
    try:
        place = locate.find(given.root)
        os.chdir(place.common_dir)  # not the worktree: that may be deleted while we run
        http = tcp.bind(tcp.parse_address(given.http)) if given.http else None
        claim = _claim(place)
    except OwnerBusy as error:
        sys.stderr.write(f"{error}\n")
        return 1 if given.foreground else 0
    except BraincoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    log_to(place.store, foreground=given.foreground)
    serving = importlib.import_module("braincore.serve.process")
    if not given.foreground:
        _detach_output()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    serving.Process(place, claim).serve(http, partial(_announce, given.json))
    return 0


def _announce(as_json: bool, found: tcp.Listening) -> None:
    body = {"outcome": "serving", "http": found.url, "token_file": str(found.token_file)}
    line = json.dumps(body) if as_json else f"{found.url} (token in {found.token_file})"
    try:
        print(line, flush=True)
    except OSError as error:
        log.warning("%s can't be announced: %s", found.url, error)


M_ARENA_MAX = -8


def _share_memory() -> None:
    """Two heaps for all threads, where the C library is glibc: with one for each thread, twelve
    busy sessions cost 100 MB more, and it grew."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 2)


def _claim(place: locate.Place) -> Claim:
    try:
        place.store.mkdir(parents=True, exist_ok=True, mode=0o700)
        claim = Claim(place)
        claim.write()
    except OSError as error:
        raise StoreError(str(place.store), str(error)) from None
    return claim


def _detach_output() -> None:
    """Nobody reads our output any more once we serve."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
