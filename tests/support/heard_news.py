"""What a client of either era is told of changes, and a way to wait for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged

from relayed_servers import LEGACY, open_client

WAIT_SECONDS = 20.0


class Heard:
    """What one client was told: ``tools``, ``prompts``, and URIs of resources."""

    def __init__(self) -> None:
        self.news: list[str] = []
        self._changed = anyio.Event()

    async def take(self, message: Any) -> None:
        """Hear a message of the SDK's client, in the words of either era."""
        match message:
            case types.ToolListChangedNotification() | ToolsListChanged():
                self.news.append("tools")
            case types.PromptListChangedNotification() | PromptsListChanged():
                self.news.append("prompts")
            case types.ResourceUpdatedNotification():
                self.news.append(str(message.params.uri))
            case ResourceUpdated(uri=uri):
                self.news.append(uri)
            case _:
                return
        self._changed.set()

    async def wait_for(self, what: str, count: int = 1) -> None:
        """Wait until this was heard so often."""
        with anyio.fail_after(WAIT_SECONDS):
            while self.news.count(what) < count:
                self._changed = anyio.Event()
                await self._changed.wait()


@asynccontextmanager
async def hearing(url: str, mode: str, *uris: str) -> AsyncGenerator[tuple[Client, Heard]]:
    """Open a client that hears the news of an endpoint, and of resources."""
    heard = Heard()
    if mode == LEGACY:
        is_open = anyio.Event()
        async with open_client(url, mode, hears=is_open, message_handler=heard.take) as client:
            with anyio.fail_after(WAIT_SECONDS):
                await is_open.wait()
            for uri in uris:
                await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated] - still spoken
            yield client, heard
        return
    async with (
        open_client(url, mode) as client,
        anyio.create_task_group() as group,
        client.listen(
            tools_list_changed=True, prompts_list_changed=True, resource_subscriptions=list(uris)
        ) as subscription,
    ):

        async def hear() -> None:
            async for event in subscription:
                await heard.take(event)

        group.start_soon(hear)
        yield client, heard
        group.cancel_scope.cancel()
