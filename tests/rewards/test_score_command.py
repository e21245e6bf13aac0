"""``astra-mcp score`` and ``export sft --scores``, with a judge behind a real endpoint."""

import json
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from anyio.from_thread import start_blocking_portal

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.completions import Answer, CompletionRequest, Refusal, Reply, open_completions
from astra_mcp.trajectory import (
    AssistantMessage,
    RolloutBoundary,
    StopReason,
    Trajectory,
    TrajectoryFailure,
    TrajectoryWriter,
    UserMessage,
)
from training.rewards.calibration import load_calibration
from training.rewards.score_files import read_scores

from command_line import Cli
from trajectories import a_trajectory

ROWS = load_calibration()
EVIL = "</pre><script>alert(1)</script>\u202e<img src=x onerror=alert(2)>"


class Judge:
    """The policy of the endpoint: right and necessary, unless a word of the trajectory says otherwise."""

    def __init__(self) -> None:
        self.is_dead = False
        self.refuses_with = 400
        self.words: dict[str, str] = {}
        """By a word of the user's message, another verdict, or an answer of no form."""

    def reply(self, request: CompletionRequest) -> Reply:
        """Reply to one request."""
        if self.is_dead:
            return Refusal(self.refuses_with, "the judge is gone")
        system = str(request.messages[0]["content"])
        text = request.text
        verdict = next((v for word, v in self.words.items() if word in text), "right")
        if 'Prompt "conciseness"' in system:
            asked = re.search(r"necessary: ([\d, ]+)\?", text)
            assert asked is not None
            numbers = [int(number) for number in asked[1].split(", ")]
            return Answer(
                content={
                    "verdicts": [
                        {"call": n, "reason": EVIL, "necessary": verdict == "right"}
                        for n in numbers
                    ]
                }
            )
        return Answer(content={"reason": EVIL, "verdict": verdict})


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def cli(tmp_path: Path, judge: Judge) -> Generator[Cli]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_completions(judge.reply)) as server,
    ):
        model = {"MODEL": "scripted", "BASE_URL": server.base_url}
        yield Cli(
            tmp_path / "home", {f"ASTRA_MCP_MODELS__JUDGE__{name}": v for name, v in model.items()}
        )


def failed() -> Trajectory:
    failure = TrajectoryFailure(boundary=RolloutBoundary.MODEL, message="gone")
    return a_trajectory(
        episode_id="failed",
        messages=(UserMessage(content="Hi?"),),
        status=EpisodeStatus.FAILED,
        stop=StopReason.FAILURE,
        failure=failure,
    )


def silent(name: str = "there") -> Trajectory:
    """A chat without calls."""
    messages = (UserMessage(content=f"Who is {name}?"), AssistantMessage(content="It is me."))
    return a_trajectory(episode_id="silent", messages=messages)


def write(path: Path, trajectories: Sequence[Trajectory]) -> Path:
    with TrajectoryWriter(path) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
    return path


@pytest.fixture
def file(tmp_path: Path) -> str:
    trajectories = [row.trajectory for row in ROWS[:6]]
    return str(write(tmp_path / "t.jsonl", [*trajectories, failed(), silent()]))


def test_a_run_scores_tells_and_goes_on(cli: Cli, judge: Judge, file: str, tmp_path: Path) -> None:
    judge.words = {"umbrella": "excellent"}
    first = cli.run("score", file, "--out", "s.jsonl", "--json")
    assert first.returncode == 1
    told = first.told
    counts = {
        name: told[name] for name in ("read", "scored", "unscored", "skipped", "kept", "left")
    }
    assert counts == {"read": 8, "scored": 6, "unscored": 1, "skipped": 1, "kept": 0, "left": 0}
    assert any("QU, query" in reason for reason in told["reasons"])
    assert told["dimensions"]["QU"]["mean"] == 1
    assert told["dimensions"]["TCU"]["undefined"]["fewer than two rounds of calls"] == 3
    assert told["model_calls"] > 0

    judge.words = {}
    again = cli.run("score", file, "--out", "s.jsonl", "--json")
    assert again.returncode == 0
    assert (again.told["scored"], again.told["kept"], again.told["unscored"]) == (7, 7, 0)
    third = cli.run("score", file, "--out", "s.jsonl")
    assert (third.returncode, third.stderr.count("\n")) == (0, 1)
    assert "8 trajectories: 7 scored, 0 unscored, 1 skipped (8 of them before)" in third.stdout
    assert "1 without a total: the trajectory failed (model)" in third.stderr
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 8


def test_a_dead_judge_scores_nothing_and_says_so(cli: Cli, judge: Judge, file: str) -> None:
    judge.is_dead = True
    done = cli.run("score", file, "--out", "s.jsonl", "--json")
    assert done.returncode == 1
    assert (done.told["scored"], done.told["total"]) == (0, None)
    assert any("the judge is gone" in reason for reason in done.told["reasons"])


def test_a_judge_that_takes_no_call_is_not_asked_about_every_trajectory(
    cli: Cli, judge: Judge, tmp_path: Path
) -> None:
    many = str(write(tmp_path / "many.jsonl", [silent(f"no. {n}") for n in range(60)]))
    judge.is_dead, judge.refuses_with = True, 401
    done = cli.run("score", many, "--out", "s.jsonl", "--concurrency", "4", "--json")
    assert done.returncode == 1
    told = " ".join(done.stderr.split())
    assert "the judge took no call for 16 trajectories in a row" in told
    assert "run it again to go on" in told
    num_lost = done.told["unscored"]
    assert 16 <= num_lost <= 16 + 3, "those that were under way come to their end"
    assert (done.told["scored"], done.told["left"]) == (0, 60 - num_lost)

    judge.is_dead = False
    again = cli.run("score", many, "--out", "s.jsonl", "--json")
    assert again.returncode == 0
    assert (again.told["scored"], again.told["left"], again.told["kept"]) == (60, 0, 0)


def test_a_budget_stops_the_run_and_what_was_scored_is_kept(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    done = cli.run(
        "score", file, "--out", "s.jsonl", "--max-calls", "12", "--concurrency", "1", "--json"
    )
    assert done.returncode == 1
    assert "the budget of 12 calls is spent" in done.stderr
    assert done.told["scored"] == len(read_scores(tmp_path / "s.jsonl")) > 0
    assert done.told["left"] == 8 - done.told["scored"]
    rest = cli.run("score", file, "--out", "s.jsonl", "--json")
    assert (rest.returncode, rest.told["left"]) == (0, 0)


def test_repetitions_are_told_with_their_variance(cli: Cli, file: str, tmp_path: Path) -> None:
    done = cli.run("score", file, "--out", "s.jsonl", "--repeat", "2")
    assert "variance" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    scored = [row for row in rows if row["state"] == "scored"]
    assert {row["total_variance"] for row in scored} == {0}
    assert {a["sample"] for a in scored[0]["dimensions"]["QU"]["assessments"]} == {0, 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "needed, unless --calibrate is there"),
        (("FILE",), "--out"),
        (("FILE", "--calibrate"), "--calibrate scores no files"),
        (("--calibrate", "--report", "r.html"), "--calibrate scores no files"),
        (("--calibrate", "--repeat", "3"), "--calibrate scores no files"),
        (("FILE", "--out", "FILE"), "is a file of trajectories"),
        (("nothing.jsonl", "--out", "s.jsonl"), "nothing.jsonl cannot be read"),
        (("FILE", "--out", "s.jsonl", "--judge", "embedding"), "embedding"),
        (("FILE", "--out", "s.jsonl", "--max-prompt-bytes", "10"), "max-prompt-bytes"),
        (("FILE", "--out", "s.jsonl", "--judge", "generator"), "no generator model is configured"),
        (("FILE", "--out", "s.jsonl", "--report", "no/r.html"), "cannot be written"),
    ],
)
def test_wrong_usage_is_2_says_what_and_leaves_nothing(
    cli: Cli, file: str, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    before = Path(file).read_bytes()
    done = cli.run("score", *(file if option == "FILE" else option for option in options))
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert Path(file).read_bytes() == before
    assert not (tmp_path / "s.jsonl").exists()


def test_calibration_says_whether_the_judge_is_to_be_trusted(cli: Cli, judge: Judge) -> None:
    done = cli.run("score", "--calibrate")
    assert done.returncode == 1
    assert "The judge is not to be trusted in QU, QP, TCU, TCP, TC, FA" in done.stdout
    told = cli.run("score", "--calibrate", "--json").told
    assert told["trusted"] is False
    assert sum(each["graded"] for each in told["dimensions"].values()) >= 30
    assert told["cached_calls"] > 0
    judge.is_dead = True
    assert cli.run("score", "--calibrate", ASTRA_MCP_MODELS__JUDGE__REVISION="b").returncode == 1


@pytest.mark.claim("P86")
def test_the_report_shows_figures_scores_and_trajectories_and_escapes_them(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    messages = (
        UserMessage(content=f"asked {EVIL}"),
        AssistantMessage(content=f"answered {EVIL}", reasoning_content=f"thought {EVIL}"),
    )
    evil = str(write(tmp_path / "evil.jsonl", [a_trajectory(episode_id=EVIL, messages=messages)]))
    done = cli.run("score", file, evil, "--out", "s.jsonl", "--report", "r.html", "--json")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for words in (
        "Messages of a trajectory",
        "unique functions",
        "Messages by role",
        "Trajectories by domain",
        "Scores by dimension",
        "Left out by one floor alone",
        "the trajectory failed (model)",
        '<details class="passage"><summary>thought</summary>',
        "asked &lt;/pre&gt;&lt;script&gt;alert(1)",
        "thought &lt;/pre&gt;",
        "paper 10.59",
    ):
        assert words in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\u202e" not in page
    figures = done.told["trajectories"]
    assert figures["trajectories"] == 9
    counts = [len(row.trajectory.calls) for row in ROWS[:6]]
    assert figures["mean_calls"] == pytest.approx(sum(counts) / 9)
    assert figures["share_1_to_5_calls"] == pytest.approx(6 / 9)
    assert sum(figures["roles"].values()) == pytest.approx(1)


# --- export sft --scores ---------------------------------------------------------------------------


def export(cli: Cli, file: str, *options: str) -> dict[str, Any]:
    done = cli.run("export", "sft", file, "--out", "out/a.jsonl", *options, "--json")
    assert done.returncode == 0, done.stderr
    return done.told


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.claim("P85")
def test_floors_leave_out_count_and_say_so_and_rows_have_the_scores(
    cli: Cli, judge: Judge, file: str, tmp_path: Path
) -> None:
    judge.words = {"Bergen": "excellent", "Texas": "wrong", "Graz": "partly"}
    assert cli.run("score", file, "--out", "s.jsonl").returncode == 1
    scores = read_scores(tmp_path / "s.jsonl")
    told = export(cli, file, "--scores", "s.jsonl", "--min", "TCU=0.9", "--min-total", "0.4")

    assert {name: num for name, num in told["left_out"].items() if not name.startswith("no ")} == {
        "status": 1,
        "min-calls": 1,
        "no-score": 0,
        "unscored": 1,
        "no-answer": 0,
        "min-TCU": 1,
        "min-total": 1,
    }
    rows = rows_of(tmp_path / "out" / "a.jsonl")
    assert len(rows) == told["rows"] == 3
    by_id = {score.episode_id: score for score in scores.values()}
    for row in rows:
        score = by_id[json.loads(row["metadata"])["episode_id"]]
        assert row["scores"]["total"] == score.total
        assert row["scores"]["TCU"] == score.dimensions["TCU"].value  # type: ignore[index]
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| min-TCU | 0.9 |\n| min-total | 0.4 |" in card
    assert "`scripted`" in card
    assert "| min-total | 1 |" in card


def test_without_scores_rows_and_counts_are_as_before(cli: Cli, file: str, tmp_path: Path) -> None:
    told = export(cli, file)
    assert told["left_out"] == {"status": 1, "no user message": 0, "no assistant message": 0}
    assert {*rows_of(tmp_path / "out" / "a.jsonl")[0]} == {"messages", "tools", "metadata"}
    assert told["rows"] == 7


def test_a_trajectory_without_a_line_is_left_out_and_counted(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    other = str(write(tmp_path / "o.jsonl", [row.trajectory for row in ROWS[6:8]]))
    cli.run("score", other, "--out", "s.jsonl")
    done = cli.run("export", "sft", file, "--out", "a.jsonl", "--scores", "s.jsonl")
    assert done.returncode == 2
    assert "6 by no-score" in done.stderr
    assert not (tmp_path / "a.jsonl").exists()


def test_parquet_and_the_card_have_the_columns(cli: Cli, file: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    cli.run("score", file, "--out", "s.jsonl")
    done = cli.run("export", "sft", file, "--out", "p/a.parquet", "--scores", "s.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(tmp_path / "p" / "a.parquet").to_pylist()
    assert {*table[0]["scores"]} == {"total", "QU", "QP", "TCU", "TCP", "TCS", "TC", "FA"}
    assert None in {row["scores"]["TCU"] for row in table}
    matter = (tmp_path / "p" / "README.md").read_text(encoding="utf-8").split("---")[1]
    features = yaml.safe_load(matter)["dataset_info"]["features"]
    assert [f["name"] for f in features] == ["messages", "tools", "metadata", "scores"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--min", "QU=0.5"), "only --scores has floors"),
        (("--min-total", "0.5"), "only --scores has floors"),
        (("--scores", "s.jsonl", "--min", "QX=0.5"), "'QX=0.5' is no floor"),
        (("--scores", "s.jsonl", "--min", "QU=2"), "'QU=2' is no floor"),
        (("--scores", "s.jsonl", "--min", "QU=nan"), "'QU=nan' is no floor"),
        (("--scores", "s.jsonl", "--min", "QU"), "'QU' is no floor"),
        (("--scores", "s.jsonl", "--min", "QU=1", "--min", "qu=0"), "name each once"),
        (("--scores", "s.jsonl", "--min-total", "nan"), "should be less than or equal to 1"),
        (("--scores", "none.jsonl"), "none.jsonl cannot be read"),
        (("--scores", "FILE"), "this is no line of a score file"),
    ],
)
def test_floors_that_make_no_sense_are_refused(
    cli: Cli, file: str, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "s.jsonl").touch()
    given = [file if option == "FILE" else option for option in options]
    done = cli.run("export", "sft", file, "--out", "a.jsonl", *given)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.replace("\u2502", " ").split())
    assert not (tmp_path / "a.jsonl").exists()
