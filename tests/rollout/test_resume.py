"""A run goes on in its own file: whole rows stay, what failed or is missing is played, nothing else is."""

import json
from collections.abc import Callable, Generator
from pathlib import Path

import orjson
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.trajectory import Trajectory, TrajectoryWriter, read_trajectories

from command_line import Cli, Run
from small_gateway import SmallGateway, open_small_gateway
from trajectories import a_trajectory

SAMPLES, EPISODES = 2, 2
PLAY = ("--agent", "noop", "harbour", "--episodes", f"{EPISODES}", "--samples", f"{SAMPLES}")
LINE = orjson.dumps(a_trajectory().as_line()) + b"\n"


@pytest.fixture
def gateway(tmp_path: Path) -> Generator[SmallGateway]:
    """The small gateway, in a thread of its own."""
    opening = open_small_gateway(tmp_path / "gateway")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as opened:
        yield opened


@pytest.fixture
def play(gateway: SmallGateway, tmp_path: Path) -> Callable[..., Run]:
    """Plays the harbour into one file."""
    cli = Cli(tmp_path / "home")

    def run(*options: str, plan: tuple[str, ...] = PLAY) -> Run:
        where = ("--gateway", gateway.url, "--out", str(tmp_path / "t.jsonl"), "--json")
        return cli.run("rollout", *plan, *where, *options, ASTRA_MCP_CONTROL_KEY=CONTROL_KEY)

    return run


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def failed(line: bytes) -> bytes:
    row = json.loads(line)
    failure = json.dumps({"boundary": "model", "message": "gone"})
    row |= {"status": "failed", "stop": "failure", "reward": "null", "failure": failure}
    return orjson.dumps(row) + b"\n"


def opened(line: bytes) -> Trajectory:
    return Trajectory.from_line(json.loads(line))


def named(row: Trajectory) -> tuple[int, int | None]:
    return row.seeds.index, row.sample


def test_the_whole_rows_stay_and_the_others_are_played_into_the_order_of_the_plan(
    play: Callable[..., Run], tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    assert play().told["kept"] == 0
    first = lines_of(path)
    kept, again, torn = first[3], failed(first[1]), first[2][:-40]
    path.write_bytes(kept + again + torn)

    done = play("--resume")

    rows = [*read_trajectories(path)]
    assert [named(row) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert lines_of(path)[3] == kept
    assert len({row.episode_id for row in [*rows, *map(opened, first)]}) == 7
    assert (done.told["kept"], len(done.told["episodes"])) == (1, 4)
    assert f"what there is of it ({len(torn)} B) is dropped" in done.stderr
    assert "1 that failed are played again" in done.stderr
    assert done.returncode == 0


def test_samples_share_the_environment_s_seed_and_group_and_nothing_else_does(
    play: Callable[..., Run], tmp_path: Path
) -> None:
    play()
    rows = list(read_trajectories(tmp_path / "t.jsonl"))

    assert [(row.seeds.index, row.sample) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [rows[0].seeds, rows[2].seeds] == [rows[1].seeds, rows[3].seeds]
    assert [rows[0].group, rows[2].group] == [rows[1].group, rows[3].group]
    assert rows[0].group != rows[2].group
    assert len({row.episode_id for row in rows}) == 4


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (("--agent", "probe", *PLAY[2:]), "the agent was noop, is probe"),
        ((*PLAY, "--seed", "5"), "--seed was 0, is 5"),
        ((*PLAY, "--failure-rate", "0.5"), 'failures was none, is {"delay":false'),
        ((*PLAY[:-1], "1"), "episode 0, sample 1 of harbour is not asked for now"),
    ],
)
def test_a_file_of_another_plan_is_refused_with_what_differs(
    play: Callable[..., Run], tmp_path: Path, plan: tuple[str, ...], words: str
) -> None:
    path = tmp_path / "t.jsonl"
    play()
    before = path.read_bytes() + LINE[:30]
    path.write_bytes(before)

    done = play("--resume", plan=plan)

    assert (done.returncode, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == before


def test_a_larger_plan_goes_on_where_the_smaller_one_ended(
    play: Callable[..., Run], tmp_path: Path
) -> None:
    play(plan=(*PLAY[:-1], "1"))
    done = play("--resume")

    rows = [*read_trajectories(tmp_path / "t.jsonl")]
    assert [named(row) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(done.told["episodes"]) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--samples", "9", "--concurrency", "3"), "--concurrency 3 is too few for --samples 9"),
        ((), "go on with it by --resume"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_played(
    play: Callable[..., Run], tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "t.jsonl").write_bytes(LINE)
    done = play(*options)

    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


# --- the file -----------------------------------------------------------------------------------


def test_two_writers_cannot_have_one_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TrajectoryWriter(path), pytest.raises(ConfigError, match="another process writes"):
        TrajectoryWriter(path, goes_on=True)
    with TrajectoryWriter(path, goes_on=True) as writer:
        assert writer.num_lines == 0


@pytest.mark.parametrize("text", [b"precious", b"precious\nnotes", LINE + b"[1,", b'{"schema":2'])
def test_a_file_that_is_not_ours_is_left_as_it_is(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(text)

    with pytest.raises(ConfigError, match="is no trajectory"):
        TrajectoryWriter(path, goes_on=True)
    assert path.read_bytes() == text


@given(cut=st.integers(0, len(LINE)), whole=st.integers(0, 2))
def test_a_file_that_was_cut_anywhere_goes_on_with_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, cut: int, whole: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "t.jsonl"
    path.write_bytes(LINE * whole + LINE[:cut])
    is_whole = cut >= len(LINE) - 1

    with TrajectoryWriter(path, goes_on=True) as writer:
        assert writer.num_lines == whole + is_whole
        assert writer.mend() == (0 if is_whole else cut)
        writer.write(opened(LINE))

    assert path.read_bytes() == LINE * (whole + is_whole + 1)
