"""Batches are filled: n groups that can teach something in every step, none used twice, none lost."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError, TrainingError
from training.rl.core.filling import BatchFilling, Filled, Group

from group_stream import ALIKE, FAILED, GroupStream, sizes_of_batches

_STEPS = 1000


async def fill(filling: BatchFilling[str], stream: GroupStream, step: int) -> Filled[str]:
    stream.step = step
    return await filling.fill(step, stream.play)


@pytest.mark.claim("P91")
@pytest.mark.parametrize(("degenerate", "size"), [(0.0, 8), (0.4, 8), (0.95, 3)])
async def test_each_of_many_steps_has_n_groups_of_which_none_is_used_twice_or_lost(
    degenerate: float, size: int
) -> None:
    stream, filling = GroupStream(degenerate, failed=0.01), BatchFilling[str](num_groups=size)
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
@given(st.lists(st.sampled_from([ALIKE, FAILED, (0.0, 1.0)]), max_size=60), st.integers(1, 5))
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
@pytest.mark.parametrize("degenerate", [0.3, 0.5, 0.8, 0.95])
async def test_of_equal_steps_only_those_without_filling_have_batches_of_changing_size(
    degenerate: float,
) -> None:
    found = await sizes_of_batches(degenerate, groups=4, steps=_STEPS // 2, seed=4)
    assert (found.filled_mean, found.filled_variance) == (4, 0)
    assert found.filled_rounds == pytest.approx(1 / (1 - degenerate), rel=0.1)
    assert found.computed_variance == pytest.approx(4 * degenerate * (1 - degenerate))
    # Four standard errors of the mean and of the variance of so many binomial numbers.
    spread, beyond = found.computed_variance, 1 / found.computed_variance - 6 / 4
    error = spread * math.sqrt((2 + beyond) / (_STEPS // 2))
    assert found.plain_variance == pytest.approx(spread, abs=4 * error)
    assert found.plain_mean == pytest.approx(
        found.computed_mean, abs=4 * math.sqrt(spread / (_STEPS // 2))
    )


async def test_a_group_that_waited_too_long_is_not_used() -> None:
    stream, filling = GroupStream(0.0), BatchFilling[str](num_groups=3, max_age=2)
    old, fresh = (
        Group(number=-n, step=step, rewards=(0.0, 1.0), members=()) for n, step in ((1, 7), (2, 8))
    )
    filling.restore([old, fresh])
    found = await fill(filling, stream, 10)
    assert [group.number for group in found.groups] == [-2, 0, 1]
    assert (found.expired, found.oldest, found.buffered) == (1, 2, 1)


async def test_where_refills_are_used_up_it_ends_and_the_buffer_stays() -> None:
    stream, filling = GroupStream(1.0), BatchFilling[str](num_groups=2, max_refills=3)
    waiting = Group(number=-1, step=0, rewards=(0.0, 1.0), members=("kept",))
    filling.restore([waiting])
    with pytest.raises(TrainingError, match=r"step 2: of 8 groups .* 1 can teach .* 8 all members"):
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
