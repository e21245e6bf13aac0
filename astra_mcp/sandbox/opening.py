"""The way in: opens the sandbox that this machine offers, or none where a required layer is missing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from anyio import to_thread

from astra_mcp.errors import SandboxUnavailableError
from astra_mcp.sandbox.locked import open_locked
from astra_mcp.sandbox.machine import examine_machine
from astra_mcp.sandbox.protocol import Sandbox, SandboxLimits, SandboxReport
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.sandbox.unsandboxed import open_plain_processes

__all__ = ["open_sandbox"]


@asynccontextmanager
async def open_sandbox(
    limits: SandboxLimits,
    *,
    unsandboxed: bool = False,
    machine: SandboxReport | None = None,
    runtime: Runtime | None = None,
) -> AsyncGenerator[Sandbox]:
    """Open the owner of the processes that run tool code; leaving kills them all.

    Args:
        limits: Bounds of each session.
        unsandboxed: Run in plain processes, which isolate nothing: for trusted code alone.
        machine: What this machine offers, where that is known; else it is examined.
        runtime: The interpreter to use; by default this one.

    Raises:
        SandboxUnavailableError: A required layer is missing; names it and says what to do.
    """
    runtime = runtime or Runtime.default()
    if unsandboxed:
        async with open_plain_processes(limits, runtime) as processes:
            yield processes
        return
    report = machine or await to_thread.run_sync(examine_machine, runtime)
    if report.missing:
        raise SandboxUnavailableError(_refusal(report))
    async with open_locked(limits, report, runtime) as sandbox:
        yield sandbox


def _refusal(report: SandboxReport) -> str:
    layers = ", ".join(report.missing)
    return (
        f"tool code cannot be locked in on this machine ({report.machine}): missing {layers}. "
        "It needs Linux 5.9 or newer on x86_64 or aarch64, in a container whose profile allows the "
        "seccomp, prctl and pidfd_open calls (Docker's default profile does). Code that you trust can "
        "be run without a sandbox: pass --trusted."
    )
