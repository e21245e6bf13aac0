"""Fixtures of the environments' tests: a real sandbox, and bundles to break."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox

from workshop import Workshop


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for the sandbox that the tests of a module share."""
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[Sandbox]:
    """A real sandbox."""
    async with open_sandbox(SandboxLimits()) as opened:
        yield opened


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A fresh bundle that loads and verifies."""
    return Workshop(tmp_path)
