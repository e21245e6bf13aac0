"""Freed memory goes back to the system, where the C library would keep it."""

import platform
from pathlib import Path

import pytest

from astra_mcp.cli.allocator import give_back

MIB = 1 << 20


def _resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon")]
    return int(line.split()[1]) << 10


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries give back alone")
def test_memory_that_was_freed_below_what_is_still_in_use_is_given_back() -> None:
    blocks = [bytes([n % 256]) * 100_000 for n in range(2000)]
    last = blocks.pop()
    blocks.clear()
    before = _resident_bytes()
    give_back()
    assert before - _resident_bytes() > 100 * MIB
    assert len(last) == 100_000
