"""Rows of a batch as tensors, and the log-probabilities of what the policy wrote in them."""

# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from training.rl.native.generation import Member
from training.sft.model import Model
from training.signals.supervision.guidance import Help

__all__ = ["Padded", "Row", "pad", "written_logprobs"]

Row = tuple[Member, tuple[float, ...]]
"""An episode, and the advantage of each of its tokens, which is used of those alone that the policy wrote."""


@dataclass(frozen=True, slots=True)
class Padded:
    """Rows padded on the right, where no causal attention looks; each tensor is [rows, tokens]."""

    ids: Tensor
    sampled: Tensor
    """Log-probabilities; like the next two, at the place of the token before."""
    advantages: Tensor
    is_written: Tensor
    is_shaped: Tensor | None
    """Tokens of gold that count by their probability alone; None where none do."""


def pad(rows: Sequence[Row], device: torch.device, *, is_shaped: bool = False) -> Padded:
    """Pad rows.

    Args:
        rows: At least one.
        device: Of the tensors.
        is_shaped: Tokens of gold count by their probability alone.
    """
    longest = max(len(member.ids) for member, _ in rows)

    def table(values: Sequence[Sequence[float]], kind: torch.dtype) -> Tensor:
        padded = [[*row, *[0] * (longest - len(row))] for row in values]
        return torch.tensor(padded, dtype=kind, device=device)

    members = [member for member, _ in rows]
    is_written = table([m.mask for m in members], torch.bool)[:, 1:]
    return Padded(
        ids=table([m.ids for m in members], torch.long),
        sampled=table([m.logprobs for m in members], torch.float32)[:, 1:],
        advantages=table([scores for _, scores in rows], torch.float32)[:, 1:],
        is_written=is_written,
        is_shaped=table([_is_gold(m) for m in members], torch.bool)[:, 1:] if is_shaped else None,
    )


def _is_gold(member: Member) -> list[bool]:
    return [member.help is Help.GOLD] * len(member.ids)


def written_logprobs(model: Model, rows: Padded) -> Tensor:
    """Give log-probabilities at the places that the policy wrote: [written tokens, vocabulary].

    Logits are computed where some row has such a place alone, since a vocabulary may have 150,000 members.
    """
    kept = rows.is_written.any(dim=0).nonzero().squeeze(1)
    output = cast("Any", model)(input_ids=rows.ids, use_cache=False, logits_to_keep=kept)
    return torch.log_softmax(output.logits[rows.is_written[:, kept]].float(), -1)
