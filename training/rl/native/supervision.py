"""A supervised phase of a run: lessons, learned by cross entropy between steps of reinforcement learning."""

# pyright: reportUnknownMemberType=false

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

import torch

from astra_mcp.errors import TrainingError
from astra_mcp.seeds import generator
from training.rl.native.batch import pad, written_logprobs
from training.rl.native.generation import Member
from training.rl.native.settings import RlSettings
from training.sft.model import Model, set_learning_rate
from training.sft.schedule import Schedule
from training.sft.settings import ScheduleShape
from training.signals.lessons import Lesson

__all__ = ["learn_lessons"]


def learn_lessons(
    settings: RlSettings,
    model: Model,
    optimizer: torch.optim.Optimizer,
    make_optimizer: Callable[[], torch.optim.Optimizer],
    *,
    lessons: Sequence[Lesson],
    step: int,
) -> dict[str, float]:
    """Learn what a phase is about: the mean cross entropy over the tokens of each batch is made small.

    Args:
        settings: Of the run.
        model: Learns.
        optimizer: Of reinforcement learning.
        make_optimizer: Makes one like it.
        lessons: At least one.
        step: Behind which the phase is; decides the order.

    Returns:
        Figures of the phase: means over its tokens, and of its first and last epoch the loss.

    Raises:
        TrainingError: The loss is no number any more.
    """
    told = settings.signals.supervision
    batches = [[*each] for each in _batches(settings, lessons, step)]
    rate = told.learning_rate or 0.0
    schedule = Schedule(
        peak=rate,
        shape=ScheduleShape.COSINE,
        num_steps=len(batches),
        num_warmup=math.ceil(told.warmup_ratio * len(batches)),
    )
    losses: list[float] = []
    sizes: list[int] = []
    with _optimizer(settings, optimizer, make_optimizer) as chosen:
        for number, batch in enumerate(batches):
            set_learning_rate(chosen, schedule.rate(number))
            losses.append(_learn(settings, model, chosen, batch, step))
            sizes.append(sum(sum(lesson.mask) for lesson in batch))
    an_epoch = len(batches) // told.epochs
    return {
        "signals/updates": len(batches),
        "signals/tokens": sum(sizes),
        "signals/loss_first": _mean(losses[:an_epoch], sizes[:an_epoch]),
        "signals/loss_last": _mean(losses[-an_epoch:], sizes[-an_epoch:]),
    }


@contextmanager
def _optimizer(
    settings: RlSettings,
    optimizer: torch.optim.Optimizer,
    make_optimizer: Callable[[], torch.optim.Optimizer],
) -> Generator[torch.optim.Optimizer]:
    """Give the optimizer of a phase, and leave that of reinforcement learning as the settings say."""
    kind = settings.signals.supervision.optimizer
    if kind == "apart":
        yield make_optimizer()
        return
    if kind == "fresh":
        optimizer.state.clear()
    try:
        yield optimizer
    finally:
        set_learning_rate(optimizer, settings.training.learning_rate)
    if kind == "fresh":
        optimizer.state.clear()


def _batches(
    settings: RlSettings, lessons: Sequence[Lesson], step: int
) -> Iterator[Sequence[Lesson]]:
    told = settings.signals.supervision
    for epoch in range(told.epochs):
        order = [*lessons]
        generator(settings.seed, "signals", "order", step, epoch).shuffle(order)
        for at in range(0, len(order), told.batch_size):
            yield order[at : at + told.batch_size]


def _learn(
    settings: RlSettings,
    model: Model,
    optimizer: torch.optim.Optimizer,
    batch: Sequence[Lesson],
    step: int,
) -> float:
    """Make one update; gives the mean over the tokens of the batch."""
    device = next(model.parameters()).device
    num_tokens = max(sum(sum(lesson.mask) for lesson in batch), 1)
    ordered = sorted(batch, key=lambda lesson: len(lesson.ids))
    total, size = 0.0, settings.training.micro_batch_size
    for at in range(0, len(ordered), size):
        rows = pad([_row(lesson) for lesson in ordered[at : at + size]], device)
        written = rows.ids[:, 1:][rows.is_written][:, None]
        loss = -written_logprobs(model, rows).gather(-1, written).sum()
        (loss / num_tokens).backward()
        total += float(loss.detach())
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), settings.training.clip_norm))
    if not (math.isfinite(norm) and math.isfinite(total)):
        optimizer.zero_grad()
        raise TrainingError(
            f"the loss of the supervised phase behind step {step} is no number any more; the"
            " checkpoints before it are as they were: take a smaller signals.supervision.learning_rate"
            " in another folder"
        )
    optimizer.step()
    optimizer.zero_grad()
    return total / num_tokens


def _row(lesson: Lesson) -> tuple[Member, tuple[float, ...]]:
    nothing = (0.0,) * len(lesson.ids)
    return Member(lesson.ids, lesson.mask, nothing), nothing


def _mean(losses: Sequence[float], sizes: Sequence[int]) -> float:
    return sum(a * b for a, b in zip(losses, sizes, strict=True)) / max(sum(sizes), 1)
