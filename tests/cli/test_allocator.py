"""Freed memory goes back to the system, where the C library would keep it."""

import platform
from pathlib import Path

import anyio
import pytest
from anyio import from_thread
from starlette.responses import PlainTextResponse

from astra_mcp.serving.http import allocator
from astra_mcp.serving.http.allocator import give_back
from astra_mcp.serving.http.server import bind, listen

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


async def test_what_is_free_is_given_back_again_and_again_while_an_application_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = 0
    twice = anyio.Event()

    def note() -> None:
        nonlocal times
        times += 1
        if times == 2:
            from_thread.run_sync(twice.set)

    monkeypatch.setattr(allocator, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(allocator, "give_back", note)
    with bind("127.0.0.1", 0) as listener:
        async with listen(PlainTextResponse("here"), listener):
            with anyio.fail_after(20):
                await twice.wait()
