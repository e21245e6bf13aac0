"""Sandboxes of both kinds, and an interpreter that an ordinary user can run."""

import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from astra_mcp.sandbox import Sandbox, SandboxLimits, SandboxReport, examine_machine, open_sandbox
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime

from sandboxes import open_to_all


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


@pytest.fixture(scope="session")
def world() -> Iterator[Path]:
    """A folder in which everybody may write, below folders that everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="sandbox-attempts-", dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def open_runtime(world: Path) -> Runtime:
    """An interpreter and a launcher that an ordinary user may read and run."""
    return open_to_all(world)
