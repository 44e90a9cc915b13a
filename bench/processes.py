"""What a running process has cost so far and holds now; where the time of a call goes."""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

__all__ = ["cpu_of", "disk_of", "family", "profiled", "resident"]

SAMPLE_SECONDS = 0.002
SWITCH_SECONDS = 0.0001
IDLE = frozenset({"wait", "wait_for", "_wait_for_tstate_lock", "join", "sleep", "acquire"})


def cpu_of(pid: int) -> float:
    """Milliseconds of CPU of a process so far, its threads included and its children not. Linux.

    0 when it has ended. The kernel's clock of a process is precise; /proc/pid/stat counts ticks.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2) * 1000
    except OSError:
        return 0.0


def family(pid: int) -> list[int]:
    """A process and everything it started that lives, however deep."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue  # it ended while we looked
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds. Linux."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def disk_of(folder: Path) -> float:
    """Megabytes on disk of all files below a folder, blocks counted."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except FileNotFoundError:
                continue  # projections replace their files at any time
    return total / 1e6


def profiled(action: Callable[[], object], *, own: bool = False, count: int = 10) -> str:
    """Where an action spends its time, in all threads or in this one (`own`), by sampling:
    functions of ours and of libraries with the share of samples in which they were anywhere on the
    stack. One that only calls another one of these is left out."""
    caller = threading.get_ident()
    seen: Counter[str] = Counter()
    depths: Counter[str] = Counter()
    total = 0
    ended = threading.Event()

    def look() -> None:
        nonlocal total
        mine = threading.get_ident()
        while not ended.wait(SAMPLE_SECONDS):
            for thread, frame in sys._current_frames().items():
                if thread == mine or frame.f_code.co_name in IDLE or (own and thread != caller):
                    continue
                total += 1
                stack = _stack(frame)
                seen.update(stack.keys())
                depths.update(stack)

    sampler = threading.Thread(target=look, daemon=True)
    switch = sys.getswitchinterval()
    # Else the sampler only gets a turn where a thread lets go of the GIL: in system calls.
    sys.setswitchinterval(SWITCH_SECONDS)
    sampler.start()
    try:
        action()
    finally:
        ended.set()
        sampler.join()
        sys.setswitchinterval(switch)
    # Of several with the same count the deepest does the work.
    deepest: dict[int, str] = {}
    for name in sorted(seen, key=lambda n: depths[n] / seen[n]):
        deepest[seen[name]] = name
    top = sorted(deepest.items(), reverse=True)[:count]
    return "profile, share of busy samples: " + ", ".join(
        f"{name} {n / max(1, total):.0%}" for n, name in top
    )


def _stack(frame: FrameType | None) -> dict[str, int]:
    """The functions on a stack with how far each is from its outer end."""
    names: list[str] = []
    while frame is not None:
        path = frame.f_code.co_filename
        if "braincore" in path or "site-packages" in path:
            names.append(f"{Path(path).stem}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return {name: depth for depth, name in enumerate(reversed(names), 1)}
