"""A host process that is attacked: makes the attempts named, and reports what it saw from its own side.

    python attack_host.py '{"uid": null, "guard": false, "python": ..., "launcher": ..., "folder": ...,
                            "attempts": [...]}'

Run by ``test_attempts.py`` in a process of its own, so that signals, sockets and processes of the host
are real and nobody else's. With a ``uid`` it becomes that ordinary user after its imports. Prints one JSON
object: per attempt the outcome, whether the session lived, and every effect found outside of it.
"""

import contextlib
import json
import os
import platform
import re
import signal
import socket
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio._backends._asyncio  # pyright: ignore[reportUnusedImport] - before the drop

from astra_mcp.errors import SandboxDiedError, ToolCodeError
from astra_mcp.sandbox import Raised, Returned, SandboxLimits, SandboxSession, examine_machine
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime

from attempts import ATTEMPTS, CALL_NUMBERS, Attempt

LIMITS = SandboxLimits(soft_seconds=0.4, hard_seconds=1.5, load_seconds=20, result_bytes=1 << 20)
CLOCK = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
SECRET = "SECRET-1f2e"
PROBE = (
    "import json\nn = 0\ndef probe():\n    global n\n    n += 1\n    return [json.dumps([n]), n]\n"
)


class Witness:
    """What the host can see of an attempt: files, signals, sockets, processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.signals: list[int] = []
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, _frame: self.signals.append(received))
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.tcp.setblocking(False)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)

    def effects(self, token: str, outcome: str) -> list[str]:
        """Name everything that an attempt did outside of its own process."""
        found = [f"signal {number}" for number in self.signals]
        self.signals.clear()
        places = (self.folder, Path("/dev/shm"), Path("/"))  # noqa: S108 - looked into only
        found += [f"file in {place}" for place in places if os.path.lexists(place / token)]
        with contextlib.suppress(BlockingIOError):
            self.tcp.accept()
            found.append("TCP connection")
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(10)
            found.append("UDP datagram")
        if token in Path("/proc/net/unix").read_text():
            found.append("abstract socket")
        if SECRET in outcome:
            found.append("secret")
        return found


def members(leader: int) -> set[int]:
    """Processes of a process group, zombies excepted."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == leader and fields[0] != "Z":
                    found.add(int(entry.name))
    return found


async def outcome_of(session: SandboxSession, arguments: Mapping[str, Any]) -> str:
    """Make the attempt and put its end into words."""
    try:
        match await session.call("attack", arguments):
            case Returned(value=value):
                return f"returned {value}"
            case Raised(kind=kind, message=message):
                return f"{kind}: {message}"
    except SandboxDiedError as error:
        return f"died: {error}"


async def answers(session: SandboxSession) -> bool:
    """Whether a session still takes a call."""
    try:
        await session.call("no_such_function", {})
    except SandboxDiedError:
        return False
    return True


async def run_attempt(
    sandbox: LockedSandbox, witness: Witness, name: str, attempt: Attempt, shared: dict[str, Any]
) -> dict[str, Any]:
    """Run one attempt in a session of its own and look at the world afterwards."""
    token = f"attempt-{name}-{os.getpid()}"
    try:
        module = await sandbox.load(attempt.module, clock=CLOCK)
    except ToolCodeError as error:
        return {"outcome": f"did not load: {error}"}
    session = await sandbox.open_session(module, seed=1)
    own = members(os.getpgid(session.pid))
    outcome = await outcome_of(session, {**shared, "token": token})
    alive = await answers(session)
    extra = members(os.getpgid(session.pid)) - own if alive else set[int]()
    await session.aclose()
    effects = witness.effects(token, outcome) + [f"process {pid}" for pid in extra]
    return {
        "outcome": outcome,
        "as_expected": re.match(attempt.outcome, outcome) is not None,
        "alive": alive,
        "effects": effects,
    }


async def run_all(options: dict[str, Any]) -> dict[str, Any]:
    """Make the attempts against one sandbox."""
    runtime = Runtime(
        python=options["python"], launcher=options["launcher"], import_guard=options["guard"]
    )
    witness = Witness(Path(options["folder"]))
    results: dict[str, Any] = {}
    async with open_locked(LIMITS, examine_machine(runtime), runtime) as sandbox:
        probe = await sandbox.load(PROBE, clock=CLOCK)
        sibling = await sandbox.open_session(probe, seed=1)
        server = sandbox.server_pid
        shared = {
            "host": os.getpid(),
            "server": server,
            "sibling": sibling.pid,
            "folder": options["folder"],
            "tcp": witness.tcp.getsockname()[1],
            "udp": witness.udp.getsockname()[1],
            "calls": CALL_NUMBERS[platform.machine()],
        }
        for turn, name in enumerate(options["attempts"], start=1):
            result = await run_attempt(sandbox, witness, name, ATTEMPTS[name], shared)
            fresh = await sandbox.open_session(probe, seed=1)
            result["next"] = await fresh.call("probe", {}) == Returned(value=["[1]", 1])
            await fresh.aclose()
            last = await sibling.call("probe", {})
            result["sibling"] = last == Returned(value=[f"[{turn}]", turn])
            result["server"] = sandbox.server_pid == server
            results[name] = result
        report = sandbox.report.model_dump()
    return {"uid": os.getuid(), "report": report, "attempts": results}


async def use_once(options: dict[str, Any]) -> None:
    """Use a sandbox, so that all is imported: the user may not be allowed to enter the checkout."""
    runtime = Runtime(python=options["python"], launcher=options["launcher"])
    async with open_locked(LIMITS, examine_machine(runtime), runtime) as sandbox:
        session = await sandbox.open_session(await sandbox.load(PROBE, clock=CLOCK), seed=1)
        await session.call("probe", {})
        await session.aclose()


def main() -> None:
    """Read the options, become the user, run, print."""
    options = json.loads(sys.argv[1])
    os.environ["HOST_SECRET"] = SECRET
    if options["uid"] is not None:
        anyio.run(use_once, options)
        os.setgroups([])
        os.setresgid(options["uid"], options["uid"], options["uid"])
        os.setresuid(options["uid"], options["uid"], options["uid"])
    sys.stdout.write(json.dumps(anyio.run(run_all, options)))


if __name__ == "__main__":
    main()
