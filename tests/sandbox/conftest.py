"""Sandboxes of both kinds, and an interpreter that an ordinary user can run."""

import shutil
import sys
import sysconfig
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

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
    launcher = Path(Runtime.default().launcher)
    package = world / "astra_mcp" / "sandbox" / "zygote"
    shutil.copytree(launcher.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return Runtime(python=str(_open_interpreter(world)), launcher=str(package / launcher.name))


def _open_interpreter(world: Path) -> Path:
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    if all(folder.stat().st_mode & 0o001 for folder in (python, *python.parents, library)):
        return python
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        # Its library would not be found from a copy: another interpreter of its version stands in for it.
        version = sysconfig.get_python_version()
        system = shutil.which(f"python{version}", path="/usr/bin:/usr/local/bin")
        if system is None:
            pytest.skip(f"an ordinary user can run no Python {version} on this machine")
        return Path(system)
    prefix = world / "python"
    ignored = shutil.ignore_patterns("test", "tests", "site-packages", "idlelib", "config-*", "*.a")
    shutil.copytree(library, prefix / "lib" / library.name, ignore=ignored)
    (prefix / "bin").mkdir()
    return Path(shutil.copy(python, prefix / "bin" / f"python{sysconfig.get_python_version()}"))
