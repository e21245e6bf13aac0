"""The learning rate of each step, and how many steps there are: functions of the settings alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from training.sft.settings import ScheduleShape, TrainingSettings

__all__ = ["Schedule", "batches_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How the learning rate goes over a run."""

    peak: float
    shape: ScheduleShape
    num_steps: int
    num_warmup: int

    @classmethod
    def of(cls, settings: TrainingSettings, num_steps: int) -> "Schedule":
        """Take the warm-up's share of the steps, at least one where there is a share."""
        warmup = math.ceil(settings.warmup_ratio * num_steps)
        return cls(
            peak=settings.learning_rate,
            shape=settings.schedule,
            num_steps=num_steps,
            num_warmup=warmup,
        )

    def rate(self, step: int) -> float:
        """Give the learning rate of a step.

        Args:
            step: From 0. The first of the warm-up has a share of the peak already: no step is without effect.
        """
        if step < self.num_warmup:
            return self.peak * (step + 1) / self.num_warmup
        progress = (step - self.num_warmup) / max(self.num_steps - self.num_warmup, 1)
        match self.shape:
            case ScheduleShape.COSINE:
                return self.peak * 0.5 * (1 + math.cos(math.pi * progress))
            case ScheduleShape.LINEAR:
                return self.peak * (1 - progress)
            case ScheduleShape.CONSTANT:
                return self.peak


def batches_of(
    order: Sequence[int], batch_size: int, max_steps: int | None
) -> Sequence[Sequence[int]]:
    """Cut an order into batches; the last one may be smaller, since nothing is left out or seen twice."""
    cut = [order[at : at + batch_size] for at in range(0, len(order), batch_size)]
    return cut if max_steps is None else cut[:max_steps]
