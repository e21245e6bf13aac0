"""The scripted endpoint of rollouts that run as commands."""

from collections.abc import Generator

import pytest
from anyio.from_thread import start_blocking_portal

from completions_server import CompletionsServer, open_completions_server


@pytest.fixture
def endpoint() -> Generator[CompletionsServer]:
    """In a thread of its own: commands that run in this process have an event loop of theirs."""
    opening = open_completions_server()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as server:
        yield server
