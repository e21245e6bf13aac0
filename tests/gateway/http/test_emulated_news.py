"""Emulated servers that come, go and change are told at their own endpoints alone, in both eras."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.subscriptions import ToolsListChanged

from fake_emulation import FakeDocuments, document, open_emulating_gateway
from in_memory_tools import spec
from relayed_servers import LEGACY, MODERN, Desk, RelayGateway

WAIT_SECONDS = 20.0

ways = pytest.mark.parametrize("mode", [LEGACY, MODERN], ids=["2025", "2026"])
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class Ear:
    """Counts how often a client was told of changed tools."""

    def __init__(self) -> None:
        self.count = 0
        self._more = anyio.Event()

    def note(self) -> None:
        """Count one."""
        self.count += 1
        self._more.set()

    async def take(self, message: Any) -> None:
        """Hear a message of the SDK's client."""
        if isinstance(message, types.ToolListChangedNotification):
            self.note()

    async def wait_for(self, count: int) -> None:
        """Wait until so many were told."""
        with anyio.fail_after(WAIT_SECONDS):
            while self.count < count:
                self._more = anyio.Event()
                await self._more.wait()


@asynccontextmanager
async def hearing(gateway: RelayGateway, path: str, mode: str) -> AsyncGenerator[Ear]:
    """Hear the news of a path as a client of an era."""
    ear = Ear()
    if mode == LEGACY:
        is_open = anyio.Event()
        async with gateway.client(path, mode, hears=is_open, message_handler=ear.take):
            with anyio.fail_after(WAIT_SECONDS):
                await is_open.wait()
            yield ear
        return
    async with (
        gateway.client(path, mode) as client,
        anyio.create_task_group() as group,
        client.listen(tools_list_changed=True) as subscription,
    ):

        async def hear() -> None:
            async for event in subscription:
                if isinstance(event, ToolsListChanged):
                    ear.note()

        group.start_soon(hear)
        yield ear
        group.cancel_scope.cancel()


@ways
async def test_news_of_an_emulated_server_reach_its_own_endpoint_and_no_other(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(document("berry"), document("cherry"))
    async with (
        open_emulating_gateway(tmp_path, documents, Desk("apple")) as gateway,
        hearing(gateway, "/servers/berry/mcp", mode) as at_berry,
        hearing(gateway, "/servers/cherry/mcp", mode) as at_cherry,
        hearing(gateway, "/servers/apple/mcp", mode) as at_apple,
        hearing(gateway, "/mcp", mode) as at_all,
    ):
        documents.publish(document("berry", spec("changed", {}, [])))
        await at_berry.wait_for(1)
        documents.withdraw("berry")
        await at_berry.wait_for(2)
        documents.publish(document("berry"))
        await at_berry.wait_for(3)
        documents.publish(document("damson"))
        # What is told last shows that nothing came before it.
        documents.publish(document("cherry", spec("changed", {}, [])))
        await at_cherry.wait_for(1)
        gateway.deployed.mount("late", Desk("late").make)
        await at_all.wait_for(1)
        assert (at_berry.count, at_cherry.count, at_apple.count, at_all.count) == (3, 1, 0, 1)


@ways
async def test_a_real_server_that_takes_the_name_of_an_emulated_one_is_told_at_both_endpoints(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(document("berry"))
    async with (
        open_emulating_gateway(tmp_path, documents) as gateway,
        hearing(gateway, "/servers/berry/mcp", mode) as at_berry,
        hearing(gateway, "/mcp", mode) as at_all,
    ):
        gateway.deployed.mount("berry", Desk("berry").make)
        await at_berry.wait_for(1)
        await at_all.wait_for(1)
        documents.publish(document("berry", spec("hidden", {}, [])))
        async with gateway.client("/servers/berry/mcp", mode) as client:
            assert "say" in [t.name for t in (await client.list_tools()).tools]
        async with gateway.client("/mcp", mode) as client:
            assert "berry__say" in [t.name for t in (await client.list_tools()).tools]
