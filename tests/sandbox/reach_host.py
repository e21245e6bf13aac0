"""A host whose tools try to reach beyond their process, while their module loads and in a session.

    python reach_host.py '{"uid": null, "python": ..., "launcher": ...}'

Run by ``test_reaching.py`` in a process of its own. With a ``uid`` it becomes that ordinary user after its
imports. Prints one JSON object: errors by attempt and place, and whether the others are as they were.
"""

import json
import os
import sys
from typing import Any

import anyio
import reaching

from astra_mcp.sandbox import Returned, SandboxLimits, examine_machine
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime

from sandboxes import opened

PROBE = "n = 0\ndef probe():\n    global n\n    n += 1\n    return n\n"


async def value_of(session: Any, function: str) -> Any:
    """Call a function that returns."""
    answer = await session.call(function, {})
    assert isinstance(answer, Returned), answer
    return answer.value


async def run(options: dict[str, Any]) -> dict[str, Any]:
    """Attack one sandbox, and look at it and at another one of the same user."""
    runtime = Runtime(python=options["python"], launcher=options["launcher"], import_guard=False)
    report = examine_machine(runtime)
    async with (
        open_locked(SandboxLimits(), report, runtime) as attacked,
        open_locked(SandboxLimits(), report, runtime) as other,
    ):
        sibling = await opened(attacked, PROBE)
        await value_of(sibling, "probe")
        server = attacked.server_pid
        assert server is not None
        code = reaching.module(host=os.getpid(), server=server, sibling=sibling.pid)
        first = await opened(attacked, code)
        found = {
            "loading": await value_of(first, "while_loading"),
            "session": await value_of(first, "attack"),
        }
        return {
            "uid": os.getuid(),
            "tool_uid": report.uid,
            "attempts": found,
            "sibling": await value_of(sibling, "probe"),
            "server": attacked.server_pid == server,
            "next": await value_of(await opened(attacked, code, seed=2), "while_loading")
            == found["loading"],
            "starts": [await starts(sandbox) for sandbox in (attacked, other)],
        }


async def starts(sandbox: LockedSandbox) -> int:
    """Load a module that is new to a sandbox."""
    return await value_of(await opened(sandbox, f"{PROBE}X = {id(sandbox)}\n"), "probe")


def main() -> None:
    """Read the options, become the user, run, print."""
    options = json.loads(sys.argv[1])
    if options["uid"] is not None:
        own = Runtime.default()
        anyio.run(run, {"python": own.python, "launcher": own.launcher})  # all is imported then
        os.setgroups([])
        os.setresgid(options["uid"], options["uid"], options["uid"])
        os.setresuid(options["uid"], options["uid"], options["uid"])
    sys.stdout.write(json.dumps(anyio.run(run, options)))


if __name__ == "__main__":
    main()
