"""The objective against values computed by hand, and what never changes it."""

import math
from collections.abc import Sequence
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.rl.native.objective import Tokens, advantages, loss_sums

pytestmark = pytest.mark.train

_REWARDS = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def sums(
    new: Sequence[float],
    old: Sequence[float],
    advantage: Sequence[float],
    reference: Sequence[float] | None = None,
) -> tuple[float, float, int, list[float]]:
    """Give loss, k3, how many were clipped, and the gradient of the loss."""
    logprobs = torch.tensor(new, dtype=torch.float64, requires_grad=True)
    others = [torch.tensor(each, dtype=torch.float64) for each in (old, advantage)]
    known = None if reference is None else torch.tensor(reference, dtype=torch.float64)
    tokens = Tokens(logprobs=logprobs, sampled=others[0], advantages=others[1], reference=known)
    found = loss_sums(tokens, clip=0.2)
    (gradient,) = torch.autograd.grad(found.policy, logprobs)
    return found.policy.item(), found.kl.item(), int(found.clipped), [*map(float, gradient)]


@pytest.mark.claim("P94")
def test_advantages_are_how_many_deviations_a_reward_is_from_the_mean() -> None:
    assert advantages([1, 0, 0, 0]) == pytest.approx((math.sqrt(3), *[-1 / math.sqrt(3)] * 3))
    assert advantages([0.25, 0.75]) == pytest.approx((-1, 1))


@given(_REWARDS)
def test_advantages_come_to_nothing_and_have_unit_spread_or_none(rewards: list[float]) -> None:
    found = advantages(rewards)
    assert sum(found) == pytest.approx(0, abs=1e-6)
    squares = sum(each * each for each in found)
    assert squares == 0 or squares == pytest.approx(len(rewards))


@given(_REWARDS, st.randoms(use_true_random=False))
def test_the_order_of_members_changes_no_advantage(rewards: list[float], order: Random) -> None:
    places = [*range(len(rewards))]
    order.shuffle(places)
    moved = advantages([rewards[place] for place in places])
    assert moved == pytest.approx([advantages(rewards)[place] for place in places], abs=1e-6)


@pytest.mark.claim("P93")
@given(st.floats(0, 1), st.integers(1, 16))
def test_a_group_without_spread_gives_no_gradient(reward: float, size: int) -> None:
    found = advantages([reward] * size)
    assert found == (0.0,) * size
    *_, gradient = sums([-1.0] * size, [-1.2] * size, found)
    assert gradient == [0.0] * size


@pytest.mark.claim("P94")
def test_ratios_are_clipped_where_they_would_go_further_and_nowhere_else() -> None:
    old = [math.log(0.5)] * 4
    new = [math.log(0.5 * ratio) for ratio in (1.5, 1.5, 0.5, 0.5)]
    loss, kl, clipped, gradient = sums(new, old, [1.0, -1.0, 1.0, -1.0])
    # Up: 1.2 of 1.5 counts; down from above: 1.5 whole; up from below: 0.5 whole; down: 0.8 of 0.5.
    assert loss == pytest.approx(-(1.2 - 1.5 + 0.5 - 0.8))
    assert gradient == pytest.approx([0.0, 1.5, -0.5, 0.0])
    assert (kl, clipped) == (0.0, 2)


def test_at_the_policy_that_wrote_the_gradient_is_that_of_the_policy_gradient() -> None:
    written = [-0.3, -2.0, -1.1]
    loss, _, clipped, gradient = sums(written, written, [0.5, -1.5, 2.0])
    assert (loss, clipped) == (pytest.approx(-1.0), 0)
    assert gradient == pytest.approx([-0.5, 1.5, -2.0])


def test_k3_is_that_of_the_formula_and_never_below_zero() -> None:
    new, reference = [math.log(0.5), math.log(0.2)], [math.log(0.25), math.log(0.2)]
    _, kl, _, _ = sums(new, new, [0.0, 0.0], reference)
    assert kl == pytest.approx(0.5 - math.log(0.5) - 1)


@given(st.lists(st.tuples(st.floats(-9, 0), st.floats(-9, 0)), min_size=1, max_size=9))
def test_k3_is_never_below_zero(pairs: list[tuple[float, float]]) -> None:
    new, reference = zip(*pairs, strict=True)
    _, kl, _, _ = sums(new, new, [0.0] * len(pairs), reference)
    assert kl >= -1e-9
