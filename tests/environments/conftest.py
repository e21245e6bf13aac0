"""Fixtures of the environments' tests: a real sandbox, and bundles to break."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox

from workshop import Workshop


@pytest.fixture(scope="module")
async def sandbox(anyio_backend: str) -> AsyncGenerator[Sandbox]:
    """A real sandbox that all tests of a module share, with short limits, since several cheats hang."""
    limits = SandboxLimits(soft_seconds=0.5, hard_seconds=1.0, load_seconds=2.0)
    async with open_sandbox(limits) as opened:
        yield opened


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A fresh bundle that loads and verifies."""
    return Workshop(tmp_path)
