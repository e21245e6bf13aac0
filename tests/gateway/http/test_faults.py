"""Servers that go wrong, clients that vanish, and kills, in real processes; all accounts must agree.

Small versions of ``benchmarks/faults.py``. No wall-clock time is judged here.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from fault_bench import SERVERS, FaultBench, open_bench
from fault_kills import kill_upstream, vanish
from fault_trials import IDLE_KILL, Tally, guarded, run_trials
from gateway_kills import kill_gateway
from kill_account import KillFigures

pytestmark = pytest.mark.system

FAULTS = {
    "stdio": ("slow", "half-line", "exit", "kill-before", "kill", IDLE_KILL),
    "http": (
        "slow",
        "no-http",
        "no-json",
        "wrong-id",
        "status-500",
        "close",
        "cut-body",
        "cut-events",
    ),
}


def check(bench: FaultBench, tallies: Sequence[Tally], trials: int) -> None:
    """Nothing was unexpected, executed twice, lost or left unsaid; and something was tried at all."""
    assert [line for tally in tallies for line in tally.unexpected] == []
    assert sum(tally.trials for tally in tallies) == trials
    verdict = bench.verdict()
    assert verdict.faults == {}
    assert verdict.right >= trials


@pytest.mark.parametrize("server", SERVERS)
async def test_a_call_that_goes_wrong_fails_its_episode_alone_and_the_next_one_is_well(
    server: str, tmp_path: Path
) -> None:
    faults = FAULTS[SERVERS[server][0]]
    async with open_bench(tmp_path) as bench, bench.control() as client:
        async with guarded(bench, client) as sentinels:
            tallies = [
                await run_trials(bench, client, server, fault, count=3, width=1) for fault in faults
            ]
        assert sentinels["right"] > 0
        assert sentinels["wrong"] == 0
        check(bench, tallies, 3 * len(faults))


@pytest.mark.parametrize("server", SERVERS)
async def test_a_call_whose_client_vanished_runs_once_and_its_repetition_answers_its_result(
    server: str, tmp_path: Path
) -> None:
    async with open_bench(tmp_path) as bench, bench.control() as client:
        tally = await vanish(bench, client, server, count=4, width=2)
        check(bench, [tally], 4)


async def test_a_server_that_was_killed_under_load_is_used_again_once_it_is_back(
    tmp_path: Path,
) -> None:
    async with open_bench(tmp_path) as bench, bench.control() as client:
        with ExitStack() as stack:
            tally = await kill_upstream(bench, client, stack, count=2, seed=0)
        check(bench, [tally], 2)


async def test_a_gateway_that_is_killed_at_any_moment_does_nothing_twice_and_loses_no_answer(
    tmp_path: Path,
) -> None:
    figures = KillFigures()
    async with open_bench(tmp_path) as bench:
        await kill_gateway(bench, figures, kills=3, seed=0)
    assert figures.unexpected == []
    assert figures.kills == 3
    assert figures.healed + figures.kills_before_well == 4
    assert figures.answered == figures.asked > 0
    assert figures.under_way > 0
    assert figures.repeated > 0
