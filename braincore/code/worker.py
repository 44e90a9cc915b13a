"""Extraction in a process of its own: `python -m braincore.code.worker`.

Reads frames from stdin and answers each on stdout; leaves when stdin ends, so it never outlives
the process that started it. A frame is a length and a pickle: (project id, [(path, language,
bytes), …]) in, a list of `Packed` as plain tuples out.
"""

import gc
import os
import pickle
import sys
from typing import BinaryIO, cast

from braincore.code.symbols import extract
from braincore.model.packed import Packed, pack

__all__ = ["Job", "pack_all", "receive", "send"]

Job = tuple[str, str, bytes]
"""Path, language and bytes of a file."""


def pack_all(project_id: str, jobs: list[Job]) -> list[Packed]:
    """What each file holds, in order."""
    return [
        pack(extract(path, data, language, project_id=project_id)) for path, language, data in jobs
    ]


def send(pipe: BinaryIO, value: object) -> None:
    """Write one frame."""
    data = pickle.dumps(value, protocol=5)
    pipe.write(len(data).to_bytes(8, "big"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> object:
    """Read one frame. Raises EOFError where the other side is gone."""
    head = pipe.read(8)
    size = int.from_bytes(head, "big")
    data = pipe.read(size) if len(head) == 8 else b""
    if len(head) < 8 or len(data) < size:
        raise EOFError
    return pickle.loads(data)


def main() -> None:
    """Serve until stdin ends."""
    if hasattr(os, "nice"):
        os.nice(5)  # what a person waits for goes first
    gc.disable()  # nothing here makes cycles, and looking for them takes a sixth of the time
    while True:
        try:
            project_id, jobs = cast(tuple[str, list[Job]], receive(sys.stdin.buffer))
            send(sys.stdout.buffer, [tuple(p) for p in pack_all(project_id, jobs)])
        except (EOFError, BrokenPipeError, KeyboardInterrupt):
            # a pipe that is gone must not be flushed once more at exit
            os._exit(0)


if __name__ == "__main__":
    main()
