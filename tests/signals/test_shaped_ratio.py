"""What a token of gold counts where the ratio is shaped, and what members that were helped are held to."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.rl.native.objective import Tokens, loss_sums

pytestmark = pytest.mark.train

_LOG = st.floats(-8, -0.01)


def gradients(
    logprobs: list[float], advantages: list[float], is_shaped: list[bool] | None, gamma: float = 0.1
) -> tuple[float, list[float]]:
    """Give the loss, and what each log-probability changes of it; all ratios are 1."""
    new = torch.tensor(logprobs, dtype=torch.float64, requires_grad=True)
    tokens = Tokens(
        logprobs=new,
        sampled=new.detach(),
        advantages=torch.tensor(advantages, dtype=torch.float64),
        is_shaped=None if is_shaped is None else torch.tensor(is_shaped),
    )
    found = loss_sums(tokens, clip=0.2, gamma=gamma)
    (gradient,) = torch.autograd.grad(found.policy, new)
    return float(found.policy.detach()), [float(each) for each in gradient]


def test_a_shaped_token_counts_p_by_p_and_gamma() -> None:
    # p = 0.4: 0.4 / 0.5 = 0.8; derived by log p: p * gamma / (p + gamma)^2 = 0.04 / 0.25 = 0.16.
    loss, gradient = gradients([math.log(0.4), math.log(0.5)], [2.0, -1.0], [True, False])
    assert loss == pytest.approx(-0.8 * 2 + 1.0)
    assert gradient == pytest.approx([-0.32, 1.0])


@given(st.lists(st.tuples(_LOG, st.floats(-3, 3)), min_size=1, max_size=6))
def test_tokens_that_are_not_shaped_count_as_if_none_were(rows: list[tuple[float, float]]) -> None:
    logprobs, advantages = map(list, zip(*rows, strict=True))
    nobody = [False] * len(rows)
    assert gradients(logprobs, advantages, nobody) == gradients(logprobs, advantages, None)


@given(_LOG, _LOG)
def test_a_likelier_shaped_token_never_counts_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert gradients([high], [1.0], [True])[0] <= gradients([low], [1.0], [True])[0]
