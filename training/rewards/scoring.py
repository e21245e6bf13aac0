"""Scores one trajectory: all questions to the judge, what code knows, and the means of both."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from statistics import fmean, variance
from typing import Final

from anyio import to_thread

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.concurrency import map_concurrently
from astra_mcp.synthesis.asking import Asks
from astra_mcp.trajectory import Trajectory
from training.rewards.judging import Asked, Failed, Question, Undefined, questions_of
from training.rewards.rules import call_status, check_answer, status_without_injected
from training.rewards.score import (
    Assessment,
    Dimension,
    DimensionScore,
    Method,
    RuleChecks,
    Score,
    State,
    digest_of,
    mean_of,
)

__all__ = ["score_trajectory"]

_MAX_ASKED: Final = 8
"""Questions on one trajectory at once; how many calls a model gets is its role's matter."""


async def score_trajectory(trajectory: Trajectory, judge: Asks, method: Method) -> Score:
    """Score a trajectory in all seven dimensions. Source: ASTRA sec. 2.1.5, eq. (3) to (10).

    A dimension that the trajectory does not have is left out of the total, with the reason; one in which the
    judge failed leaves the trajectory without a total.

    Args:
        trajectory: One that has failed is skipped.
        judge: Is asked.
        method: How.

    Raises:
        BudgetSpentError: The budget does not allow the calls.
        PipelineError: The cache does not answer.
    """
    digest = digest_of(trajectory)
    if trajectory.status is EpisodeStatus.FAILED:
        failure = trajectory.failure
        where = f" ({failure.boundary.value})" if failure is not None else ""
        return Score(
            episode_id=trajectory.episode_id,
            digest=digest,
            state=State.SKIPPED,
            reason=f"the trajectory failed{where}",
            method=method,
        )
    found = await _judge(trajectory, judge, method)
    dimensions = {
        dimension: _status(trajectory)
        if dimension is Dimension.TCS
        else _dimension_score(dimension, found[dimension], method.repeat)
        for dimension in Dimension
    }
    return _score(trajectory, digest, dimensions, method)


_Found = tuple[Asked | Undefined | Failed, Sequence[list[Assessment] | Failed]]
"""What was asked in a dimension, and the answers."""


async def _judge(trajectory: Trajectory, judge: Asks, method: Method) -> Mapping[Dimension, _Found]:
    """Ask everything, each question as often as the method says."""
    # Long trajectories take a while to cut: other trajectories go on.
    asked = await to_thread.run_sync(questions_of, trajectory, method.max_prompt_bytes)
    if any(isinstance(each, Failed) for each in asked.values()):
        return {dimension: (each, ()) for dimension, each in asked.items()}
    questions = [q for each in asked.values() if isinstance(each, Asked) for q in each.questions]
    pairs = list(product(questions, range(method.repeat)))
    answers = await map_concurrently(partial(_ask, judge), pairs, limit=_MAX_ASKED)
    by_dimension: dict[Dimension, list[list[Assessment] | Failed]] = {d: [] for d in asked}
    for (question, _), answer in zip(pairs, answers, strict=True):
        by_dimension[question.dimension].append(answer)
    return {dimension: (each, by_dimension[dimension]) for dimension, each in asked.items()}


async def _ask(judge: Asks, pair: tuple[Question, int]) -> list[Assessment] | Failed:
    question, sample = pair
    return await question.ask(judge, sample)


def _status(trajectory: Trajectory) -> DimensionScore:
    """Eq. (8), of the record alone."""
    statuses = call_status(trajectory)
    if not statuses:
        return DimensionScore(undefined="no calls")
    return DimensionScore(
        value=fmean(status.value for status in statuses), assessments=tuple(statuses)
    )


def _dimension_score(dimension: Dimension, found: _Found, repeat: int) -> DimensionScore:
    asked, answers = found
    if isinstance(asked, Undefined):
        return DimensionScore(undefined=asked.why)
    if isinstance(asked, Failed):
        return DimensionScore(failed=asked.why)
    told = [each for answer in answers if not isinstance(answer, Failed) for each in answer]
    assessments = (*asked.known, *told)
    failed = next((answer for answer in answers if isinstance(answer, Failed)), None)
    if failed is not None:
        return DimensionScore(failed=failed.why, assessments=assessments)
    if len(told) < repeat * len(asked.questions):
        return DimensionScore(failed=f"{dimension.value}: not asked", assessments=assessments)
    values = _values(assessments, repeat)
    return DimensionScore(value=fmean(values), variance=_variance(values), assessments=assessments)


def _values(assessments: Sequence[Assessment], repeat: int) -> list[float]:
    """The value of each repetition: the mean over rounds, calls, or the two sides of the answer."""
    return [
        fmean(each.value for each in assessments if each.by == "code" or each.sample == sample)
        for sample in range(repeat)
    ]


def _variance(values: Sequence[float]) -> float | None:
    return variance(values) if len(values) > 1 else None


def _score(
    trajectory: Trajectory,
    digest: str,
    dimensions: dict[Dimension, DimensionScore],
    method: Method,
) -> Score:
    failed = [score.failed for score in dimensions.values() if score.failed is not None]
    values = {d: score.value for d, score in dimensions.items() if score.value is not None}
    rules = check_answer(trajectory)
    is_scored = not failed and bool(values)
    state = State.UNSCORED if failed else State.SCORED if values else State.SKIPPED
    return Score(
        episode_id=trajectory.episode_id,
        digest=digest,
        state=state,
        reason=_reason(failed, state),
        total=mean_of(values) if is_scored else None,
        defined=len(values),
        total_variance=_total_variance(dimensions, method.repeat) if is_scored else None,
        total_with_rules=_ruled(dimensions, rules) if is_scored and method.rule_total else None,
        dimensions=dimensions,
        tcs_without_injected=status_without_injected(trajectory),
        rules=rules,
        method=method,
    )


def _reason(failed: Sequence[str], state: State) -> str | None:
    if failed:
        more = f" (and {len(failed) - 1} more dimensions)" if len(failed) > 1 else ""
        return failed[0] + more
    return "no dimension is defined for it" if state is State.SKIPPED else None


def _total_variance(dimensions: Mapping[Dimension, DimensionScore], repeat: int) -> float | None:
    """Of the totals that each repetition alone would give."""
    defined = [score for score in dimensions.values() if score.value is not None]
    by_dimension = [_values(score.assessments, repeat) for score in defined]
    return _variance([fmean(values) for values in zip(*by_dimension, strict=True)])


def _ruled(
    dimensions: Mapping[Dimension, DimensionScore], rules: RuleChecks | None
) -> float | None:
    """The total where what the rules find makes its half of the final answer 0."""
    values = {d: score.value for d, score in dimensions.items() if score.value is not None}
    if rules is None:
        return mean_of(values)
    broken = {"correlation": rules.languages.differ, "summary": bool(rules.unseen_urls)}
    answer = dimensions[Dimension.FA]
    if answer.value is not None:
        values[Dimension.FA] = fmean(
            0.0 if broken[each.what] else each.value for each in answer.assessments
        )
    return mean_of(values)
