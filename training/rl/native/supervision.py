"""The supervised phases of a run: when one comes, and how its lessons are learned, by cross entropy."""

# pyright: reportUnknownMemberType=false

import math
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any

import anyio.to_thread
import torch

from astra_mcp.errors import TrainingError
from astra_mcp.seeds import generator
from astra_mcp.synthesis.asking import Asks
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.batch import pad, written_logprobs
from training.rl.native.generation import Generation, Member
from training.rl.native.measuring import Meter
from training.rl.native.settings import RlSettings
from training.rl.native.update import Update
from training.sft.model import Model, set_learning_rate, tied_names, weights_of
from training.sft.schedule import Schedule as RateSchedule
from training.sft.settings import ScheduleShape
from training.signals.supervision.guidance import SIGNALS, Guidance
from training.signals.supervision.lessons import Lesson
from training.signals.supervision.phase import forget_behind, gather, keep_gathered
from training.signals.supervision.schedule import Schedule
from training.signals.supervision.step_files import TrajectoryStore

__all__ = ["Supervision", "learn_lessons"]

_PLAYED = "trajectories"
"""Folder of episodes in a run's folder."""
_PHASES, _REFERENCE = "phases", "reference"


class Supervision:
    """The supervised phases of one run.

    A phase belongs to the step before it, and no checkpoint is written between the two. So a run that was
    killed in a phase makes that step again, and comes to the same phase.
    """

    def __init__(
        self,
        settings: RlSettings,
        update: Update,
        generation: Generation,
        guidance: Guidance,
        make_optimizer: Callable[[], torch.optim.Optimizer],
    ) -> None:
        """Take the parts of the run.

        Args:
            settings: Of the run; they have a schedule.
            update: Of reinforcement learning: its model learns, and what it measures a divergence from may
                be renewed.
            generation: Plays gold.
            guidance: Knows gold.
            make_optimizer: Makes one like that of the update.
        """
        self._settings = settings
        self._update = update
        self._generation = generation
        self._guidance = guidance
        self._make_optimizer = make_optimizer
        self._schedule = Schedule(settings.signals.schedule)
        self._played = TrajectoryStore(settings.out / _PLAYED)
        self._folder = settings.out / SIGNALS

    def begin_at(self, step: int) -> None:
        """Remove what a run left that went further than the step behind which it goes on.

        Raises:
            ConfigError: A file cannot be removed.
        """
        self._played.files.forget_behind(step)
        forget_behind(step, self._folder)

    def keep(self, step: int, played: Sequence[PolicyTrajectory]) -> None:
        """Keep what was played for a step, from 1: phases learn from it.

        Raises:
            ConfigError: It cannot be written.
        """
        self._played.write(step, [one.trajectory for one in played])

    async def follow(
        self, step: int, holding: Collection[str], adviser: Asks | None
    ) -> dict[str, float]:
        """Let the policy learn from what it failed at, and what is said of it, where a phase is due.

        Args:
            step: Steps that are made, from 1.
            holding: Names of the alarms whose condition holds with it.
            adviser: Writes reflections, where a model does.

        Returns:
            Figures of the phase; none where none was due.

        Raises:
            ConfigError: What was played is missing, or what a phase left cannot be written.
            ModelError: The model gave no reflection.
            TrainingError: The loss is no number any more.
        """
        if not self._schedule.is_due(step, holding):
            return {}
        spent = Meter()
        play_gold = self._generation.play_gold
        gathered = await gather(step, self._guidance, self._played, play_gold, adviser)
        learned: dict[str, float] = {}
        if gathered.lessons:
            learn = partial(self._learn, gathered.lessons, step)
            learned = await anyio.to_thread.run_sync(learn)
        await anyio.to_thread.run_sync(keep_gathered, gathered, step, self._folder)
        self._schedule.note(step)
        return {
            **gathered.figures,
            **learned,
            "cpu_seconds/supervision": spent.cpu_seconds,
            "seconds/supervision": spent.seconds,
        }

    def _learn(self, lessons: Sequence[Lesson], step: int) -> dict[str, float]:
        update = self._update
        learned = learn_lessons(
            self._settings,
            update.model,
            update.optimizer,
            self._make_optimizer,
            lessons=lessons,
            step=step,
        )
        if self._is_renewed:
            update.reference = deepcopy(update.model)
        return learned

    @property
    def _is_renewed(self) -> bool:
        is_asked = self._settings.signals.supervision.reference == "renewed"
        return is_asked and self._update.reference is not None

    def state(self) -> dict[str, Any]:
        """Give what a checkpoint has to hold."""
        state: dict[str, Any] = {_PHASES: [*self._schedule.done]}
        reference = self._update.reference
        if self._is_renewed and reference is not None and self._schedule.done:
            state[_REFERENCE] = dict(weights_of(reference, tied_names(reference)))
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what a checkpoint held."""
        self._schedule = Schedule(self._settings.signals.schedule, state[_PHASES])
        if _REFERENCE in state and self._update.reference is not None:
            self._update.reference.load_state_dict(state[_REFERENCE], strict=False)


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
    schedule = RateSchedule(
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
