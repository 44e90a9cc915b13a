"""`python -m bench.vectors.opened FOLDER DIMENSIONS HNSW_FROM`: CPU ms to open an index, and MB."""

import os
import sys
from pathlib import Path

from bench.measure import spent_in
from braincore.index.embed import Identity
from braincore.index.vectors import VectorIndex


def resident() -> float:
    """MB that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    """Open, print two numbers."""
    folder, dimensions, hnsw_from = sys.argv[1:]
    before, kept = resident(), []
    identity = Identity("bench", "", int(dimensions))
    cpu = spent_in(lambda: kept.append(VectorIndex(Path(folder), identity, int(hnsw_from))))
    sys.stdout.write(f"{cpu} {resident() - before}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
