"""The report of a rollout: what finished is on the disk at once, and what is told of it."""

import gc
import io
import json
import re
import resource
import tempfile
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.cli.rollout import report as report_module
from astra_mcp.cli.rollout.report import RolloutReport
from astra_mcp.errors import ConfigError, ModelError
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
    TrajectoryWriter,
    UserMessage,
    read_trajectories,
)
from training.rollout.model_usage import spent, told

from completions_server import CompletionsServer, refuses, says
from trajectories import a_trajectory

AGENT = AgentInfo(name="model", model="m")
LONG = "hospital-appointments-linjiang"
PAID = Usage(calls=3, prompt_tokens=900, completion_tokens=100, cost=0.25, retries=2)


def played(
    place: int, *, name: str = "a", words: str = "Go.", reward: float | None = 0.99999990000001
) -> Trajectory:
    """The trajectory of one place of the plan; its seed tells which, and without a reward it has failed."""
    if reward is None:
        failure = TrajectoryFailure(boundary=RolloutBoundary.MODEL, message="gone")
        ended = {"status": EpisodeStatus.FAILED, "stop": StopReason.FAILURE, "failure": failure}
    else:
        solved = Reward(reward=reward, recall=reward, precision=1, solved=1, calls=place)
        ended = {"stop": StopReason.TURNS, "reward": solved}
    return a_trajectory(
        episode_id=f"{place}" * 32,
        source={"kind": "environment", "name": name},
        agent=AGENT,
        seeds=Seeds(root=0, index=0, episode=place),
        messages=(UserMessage(content=words),),
        **ended,
    )


@contextmanager
def reported(
    path: Path, order: Iterable[int] = (), words: Sequence[str] = "abcde"
) -> Generator[tuple[TrajectoryWriter, RolloutReport]]:
    """A file and its report, to which the places were added in this order."""
    with TrajectoryWriter(path) as writer:
        report = RolloutReport(writer.write)
        for place in order:
            report.add(place, played(place, words=words[place]))
        yield writer, report


def places(path: Path) -> list[int]:
    return [row.seeds.episode for row in read_trajectories(path)]


def test_each_trajectory_is_on_the_disk_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    found: list[list[int]] = []
    with TrajectoryWriter(path) as writer:
        report = RolloutReport(writer.write)
        for place in (2, 0, 1):
            report.add(place, played(place))
            found.append(places(path))

    assert found == [[2], [2, 0], [2, 0, 1]]


def test_a_trajectory_is_not_kept_in_memory(tmp_path: Path) -> None:
    with reported(tmp_path / "t.jsonl") as (_, report):
        trajectory = played(1)
        gone = weakref.ref(trajectory)
        report.add(1, trajectory)
        del trajectory
        gc.collect()

        assert gone() is None
        assert report.num_finished == 1


@given(order=st.permutations(range(5)), words=st.lists(st.text(), min_size=5, max_size=5))
def test_a_whole_run_leaves_one_file_whatever_finished_first(
    order: list[int], words: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "one.jsonl", Path(folder) / "two.jsonl"]
        for path, finished in zip(files, (range(5), order), strict=True):
            with reported(path, finished, words) as (writer, report):
                writer.arrange(report.plan_order)

        assert files[0].read_bytes() == files[1].read_bytes()
        assert places(files[1]) == [0, 1, 2, 3, 4]
        assert sorted(Path(folder).iterdir()) == files


def test_a_file_that_cannot_be_put_in_order_is_kept_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with reported(path, (1, 0)) as (writer, report):
        whole = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) - 1, hard))
        try:
            with pytest.raises(ConfigError, match="holds every trajectory, but not in the order"):
                writer.arrange(report.plan_order)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_the_rights_of_the_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with reported(path, (1, 0)) as (writer, _):
        path.chmod(0o600)
        writer.arrange([1, 0])

    assert path.stat().st_mode & 0o777 == 0o600


def test_figures_come_in_the_order_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(*((n, played(n, name=f"place-{n // 2}"), PAID) for n in (3, 1, 2, 0)))
    report.print_object(agent=AGENT, seed=0, url="http://x", file=Path("t"))
    printed = json.loads(capsys.readouterr().out)
    assert [row["seed"] for row in printed["episodes"]] == [0, 1, 2, 3]
    means = [(row["environment"], row["calls"]) for row in printed["environments"]]
    assert means == [("place-0", 0.5), ("place-1", 2.5)]


def test_the_names_of_many_servers_leave_the_figures_beside_them_in_sight(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [f"A_Server_That_Has_A_Long_Name_{number}" for number in range(12)]
    report = RolloutReport(lambda _: None, servers=names)
    source = {"kind": "servers", "names": names}
    report.add(7, played(7).model_copy(update={"source": source}))
    report.print_table(file=Path("t"))

    printed = capsys.readouterr().out
    assert "status" in printed
    assert re.search(r"closed .* 7 *\n", printed)
    assert "Name_11" in re.sub(r"\s", "", printed)


# --- what people and programs are told ----------------------------------------------------------


def report_of(*found: tuple[int, Trajectory, Usage]) -> RolloutReport:
    report = RolloutReport(lambda _: None)
    for place, trajectory, usage in found:
        report.add(place, trajectory, usage)
    return report


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
    report = report_of((0, played(0), PAID), (1, played(1, name="b", reward=None), Usage(calls=1)))
    report.print_object(agent=AGENT, seed=0, url="http://x", file=Path("t"))
    printed = json.loads(capsys.readouterr().out)
    first, second = printed["episodes"]
    keys = ("episode_id", "stop", "tokens", "cost", "reward")
    assert [first[k] for k in keys] == ["0" * 32, "turns", 1000, 0.25, 0.99999990000001]
    assert [second[k] for k in keys] == ["1" * 32, "failure", 0, 0.0, None]
    assert (printed["model_calls"], printed["tokens"], printed["cost"]) == (4, 1000, 0.25)


def test_what_an_endpoint_did_not_tell_is_null_for_programs_also_in_the_sum(
    capsys: pytest.CaptureFixture[str],
) -> None:
    usages = (PAID, Usage(calls=1, untold=1, untold_cached=1, unpriced=1))
    report = report_of(
        *(
            (n, played(n).model_copy(update={"usage": told(usage)}), usage)
            for n, usage in enumerate(usages)
        )
    )
    report.print_object(agent=AGENT, seed=0, url="http://x", file=Path("t"))
    printed = json.loads(capsys.readouterr().out)
    counts = {"prompt_tokens": 900, "completion_tokens": 100, "cached_tokens": 0, "cost": 0.25}
    nothing = dict.fromkeys(counts)
    rows = [row["usage"] for row in printed["episodes"]]
    assert rows == [{"calls": 3, **counts}, {"calls": 1, **nothing}]
    assert printed["usage"] == {"calls": 4, **nothing}
    assert [row["tokens"] for row in printed["episodes"]] == [1000, None]


@given(
    st.builds(
        Usage, calls=st.integers(0, 9), prompt_tokens=st.integers(0, 9), untold=st.integers(0, 2)
    )
)
def test_what_a_trajectory_tells_of_its_model_is_counted_again_the_same(usage: Usage) -> None:
    assert told(spent(told(usage))) == told(usage)


def test_people_are_told_the_same_in_80_columns_and_in_round_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = shown(report_of((0, played(32, name=LONG), Usage())), monkeypatch)
    assert lines[-1].split() == ["3232323", LONG, "closed", "turns", "1.000", "1.000", "32"]
    paid = "\n".join(shown(report_of((0, played(0), PAID)), monkeypatch))
    assert "1000" in paid
    assert "0.2500" in paid


def test_several_episodes_of_an_environment_are_one_row_of_means_and_sums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rewards = (0.99999990000001, 0.5, None)
    report = report_of(*((n, played(n, reward=rewards[n]), PAID) for n in range(3)))
    words = " ".join(shown(report, monkeypatch)[2:]).split()
    assert {"x3", "0.750", "0.5", "3000", "0.7500"} <= set(words)


def test_the_bar_tells_the_mean_reward_the_failures_and_the_retries() -> None:
    report = report_of((0, played(0, reward=0.5), PAID), (1, played(1, name="b", reward=1), PAID))
    assert report.figures == "reward 0.750, 4 retries"
    report.add(2, played(2, name="c", reward=None))
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
