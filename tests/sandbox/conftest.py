"""Sandboxes of both kinds, and a way to look at the processes of this machine."""

from collections.abc import AsyncGenerator

import pytest

from astra_mcp.sandbox import Sandbox, SandboxLimits, SandboxReport, examine_machine, open_sandbox
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime


@pytest.fixture(scope="session")
def machine() -> SandboxReport:
    """What this machine offers; the tests need all of it."""
    report = examine_machine()
    assert not report.missing, f"the sandbox cannot run here: {report.missing} missing"
    return report


@pytest.fixture(scope="session")
def limits() -> SandboxLimits:
    """Short waits, yet long enough for a busy machine."""
    return SandboxLimits(soft_seconds=0.5, hard_seconds=3.0, load_seconds=10.0)


@pytest.fixture
async def locked(limits: SandboxLimits, machine: SandboxReport) -> AsyncGenerator[LockedSandbox]:
    """The locked sandbox, with few idle templates."""
    few = limits.model_copy(update={"idle_templates": 2})
    async with open_locked(few, machine, Runtime.default()) as sandbox:
        yield sandbox


@pytest.fixture(scope="module", params=["locked", "unsandboxed"])
async def sandbox(
    request: pytest.FixtureRequest,
    limits: SandboxLimits,
    machine: SandboxReport,
    anyio_backend: str,
) -> AsyncGenerator[Sandbox]:
    """Each backend, which must behave alike towards honest code; one for all tests of a module."""
    plain = request.param == "unsandboxed"
    async with open_sandbox(limits, unsandboxed=plain, machine=machine) as opened:
        yield opened
