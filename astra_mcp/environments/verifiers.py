"""Processes in which the acceptance runs, since its own work would keep everything else of a run waiting.

This process writes a line for each bundle to one of them, and reads a line with its verdict. They end when
this one does, however that comes to be, since their input ends then.
"""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Self, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, ObjectReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from astra_mcp.environments.acceptance.verdict import Verdict
from astra_mcp.environments.acceptance.verification import verify_bundle
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import SandboxError
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from astra_mcp.types import FrozenModel

__all__ = ["Verifiers", "open_verifiers"]

_COMMAND = (sys.executable, "-P", "-m", "astra_mcp.environments.verifiers")
_ANSWER_SECONDS = 3600.0
"""Deadline of one bundle; the acceptance ends each of its questions long before."""
_END_SECONDS = 10.0
_PER_CORE = 2
"""Each waits for its sandbox about as long as it works."""
_MAX_LINE = 64 << 20
_CHUNK = 1 << 16
_WAITING = 4
"""Lines that are read ahead in a process, which is how it hears while it works that its input ended."""
_IO_ERRORS = (OSError, anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError)


class _Start(FrozenModel):
    """The first line to a process."""

    limits: SandboxLimits
    unsandboxed: bool


class _Answer(FrozenModel):
    """A line from a process: one of both."""

    verdict: Verdict | None = None
    error: str = ""


class Verifiers:
    """Runs the acceptance in processes of its own, started when they are first needed."""

    def __init__(self, start: _Start, opened: AsyncExitStack) -> None:
        """Take what processes begin with, and what closes them."""
        self._start = start
        self._opened = opened
        self._idle: list[_Verifier] = []
        self._places = anyio.CapacityLimiter(_PER_CORE * (os.cpu_count() or 1))

    async def verify(self, bundle: Bundle) -> Verdict:
        """Run the acceptance on a bundle, once a process is free.

        Raises:
            SandboxError: The sandbox or the process failed, so that nothing can be said.
        """
        async with self._places:
            verifier = self._idle.pop() if self._idle else await self._open()
            try:  # a process whose answer was not read is none to go on with
                answer = await verifier.ask(bundle)
            except BaseException:
                verifier.kill()
                raise
            self._idle.append(verifier)
        if answer.verdict is None:
            raise SandboxError(answer.error)
        return answer.verdict

    async def _open(self) -> "_Verifier":
        verifier = await _Verifier.start(self._start)
        self._opened.push_async_callback(verifier.aclose)
        return verifier


@asynccontextmanager
async def open_verifiers(
    limits: SandboxLimits, *, unsandboxed: bool = False
) -> AsyncGenerator[Verifiers]:
    """Open the owner of the processes; leaving ends them.

    Args:
        limits: Of each session of their sandboxes.
        unsandboxed: As of :func:`~astra_mcp.sandbox.open_sandbox`.
    """
    async with AsyncExitStack() as opened:
        yield Verifiers(_Start(limits=limits, unsandboxed=unsandboxed), opened)


class _Verifier:
    """One process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._to = cast("ByteSendStream", process.stdin)
        self._from = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))

    @classmethod
    async def start(cls, start: _Start) -> Self:
        """Start one, in a session of its own: an interrupt from the keyboard is this process's matter."""
        process = await anyio.open_process(_COMMAND, stderr=None, start_new_session=True)
        verifier = cls(process)
        await verifier._send(start)
        return verifier

    async def ask(self, bundle: Bundle) -> _Answer:
        """Have a bundle verified."""
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                await self._send(bundle)
                return _Answer.model_validate_json(await self._from.receive_until(b"\n", _MAX_LINE))
        except (*_IO_ERRORS, TimeoutError) as error:
            raise SandboxError(
                "a process of the acceptance ended, or gave no answer: see whether the machine is short of"
                " memory, and run again"
            ) from error

    async def _send(self, line: FrozenModel) -> None:
        await self._to.send(line.model_dump_json(by_alias=True).encode() + b"\n")

    def kill(self) -> None:
        """End it at once."""
        if self._process.returncode is None:
            self._process.kill()

    async def aclose(self) -> None:
        """End it as soon as its sandbox is closed, and wait for that."""
        with anyio.move_on_after(_END_SECONDS, shield=True):
            await self._to.aclose()
            await self._process.wait()
        self.kill()
        with anyio.CancelScope(shield=True):
            await self._process.aclose()


async def _serve() -> None:
    """Be one of the processes, until the input ends."""
    async with aclosing(_lines(sys.stdin.fileno())) as lines:
        start = _Start.model_validate_json(await anext(lines))
        given, taken = anyio.create_memory_object_stream[bytes](_WAITING)
        async with (
            open_sandbox(start.limits, unsandboxed=start.unsandboxed) as sandbox,
            anyio.create_task_group() as group,
        ):
            group.start_soon(_work, taken, sandbox)
            async for line in lines:
                await given.send(line)
            group.cancel_scope.cancel()


async def _lines(descriptor: int) -> AsyncGenerator[bytes]:
    """Read whole lines; no thread waits for them, so that a failure elsewhere ends the wait."""
    parts = list[bytes]()
    while True:
        await anyio.wait_readable(descriptor)
        read = os.read(descriptor, _CHUNK)
        if not read:
            return
        *ended, rest = read.split(b"\n")
        for end in ended:
            yield b"".join([*parts, end])
            parts.clear()
        parts.append(rest)


async def _work(lines: ObjectReceiveStream[bytes], sandbox: Sandbox) -> None:
    async for line in lines:
        try:
            verdict = await verify_bundle(Bundle.model_validate_json(line), sandbox)
            answer = _Answer(verdict=verdict)
        except SandboxError as error:
            answer = _Answer(error=str(error))
        with suppress(BrokenPipeError):  # nobody is there any more, and the input is about to end
            sys.stdout.buffer.write(answer.model_dump_json().encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    anyio.run(_serve, backend_options={"use_uvloop": True})
