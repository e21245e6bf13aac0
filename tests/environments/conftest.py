"""Fixtures of the environments' tests: a real sandbox with short limits, and bundles to break."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from tests.environments.workshop import Workshop

LIMITS = SandboxLimits(load_seconds=2.0, soft_seconds=0.5, hard_seconds=1.0)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for the sandbox that all tests of the folder share."""
    return "asyncio"


@pytest.fixture(scope="session")
async def sandbox() -> AsyncGenerator[Sandbox]:
    """A real sandbox."""
    async with open_sandbox(LIMITS) as opened:
        yield opened


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A fresh bundle that loads and verifies."""
    return Workshop(tmp_path)
