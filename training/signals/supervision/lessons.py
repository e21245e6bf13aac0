"""What a supervised phase learns from: tokens, and which of them the policy would have written."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from training.rl.core.playing import PolicyTrajectory

__all__ = ["Lesson", "LessonKind", "lessons_of_gold"]

LessonKind = Literal["gold", "review", "analysis"]
RIGHT = 0.999
"""The reward from which gold calls solved all there is; F1 never quite comes to 1."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One sequence. Of gold, it holds the pairs of all turns: each behind the true history before it."""

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    kind: LessonKind

    @classmethod
    def of_played(cls, played: PolicyTrajectory) -> Self:
        """Take an episode whose turns were given."""
        return cls(played.ids, played.mask, "gold")


def lessons_of_gold(played: Iterable[PolicyTrajectory]) -> tuple[list[Lesson], Counter[str]]:
    """Make a lesson of each episode in which gold was played, and count by why there is none.

    Source: eq. 8 of the study of collapses. Gold that did not solve its question here and now, such as behind
    a failure that was injected, teaches nothing that is right.
    """
    lessons: list[Lesson] = []
    dropped = Counter[str]()
    for one in played:
        failure = one.trajectory.failure
        if failure is not None:
            dropped[f"failed_{failure.boundary.value}"] += 1
        elif one.trajectory.reward is None or one.trajectory.reward.reward < RIGHT:
            dropped["gold_unsolved"] += 1
        else:
            lessons.append(Lesson.of_played(one))
    return lessons, dropped
