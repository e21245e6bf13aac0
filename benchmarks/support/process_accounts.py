"""What the kernel has booked on processes: processor time, memory, open files."""

import contextlib
import os
import time
from pathlib import Path

__all__ = ["cpu_seconds", "is_alive", "open_files", "resident_bytes", "tree_of"]

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_SCHED_CLOCK = 2
_PAGE = os.sysconf("SC_PAGE_SIZE")


def tree_of(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds(root: int, *, with_children: bool) -> float:
    """Processor time of a process, in user and kernel mode, since it started.

    Args:
        root: Its id.
        with_children: Also that of its descendants, those that ended included.
    """
    if not with_children:
        return _own_seconds(root)
    total = 0.0
    for pid in tree_of(root):
        # One may end meanwhile: its time is then in its parent's account.
        with contextlib.suppress(OSError):
            ended = sum(int(ticks) for ticks in _stat(pid)[13:15]) * _TICK
            total += _own_seconds(pid) + ended
    return total


def _own_seconds(pid: int) -> float:
    """Read the clock of a process, as ``clock_getcpuclockid(3)`` names it.

    ``/proc/PID/stat`` counts whole ticks of 10 ms: of many processes that are used for a second, too few.
    """
    return time.clock_gettime((~pid << 3) | _SCHED_CLOCK)


def resident_bytes(pid: int) -> int:
    """Resident memory of one process."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def open_files(pid: int) -> int:
    """How many files, sockets and pipes a process holds open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` from the third on (the state is the first of the answer)."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


def is_alive(pid: int) -> bool:
    """True while a process runs; a zombie does not."""
    try:
        return _stat(pid)[0] not in "ZX"
    except OSError:
        return False
