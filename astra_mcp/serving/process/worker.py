"""One worker of ``serve --workers N``, as its supervisor starts it, as a program of its own.

Reads its plan from standard input, which stays open as long as the supervisor lives, and a second line
when all workers stop; answers with one line on standard output once it serves, and with a second one when
its calls are finished after that. Not meant for people.
"""

import os
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import typer

from astra_mcp.compose.settings import load_serving
from astra_mcp.report.console import report_errors, run_async
from astra_mcp.serving.process.gateway_process import serve_gateway
from astra_mcp.serving.process.lifecycle import DRAINED, STOP_ALL, Stop, WorkerPlan, ready_of
from astra_mcp.serving.process.logs import log_to_stderr
from astra_mcp.serving.process.patient_stream import unblocked
from gateway.api.seams import Catalog
from gateway.edge.keys import read_control_key
from gateway.edge.workers import OwnWorkerInfo

__all__ = ["main", "watch_supervisor"]

ORPHAN_SECONDS = 1.0
"""A worker without a supervisor is killed after so long, whatever it still closes."""


def main() -> None:
    """Serve as one worker until the supervisor asks for the end, or ends itself."""
    with unblocked(), report_errors():
        plan = WorkerPlan.model_validate_json(sys.stdin.buffer.readline())
        for descriptor in (plan.listener, plan.claim):
            os.set_inheritable(descriptor, False)
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # meant for the supervisor
        run_async(_serve, plan)


async def _serve(plan: WorkerPlan) -> None:
    options = plan.options
    settings = load_serving(options.given, options.environments)
    key = read_control_key(settings.home)
    log_to_stderr(
        settings.serve.log_format,
        verbose=options.verbose,
        worker=plan.index,
        secrets=[key, *(k.get_secret_value() for k in settings.serve.api_keys)],
    )
    worker_info = OwnWorkerInfo(
        index=plan.index, inner_urls=plan.inner_urls, public_url=settings.serve.public_url
    )
    await serve_gateway(
        settings,
        socket.socket(fileno=plan.listener),
        control_key=key,
        worker_info=worker_info,
        trusted=options.trusted,
        on_ready=_tell_ready,
        watch=watch_supervisor,
        linger=_await_the_others,
    )


@contextmanager
def _tell_ready(catalog: Catalog, login_path: str | None) -> Generator[None]:
    sys.stdout.write(ready_of(catalog, login_path).model_dump_json() + "\n")
    sys.stdout.flush()
    yield


async def watch_supervisor(stop: Stop) -> None:
    """Stop when the supervisor says so; at once when it is gone, since nobody would end this worker.

    Args:
        stop: Told of both.
    """
    stop.is_final = False
    supervisor = sys.stdin.fileno()
    await anyio.wait_readable(supervisor)
    if os.read(supervisor, len(STOP_ALL)):
        if not stop.asked.is_set():
            stop.is_final = True
            stop.hear(signal.SIGTERM)
        await anyio.wait_readable(supervisor)  # it is never told more
    # The kernel does it, also where the loop is busy: all that counts is written, and nobody waits.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, ORPHAN_SECONDS)
    stop.hear(signal.SIGTERM)
    stop.hear(signal.SIGTERM)


async def _await_the_others(stop: Stop) -> None:
    """Refuse requests until the calls of all workers are finished; the supervisor says when."""
    sys.stdout.buffer.write(DRAINED)
    sys.stdout.flush()
    await stop.insisted.wait()


if __name__ == "__main__":
    try:
        main()
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
