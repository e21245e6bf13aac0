"""The error set: which questions the policy fails at, found in the trajectories of the newest steps.

Source: eq. 7 of the study of collapses. What it counts as a failure is a reward of 0 of all rollouts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from astra_mcp.trajectory import Trajectory
from training.rollout.plan import Rollout
from training.signals.supervision.guidance import Help, help_of
from training.signals.supervision.questions import QuestionKey
from training.signals.supervision.settings import SupervisionSettings

__all__ = [
    "ErrorQuestion",
    "group_label",
    "group_number",
    "has_failed",
    "mine_errors",
    "played_alone",
]

_GROUP = "group"


@dataclass(frozen=True, slots=True)
class ErrorQuestion:
    """A question that the policy fails at."""

    key: QuestionKey
    group: int
    """Number of the newest group that played it: its gold is played in an episode as theirs."""
    episodes: int
    """That the policy played alone, and that were scored."""
    failed: int


def played_alone(trajectory: Trajectory) -> bool:
    """Whether the policy played without help, to an end that was scored."""
    return trajectory.reward is not None and help_of(trajectory) is Help.NONE


def has_failed(trajectory: Trajectory, settings: SupervisionSettings) -> bool:
    """Say whether an episode failed; one that was not scored is no failure of the policy."""
    reward = trajectory.reward
    if reward is None:
        return False
    return reward.reward == 0 if settings.failure == "no_reward" else reward.recall < 1


def group_number(trajectory: Trajectory) -> int:
    """Give the number of an episode's group in its run."""
    return int(trajectory.labels[_GROUP])


def group_label(rollout: Rollout) -> dict[str, str]:
    """Give the label from which :func:`group_number` reads it."""
    return {_GROUP: rollout.labels[_GROUP]}


def mine_errors(
    trajectories: Iterable[Trajectory], settings: SupervisionSettings
) -> list[ErrorQuestion]:
    """Find the error set.

    Args:
        trajectories: Of the steps that are looked at; those in which the policy was helped, or that a
            boundary failed, are passed over.
        settings: Say what a failure is, and how many of them make an error.

    Returns:
        The questions in the order of their names.
    """
    by_question: dict[QuestionKey, list[Trajectory]] = {}
    for each in trajectories:
        key = QuestionKey.of(each)
        if key is not None and played_alone(each):
            by_question.setdefault(key, []).append(each)
    decide = all if settings.failed == "all" else any
    return [
        ErrorQuestion(
            key=key,
            group=max(map(group_number, played)),
            episodes=len(played),
            failed=sum(has_failed(each, settings) for each in played),
        )
        for key, played in sorted(by_question.items(), key=lambda item: str(item[0]))
        if decide(has_failed(each, settings) for each in played)
    ]
