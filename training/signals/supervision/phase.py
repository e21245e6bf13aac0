"""The supervised phases of a run: when one is due, what it is to learn, and what of it is kept.

How lessons are learned is the trainer's own affair, and all else is here, the same for each.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from astra_mcp.synthesis.asking import Asks
from astra_mcp.trajectory import Trajectory
from astra_mcp.types import JsonObject
from training.rl.core.playing import PolicyTrajectory
from training.rollout.plan import Rollout
from training.signals.supervision.errors import ErrorQuestion, group_label, mine_errors
from training.signals.supervision.guidance import GUIDED, SIGNALS, Guidance, Help
from training.signals.supervision.lessons import Lesson, lessons_of_gold
from training.signals.supervision.reflections import Reflection, lessons_of_reflections, reflect
from training.signals.supervision.schedule import Schedule
from training.signals.supervision.step_files import StepFiles, TrajectoryStore

__all__ = [
    "Gathered",
    "Phases",
    "PlayGold",
    "forget_behind",
    "gather",
    "gold_rollouts",
    "keep_gathered",
]

_PLAYED = "trajectories"
"""Folder of episodes in a run's folder."""

PlayGold = Callable[[Sequence[int], int], Awaitable[Sequence[PolicyTrajectory]]]
"""Plays the gold of the questions of groups, by their numbers, for the phase behind a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The lessons of a phase, and where they come from."""

    lessons: Sequence[Lesson]
    errors: Sequence[ErrorQuestion]
    gold: Sequence[PolicyTrajectory]
    """Of the errors, in their order."""
    reflections: Sequence[Reflection]
    dropped: Counter[str]
    """What teaches nothing, by why."""

    @property
    def figures(self) -> dict[str, float]:
        """Counts for the figures of a step."""
        kinds = Counter(lesson.kind for lesson in self.lessons)
        return {
            "signals/errors": len(self.errors),
            "signals/lessons": len(self.lessons),
            **{f"signals/lessons/{kind}": number for kind, number in sorted(kinds.items())},
            **{f"signals/dropped/{why}": number for why, number in sorted(self.dropped.items())},
        }


async def gather(
    step: int,
    guidance: Guidance,
    store: TrajectoryStore,
    play_gold: PlayGold,
    adviser: Asks | None = None,
) -> Gathered:
    """Find what the phase behind a step is to learn.

    Args:
        step: Steps that are made, from 1.
        guidance: Knows gold, and how turns become tokens.
        store: What was played.
        play_gold: Plays gold.
        adviser: Writes reflections, where a model does.

    Raises:
        ConfigError: What was played is missing, or a file of reflections cannot be used.
        ModelError: The model gave no reflection.
    """
    settings = guidance.settings
    window = store.read(max(1, step - settings.supervision.window + 1), step)
    errors = mine_errors(window, settings.supervision)
    gold: Sequence[PolicyTrajectory] = ()
    if errors:
        gold = await play_gold([each.group for each in errors], step)
    lessons, dropped = lessons_of_gold(gold)
    reflections: Sequence[Reflection] = ()
    if settings.reflects:
        reflections = await reflect(window, guidance, adviser)
        spoken, unfit = lessons_of_reflections(reflections, guidance)
        lessons, dropped = [*lessons, *spoken], dropped + unfit
    return Gathered(
        lessons=lessons, errors=errors, gold=gold, reflections=reflections, dropped=dropped
    )


def keep_gathered(gathered: Gathered, step: int, folder: Path) -> None:
    """Write down what a phase learns from: the gold as trajectories, and all that is said of episodes.

    Raises:
        ConfigError: It cannot be written.
    """
    TrajectoryStore(folder / "gold").write(step, [one.trajectory for one in gathered.gold])
    report: JsonObject = {
        "step": step,
        "errors": [
            {
                "environment": each.key.environment,
                "question": each.key.question,
                "group": each.group,
                "episodes": each.episodes,
                "failed": each.failed,
            }
            for each in gathered.errors
        ],
        "reflections": [each.as_json() for each in gathered.reflections],
        "figures": {**gathered.figures},
    }
    with StepFiles(folder / "phases", "json").written(step) as draft:
        draft.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")


def forget_behind(step: int, folder: Path) -> None:
    """Remove what :func:`keep_gathered` wrote of phases behind later steps, which are made anew.

    Raises:
        ConfigError: It cannot be removed.
    """
    StepFiles(folder / "gold", "jsonl").forget_behind(step)
    StepFiles(folder / "phases", "json").forget_behind(step)


def gold_rollouts(groups: Iterable[Sequence[Rollout]]) -> list[Rollout]:
    """Give an episode for each group, like its first, in which gold is played for a phase.

    Args:
        groups: The episodes of each, as the run plays them.
    """
    return [
        replace(first, labels={**group_label(first), GUIDED: Help.GOLD}) for first, *_ in groups
    ]


class Phases:
    """The supervised phases of one run.

    A phase belongs to the step before it, and no checkpoint is written between the two. So a run that was
    killed in a phase makes that step again, and comes to the same phase.
    """

    def __init__(self, out: Path, guidance: Guidance, play_gold: PlayGold) -> None:
        """Begin with none.

        Args:
            out: Folder of the run.
            guidance: Knows gold, and the settings.
            play_gold: Plays it.
        """
        self._guidance = guidance
        self._play_gold = play_gold
        self._played = TrajectoryStore(out / _PLAYED)
        self._folder = out / SIGNALS
        self._schedule = Schedule(guidance.settings.schedule)

    @property
    def done(self) -> tuple[int, ...]:
        """Steps behind which phases were; it goes into a checkpoint."""
        return self._schedule.done

    def restore(self, done: Iterable[int]) -> None:
        """Go on with what a checkpoint held."""
        self._schedule = Schedule(self._guidance.settings.schedule, done)

    def begin_at(self, step: int) -> None:
        """Remove what a run left that went further than the step behind which it goes on.

        Raises:
            ConfigError: A file cannot be removed.
        """
        self._played.files.forget_behind(step)
        forget_behind(step, self._folder)

    def keep(self, step: int, trajectories: Sequence[Trajectory]) -> None:
        """Keep what was played for a step, from 1: phases learn from it.

        Raises:
            ConfigError: It cannot be written.
        """
        self._played.write(step, trajectories)

    async def due(
        self, step: int, holding: Collection[str], adviser: Asks | None = None
    ) -> Gathered | None:
        """Gather what the phase behind a step is to learn; None where none is due.

        Args:
            step: Steps that are made, from 1.
            holding: Names of the alarms whose condition holds with it.
            adviser: Writes reflections, where a model does.

        Raises:
            ConfigError: What was played is missing, or a file of reflections cannot be used.
            ModelError: The model gave no reflection.
        """
        if not self._schedule.is_due(step, holding):
            return None
        return await gather(step, self._guidance, self._played, self._play_gold, adviser)

    def finish(self, gathered: Gathered, step: int) -> None:
        """Write down what a phase learned from, and that it is done.

        Raises:
            ConfigError: It cannot be written.
        """
        keep_gathered(gathered, step, self._folder)
        self._schedule.note(step)
