"""The supervised phases of a native run: how their lessons are learned, by cross entropy."""

# pyright: reportUnknownMemberType=false

import math
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any

import anyio.to_thread
import torch

from astra_mcp.synthesis.asking import Asks
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.batch import pad, written_logprobs
from training.rl.native.generation import Generation, Member
from training.rl.native.lesson_updates import (
    LessonUpdate,
    lesson_figures,
    lesson_updates,
    loss_fault,
)
from training.rl.native.measuring import Meter
from training.rl.native.settings import RlSettings
from training.rl.native.update import Update
from training.sft.model import Model, set_learning_rate, tied_names, weights_of
from training.signals.supervision.guidance import Guidance
from training.signals.supervision.lessons import Lesson
from training.signals.supervision.phase import Phases

__all__ = ["Supervision", "learn_lessons"]

_PHASES, _REFERENCE = "phases", "reference"


class Supervision:
    """The supervised phases of one run: see :class:`~training.signals.supervision.phase.Phases`."""

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
        self._make_optimizer = make_optimizer
        self._phases = Phases(settings.out, guidance, generation.play_gold)

    def begin_at(self, step: int) -> None:
        """See :meth:`Phases.begin_at`."""
        self._phases.begin_at(step)

    def keep(self, step: int, played: Sequence[PolicyTrajectory]) -> None:
        """See :meth:`Phases.keep`."""
        self._phases.keep(step, [one.trajectory for one in played])

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
        spent = Meter()
        gathered = await self._phases.due(step, holding, adviser)
        if gathered is None:
            return {}
        learned: dict[str, float] = {}
        if gathered.lessons:
            learn = partial(self._learn, gathered.lessons, step)
            learned = await anyio.to_thread.run_sync(learn)
        await anyio.to_thread.run_sync(self._phases.finish, gathered, step)
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
        state: dict[str, Any] = {_PHASES: [*self._phases.done]}
        reference = self._update.reference
        if self._is_renewed and reference is not None and self._phases.done:
            state[_REFERENCE] = dict(weights_of(reference, tied_names(reference)))
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what a checkpoint held."""
        self._phases.restore(state[_PHASES])
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
    updates = lesson_updates(settings, lessons, step)
    losses: list[float] = []
    with _optimizer(settings, optimizer, make_optimizer) as chosen:
        for update in updates:
            set_learning_rate(chosen, update.rate)
            losses.append(_learn(settings, model, chosen, update, step))
    return lesson_figures(settings, updates, losses, step)


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


def _learn(
    settings: RlSettings,
    model: Model,
    optimizer: torch.optim.Optimizer,
    update: LessonUpdate,
    step: int,
) -> float:
    """Make one update; gives the mean over its tokens."""
    device = next(model.parameters()).device
    num_tokens = max(update.num_tokens, 1)
    ordered = sorted(update.lessons, key=lambda lesson: len(lesson.ids))
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
        raise loss_fault(step)
    optimizer.step()
    optimizer.zero_grad()
    return total / num_tokens


def _row(lesson: Lesson) -> tuple[Member, tuple[float, ...]]:
    nothing = (0.0,) * len(lesson.ids)
    return Member(lesson.ids, lesson.mask, nothing), nothing
