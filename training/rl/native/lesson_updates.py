"""How lessons are learned, but for the tensors: batches, their order and rates, and what they come to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.errors import TrainingError
from astra_mcp.seeds import generator
from training.rl.native.settings import RlSettings
from training.sft.schedule import Schedule as RateSchedule
from training.sft.settings import ScheduleShape
from training.signals.supervision.lessons import Lesson

__all__ = ["LessonUpdate", "lesson_figures", "lesson_updates", "loss_fault"]


@dataclass(frozen=True, slots=True)
class LessonUpdate:
    """One step of the optimizer in a supervised phase."""

    lessons: Sequence[Lesson]
    rate: float
    """Of learning."""

    @property
    def num_tokens(self) -> int:
        """Tokens over which the mean of the loss is taken: those that the policy would have written."""
        return sum(sum(lesson.mask) for lesson in self.lessons)


def lesson_updates(
    settings: RlSettings, lessons: Sequence[Lesson], step: int
) -> list[LessonUpdate]:
    """Cut lessons into updates, epoch by epoch.

    Args:
        settings: Of the run.
        lessons: At least one.
        step: Behind which the phase is; decides the order.
    """
    told = settings.signals.supervision
    batches: list[list[Lesson]] = []
    for epoch in range(told.epochs):
        order = [*lessons]
        generator(settings.seed, "signals", "order", step, epoch).shuffle(order)
        cuts = range(0, len(order), told.batch_size)
        batches += [order[at : at + told.batch_size] for at in cuts]
    schedule = RateSchedule(
        peak=told.learning_rate or 0.0,
        shape=ScheduleShape.COSINE,
        num_steps=len(batches),
        num_warmup=math.ceil(told.warmup_ratio * len(batches)),
    )
    return [LessonUpdate(batch, schedule.rate(number)) for number, batch in enumerate(batches)]


def lesson_figures(
    settings: RlSettings, updates: Sequence[LessonUpdate], losses: Sequence[float], step: int
) -> dict[str, float]:
    """Say what the updates of a phase came to.

    Args:
        settings: Of the run.
        updates: All of them.
        losses: Of each the mean over its tokens.
        step: Behind which the phase is.

    Returns:
        Figures of the phase: means over its tokens, and of its first and last epoch the loss.

    Raises:
        TrainingError: A loss is no number.
    """
    if not all(map(math.isfinite, losses)):
        raise loss_fault(step)
    sizes = [update.num_tokens for update in updates]
    an_epoch = len(updates) // settings.signals.supervision.epochs
    return {
        "signals/updates": len(updates),
        "signals/tokens": sum(sizes),
        "signals/loss_first": _mean(losses[:an_epoch], sizes[:an_epoch]),
        "signals/loss_last": _mean(losses[-an_epoch:], sizes[-an_epoch:]),
    }


def loss_fault(step: int) -> TrainingError:
    """Say that a phase went wrong behind a step, and what is to be done."""
    return TrainingError(
        f"the loss of the supervised phase behind step {step} is no number any more; the checkpoints before"
        " it are as they were: take a smaller signals.supervision.learning_rate in another folder"
    )


def _mean(losses: Sequence[float], sizes: Sequence[int]) -> float:
    return sum(a * b for a, b in zip(losses, sizes, strict=True)) / max(sum(sizes), 1)
