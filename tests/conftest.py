"""Fixtures that every area shares."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, which uvicorn and the sandbox need."""
    return "asyncio"
