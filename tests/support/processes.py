"""Looks at processes of this machine through /proc."""

import contextlib
import os
import select
import time
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """One line of the process table."""

    pid: int
    state: str
    parent: int
    group: int


def table() -> list[Process]:
    """Every process, zombies included."""
    found: list[Process] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                found.append(Process(int(entry.name), state, int(parent), int(group)))
    return found


def below(root: int) -> list[Process]:
    """A process's descendants, zombies included."""
    rows = table()
    found: list[Process] = []
    parents = {root}
    while parents:
        children = [row for row in rows if row.parent in parents]
        found += children
        parents = {row.pid for row in children}
    return found


def wait_until_gone(handles: list[int], seconds: float) -> int:
    """Wait for the end of processes named by pidfds; returns how many are left at the deadline."""
    deadline = time.monotonic() + seconds
    left = set(handles)
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    while left and time.monotonic() < deadline:
        for handle, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            poll.unregister(handle)
            left.discard(handle)
            os.close(handle)
    return len(left)
