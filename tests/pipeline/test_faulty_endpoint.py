"""A pipeline against an endpoint that fails one request in ten: nothing is lost, doubled or paid twice.

The model layer, the runner and the database of the product, over a real socket. The server's accounts
are held against the outcomes, item by item.
"""

import itertools
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from astra_mcp.completions import (
    Answer,
    CompletionRequest,
    CompletionsServer,
    FaultKind,
    FaultPlan,
    Policy,
    open_completions,
)
from astra_mcp.pipeline import ItemStatus, Outcome, Progress, Settled

from asked_items import Asked, open_program, read_table
from call_audit import asked_again, audit, by_item
from square_model import answer
from tiers import AT_THE_GATE

SHARE = 0.1
QUICK = tuple(kind for kind in FaultKind if kind not in (FaultKind.HANG, FaultKind.TRICKLE))
"""Faults that cost no deadline."""
NUM_FEW, FEW_AT_ONCE = 120, 20


class Outcomes:
    """Hears a run, and keeps what became of its items."""

    def __init__(self) -> None:
        self.settled: list[Outcome] = []

    def hear(self, event: Progress) -> None:
        if isinstance(event, Settled):
            self.settled.append(event.outcome)

    def names(self, status: ItemStatus) -> set[str]:
        return {outcome.item for outcome in self.settled if outcome.status is status}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("num_items", "at_once", "seconds"),
    [(200, 32, 6.0), pytest.param(2000, 256, 30.0, marks=pytest.mark.volume)],
)
async def test_calls_of_which_one_in_ten_fails_end_each_in_one_way(
    tmp_path: Path, num_items: int, at_once: int, seconds: float
) -> None:
    async def answer_when_full(request: CompletionRequest) -> Answer:
        await server.ledger.wait_in_flight(at_once)
        return answer(request)

    faults = FaultPlan.evenly(SHARE, seed=1)
    async with open_completions(answer_when_full, faults=faults) as server:
        asked = Asked(
            base_url=server.base_url,
            database=f"sqlite:///{tmp_path}/a.db",
            num_items=num_items,
            concurrency=at_once,
            timeout_seconds=seconds,
        )
        first = Outcomes()
        table = await asked.play(first.hear)
        accounts = by_item(server.ledger.as_json())

        assert audit(accounts, first.settled) == []
        finished, failed = first.names(ItemStatus.FINISHED), first.names(ItemStatus.FAILED)
        assert len(first.settled) == len(finished) + len(failed) == asked.num_items
        assert server.ledger.most_in_flight == at_once
        kinds = server.ledger.total.faults.keys()
        assert kinds == set(FaultKind) if num_items > 1000 else len(kinds) > len(FaultKind) // 2
        assert table.num_failed == len(failed)
        assert 0 < len(failed) < SHARE * num_items

        second = Outcomes()
        await asked.play(second.hear)
        after = by_item(server.ledger.as_json())
        assert asked_again(accounts, after) == failed
        assert second.names(ItemStatus.FINISHED) >= finished

        third = Outcomes()
        table = await asked.but(run="the same by another name").play(third.hear)
        last = by_item(server.ledger.as_json())
        assert asked_again(after, last) == second.names(ItemStatus.FAILED)
        assert table.usage.cached == len(second.names(ItemStatus.FINISHED))


@pytest.mark.parametrize("budget", [{"max_calls": 45}, {"max_cost": 45.0}])
async def test_a_budget_stops_after_the_calls_in_flight_and_the_next_run_pays_for_the_rest_alone(
    tmp_path: Path, budget: dict[str, float]
) -> None:
    async with few(tmp_path, answer) as (server, asked):
        table = await asked.but(**budget).play()

        accounts = by_item(server.ledger.as_json())
        calls = sum(account.num_calls_ended for account in accounts.values())
        assert table.usage.calls == calls
        if "max_calls" in budget:
            assert calls == budget["max_calls"]
        else:
            assert budget["max_cost"] <= table.usage.cost < budget["max_cost"] + asked.concurrency
        paid = {name for name, account in accounts.items() if account.answers}
        kept = await asked.outcomes()
        assert paid == {o.item for o in kept if o.status is ItemStatus.FINISHED}
        assert "budget" in table.stopped
        assert table.num_not_begun > 0

        rest = Outcomes()
        await asked.play(rest.hear)
        after = by_item(server.ledger.as_json())
        assert not asked_again(accounts, after) & paid
        assert all(account.answers <= 1 for account in after.values())
        assert len(rest.settled) == asked.num_items


@pytest.mark.parametrize(
    ("sign", "code"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        pytest.param(signal.SIGINT, 130, marks=AT_THE_GATE),
    ],
)
async def test_a_run_that_is_stopped_keeps_what_it_has_and_the_next_one_does_the_rest(
    tmp_path: Path, sign: signal.Signals, code: int
) -> None:
    enough = anyio.Event()
    made = itertools.count()

    def count(request: CompletionRequest) -> Answer:
        if next(made) == NUM_FEW // 3:
            enough.set()
        return answer(request)

    async with few(tmp_path, count) as (_, asked), open_program(asked) as process:
        with anyio.fail_after(60):
            await enough.wait()
            process.send_signal(sign)
            assert await process.wait() == code
        if sign is signal.SIGINT:
            table = await read_table(process)
            assert table["stages"][0]["interrupted"] > 0

    kept = {o.item for o in await asked.outcomes() if o.status is ItemStatus.FINISHED}
    num_cached = await asked.num_cached()
    assert 0 < len(kept) <= num_cached < NUM_FEW

    async with open_completions(answer, faults=plan(seed=2)) as server:
        rest = Outcomes()
        await asked.but(base_url=server.base_url).play(rest.hear)
        accounts = by_item(server.ledger.as_json())
    finished = rest.names(ItemStatus.FINISHED)
    assert len(rest.settled) == NUM_FEW
    assert finished >= kept
    assert not kept & accounts.keys()
    assert sum(account.answers for account in accounts.values()) == len(finished) - num_cached


def plan(seed: int) -> FaultPlan:
    return FaultPlan.evenly(SHARE, QUICK, seed=seed)


@asynccontextmanager
async def few(folder: Path, policy: Policy) -> AsyncGenerator[tuple[CompletionsServer, Asked]]:
    """A server of this process, and a run of few items against it."""
    async with open_completions(policy, faults=plan(seed=1)) as server:
        yield (
            server,
            Asked(
                base_url=server.base_url,
                database=f"sqlite:///{folder}/a.db",
                num_items=NUM_FEW,
                concurrency=FEW_AT_ONCE,
            ),
        )
