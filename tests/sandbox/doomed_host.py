"""A host that is killed: opens sessions, leaves half of them in mid-call, prints their process ids.

Run by ``test_lifetime.py``; waits for its end without a last word.
"""

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import anyio.lowlevel

from astra_mcp.sandbox import SandboxLimits, SandboxSession, examine_machine
from astra_mcp.sandbox.locked import open_locked
from astra_mcp.sandbox.runtime import Runtime

SESSIONS = 20
UNGUARDED = replace(Runtime.default(), import_guard=False)
LIMITS = SandboxLimits(soft_seconds=60, hard_seconds=120)


async def call(session: SandboxSession, function: str) -> None:
    """Be in mid-call until the end."""
    await session.call(function, {})


async def main(code: str) -> None:
    """Open, call, print, wait."""
    async with (
        open_locked(LIMITS, examine_machine(), UNGUARDED) as sandbox,
        anyio.create_task_group() as tasks,
    ):
        module = await sandbox.load(code, clock=datetime(2026, 1, 5, tzinfo=UTC))
        sessions: list[SandboxSession] = []
        for seed in range(SESSIONS):
            session = await sandbox.open_session(module, seed=seed)
            await session.call("ready", {})
            sessions.append(session)
            if seed % 2:
                tasks.start_soon(call, session, "busy" if seed % 4 == 1 else "blocked")
        await anyio.lowlevel.checkpoint()
        pids = [session.pid for session in sessions]  # type: ignore[attr-defined]
        sys.stdout.write(json.dumps({"server": sandbox.server_pid, "sessions": pids}) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
