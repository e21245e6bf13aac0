"""The loop through a real gateway: batches that are full, figures, and a resume that changes no bit."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from astra_mcp.errors import ConfigError, TrainingError
from gateway.api.client import RefusedError
from gateway.api.wire import SourceEnvironment, SourceServers
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.agenda import Question
from training.rl.native.trainer import train
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from small_gateway import NAME, SmallGateway, open_small_gateway
from trained_runs import TrainedRun, figures_in, state_in, timeless, weights_in

pytestmark = pytest.mark.train

SOURCE = SourceEnvironment(kind="environment", name=NAME)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_start(tmp_path_factory.mktemp("model") / "start", size=SMALLEST)


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


def told(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
    """Random weights earn nothing: every third group is told that all earned the same, the others not."""
    return [float((number + at) % 2) if number % 3 else 0.5 for at in range(len(played))]


class Run(TrainedRun):
    """Four steps, judged before the first and behind each other one."""

    def __init__(self, start: Path, harbour: SmallGateway, name: str = NAME) -> None:
        super().__init__(
            start,
            harbour,
            name,
            held_out=[(SOURCE, None)],
            rewards=told,
            training={"learning_rate": 0.01, "steps": 4, "groups": 3, "group_size": 2},
            limits={"turns": 2, "turn_tokens": 5},
            validation={"every": 2},
        )


def waiting_and_optimizer(out: Path) -> tuple[object, dict[str, list[float]]]:
    """What waits in the newest state, and each tensor of the optimizer."""
    state = state_in(out)
    tensors = {
        f"{name} {part}": value.flatten().tolist()
        for name, parts in state["optimizer"]["state"].items()
        for part, value in parts.items()
    }
    return (state["next_group"], state["buffer"]), tensors


@pytest.mark.parametrize("credit", ["episode", "turn"])
async def test_a_resume_plays_the_same_next_batch_and_makes_the_same_bytes(
    start: Path, harbour: SmallGateway, tmp_path: Path, credit: str
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    more: dict[str, Any] = {"objective": {"credit": credit}}
    done = await Run(start, harbour).train(whole, **more)
    assert (done.ending, done.step, done.began_at) == ("done", 4, 0)
    stops = [await Run(start, harbour).train(broken, is_stopped=True, **more) for _ in range(3)]
    assert [(each.ending, each.step) for each in stops] == [("stopped", n) for n in (1, 2, 3)]
    assert [line["filling/buffered"] for line in figures_in(broken)[1:]] == [1, 0, 1]
    resumed = await Run(start, harbour).train(broken, **more)
    assert (resumed.ending, resumed.began_at) == ("done", 3)
    assert weights_in(broken, 4) == weights_in(whole, 4)
    assert waiting_and_optimizer(broken) == waiting_and_optimizer(whole)
    assert timeless(figures_in(broken)) == timeless(figures_in(whole))


async def test_a_step_tells_what_was_played_learnt_and_spent(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run = Run(start, harbour)
    await run.train(tmp_path / "run", log={"tensorboard": True})
    before, first, second, *_ = figures_in(tmp_path / "run")
    assert before["step"] == 0
    assert before["greedy/reward"] == 0
    assert "greedy/reward" not in first
    assert "sampled/reward" in second
    # Groups 0 to 5 were played, of which 0 and 3 are degenerate; one that can teach something waits.
    assert [
        first[f"filling/{name}"] for name in ("groups", "degenerate", "refills", "buffered")
    ] == [
        6,
        2,
        1,
        1,
    ]
    assert second["filling/oldest"] == 1
    assert first["rollout/episodes"] == 12
    assert first["rollout/reward"] == 0.5
    assert {"rollout/reward", "rollout/reward_variance", "rollout/turns", "rollout/tokens"} <= {
        *first
    }
    spent = [first[f"cpu_seconds/{part}"] for part in ("generation", "environment", "update")]
    assert min(spent) > 0
    walls = [first[f"seconds/{part}"] for part in ("generation", "environment", "update")]
    assert min(walls) > 0
    assert sum(walls) <= first["seconds"]
    assert second["seconds/validation"] > 0
    assert {"rollout/solved_per_turn", "rollout/response_tokens", "rollout/calls"} <= {*first}
    assert first["rollout/tokens"] <= first["rollout/response_tokens"]
    assert [*(tmp_path / "run").rglob("events.out.tfevents*")]


async def test_a_run_that_is_done_goes_on_where_more_steps_are_asked_for(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    await Run(start, harbour).train(out, training={"steps": 1})
    more = await Run(start, harbour).train(out, training={"steps": 2})
    assert (more.began_at, more.step) == (1, 2)
    with pytest.raises(ConfigError, match=r"begun with training\.groups 3, and now it is 4"):
        await Run(start, harbour).train(out, training={"groups": 4})
    other = Run(start, harbour, "quay")
    with pytest.raises(ConfigError, match=r"begun with .*the questions"):
        await other.train(out)


async def test_a_setting_that_there_was_not_yet_is_taken_for_its_default(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    await Run(start, harbour).train(out, training={"steps": 1})
    begun = json.loads((out / "run.json").read_text())
    del begun["settings"]["objective.credit"]
    (out / "run.json").write_text(json.dumps(begun))
    with pytest.raises(
        ConfigError, match=r"begun with objective\.credit nothing, and now it is .turn"
    ):
        await Run(start, harbour).train(out, objective={"credit": "turn"})
    assert (await Run(start, harbour).train(out, training={"steps": 2})).began_at == 1


async def test_validations_ask_for_distractors_too(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    judged = {"every": 2, "distractors": {"mode": "random"}}
    with pytest.raises(RefusedError, match="no pool of tools"):
        await Run(start, harbour).train(tmp_path / "run", validation=judged)


async def test_groups_whose_episodes_fail_are_excluded_and_end_a_run_where_all_do(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run = Run(start, harbour, "nowhere")
    with pytest.raises(
        TrainingError, match=r"5 rounds .* the last: at the boundary gateway: .*nowhere"
    ):
        await run.train(tmp_path / "run")
    assert run.heard == []


async def test_where_nothing_can_be_learnt_a_run_ends_with_what_to_do(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run = Run(start, harbour)
    settings = run.settings(tmp_path / "run", filling={"max_refills": 1})
    with pytest.raises(
        TrainingError, match=r"step 1: of 6 groups .* 6 all members earned the same"
    ):
        await train(settings, run.playground, versions={}, hear=run.heard.append)


async def test_own_rewards_see_what_was_played_and_need_no_job(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run, seen = Run(start, harbour), list[PolicyTrajectory]()
    ship = SourceServers(kind="servers", names=(NAME,), prompt="Look at the ship.")
    run.playground = replace(run.playground, questions=[Question(source=ship, version=None)])

    def short(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
        del number
        seen.extend(played)
        return [float(at) for at, _ in enumerate(played)]

    run.rewards = short
    await run.train(tmp_path / "run", training={"steps": 1})
    assert len(seen) == 6
    assert all(one.trajectory.messages[0].content == "Look at the ship." for one in seen)
    assert all(one.trajectory.reward is None and one.reward is None for one in seen)
    (first,) = [line for line in figures_in(tmp_path / "run") if line["step"] == 1]
    assert (first["rollout/reward"], first["rollout/failed"]) == (0.5, 0)


async def test_rewards_from_two_places_are_refused(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    run = Run(start, harbour)
    run.rewards = lambda number, played: [0.0, 1.0]
    with pytest.raises(ConfigError, match=r"objective\.reward is recall, .*: leave it out"):
        await run.train(tmp_path / "run", objective={"reward": "recall"})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "earned", [[1.0], [0.0, float("nan")], [None, 1], ["1", "2"], [10**400, 1], 5]
)
async def test_rewards_that_are_no_numbers_end_a_run(
    start: Path, harbour: SmallGateway, tmp_path: Path, earned: Any
) -> None:
    run = Run(start, harbour)
    run.rewards = lambda number, played: earned
    with pytest.raises(
        TrainingError, match=r"the rewards of group 0 are .* each of its 2 episodes"
    ):
        await run.train(tmp_path / "run")
