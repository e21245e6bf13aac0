"""What the kernel has booked on processes: processor time, memory, open files."""

import contextlib
import os
from pathlib import Path

__all__ = ["cpu_seconds", "is_alive", "open_files", "resident_bytes", "tree_of"]

_TICK = 1 / os.sysconf("SC_CLK_TCK")
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
        return sum(int(ticks) for ticks in _stat(root)[11:13]) * _TICK
    total = 0
    for pid in tree_of(root):
        # One may end meanwhile: its time is then in its parent's account.
        with contextlib.suppress(OSError):
            total += sum(int(ticks) for ticks in _stat(pid)[11:15])
    return total * _TICK


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
