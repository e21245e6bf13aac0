"""Two sandboxes of one user, as two gateways have them, start modules while sessions of one attack."""

import os
from dataclasses import replace

import anyio
import pytest

from astra_mcp.sandbox import Returned, SandboxLimits, SandboxReport
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.memory import usage_of
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.sandbox.session import ProcessSession

from processes import below
from sandboxes import opened

pytestmark = [pytest.mark.volume, pytest.mark.timeout(180)]

UNGUARDED = replace(Runtime.default(), import_guard=False)
BUDGET = 600 << 20
MODULES = 12
SLACK = 800 << 20
"""What is shared and here counted for each process, and what tools fill between two looks."""

ATTACK = """
import array, os, signal, socket
channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=3)
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [3] * 253))]
held = []

def leave_descriptors():
    channel.sendmsg([b"x"], rights)

def fork():
    if os.fork() == 0:
        while True: pass

def fill_channel():
    channel.sendall(bytes(1 << 16))

def hold_memory():
    held.append(bytearray(16 << 20))

def keep_busy():
    for _ in range(10 ** 5): pass

def go_on(name):
    def again(*_):
        try:
            globals()[name]()
        except (OSError, MemoryError):
            pass
    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    return name
"""
ATTACKS = (
    *("leave_descriptors", "fork", "fill_channel", "keep_busy"),
    *("hold_memory", "hold_memory", "hold_memory", "hold_memory"),
)
"""The last four would hold 1.9 GB together."""
PLAIN = "n = 0\ndef count():\n    global n\n    n += 1\n    return n\n"


async def attack(sandbox: LockedSandbox, name: str, until: anyio.Event) -> None:
    """Attack from one session after the other."""
    seed = 0
    while not until.is_set():
        seed += 1
        session = await opened(sandbox, ATTACK, seed=seed)
        assert await session.call("go_on", {"name": name}) == Returned(value=name)
        with anyio.move_on_after(2.0):
            await until.wait()
        await session.aclose()


async def start_modules(sandbox: LockedSandbox, bystander: ProcessSession) -> None:
    """Start modules that are new to a sandbox, each with a session, beside one that goes on."""
    for number in range(1, MODULES + 1):
        session = await opened(sandbox, f"{PLAIN}X = {number}")
        assert await session.call("count", {}) == Returned(value=1)
        assert await bystander.call("count", {}) == Returned(value=number)
        await session.aclose()


def held_by(sandbox: LockedSandbox) -> int:
    """Bytes of all tool processes of a sandbox, what they share counted each time."""
    assert sandbox.server_pid is not None
    tools = [row.pid for row in below(sandbox.server_pid)]
    return sum(usage_of(pid).resident for pid in tools) * os.sysconf("SC_PAGE_SIZE")


async def test_both_start_every_module_and_the_memory_of_the_attacked_one_stays_bounded(
    machine: SandboxReport,
) -> None:
    limits = SandboxLimits(total_memory_bytes=BUDGET, hard_seconds=20, soft_seconds=10)
    most: list[int] = []
    async with (
        open_locked(limits, machine, UNGUARDED) as attacked,
        open_locked(limits, machine, UNGUARDED) as other,
    ):
        bystanders = [await opened(sandbox, PLAIN) for sandbox in (attacked, other)]
        over = anyio.Event()
        async with anyio.create_task_group() as attackers:
            for name in ATTACKS:
                attackers.start_soon(attack, attacked, name, over)
            async with anyio.create_task_group() as starters:
                for sandbox, bystander in zip((attacked, other), bystanders, strict=True):
                    starters.start_soon(start_modules, sandbox, bystander)
                starters.start_soon(watch, attacked, most)
            over.set()
    assert 0 < max(most) < BUDGET + SLACK


async def watch(sandbox: LockedSandbox, most: list[int]) -> None:
    """See again and again what the tools hold."""
    for _ in range(40):
        most.append(held_by(sandbox))
        await anyio.sleep(0.1)
