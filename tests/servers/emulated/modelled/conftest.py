"""Fixtures of the emulator that asks a model: the scripted endpoint that it talks to."""

from collections.abc import AsyncGenerator

import pytest

from completions_server import CompletionsServer, open_completions_server


@pytest.fixture
async def completions(anyio_backend: str) -> AsyncGenerator[CompletionsServer]:
    """A scripted endpoint."""
    async with open_completions_server() as server:
        yield server
