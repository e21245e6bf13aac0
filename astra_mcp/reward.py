"""The reward of an episode, computed from its record alone.

Knows sub-tasks, calls and results; knows neither the gateway nor a trainer. The gateway uses it while
an episode runs, the trainers when they read records.
"""

from collections.abc import Collection, Sequence

from astra_mcp.answers import contains_answer
from astra_mcp.types import FrozenModel, Origin, ToolResult

__all__ = ["EPSILON", "JobItem", "Reward", "score_episode", "solved_by"]

EPSILON = 1e-6
"""Keeps the precision of an episode without calls defined; the paper names it without a value."""


class JobItem(FrozenModel):
    """One sub-task that an episode is scored on. Source: ASTRA sec. 3.2.2, eq. (29)."""

    id: int
    answer: str
    tools: tuple[str, ...]
    """Names of the gold tools: a matching result of any of them solves the sub-task."""


class Reward(FrozenModel):
    """The reward and its parts, each in [0, 1]."""

    reward: float
    """F1 of recall and precision, the paper's default."""
    recall: float
    precision: float
    solved: int
    calls: int


def solved_by(
    job: Sequence[JobItem], tool: str, result: ToolResult, origin: Origin
) -> frozenset[int]:
    """Find the sub-tasks that one call solves; one call may solve several.

    A call solves sub-task i when its tool is a gold tool of i and its result contains a_i. Errors and
    results that are not the tool's own never solve anything.

    Args:
        job: The sub-tasks of the episode.
        tool: The tool's own name (not the name it was shown under).
        result: What the call returned.
        origin: Who is the author of the result.
    """
    if not job or result.is_error or origin is not Origin.TOOL:
        return frozenset()
    text = result.text
    return frozenset(i.id for i in job if tool in i.tools and contains_answer(text, i.answer))


def score_episode(job: Sequence[JobItem], solved: Collection[int], num_calls: int) -> Reward | None:
    """Combine recall and precision of one episode.

    r = solved / n;  p = min(1, solved / (calls + epsilon));  reward = 2 p r / (p + r), 0 at solved = 0.

    Args:
        job: The sub-tasks; empty where nothing is scored.
        solved: Ids of the solved sub-tasks; repeats count once.
        num_calls: All tool calls of the agent: failed, injected, distractor and unknown ones too.

    Returns:
        None where the job is empty.

    Source: ASTRA sec. 3.2.2, eq. (29)-(31); the recall and precision variants sec. 4.2.
    Deviation: p is clamped to 1, since one call may solve several sub-tasks (the paper's p would
        exceed 1); the value at solved = 0 is defined as 0; epsilon is 1e-6.
    """
    if not job:
        return None
    num_solved = len({i.id for i in job} & set(solved))
    recall = num_solved / len(job)
    precision = min(1.0, num_solved / (num_calls + EPSILON))
    f1 = 2 * precision * recall / (precision + recall) if num_solved else 0.0
    return Reward(reward=f1, recall=recall, precision=precision, solved=num_solved, calls=num_calls)
