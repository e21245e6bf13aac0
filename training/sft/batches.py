"""Tensors of a batch: micro-batches of examples of like length, padded on the right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from training.sft.examples import Example

__all__ = ["IGNORED", "MicroBatch", "micro_batches", "num_trained"]

IGNORED = -100
"""The label of a place without loss."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What a device computes at once; each tensor has the shape (examples, tokens)."""

    ids: Tensor
    labels: Tensor
    """The id that follows at each place, or :data:`IGNORED`."""
    positions: Tensor

    def to(self, device: torch.device) -> "MicroBatch":
        """Put it on a device."""
        moved = (each.to(device) for each in (self.ids, self.labels, self.positions))
        return MicroBatch(*moved)


def num_trained(batch: Sequence[Example]) -> int:
    """Count the tokens with loss: what the loss of a batch is divided by, however it is cut."""
    return sum(each.num_trained for each in batch)


def micro_batches(
    batch: Sequence[Example], size: int, *, rank: int, ranks: int, multiple: int
) -> list[MicroBatch]:
    """Cut a batch into the micro-batches of one device.

    Every device gets equally many; where examples do not suffice, one without loss.

    Args:
        batch: Examples of one step.
        size: Examples of a micro-batch.
        rank: Of the device, among those with data of their own.
        ranks: How many of these there are.
        multiple: Lengths are padded to a multiple of it.
    """
    ordered = sorted(batch, key=lambda each: -len(each.ids))
    cut = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    rounds = -(-len(cut) // ranks)
    own = [number * ranks + rank for number in range(rounds)]
    return [
        _padded(cut[index], multiple)
        if index < len(cut)
        else _padded([_without_loss(ordered[-1])], multiple)
        for index in own
    ]


def _without_loss(example: Example) -> Example:
    return Example(example.ids, np.zeros_like(example.mask))


def _padded(examples: Sequence[Example], multiple: int) -> MicroBatch:
    """Pad on the right, where no causal attention looks: so no mask is needed."""
    longest = max(len(each.ids) for each in examples)
    width = -(-longest // multiple) * multiple
    ids = np.zeros((len(examples), width), dtype=np.int64)
    labels = np.full((len(examples), width), IGNORED, dtype=np.int64)
    for row, each in enumerate(examples):
        size = len(each.ids)
        ids[row, :size] = each.ids
        labels[row, : size - 1] = np.where(each.mask[1:], each.ids[1:], IGNORED)
    positions = torch.arange(width).expand(len(examples), width).contiguous()
    return MicroBatch(torch.tensor(ids), torch.tensor(labels), positions)
