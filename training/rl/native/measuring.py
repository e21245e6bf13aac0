"""What a step came to, as flat figures, and who is told of them."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean, pvariance
from typing import Any, cast

import torch
from accelerate import Accelerator
from accelerate.tracking import TensorBoardTracker, WandBTracker

from training.evaluation.figures import figures_of
from training.rl.core.filling import Filled
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.agenda import DISTRACTORS
from training.rl.native.generation import Member
from training.rl.native.settings import RlSettings

__all__ = ["Meter", "figures_of_rollouts", "open_trackers"]

_TENSORBOARD = "tensorboard"
Tell = Callable[[int, Mapping[str, float]], None]


class Meter:
    """Wall and processor time since it was made; the latter of all threads of this process."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    @property
    def seconds(self) -> float:
        """Wall time."""
        return time.perf_counter() - self._wall

    @property
    def cpu_seconds(self) -> float:
        """Processor time."""
        return time.process_time() - self._cpu


def figures_of_rollouts(
    played: Sequence[PolicyTrajectory], filled: Filled[Member]
) -> dict[str, float]:
    """Tell what was played for a step, and what was taken of it.

    Args:
        played: All episodes of the step, those of groups that do not train among them.
        filled: The batch.
    """
    calls = [note for one in played for note in one.trajectory.calls]
    by_mode: dict[str, list[PolicyTrajectory]] = {}
    for one in played:
        mode = one.trajectory.labels.get(DISTRACTORS)
        if mode is not None:
            by_mode.setdefault(mode, []).append(one)
    scored = [one.reward for one in played if one.reward is not None]
    judged = figures_of(played)
    rates: dict[str, float] = {}
    if scored:
        rates["rollout/reward_variance"] = pvariance(scored)
    if judged.calls and judged.unknown_tools is not None:
        rates["rollout/unknown_tool_rate"] = judged.unknown_tools / judged.calls
    if calls:
        rates["rollout/distractor_call_rate"] = sum(bool(c.is_distractor) for c in calls) / len(
            calls
        )
    return {
        **judged.metrics("rollout/"),
        **rates,
        **{name: value for each in sorted(by_mode.items()) for name, value in _of_mode(*each)},
        "filling/groups": filled.rolled_out,
        "filling/degenerate": filled.degenerate,
        "filling/failed": filled.failed,
        "filling/refills": filled.refills,
        "filling/expired": filled.expired,
        "filling/buffered": filled.buffered,
        "filling/oldest": filled.oldest,
    }


def _of_mode(mode: str, played: Sequence[PolicyTrajectory]) -> Iterator[tuple[str, float]]:
    """Tell what the episodes with one mode of distractors came to."""
    scored = [one.reward for one in played if one.reward is not None]
    calls = [note for one in played for note in one.trajectory.calls]
    prefix = f"rollout/{DISTRACTORS}/{mode}"
    yield f"{prefix}/episodes", len(played)
    if scored:
        yield f"{prefix}/reward", fmean(scored)
    if calls:
        yield f"{prefix}/call_rate", fmean(bool(note.is_distractor) for note in calls)


@contextmanager
def open_trackers(settings: RlSettings, first_step: int) -> Generator[Tell]:
    """Tell TensorBoard and Weights & Biases while the context is open.

    Args:
        settings: Of the run.
        first_step: The next one; what was told of it and of later ones before is made anew.
    """
    log, out = settings.log, settings.out
    told: list[Any] = []
    if log.tensorboard:
        told.append(TensorBoardTracker(_TENSORBOARD, out, purge_step=first_step))
    if log.wandb_project:
        name = out.resolve().name
        told.append(
            WandBTracker(log.wandb_project, name=name, id=name, resume="allow", dir=str(out))
        )
    accelerator = Accelerator(cpu=not torch.cuda.is_available(), log_with=cast("Any", told or None))
    accelerator.init_trackers(log.wandb_project or _TENSORBOARD)
    try:
        yield lambda step, values: accelerator.log(dict(values), step=step)
    finally:
        accelerator.end_training()
