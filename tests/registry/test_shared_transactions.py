"""Transactions that callers share: few of them, and every caller gets its own answer."""

from collections.abc import Callable, Sequence

import anyio
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from astra_mcp.errors import RegistryError
from registry.store.database import Database
from registry.store.shared_transactions import SharedTransactions

Do = Callable[[Session], Sequence[int]]


def _square(session: Session, numbers: Sequence[int]) -> list[int]:
    return [session.execute(text(f"SELECT {n} * {n}")).scalar_one() for n in numbers]


class Held:
    """Runs transactions, each of them when it may."""

    def __init__(self, database: Database) -> None:
        self.num_transactions = 0
        self.may_run = anyio.Event()
        self.is_broken = False
        self._database = database

    async def __call__(self, do: Do) -> Sequence[int]:
        self.num_transactions += 1
        await self.may_run.wait()
        if self.is_broken:
            msg = "the disk is full"
            raise RegistryError(msg)
        return await self._database.read(do)


async def test_who_waits_while_a_transaction_runs_shares_the_next_one(database: Database) -> None:
    held = Held(database)
    shared = SharedTransactions(held, _square)
    answers: dict[int, int] = {}

    async def ask(number: int) -> None:
        answers[number] = await shared.ask(number)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(600):
                group.start_soon(ask, number)
            await anyio.wait_all_tasks_blocked()
            assert answers == {}
            held.may_run.set()
    assert answers == {number: number * number for number in range(600)}
    assert held.num_transactions == 4  # the first caller alone, then 256, 256 and 87


async def test_a_failure_is_raised_to_each_who_shared_it(database: Database) -> None:
    held = Held(database)
    held.is_broken = True
    shared = SharedTransactions(held, _square)
    failed: list[int] = []

    async def ask(number: int) -> None:
        with pytest.raises(RegistryError, match="the disk is full"):
            await shared.ask(number)
        failed.append(number)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(ask, number)
            held.may_run.set()
        assert sorted(failed) == list(range(8))
        held.is_broken = False
        assert await shared.ask(5) == 25


async def test_callers_that_are_cancelled_leave_the_others_their_answers(
    database: Database,
) -> None:
    held = Held(database)
    shared = SharedTransactions(held, _square)
    scopes: list[anyio.CancelScope] = []
    answers: dict[int, int] = {}

    async def ask(number: int) -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            answers[number] = await shared.ask(number)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(ask, number)
            await anyio.wait_all_tasks_blocked()
            for scope in scopes[::2]:  # the one whose transaction runs among them
                scope.cancel()
            held.may_run.set()
    assert {n: answers[n] for n in range(1, 16, 2)} == {n: n * n for n in range(1, 16, 2)}
    assert await shared.ask(5) == 25
