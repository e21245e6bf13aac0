"""The supervisor of ``serve --workers N``: holds the sockets, starts the workers, starts them again.

It answers no request. A worker that is gone leaves its socket open here, so who connects meanwhile waits
for the next one. Knows processes and signals; what a worker does is its own affair.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from pydantic import ValidationError

from astra_mcp.addresses import bind
from astra_mcp.concurrency import BackOff
from astra_mcp.errors import ConfigError, PortInUseError, WorkerError
from astra_mcp.serving.process.lifecycle import STOP_ALL, Stop, WorkerPlan, WorkerReady
from gateway.api.settings import FIRST, ServeSettings
from gateway.edge.discovery import remembered_ports

__all__ = ["Supervisor", "bind_workers", "open_supervisor"]

EXIT_SECONDS = 10.0
"""Beyond the time that it has for its calls, a worker may take so long to end before it is killed."""
START_SECONDS = 300.0
"""A worker that is not ready within so long is killed and started again."""
MIN_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 10.0
STEADY_SECONDS = 30.0
"""A worker that served for so long is started again without a pause that grew before."""
_USAGE = 2
_log = logging.getLogger("astra_mcp.gateway")
Result = TypeVar("Result")


def bind_workers(serving: ServeSettings, home: Path) -> list[socket.socket]:
    """Take the addresses of all workers: the gateway's own, then named, remembered or free ports.

    Raises:
        PortInUseError: A port that the settings name is taken.
        ConfigError: The host is none of this machine's.
    """
    known = remembered_ports(home)
    with ExitStack() as stack:
        listeners = [stack.enter_context(bind(serving.host, serving.port))]
        for place in range(serving.workers - 1):
            if serving.worker_port is not None:
                listener = bind(serving.host, serving.worker_port + place)
            else:
                listener = _bind_again(serving.host, known[place : place + 1])
            listeners.append(stack.enter_context(listener))
        stack.pop_all()
    return listeners


def _bind_again(host: str, known: Sequence[int]) -> socket.socket:
    for port in known:
        try:
            return bind(host, port)
        except PortInUseError:
            _log.warning(
                "port %d of a worker is taken: it gets another one, and the addresses of its open "
                "episodes lead to whoever has it now",
                port,
            )
    return bind(host, 0)


class _Worker:
    """One place among the workers, and the process that fills it now."""

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self.process: subprocess.Popen[bytes] | None = None
        self.is_ready = anyio.Event()
        self.is_gone = anyio.Event()
        self.is_replaced = False
        """True where its end was asked for, and another one shall follow at once."""

    @property
    def name(self) -> str:
        return f"worker {self.plan.index}"

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the process; in a session of its own, so that a Ctrl-C reaches the supervisor alone."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "astra_mcp.serving.process.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(self.plan.listener, self.plan.claim),
            start_new_session=True,
        )
        self.process = process
        self._tell(process, self.plan.model_dump_json().encode() + b"\n")
        return process

    @staticmethod
    def _tell(process: subprocess.Popen[bytes], line: bytes) -> None:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended already, which whoever waits for it sees

    def stop(self) -> None:
        """Ask for its end for good; it refuses requests until it hears a signal."""
        if self.process is not None and self.is_ready.is_set():
            self._tell(self.process, STOP_ALL)
        else:
            self.signal(signal.SIGTERM)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.process is not None:
            self.process.send_signal(number)

    def close(self) -> None:
        """Leave no process and no pipe behind."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in filter(None, (self.process.stdin, self.process.stdout)):
                pipe.close()
            self.process = None


class Supervisor:
    """Keeps the workers running; made by :func:`open_supervisor`."""

    def __init__(self, plans: Sequence[WorkerPlan], *, drain_seconds: float) -> None:
        self._workers = [_Worker(plan) for plan in plans]
        self._exit_seconds = drain_seconds + EXIT_SECONDS
        self._is_stopping = False
        self._ready = WorkerReady(environments=0, tools=0, servers=0, deployed=(), emulated=0)
        self._waiting = CapacityLimiter(2 * len(plans) + 1)
        self._starting = CapacityLimiter(max(1, os.cpu_count() or 1))

    async def run(
        self, stop: Stop, on_ready: Callable[[WorkerReady], AbstractContextManager[None]]
    ) -> None:
        """Run the workers until the stop is asked for, and until all of them have ended.

        Args:
            stop: What asks for it.
            on_ready: Entered once all of them serve.

        Raises:
            WorkerError | ConfigError: One of them did not start; it has said why itself.
        """
        async with anyio.create_task_group() as group:
            beginning = anyio.CancelScope()

            async def start_all() -> None:
                with beginning:
                    # The first one alone: what keeps it from starting keeps all of them.
                    for some in (self._workers[:1], self._workers[1:]):
                        for worker in some:
                            group.start_soon(self._keep_running, worker)
                        for worker in some:
                            await worker.is_ready.wait()
                    with on_ready(self._ready):
                        await self._restart_on_signal()

            group.start_soon(start_all)
            await stop.asked.wait()
            self._is_stopping = True
            beginning.cancel()
            await self._stop_all(stop)
            group.cancel_scope.cancel()

    async def _keep_running(self, worker: _Worker) -> None:
        pauses = BackOff(MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        is_first = True
        while not self._is_stopping:
            began = anyio.current_time()
            ready = await self._start(worker)
            if worker.process is None:
                return
            if ready is not None:
                if worker.plan.index == FIRST:  # they publish the same, and it alone lets people in
                    self._ready = ready
                worker.is_ready.set()
            status = await self._in_thread(worker.process.wait)
            if ready is None and is_first and not self._is_stopping:
                msg = f"{worker.name} did not start ({_told(status)}): it says why above"
                raise ConfigError(msg) if status == _USAGE else WorkerError(msg)
            is_first = False
            worker.is_ready = anyio.Event()
            worker.is_gone.set()
            if self._is_stopping:
                return
            if worker.is_replaced:
                worker.is_replaced = False
                pauses.reset()
                continue
            if ready is not None and anyio.current_time() - began > STEADY_SECONDS:
                pauses.reset()
            pause = pauses.next()
            _log.error(
                "%s ended (%s); it is started again in %.1f s", worker.name, _told(status), pause
            )
            await anyio.sleep(pause)

    async def _start(self, worker: _Worker) -> WorkerReady | None:
        """Start a worker and wait until it serves; None where it ends before, or no more shall start."""
        worker.close()
        async with self._starting:
            if self._is_stopping:
                return None
            worker.is_gone = anyio.Event()
            process = worker.spawn()
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            with anyio.move_on_after(START_SECONDS):
                line = await self._in_thread(process.stdout.readline)
                try:
                    return WorkerReady.model_validate_json(line)
                except ValidationError:
                    return None
            _log.error("%s is not ready after %g s", worker.name, START_SECONDS)
            process.kill()
            return None

    async def _in_thread(self, wait: Callable[[], Result]) -> Result:
        """Wait for a process, and hold up nobody else; who is cancelled waits no longer."""
        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=self._waiting)

    async def _restart_on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGUSR2) as received:
            async for _ in received:
                _log.warning("the workers are restarted one after the other")
                for worker in self._workers:
                    await self._replace(worker)
                _log.warning("all workers are restarted")

    async def _replace(self, worker: _Worker) -> None:
        """Let a worker finish its calls and end, and wait until the next one serves in its place."""
        await worker.is_ready.wait()
        worker.is_replaced = True
        gone = worker.is_gone
        worker.signal(signal.SIGTERM)
        with anyio.move_on_after(self._exit_seconds) as deadline:
            await gone.wait()
        if deadline.cancelled_caught:
            _log.error("%s did not end in time and is killed", worker.name)
            worker.signal(signal.SIGKILL)
            await gone.wait()
        await worker.is_ready.wait()

    async def _stop_all(self, stop: Stop) -> None:
        running = [w for w in self._workers if w.process is not None and not w.is_gone.is_set()]
        for worker in running:
            worker.stop()
        async with anyio.create_task_group() as group:

            async def insist() -> None:
                await stop.insisted.wait()
                for worker in running:
                    worker.signal(signal.SIGTERM)
                await anyio.sleep(EXIT_SECONDS)
                group.cancel_scope.cancel()

            group.start_soon(insist)
            with anyio.move_on_after(self._exit_seconds) as deadline:
                await self._end_together(running)
            if deadline.cancelled_caught:
                _log.error("some workers did not end in time and are killed")
            group.cancel_scope.cancel()

    async def _end_together(self, running: Sequence[_Worker]) -> None:
        """Let the workers refuse requests until none of them has a call; wait until all are gone."""

        async def finish(process: subprocess.Popen[bytes]) -> None:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            await self._in_thread(
                process.stdout.readline
            )  # a line: it is done; its end: it is gone

        async with anyio.create_task_group() as finishing:
            for worker in running:
                if worker.process is not None and worker.is_ready.is_set():
                    finishing.start_soon(finish, worker.process)
        for worker in running:
            worker.signal(signal.SIGTERM)
        for worker in running:
            await worker.is_gone.wait()

    def close(self) -> None:
        """Leave no process behind."""
        for worker in self._workers:
            worker.close()


@asynccontextmanager
async def open_supervisor(
    plans: Sequence[WorkerPlan], *, drain_seconds: float
) -> AsyncGenerator[Supervisor]:
    """Own the workers' processes while the context is open.

    Args:
        plans: One for each worker.
        drain_seconds: How long a worker may take to finish its calls.
    """
    with closing(Supervisor(plans, drain_seconds=drain_seconds)) as supervisor:
        yield supervisor


def _told(status: int) -> str:
    """Say in words how a process ended."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"
