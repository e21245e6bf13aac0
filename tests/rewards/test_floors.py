"""Floors: what is cut before the agent's final answer is no training data, however high its total."""

import pytest

from astra_mcp.trajectory import (
    AssistantMessage,
    StopReason,
    Trajectory,
    UserEnd,
    UserInfo,
    UserMessage,
)
from training.rewards.floors import NO_ANSWER, NO_SCORE, Floors
from training.rewards.score import Dimension, DimensionScore, Method, Score, State, digest_of

from trajectories import a_trajectory

METHOD = Method(judge="scripted", prompts="p", repeat=1, max_prompt_bytes=100_000)
END = {StopReason.USER_TURNS: UserEnd.LIMIT, StopReason.ANSWER: UserEnd.DONE}


def stopped(stop: StopReason, *, in_dialogue: bool = False) -> Trajectory:
    user = UserInfo(name="simulated", turns=1, end=END.get(stop)) if in_dialogue else None
    messages = (UserMessage(content="Who is there?"), AssistantMessage(content="It is"))
    return Trajectory.from_line(a_trajectory(messages=messages, stop=stop, user=user).as_line())


def scored(trajectory: Trajectory, *, has_answer: bool = True) -> Score:
    dimensions = {dimension: DimensionScore(value=1) for dimension in Dimension}
    if not has_answer:
        dimensions[Dimension.FA] = DimensionScore(undefined="no final answer")
    return Score(
        episode_id=trajectory.episode_id,
        digest=digest_of(trajectory),
        state=State.SCORED,
        total=1,
        defined=6 + has_answer,
        dimensions=dimensions,
        method=METHOD,
    )


@pytest.mark.parametrize("stop", [each for each in StopReason if each is not StopReason.FAILURE])
@pytest.mark.parametrize("in_dialogue", [False, True])
def test_a_final_answer_is_needed_that_nothing_cut(stop: StopReason, in_dialogue: bool) -> None:
    if stop is StopReason.USER_TURNS and not in_dialogue:
        return  # no trajectory says so
    whole = {StopReason.ANSWER, StopReason.USER_TURNS}
    if in_dialogue:
        whole |= {StopReason.TURNS, StopReason.TIME, StopReason.TOKENS}
    trajectory = stopped(stop, in_dialogue=in_dialogue)
    expected = None if stop in whole else NO_ANSWER
    assert Floors().refusing(scored(trajectory), trajectory) == expected


@pytest.mark.parametrize("in_dialogue", [False, True])
def test_a_trajectory_without_a_final_answer_is_left_out_by_no_floor_of_a_score(
    in_dialogue: bool,
) -> None:
    trajectory = stopped(StopReason.ANSWER, in_dialogue=in_dialogue)
    score = scored(trajectory, has_answer=False)
    floors = Floors({Dimension.FA: 0.5})
    assert floors.refusing(score, trajectory) == NO_ANSWER
    assert floors.missed(score) == "min-FA"
    assert Floors().missed(score) is None
    assert floors.refusing(None, trajectory) == NO_SCORE
    assert floors.names == [NO_SCORE, "unscored", NO_ANSWER, "min-FA", "min-total"]
