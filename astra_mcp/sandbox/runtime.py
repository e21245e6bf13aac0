"""How a process beyond the boundary is started: interpreter, launcher, environment, descriptors."""

import errno
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio
from anyio.abc import Process

from astra_mcp.errors import SandboxError, StartRefusedError
from astra_mcp.sandbox.protocol import SandboxLimits
from astra_mcp.sandbox.zygote.settings import Settings

__all__ = ["ENVIRONMENT", "START_SECONDS", "Runtime", "settings_for"]

START_SECONDS = 30.0
"""How long a new process may take to answer on a busy machine."""
_FLAGS = ("-s", "-S", "-B", "-P")
"""No user site, no site, no bytecode files, no implicit path. ``-I`` and ``-E`` would ignore
PYTHONHASHSEED."""
ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
"""The whole environment of a process: nothing of the host's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """An interpreter and the launcher that it runs."""

    python: str
    launcher: str
    import_guard: bool = True
    answer_seconds: float = 30.0
    """How long a running fork server may take to answer on a busy machine."""

    @classmethod
    def default(cls) -> Self:
        """The interpreter of this process and the launcher of this package."""
        launcher = Path(__file__).resolve().parent / "zygote" / "launch.py"
        return cls(python=sys.executable, launcher=str(launcher))

    def command(self, mode: str, *arguments: str) -> list[str]:
        """Command line of one mode of the launcher."""
        return [self.python, *_FLAGS, self.launcher, mode, *arguments]

    async def start(self, mode: str, descriptor: int, settings: Settings) -> Process:
        """Start a process that inherits one descriptor, in a session of its own.

        Raises:
            StartRefusedError: The machine lets no process be started for now.
            SandboxError: The interpreter does not start.
        """
        try:
            return await anyio.open_process(
                self.command(mode, str(descriptor), settings.encode()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=ENVIRONMENT,
                pass_fds=[descriptor],
                start_new_session=True,
            )
        except OSError as error:
            is_refused = error.errno in (errno.EAGAIN, errno.ENOMEM)
            kind = StartRefusedError if is_refused else SandboxError
            raise kind(f"the interpreter does not start: {error.strerror}") from error


def settings_for(limits: SandboxLimits, runtime: Runtime) -> Settings:
    """The part of the limits that is enforced inside."""
    return Settings(
        memory_bytes=limits.memory_bytes,
        cpu_seconds=limits.cpu_seconds,
        soft_seconds=limits.soft_seconds,
        result_bytes=limits.result_bytes,
        output_bytes=limits.output_bytes,
        import_guard=runtime.import_guard,
    )
