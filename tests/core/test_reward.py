"""The reward of an episode: hand-computed values and the properties of the formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.reward import EPSILON, Reward, score_episode, solved_by
from astra_mcp.types import JobItem, Origin, ToolResult


def job_of(size: int) -> tuple[JobItem, ...]:
    return tuple(JobItem(id=i, answer=f"code-{i}x", tools=("tool",)) for i in range(1, size + 1))


def score(num_solved: int, num_subtasks: int, num_calls: int) -> Reward:
    reward = score_episode(job_of(num_subtasks), range(1, num_solved + 1), num_calls)
    assert reward is not None
    return reward


@pytest.mark.parametrize(
    ("solved", "subtasks", "calls", "recall", "precision", "f1"),
    [
        (0, 4, 0, 0.0, 0.0, 0.0),
        (0, 4, 9, 0.0, 0.0, 0.0),
        (2, 4, 4, 0.5, 0.5, 0.5),
        (3, 4, 6, 0.75, 0.5, 0.6),
        (1, 3, 2, 1 / 3, 0.5, 0.4),
        (4, 4, 8, 1.0, 0.5, 2 / 3),
        (4, 4, 4, 1.0, 1.0, 1.0),
    ],
)
@pytest.mark.claim("P9")
@pytest.mark.claim("P10")
@pytest.mark.claim("P11")
@pytest.mark.claim("P12")
def test_reward_is_the_f1_computed_by_hand(  # noqa: PLR0917
    solved: int, subtasks: int, calls: int, recall: float, precision: float, f1: float
) -> None:
    reward = score(solved, subtasks, calls)
    assert reward.recall == pytest.approx(recall)
    assert reward.precision == pytest.approx(precision, abs=1e-6)
    assert reward.reward == pytest.approx(f1, abs=1e-6)
    assert (reward.solved, reward.calls) == (solved, calls)


def test_epsilon_lowers_a_perfect_episode_and_precision_is_clamped_at_one() -> None:
    reward = score(5, 5, 5)
    assert reward.precision == 5 / (5 + EPSILON)
    assert 0.999 < reward.reward < 1.0
    one_call_solves_several = score(5, 5, 2)
    assert (one_call_solves_several.precision, one_call_solves_several.reward) == (1.0, 1.0)


def test_repeated_and_foreign_ids_do_not_count_and_an_empty_job_has_no_reward() -> None:
    reward = score_episode(job_of(2), [1, 1, 99], 1)
    assert reward is not None
    assert reward.solved == 1
    assert score_episode((), {1}, 3) is None


COUNTS = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(0, 300))
)


@given(COUNTS)
def test_every_part_lies_between_zero_and_one(counts: tuple[int, int, int]) -> None:
    reward = score(*counts)
    assert all(0.0 <= v <= 1.0 for v in (reward.reward, reward.recall, reward.precision))
    assert (reward.reward == 0.0) == (counts[0] == 0)
    low, high = sorted((reward.recall, reward.precision))
    assert low - 1e-12 <= reward.reward <= high + 1e-12


@given(COUNTS)
def test_a_further_call_never_raises_the_reward(counts: tuple[int, int, int]) -> None:
    solved, subtasks, calls = counts
    assert score(solved, subtasks, calls + 1).reward <= score(solved, subtasks, calls).reward


@given(COUNTS.filter(lambda c: c[0] < c[1]))
def test_a_further_solved_subtask_raises_the_reward(counts: tuple[int, int, int]) -> None:
    solved, subtasks, calls = counts
    assert score(solved + 1, subtasks, calls).reward > score(solved, subtasks, calls).reward


JOB = (
    JobItem(id=1, answer="BK-1", tools=("find",)),
    JobItem(id=2, answer="BK-2", tools=("find", "search")),
    JobItem(id=3, answer="BK-3", tools=("search",)),
)


def test_one_result_may_solve_several_subtasks_of_its_tool() -> None:
    result = ToolResult.from_text("BK-1, BK-2 and BK-3")
    assert solved_by(JOB, "find", result, Origin.TOOL) == {1, 2}
    assert solved_by(JOB, "search", result, Origin.TOOL) == {2, 3}
    assert solved_by(JOB, "other", result, Origin.TOOL) == frozenset()


def test_errors_and_results_of_others_never_solve() -> None:
    right = ToolResult.from_text("BK-1")
    assert solved_by(JOB, "find", right, Origin.TOOL) == {1}
    error = ToolResult.from_text("BK-1", is_error=True)
    assert solved_by(JOB, "find", error, Origin.TOOL) == frozenset()
    for origin in set(Origin) - {Origin.TOOL}:
        assert solved_by(JOB, "find", right, origin) == frozenset()
