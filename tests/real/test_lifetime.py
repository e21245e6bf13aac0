"""Processes and folders of published servers end with what they were started for."""

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from processes import below, wait_until_gone
from relayed_servers import open_episode, text_of

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs the servers

SERVERS = ("filesystem", "memory", "time", "sqlite")
END_SECONDS = 20


@pytest.fixture
def small_gateway(start_gateway: Any, entries: dict[str, Any], tmp_path: Path) -> Any:
    """A gateway of its own with few enough servers that `/mcp` lists their tools."""
    with start_gateway(tmp_path / "gateway", {n: entries[n] for n in SERVERS}) as running:
        yield running


async def open_state(client: Any) -> str:
    """Start all four servers at `/mcp`; name the private folder of one."""
    await client.call_tool("time__get_current_time", {"timezone": "UTC"})
    await client.call_tool("memory__read_graph", {})
    await client.call_tool("sqlite__list_tables", {})
    answer = await client.call_tool("filesystem__list_allowed_directories", {})
    return text_of(answer).splitlines()[-1]


@pytest.mark.parametrize(
    ("number", "era"),
    [(signal.SIGTERM, "legacy"), (signal.SIGKILL, "2026-07-28")],
    ids=["SIGTERM", "SIGKILL"],
)
async def test_no_process_outlives_the_gateway(
    number: signal.Signals, era: str, small_gateway: Any, sdk: Any
) -> None:
    pid = small_gateway.process.pid
    async with sdk(f"{small_gateway.url}/mcp?caller=me", era) as client:
        folder = await open_state(client)
        existed = await anyio.Path(folder).is_dir()
        started = {p.pid for p in below(pid)}
        handles = [os.pidfd_open(child) for child in started]
        small_gateway.process.send_signal(number)
        code = await to_thread.run_sync(small_gateway.process.wait, END_SECONDS)
        left = await to_thread.run_sync(wait_until_gone, handles, END_SECONDS)
    assert existed
    assert len(started) >= len(SERVERS)
    assert left == 0
    if number is signal.SIGTERM:
        assert code == 0
        assert not await anyio.Path(folder).exists()


async def test_a_closed_episode_leaves_neither_process_nor_folder(gateway: Any, sdk: Any) -> None:
    async with gateway.control() as control:
        episode = await open_episode(control, "filesystem")
        before = {p.pid for p in below(gateway.process.pid)}
        async with sdk(episode.mcp_url, "2026-07-28") as client:
            answer = await client.call_tool("list_allowed_directories", {})
        folder = text_of(answer).splitlines()[-1]
        existed = await anyio.Path(folder).is_dir()
        started = {p.pid for p in below(gateway.process.pid)} - before
        handles = [os.pidfd_open(child) for child in started]
        await control.close_episode(episode.id)
        left = await to_thread.run_sync(wait_until_gone, handles, END_SECONDS)
    assert existed
    assert started
    assert left == 0
    assert not await anyio.Path(folder).exists()
