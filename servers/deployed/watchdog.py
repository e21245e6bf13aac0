"""Ends the processes of deployed servers when the gateway dies without a chance to do so itself.

One small process for all: it reads from a pipe which groups there are, and kills those left when the pipe
ends. Runs its own script, which imports nothing of this project.
"""

import logging
import os
import subprocess
import sys
from types import TracebackType
from typing import Final, Self

__all__ = ["Watchdog"]

END_SECONDS = 5.0

_log = logging.getLogger(__name__)
_SCRIPT: Final = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Watchdog:
    """Knows the process groups that must not outlive this process. Starts with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it; groups that are still known to it end too."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait(END_SECONDS)

    def add(self, group: int) -> None:
        """Have a group killed when this process ends."""
        self._groups.add(group)
        self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """Forget a group that has ended."""
        self._groups.discard(group)
        if self._process is not None:
            self._tell(b"-%d\n" % group)

    def _tell(self, line: bytes) -> None:
        if self._process is None:
            self._process = _start()
        if self._process.stdin is None:
            return
        try:
            os.write(self._process.stdin.fileno(), line)
        except BrokenPipeError:
            _log.warning(
                "the process that watches over deployed servers was killed: starting it again"
            )
            self._process.stdin.close()
            self._process.wait(END_SECONDS)
            self._process = _start()
            lines = b"".join(b"+%d\n" % group for group in self._groups)
            if self._process.stdin is not None:
                os.write(self._process.stdin.fileno(), lines)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", "-c", _SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
