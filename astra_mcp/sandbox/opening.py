"""The way in: opens the sandbox that this machine and the caller's trust allow."""

from contextlib import AbstractAsyncContextManager

from astra_mcp.sandbox.protocol import Sandbox, SandboxLimits
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.sandbox.unsandboxed import open_plain_processes

__all__ = ["open_sandbox"]


def open_sandbox(
    limits: SandboxLimits, *, unsandboxed: bool = False
) -> AbstractAsyncContextManager[Sandbox]:
    """Open the owner of the processes that run tool code; leaving kills them all.

    Args:
        limits: Bounds of each session.
        unsandboxed: Run in plain processes, which isolate nothing: for trusted code alone.
    """
    return open_plain_processes(limits, Runtime.default())
