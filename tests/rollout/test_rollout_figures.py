"""What people and programs are told of each episode: which one, why it stopped, and what it cost."""

import io
import json
from pathlib import Path

import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.cli.rollout import report as report_module
from astra_mcp.cli.rollout.report import RolloutReport
from astra_mcp.errors import ModelError
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.report.console import Printer
from astra_mcp.reward import Reward
from astra_mcp.trajectory import (
    AgentInfo,
    RolloutBoundary,
    Seeds,
    StopReason,
    Trajectory,
    TrajectoryFailure,
)

from completions_server import CompletionsServer, refuses, says
from trajectories import a_trajectory

AGENT = AgentInfo(name="model", model="m")
LONG = "hospital-appointments-linjiang"


def played(name: str, *, place: int = 0, reward: float | None = 0.99999990000001) -> Trajectory:
    """A trajectory of an environment; without a reward it has failed."""
    if reward is None:
        failure = TrajectoryFailure(boundary=RolloutBoundary.MODEL, message="gone")
        ended = {"status": EpisodeStatus.FAILED, "stop": StopReason.FAILURE, "failure": failure}
    else:
        solved = Reward(reward=reward, recall=reward, precision=1, solved=1, calls=32)
        ended = {"stop": StopReason.TURNS, "reward": solved}
    return a_trajectory(
        episode_id=f"{place}" * 32,
        source={"kind": "environment", "name": name},
        agent=AGENT,
        seeds=Seeds(root=0, index=0, episode=place),
        **ended,
    )


def report_of(*found: tuple[Trajectory, Usage]) -> RolloutReport:
    report = RolloutReport(lambda _: None, lambda: None)
    for place, (trajectory, usage) in enumerate(found):
        report.add(place, trajectory, usage)
    return report


PAID = Usage(calls=3, prompt_tokens=900, completion_tokens=100, cost=0.25, retries=2)


def shown(report: RolloutReport, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    file = io.StringIO()
    monkeypatch.setattr(report_module, "out", Printer(file=file, width=80))
    report.print_table(file=Path("t.jsonl"))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_programs_are_told_which_episode_it_was_why_it_stopped_and_what_it_cost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = report_of((played("a"), PAID), (played("b", place=1, reward=None), Usage(calls=1)))
    report.print_object(agent=AGENT, seed=0, url="http://x", file=Path("t"))
    printed = json.loads(capsys.readouterr().out)
    first, second = printed["episodes"]
    keys = ("episode_id", "stop", "tokens", "cost", "reward")
    assert [first[k] for k in keys] == ["0" * 32, "turns", 1000, 0.25, 0.99999990000001]
    assert [second[k] for k in keys] == ["1" * 32, "failure", 0, 0.0, None]
    assert (printed["model_calls"], printed["tokens"], printed["cost"]) == (4, 1000, 0.25)


def test_people_are_told_the_same_in_80_columns_and_in_round_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = shown(report_of((played(LONG), Usage())), monkeypatch)
    assert lines[-1].split() == ["0000000", LONG, "closed", "turns", "1.000", "1.000", "32"]
    paid = "\n".join(shown(report_of((played("a"), PAID)), monkeypatch))
    assert "1000" in paid
    assert "0.2500" in paid


def test_several_episodes_of_an_environment_are_one_row_of_means_and_sums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = report_of(
        (played("a"), PAID),
        (played("a", place=1, reward=0.5), PAID),
        (played("a", place=2, reward=None), PAID),
    )
    words = " ".join(shown(report, monkeypatch)[2:]).split()
    assert {"x3", "0.750", "32.0", "3000", "0.7500"} <= set(words)


def test_the_bar_tells_the_mean_reward_the_failures_and_the_retries() -> None:
    report = report_of((played("a", reward=0.5), PAID), (played("b", reward=1), PAID))
    assert report.figures == "reward 0.750, 4 retries"
    report.add(2, played("c", reward=None))
    assert report.figures == "reward 0.750, 1 failed, 4 retries"
    assert report_of().figures == ""


async def test_the_attempts_after_the_first_are_counted(completions: CompletionsServer) -> None:
    completions.script.extend([refuses(500), refuses(429), says("Done.")])
    with metered() as meter:
        async with open_model(Role.AGENT, completions.config(max_retries=2)) as chat:
            await chat.complete([{"role": "user", "content": "Go."}], [])
            completions.script.extend([refuses(500)] * 3)
            with pytest.raises(ModelError):
                await chat.complete([{"role": "user", "content": "Go."}], [])
    assert (meter.usage.calls, meter.usage.retries) == (2, 4)
