"""What a supervised phase is to learn, gathered from the run itself, and kept beside it to be looked at."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from astra_mcp.synthesis.asking import Asks
from astra_mcp.types import JsonObject
from training.rl.core.playing import PolicyTrajectory
from training.signals.supervision.errors import ErrorQuestion, mine_errors
from training.signals.supervision.guidance import Guidance
from training.signals.supervision.lessons import Lesson, lessons_of_gold
from training.signals.supervision.reflections import Reflection, lessons_of_reflections, reflect
from training.signals.supervision.step_files import StepFiles, TrajectoryStore

__all__ = ["Gathered", "PlayGold", "forget_behind", "gather", "keep_gathered"]

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
