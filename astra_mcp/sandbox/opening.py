"""The way in: examines this machine, and opens the sandbox that it offers; none where a layer is missing."""

import contextlib
import json
import os
import platform
import subprocess
from collections.abc import AsyncGenerator

from anyio import to_thread

from astra_mcp.errors import SandboxUnavailableError
from astra_mcp.sandbox.locked import open_locked
from astra_mcp.sandbox.protocol import Sandbox, SandboxLimits, SandboxReport
from astra_mcp.sandbox.runtime import ENVIRONMENT, Runtime, settings_for
from astra_mcp.sandbox.unsandboxed import open_plain_processes

__all__ = ["examine_machine", "open_sandbox"]

_SECONDS = 30.0


def examine_machine(runtime: Runtime | None = None) -> SandboxReport:
    """Lock a child process layer by layer and report which layers held.

    Takes about a tenth of a second and never fails: what cannot be tried counts as missing.
    """
    runtime = runtime or Runtime.default()
    settings = settings_for(SandboxLimits(), runtime).encode()
    facts: dict[str, bool | int] = {}
    if platform.system() == "Linux":
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            finished = subprocess.run(  # noqa: S603 - our own interpreter and launcher
                runtime.command("examine", "1", settings),
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
            facts = json.loads(finished.stdout)
    report = SandboxReport(
        backend="zygote",
        machine=platform.machine(),
        seccomp=bool(facts.get("seccomp")),
        no_new_privs=bool(facts.get("no_new_privs")),
        rlimits=bool(facts.get("rlimits")),
        landlock_abi=int(facts.get("landlock_abi", 0)),
        uid=int(facts.get("uid", os.getuid())),
    )
    return report.model_copy(update={"backend": "unsandboxed"}) if report.missing else report


@contextlib.asynccontextmanager
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
        layers = ", ".join(report.missing)
        raise SandboxUnavailableError(
            f"tool code cannot be locked in on this machine ({report.machine}): missing {layers}. "
            "It needs Linux 5.9 or newer on x86_64 or aarch64, in a container whose profile allows "
            "the seccomp, prctl and pidfd_open calls (Docker's default profile does). Code that you "
            "trust can be run without a sandbox: pass --trusted."
        )
    async with open_locked(limits, report, runtime) as sandbox:
        yield sandbox
