"""Batches are filled: n groups that can teach something in every step, none used twice, none lost."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import pvariance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError, TrainingError
from astra_mcp.seeds import generator
from training.rl.core.filling import BatchFilling, Filled, Group

_STEPS = 1000
_ALIKE, _FAILED = (0.5, 0.5), None


@dataclass
class Stream:
    """Simulated rollouts: groups by their number, of which a share is degenerate or failed."""

    degenerate: float
    failed: float = 0.0
    step: int = 0
    played: list[Group[str]] = field(default_factory=list[Group[str]])
    draw: random.Random = field(default_factory=lambda: generator(1, "stream"))

    async def play(self, count: int) -> Sequence[Group[str]]:
        begin = len(self.played)
        self.played += [self._group(begin + n) for n in range(count)]
        return self.played[begin:]

    def _group(self, number: int) -> Group[str]:
        drawn = self.draw.random()
        rewards = (0.0, 1.0 + number)
        if drawn < self.failed:
            rewards = _FAILED
        elif drawn < self.failed + self.degenerate:
            rewards = _ALIKE
        return Group(number=number, step=self.step, rewards=rewards, members=(f"g{number}",))

    def valid(self) -> list[int]:
        return [g.number for g in self.played if g.rewards not in {_ALIKE, _FAILED}]


async def fill(filling: BatchFilling[str], stream: Stream, step: int) -> Filled[str]:
    stream.step = step
    return await filling.fill(step, stream.play)


@pytest.mark.claim("P91")
@pytest.mark.parametrize(("degenerate", "size"), [(0.0, 8), (0.4, 8), (0.95, 3)])
async def test_each_of_many_steps_has_n_groups_of_which_none_is_used_twice_or_lost(
    degenerate: float, size: int
) -> None:
    stream, filling = Stream(degenerate, failed=0.01), BatchFilling[str](num_groups=size)
    used: list[int] = []
    for step in range(_STEPS):
        if step == _STEPS // 2:  # a checkpoint, and what goes on from it
            saved = filling.buffered
            filling = BatchFilling[str](num_groups=size)
            filling.restore(saved)
        found = await fill(filling, stream, step)
        assert len(found.groups) == size
        assert found.buffered == len(filling.buffered) < size
        used += [group.number for group in found.groups]
    waiting = [group.number for group in filling.buffered]
    assert used + waiting == stream.valid()


@pytest.mark.claim("P91")
@given(st.lists(st.sampled_from([_ALIKE, _FAILED, (0.0, 1.0)]), max_size=60), st.integers(1, 5))
@settings(deadline=None)
async def test_whatever_is_played_is_used_in_its_order_waits_or_is_counted(
    outcomes: list[tuple[float, float] | None], num_groups: int
) -> None:
    left = list(enumerate([*outcomes, *[(0.0, 1.0)] * 10 * num_groups]))
    filling = BatchFilling[str](num_groups=num_groups)
    used: list[int] = []
    for step in range(4):

        async def play(count: int, step: int = step) -> list[Group[str]]:
            taken = [left.pop(0) for _ in range(count)]
            return [Group(number=n, step=step, rewards=r, members=()) for n, r in taken]

        before = len(filling.buffered)
        found = await filling.fill(step, play)
        assert found.rolled_out == (found.refills + 1) * num_groups
        useful = found.rolled_out - found.degenerate - found.failed
        assert before + useful == num_groups + found.buffered
        used += [group.number for group in found.groups]
    assert used == sorted(set(used))


@pytest.mark.claim("P92")
async def test_equal_steps_without_filling_have_batches_of_changing_size() -> None:
    filling, filled, plain = BatchFilling[str](num_groups=8), Stream(0.5), Stream(0.5)
    with_filling = [len((await fill(filling, filled, step)).groups) for step in range(200)]
    without: list[int] = []
    for _ in range(200):
        played = await plain.play(8)
        without.append(sum(bool(group.spread) for group in played))
    assert pvariance(with_filling) == 0
    assert pvariance(without) > 1


async def test_a_group_that_waited_too_long_is_not_used() -> None:
    stream, filling = Stream(0.0), BatchFilling[str](num_groups=3, max_age=2)
    old, fresh = (
        Group(number=-n, step=step, rewards=(0.0, 1.0), members=()) for n, step in ((1, 7), (2, 8))
    )
    filling.restore([old, fresh])
    found = await fill(filling, stream, 10)
    assert [group.number for group in found.groups] == [-2, 0, 1]
    assert (found.expired, found.oldest, found.buffered) == (1, 2, 1)


async def test_where_refills_are_used_up_it_ends_and_the_buffer_stays() -> None:
    stream, filling = Stream(1.0), BatchFilling[str](num_groups=2, max_refills=3)
    waiting = Group(number=-1, step=0, rewards=(0.0, 1.0), members=("kept",))
    filling.restore([waiting])
    with pytest.raises(TrainingError, match=r"step 1: of 8 groups .* 1 can teach .* 8 all members"):
        await fill(filling, stream, 1)
    assert filling.buffered == (waiting,)


@pytest.mark.claim("P90")
async def test_a_spread_has_to_be_more_than_the_least() -> None:
    rewards = iter([(0.0, 0.2), (0.0, 0.3)])

    async def play(count: int) -> list[Group[str]]:
        return [Group(number=n, step=0, rewards=next(rewards), members=()) for n in range(count)]

    found = await BatchFilling[str](num_groups=1, min_spread=0.1).fill(0, play)
    assert (found.groups[0].rewards, found.degenerate, found.refills) == ((0.0, 0.3), 1, 1)


async def test_what_makes_no_sense_is_refused() -> None:
    for wrong in ({"num_groups": 0}, {"max_age": 0}, {"max_refills": -1}, {"min_spread": -0.1}):
        with pytest.raises(ConfigError, match="least"):
            BatchFilling[str](**{"num_groups": 2, **wrong})  # pyright: ignore[reportArgumentType]
    group = Group(number=0, step=0, rewards=(0.0, 1.0), members=("m",))
    with pytest.raises(ConfigError, match="holds 2 groups that wait, and a batch has 2"):
        BatchFilling[str](num_groups=2).restore([group, group])

    async def play(_count: int) -> list[Group[str]]:
        return [group]

    with pytest.raises(ValueError, match="2 groups was asked for, and 1 came back"):
        await BatchFilling[str](num_groups=2).fill(0, play)
