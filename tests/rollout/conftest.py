"""Fixtures of rollouts: the scripted endpoint and a model that talks to it."""

from collections.abc import AsyncGenerator

import pytest

from completions_server import CompletionsServer, open_completions_server


@pytest.fixture
async def completions(anyio_backend: str) -> AsyncGenerator[CompletionsServer]:
    """A scripted chat-completions endpoint."""
    async with open_completions_server() as server:
        yield server
