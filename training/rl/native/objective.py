"""GRPO's objective: advantages within a group, and the clipped ratio, as the mean over all tokens of a batch.

Source: ASTRA eq. 32, which is eq. 23 without KL divergence and with the batch-level token mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

import torch
from torch import Tensor

__all__ = ["LossSums", "Tokens", "advantages", "loss_sums"]

_NO_SPREAD = 1e-8
"""Std(R) up to which the rewards of a group count as alike; they would be divided by it."""


def advantages(rewards: Sequence[float]) -> tuple[float, ...]:
    """Normalise the rewards of a group: (R - mean(R)) / Std(R), over the members as a population.

    Args:
        rewards: Of each member.

    Returns:
        Of each member; 0 for all where the rewards are alike.
    """
    mean, spread = fmean(rewards), pstdev(rewards)
    if spread <= _NO_SPREAD:
        return (0.0,) * len(rewards)
    return tuple((reward - mean) / spread for reward in rewards)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens that the policy wrote, of however many episodes: all tensors are of shape [tokens]."""

    logprobs: Tensor
    """Under the policy that learns, in nats; the gradient goes through it."""
    sampled: Tensor
    """Under the policy that wrote them."""
    advantages: Tensor
    """Of each token's episode."""
    reference: Tensor | None = None
    """Under the reference model; None where there is none."""
    is_shaped: Tensor | None = None
    """Tokens that count p / (p + gamma) in the place of the clipped ratio; None: none do."""


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over tokens; divided by the number of tokens of the batch they are means."""

    policy: Tensor
    """To be made small: minus the objective."""
    kl: Tensor
    """k3 estimates of the divergence from the reference, which are never below 0."""
    clipped: Tensor
    """Tokens whose gradient the clip takes away."""


def loss_sums(tokens: Tokens, *, clip: float, gamma: float = 0.1) -> LossSums:
    """Compute the sums of the objective over tokens.

    Args:
        tokens: Those that the policy wrote; what it was shown is not among them.
        clip: Epsilon: ratios count from 1 - clip to 1 + clip.
        gamma: Of the shape of those tokens that have one. Source: Yan et al. 2025 (LUFFY), where the policy
            that wrote them counts as sure of each.
    """
    ratio = (tokens.logprobs - tokens.sampled).exp()
    free, bounded = (each * tokens.advantages for each in (ratio, ratio.clamp(1 - clip, 1 + clip)))
    counted, is_clipped = torch.minimum(free, bounded), bounded < free
    if tokens.is_shaped is not None:
        sure = tokens.logprobs.exp()
        shaped = sure / (sure + gamma) * tokens.advantages
        counted = torch.where(tokens.is_shaped, shaped, counted)
        is_clipped = is_clipped & ~tokens.is_shaped
    return LossSums(policy=-counted.sum(), kl=_k3(tokens).sum(), clipped=is_clipped.sum())


def _k3(tokens: Tokens) -> Tensor:
    """Estimate KL(policy || reference) of each token without bias. Source: Schulman 2020; GRPO eq. 4."""
    if tokens.reference is None:
        return torch.zeros_like(tokens.logprobs)
    apart = tokens.reference - tokens.logprobs
    return apart.exp() - apart - 1
