"""Fixtures of rollouts: scripted endpoints, for agents of this process and for commands."""

from collections.abc import AsyncGenerator, Generator

import pytest
from anyio.from_thread import start_blocking_portal

from completions_server import CompletionsServer, open_completions_server


@pytest.fixture
async def completions(anyio_backend: str) -> AsyncGenerator[CompletionsServer]:
    """A scripted chat-completions endpoint."""
    async with open_completions_server() as server:
        yield server


@pytest.fixture
def endpoint() -> Generator[CompletionsServer]:
    """The same in a thread of its own: commands that run in this process have an event loop of theirs."""
    opening = open_completions_server()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as server:
        yield server
