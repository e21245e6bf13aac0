"""The reward of an episode, computed from its record alone.

Knows sub-tasks, calls and results; knows neither the gateway nor a trainer. The gateway uses it while
an episode runs, the trainers when they read records.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from astra_mcp.answers import Matching, match_answers, match_in_slices
from astra_mcp.types import FrozenModel, JobItem, Origin, ToolResult

__all__ = [
    "EPSILON",
    "NOTHING_SOLVED",
    "Reward",
    "Solved",
    "score_episode",
    "solved_by",
    "solved_in_slices",
]

EPSILON = 1e-6
"""Keeps the precision of an episode without calls defined; the paper names it without a value."""


class Reward(FrozenModel):
    """The reward and its parts, each in [0, 1]."""

    reward: float
    """F1 of recall and precision, the paper's default."""
    recall: float
    precision: float
    solved: int
    calls: int


class Solved(NamedTuple):
    """What one call solved."""

    ids: frozenset[int] = frozenset()
    unmatched: str | None = None
    """Why no answer was looked for in the whole result, such as a text that is made to be costly."""


NOTHING_SOLVED = Solved()


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
    text, wanted = _looked_for(job, tool, result, origin)
    return _solved(wanted, match_answers(text, {i.answer for i in wanted})).ids


async def solved_in_slices(
    job: Sequence[JobItem], tool: str, result: ToolResult, origin: Origin
) -> Solved:
    """Find what :func:`solved_by` finds, and let others have their turn while a large result is read."""
    text, wanted = _looked_for(job, tool, result, origin)
    if not wanted:
        return NOTHING_SOLVED
    return _solved(wanted, await match_in_slices(text, {i.answer for i in wanted}))


def _looked_for(
    job: Sequence[JobItem], tool: str, result: ToolResult, origin: Origin
) -> tuple[str, list[JobItem]]:
    """The text that a call showed, and the sub-tasks that it may solve."""
    if not job or result.is_error or origin is not Origin.TOOL:
        return "", []
    return result.text, [i for i in job if tool in i.tools]


def _solved(wanted: Sequence[JobItem], matching: Matching) -> Solved:
    if not matching.found and matching.refusal is None:
        return NOTHING_SOLVED
    return Solved(frozenset(i.id for i in wanted if i.answer in matching.found), matching.refusal)


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
