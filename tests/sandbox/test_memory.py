"""All processes of a sandbox together stay within a budget, and the largest pays for it."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping

import anyio
import pytest

from astra_mcp.errors import SandboxDiedError, SandboxError, SandboxLostError
from astra_mcp.sandbox import Returned, SandboxLimits, SandboxReport
from astra_mcp.sandbox import memory as memory_module
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.memory import Account, MemoryBudget, Usage, machine_memory, usage_of
from astra_mcp.sandbox.runtime import Runtime

from sandboxes import CLOCK, opened

MEBIBYTE = 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
BUDGET = 200 * MEBIBYTE
CODE = """
held = None
def hold(mebibytes):
    global held
    held = bytearray(mebibytes << 20)
    return len(held)
def hold_and_wait(mebibytes):
    hold(mebibytes)
    while True: pass
def get(): return 1
"""


@pytest.fixture
async def bounded(machine: SandboxReport) -> AsyncGenerator[LockedSandbox]:
    """A sandbox whose processes may hold little together."""
    limits = SandboxLimits(total_memory_bytes=BUDGET, soft_seconds=20, hard_seconds=20)
    async with open_locked(limits, machine, Runtime.default()) as sandbox:
        yield sandbox


async def test_idle_sessions_are_within_the_budget_and_the_largest_is_lost_not_blamed(
    bounded: LockedSandbox,
) -> None:
    small = await opened(bounded, CODE)
    large = [await opened(bounded, f"{CODE}\nX = {n}") for n in range(3)]
    assert await large[0].call("hold", {"mebibytes": 110}) == Returned(value=110 * MEBIBYTE)
    await large[1].call("hold", {"mebibytes": 70})
    with anyio.fail_after(20):
        while usage_of(large[0].pid).resident:  # noqa: ASYNC110 - a process's end is no event here
            await anyio.sleep(0.02)
    with pytest.raises(SandboxLostError, match=r"sandbox\.total_memory_bytes"):
        await large[0].call("get", {})
    for session in (small, *large[1:]):
        assert await session.call("get", {}) == Returned(value=1)


async def test_a_call_that_takes_more_than_the_budget_is_to_blame(bounded: LockedSandbox) -> None:
    small = await opened(bounded, CODE)
    session = await opened(bounded, CODE)
    with pytest.raises(SandboxDiedError, match=r"held the most memory.*209,715,200 bytes"):
        await session.call("hold_and_wait", {"mebibytes": 220})
    assert await small.call("get", {}) == Returned(value=1)


async def test_a_module_that_takes_the_budget_while_it_loads_is_named_the_reason(
    bounded: LockedSandbox,
) -> None:
    small = await opened(bounded, CODE)
    with pytest.raises(SandboxError, match=r"sandbox\.total_memory_bytes"):
        await bounded.load(f"{CODE}\nhold_and_wait(220)", clock=CLOCK)
    assert await small.call("get", {}) == Returned(value=1)


async def test_tools_give_way_to_the_host_in_time_and_die_before_it(
    locked: LockedSandbox,
) -> None:
    session = await opened(locked, CODE)
    assert await anyio.Path(f"/proc/{session.pid}/oom_score_adj").read_text() == "1000\n"
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, session.pid) == min(19, own + 1)


Kernel = Callable[[Mapping[int, tuple[int, int]]], None]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Sets what the kernel tells of each process: pages that it holds, pages that it was given."""

    def tell(usages: Mapping[int, tuple[int, int]]) -> None:
        def usage_of(pid: int) -> Usage:
            return Usage(*usages.get(pid, (0, 0)))

        monkeypatch.setattr(memory_module, "usage_of", usage_of)

    return tell


class Machine:
    """Accounts of processes that are not there."""

    def __init__(self, limit_pages: int) -> None:
        self.budget = MemoryBudget(limit_pages * PAGE)
        self.stopped: list[int] = []
        self.busy: set[int] = set()

    def open(self, pid: int, began: int = 0, parent: Account | None = None) -> Account:
        account = Account(
            pid=pid,
            began=began,
            is_busy=lambda: pid in self.busy,
            stop=lambda: self.stopped.append(pid),
            parent=parent,
        )
        self.budget.open(account)
        return account


def test_what_a_session_shares_with_its_template_is_counted_once(kernel: Kernel) -> None:
    machine = Machine(2000)
    template = machine.open(1)
    for pid in range(2, 12):
        machine.open(pid, began=1000, parent=template)
    kernel({1: (1000, 1000), **dict.fromkeys(range(2, 12), (1010, 20))})
    list(machine.budget.look())
    assert machine.budget.held == PAGE * (1000 + 10 * 30)
    assert machine.stopped == []


def test_a_copy_of_what_was_shared_counts_although_nothing_grows(kernel: Kernel) -> None:
    machine = Machine(2500)
    template = machine.open(1)
    for pid in (2, 3):
        machine.open(pid, began=1000, parent=template)
    kernel({1: (1000, 1000), 2: (1000, 900), 3: (1000, 1000)})
    list(machine.budget.look())
    assert machine.stopped == [3]


def test_what_a_template_changes_between_its_sessions_counts_since_they_keep_it(
    kernel: Kernel,
) -> None:
    machine = Machine(10_000)
    template = machine.open(1)
    template.loaded = Usage(1000, 1000)
    for pid in range(2, 7):
        machine.open(pid, began=1000, parent=template)
    kernel({1: (1000, 1000 + 6 * 256)})
    list(machine.budget.look())
    assert (machine.budget.held, machine.stopped) == (1000 * PAGE, [])
    kernel({1: (1000, 60_000)})
    list(machine.budget.look())
    assert (machine.budget.held, machine.stopped) == (0, [1])


def test_a_template_without_sessions_goes_first_and_one_with_many_last(kernel: Kernel) -> None:
    machine = Machine(1000)
    used, unused = machine.open(1), machine.open(2)
    for pid in range(10, 20):
        machine.open(pid, parent=used)
    kernel({1: (500, 500), 2: (10, 10), **dict.fromkeys(range(10, 20), (60, 60))})
    list(machine.budget.look())
    assert machine.stopped[0] == unused.pid
    assert used.pid not in machine.stopped
    assert machine.budget.held <= machine.budget.limit


def test_of_thousands_those_that_run_a_call_are_seen_at_once_and_the_others_by_turns(
    kernel: Kernel,
) -> None:
    machine = Machine(10_000)
    template = machine.open(1)
    for pid in range(2, 1002):
        machine.open(pid, parent=template)
    machine.busy = {900}
    kernel({900: (11_000, 11_000)})
    list(machine.budget.look())
    assert machine.stopped == [900]
    kernel({901: (11_000, 11_000)})
    for _ in range(1002 // 64 + 1):
        list(machine.budget.look())
    assert machine.stopped == [900, 901]


def test_a_closed_account_counts_no_longer(kernel: Kernel) -> None:
    machine = Machine(1000)
    account = machine.open(1)
    kernel({1: (500, 500)})
    list(machine.budget.look())
    machine.budget.close(account)
    machine.budget.close(account)
    assert machine.budget.held == 0


def test_without_a_setting_sandboxes_share_half_of_the_machine() -> None:
    assert SandboxLimits().shared_among(4).total_memory_bytes == machine_memory() // 2 // 4
    assert SandboxLimits(total_memory_bytes=BUDGET).shared_among(4).total_memory_bytes == BUDGET
