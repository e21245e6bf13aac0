"""The report of a rollout: what finished is on the disk at once, and the figures come in the plan's order."""

import gc
import json
import re
import resource
import tempfile
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.cli.rollout.report import RolloutReport
from astra_mcp.errors import ConfigError
from astra_mcp.reward import Reward
from astra_mcp.trajectory import (
    AgentInfo,
    Seeds,
    Trajectory,
    TrajectoryWriter,
    UserMessage,
    read_trajectories,
)

from trajectories import a_trajectory

AGENT = AgentInfo(name="noop")


def played(place: int, *, words: str = "Go.") -> Trajectory:
    """The trajectory of one place of the plan; its seed tells which."""
    return a_trajectory(
        episode_id=f"e{place}",
        source={"kind": "environment", "name": f"place-{place // 2}"},
        seeds=Seeds(root=0, index=place % 2, episode=place),
        messages=(UserMessage(content=words),),
        reward=Reward(reward=0, recall=0, precision=0, solved=0, calls=place),
    )


def places(path: Path) -> list[int]:
    return [row.seeds.episode for row in read_trajectories(path)]


def test_each_trajectory_is_on_the_disk_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    advanced: list[list[int]] = []
    with TrajectoryWriter(path) as writer:
        report = RolloutReport(writer.write, lambda: advanced.append(places(path)))
        for place in (2, 0, 1):
            report.add(place, played(place))

    assert advanced == [[2], [2, 0], [2, 0, 1]]


def test_a_trajectory_is_not_kept_in_memory(tmp_path: Path) -> None:
    with TrajectoryWriter(tmp_path / "t.jsonl") as writer:
        report = RolloutReport(writer.write, lambda: None)
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
            with TrajectoryWriter(path) as writer:
                report = RolloutReport(writer.write, lambda: None)
                for place in finished:
                    report.add(place, played(place, words=words[place]))
                writer.arrange(report.plan_order)

        assert files[0].read_bytes() == files[1].read_bytes()
        assert places(files[1]) == [0, 1, 2, 3, 4]
        assert sorted(Path(folder).iterdir()) == files


def test_a_file_that_cannot_be_put_in_order_is_kept_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with TrajectoryWriter(path) as writer:
        report = RolloutReport(writer.write, lambda: None)
        for place in (1, 0):
            report.add(place, played(place))
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
    with TrajectoryWriter(path) as writer:
        for place in (1, 0):
            writer.write(played(place))
        path.chmod(0o600)
        writer.arrange([1, 0])

    assert path.stat().st_mode & 0o777 == 0o600


def test_figures_come_in_the_order_of_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with TrajectoryWriter(tmp_path / "t.jsonl") as writer:
        report = RolloutReport(writer.write, lambda: None)
        for place in (3, 1, 2, 0):
            report.add(place, played(place))
        report.print_object(agent=AGENT, seed=0, url="http://x", file=writer.path)

    printed = json.loads(capsys.readouterr().out)
    assert [row["seed"] for row in printed["episodes"]] == [0, 1, 2, 3]
    assert [(r["environment"], r["calls"]) for r in printed["environments"]] == [
        ("place-0", 0.5),
        ("place-1", 2.5),
    ]


def test_the_names_of_many_servers_leave_the_figures_beside_them_in_sight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"A_Server_That_Has_A_Long_Name_{number}" for number in range(12)]
    with TrajectoryWriter(tmp_path / "t.jsonl") as writer:
        report = RolloutReport(writer.write, lambda: None, servers=names)
        source = {"kind": "servers", "names": names}
        report.add(7, played(7).model_copy(update={"source": source}))
        report.print_table(file=writer.path)

    printed = capsys.readouterr().out
    assert "status" in printed
    assert re.search(r"closed .* 7 *\n", printed)
    assert "Name_11" in re.sub(r"\s", "", printed)
