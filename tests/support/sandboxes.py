"""Sessions of sandboxes, all at one time of the virtual clock, and what an ordinary user runs them with."""

import shutil
import sys
import sysconfig
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astra_mcp.sandbox import Sandbox
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.sandbox.session import ProcessSession

__all__ = ["CLOCK", "open_to_all", "opened"]

CLOCK = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Where virtual clocks start."""


async def opened(sandbox: Sandbox, code: str, *, seed: int = 1) -> ProcessSession:
    """Load a module and open a session of it."""
    session = await sandbox.open_session(await sandbox.load(code, clock=CLOCK), seed=seed)
    assert isinstance(session, ProcessSession)
    return session


def open_to_all(folder: Path) -> Runtime:
    """An interpreter and a launcher that an ordinary user may read and run, in part in a folder like that."""
    launcher = Path(Runtime.default().launcher)
    package = folder / "astra_mcp" / "sandbox" / "zygote"
    shutil.copytree(launcher.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return Runtime(python=str(_open_interpreter(folder)), launcher=str(package / launcher.name))


def _open_interpreter(folder: Path) -> Path:
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
    prefix = folder / "python"
    ignored = shutil.ignore_patterns("test", "tests", "site-packages", "idlelib", "config-*", "*.a")
    shutil.copytree(library, prefix / "lib" / library.name, ignore=ignored)
    (prefix / "bin").mkdir()
    return Path(shutil.copy(python, prefix / "bin" / f"python{sysconfig.get_python_version()}"))
