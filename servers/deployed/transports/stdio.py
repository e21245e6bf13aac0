"""A server as a process of this machine that speaks lines of JSON on its standard streams.

Owns the process and its whole group: nothing of it outlives the wire, nor the gateway. Owns a private folder
for each process whose entry names one as ``${SESSION_DIR}`` in ``args`` or ``env``, to keep its state in
files: two processes never share one, so two episodes do not either. Knows no MCP.
"""

import logging
import os
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import orjson
from anyio import to_thread
from anyio.abc import TaskGroup

from astra_mcp.errors import UpstreamError
from astra_mcp.headroom import PASSING, wait_for_memory
from astra_mcp.types import JsonObject
from servers.deployed.errors import StartError
from servers.deployed.transports.messages import MAX_MESSAGE_BYTES, parse_message
from servers.deployed.transports.process import Process, Watchdog

__all__ = ["SESSION_DIR", "Command", "StdioWire"]

SESSION_DIR: Final = "SESSION_DIR"
"""The name of the variable; it stands for the folder, whatever the environment holds of that name."""
_PLACEHOLDER: Final = f"${{{SESSION_DIR}}}"
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""All that a server sees of the gateway's environment; the rest, keys above all, it has to be given."""
MAX_GARBAGE_LINES = 100
"""Lines that are no JSON (a greeting, a log) and are passed over before the server counts as broken."""
STDERR_LINES = 50
STDERR_LINE_CHARACTERS = 500
MAX_STDERR_LINE_BYTES = 1 << 18
"""What is kept of a line of standard error while its end is awaited."""
MAX_SECRET_CHARACTERS = 1 << 17
"""No variable of a program can be longer, so that this much before a cut may be a part of a secret."""
GARBAGE_CHARACTERS = 120
CLOSE_STDIN_SECONDS = 0.5
TERMINATE_SECONDS = 2.0
KILL_SECONDS = 5.0
DESCRIBE_SECONDS = 1.0
SHORT_LINE_BYTES = 64 << 10
MEMORY_SECONDS = 30.0
"""A long line waits so long at most until there is memory for it."""
SEND_SECONDS = 60.0
"""A server that has not read its input for this long is broken."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How to start a server."""

    argv: Sequence[str]
    env: Mapping[str, str]
    """Besides what every server inherits."""
    cwd: Path | None


class StdioWire:
    """The standard streams of one process."""

    def __init__(
        self,
        process: Process,
        watchdog: Watchdog,
        *,
        name: str,
        redact: Callable[[str], str],
        folder: Path | None = None,
    ) -> None:
        self._process = process
        self._folder = folder
        self._watchdog = watchdog
        self._name = name
        self._redact = redact
        self._buffer = bytearray()
        self._searched = 0
        self._garbage = 0
        self.nonsense = ""
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._stderr_ended = anyio.Event()
        self._reading = anyio.CancelScope()
        self._is_closed = False
        self._closed = anyio.Event()

    @classmethod
    async def start(
        cls,
        command: Command,
        tasks: TaskGroup,
        watchdog: Watchdog,
        *,
        name: str,
        redact: Callable[[str], str],
    ) -> "StdioWire":
        """Start the process in a group of its own.

        Args:
            command: What to start.
            tasks: Run the reader of its standard error.
            watchdog: Ends the group should this process die.
            name: Of the server, for the log.
            redact: Takes secrets out of what goes into messages and logs.

        Raises:
            StartError: It cannot be started; says why.
        """
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
        try:
            folder, command = _in_session_folder(command)
        except OSError as error:
            msg = f"upstream {name} cannot be started: no folder for its session: {error.strerror}"
            raise StartError(msg) from None
        is_started = False
        try:
            env = {**inherited, **command.env}
            process = await Process.start(command.argv, env=env, cwd=command.cwd)
            is_started = True
        except (OSError, ValueError) as error:
            what = (error.strerror if isinstance(error, OSError) else None) or str(error)
            msg = f"upstream {name} cannot be started: {redact(command.argv[0])}: {what}"
            raise StartError(msg) from None
        finally:
            if not is_started:
                _remove(folder)
        watchdog.add(process.pid)
        wire = cls(process, watchdog, name=name, redact=redact, folder=folder)
        tasks.start_soon(wire._read_stderr)
        return wire

    async def send(self, message: JsonObject) -> None:
        """Write one line."""
        if self._is_closed:
            raise UpstreamError("was closed")
        try:
            with anyio.fail_after(SEND_SECONDS):
                await self._process.stdin.send(orjson.dumps(message) + b"\n")
        except TimeoutError:
            raise UpstreamError(f"did not read its input for {SEND_SECONDS:.0f} s") from None
        except anyio.BrokenResourceError:
            raise UpstreamError(await self.describe_end()) from None

    async def receive(self) -> JsonObject | None:
        """Read the next line that is a JSON object."""
        while (line := await self._line()) is not None:
            if not line.strip():
                continue
            if len(line) > SHORT_LINE_BYTES:
                await self._wait_for_memory(PASSING * len(line))
            message = parse_message(line)
            if message is not None:
                return message
            self._garbage += 1
            self.nonsense = self._redact(line.decode(errors="replace"))[:GARBAGE_CHARACTERS]
            _log.debug("upstream %s wrote no JSON-RPC: %r", self._name, self.nonsense)
            if self._garbage > MAX_GARBAGE_LINES:
                msg = f"wrote {self._garbage} lines that are no JSON-RPC, such as {self.nonsense!r}"
                raise UpstreamError(msg)
        return None

    async def describe_end(self) -> str:
        """Say how the process ended, and its last words on standard error."""
        with anyio.move_on_after(DESCRIBE_SECONDS):
            await self._process.wait()
            await self._stderr_ended.wait()
        code = self._process.returncode
        how = "closed its output" if code is None else f"closed (exit status {code})"
        last = _last_words(self._stderr)
        return f"{how}: {last}" if last else how

    async def aclose(self) -> None:
        """End the process and its whole group: by the end of its input, SIGTERM, then SIGKILL."""
        if self._is_closed:
            await self._closed.wait()
            return
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            try:
                await self._end_group()
            finally:
                self._watchdog.remove(self._process.pid)
                self._reading.cancel()
                self._process.close()
                await to_thread.run_sync(_remove, self._folder)
                self._closed.set()

    async def _end_group(self) -> None:
        self._process.stdin.end()
        for seconds, number in (
            (CLOSE_STDIN_SECONDS, signal.SIGTERM),
            (TERMINATE_SECONDS, signal.SIGKILL),
        ):
            with anyio.move_on_after(seconds):
                await self._process.wait()
                break
            self._process.signal_group(number)
        # What it started itself stays in its group, and goes too.
        self._process.signal_group(signal.SIGKILL)
        with anyio.move_on_after(KILL_SECONDS) as scope:
            await self._process.wait()
        if scope.cancelled_caught:
            _log.error("process %d of upstream %s does not end", self._process.pid, self._name)

    async def _line(self) -> bytes | None:
        """Read up to the next line feed; what comes after the last one is no line."""
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            if self._searched > SHORT_LINE_BYTES:  # it is moved as it grows
                await self._wait_for_memory(2 * self._searched)
            if self._searched > MAX_MESSAGE_BYTES:
                raise UpstreamError(f"wrote a line of more than {MAX_MESSAGE_BYTES >> 20} MiB")
            try:
                self._buffer += await self._process.stdout.receive()
            except anyio.EndOfStream:
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    async def _wait_for_memory(self, num_bytes: int) -> None:
        if not await wait_for_memory(num_bytes, MEMORY_SECONDS):
            msg = f"wrote more than the gateway has memory for (ulimit -v), after {MEMORY_SECONDS:g} s"
            raise UpstreamError(msg)

    async def _read_stderr(self) -> None:
        rest = bytearray()
        with self._reading:
            try:
                while True:
                    first, *others = (await self._process.stderr.receive()).split(b"\n")
                    rest += first[: MAX_STDERR_LINE_BYTES - len(rest)]
                    for other in others:
                        self._note(rest)
                        rest = bytearray(other[:MAX_STDERR_LINE_BYTES])
            except anyio.EndOfStream:
                self._note(rest)
        self._stderr_ended.set()

    def _note(self, line: bytes | bytearray) -> None:
        """Keep the beginning of a line, which is cut only after its secrets are gone."""
        shown = self._redact(line.decode(errors="replace")).rstrip()
        if len(line) >= MAX_STDERR_LINE_BYTES:  # its end may be the beginning of a secret
            shown = shown[: max(0, len(shown) - MAX_SECRET_CHARACTERS)]
        shown = shown[:STDERR_LINE_CHARACTERS]
        self._stderr.append(shown)
        _log.debug("upstream %s: %s", self._name, shown)


def _in_session_folder(command: Command) -> tuple[Path | None, Command]:
    """Make the folder that a command names, if it names one, and put it in.

    Raises:
        OSError: It cannot be made.
    """
    if not any(_PLACEHOLDER in text for text in (*command.argv, *command.env.values())):
        return None, command
    folder = tempfile.mkdtemp(prefix="astra-mcp-session-")
    argv = [text.replace(_PLACEHOLDER, folder) for text in command.argv]
    env = {key: text.replace(_PLACEHOLDER, folder) for key, text in command.env.items()}
    return Path(folder), replace(command, argv=argv, env=env)


def _remove(folder: Path | None) -> None:
    """Remove the folder of a session, where there is one; what resists is logged."""
    if folder is None:
        return
    try:
        shutil.rmtree(folder)
    except OSError as error:
        _log.warning("%s cannot be removed: %s", folder, error.strerror)


def _last_words(lines: Sequence[str]) -> str:
    """Choose the last line with words in it: Python ends the trace of an exception group with a rule."""
    written = [line.strip() for line in reversed(lines) if line.strip()]
    worded = (line for line in written if any(map(str.isalnum, line)))
    return next(worded, written[0] if written else "")
