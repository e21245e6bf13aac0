"""Files of scores: whole lines, one on each trajectory, of one method; a run goes on where it stopped."""

import fcntl
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from pydantic import BaseModel

from astra_mcp.errors import BudgetSpentError, ConfigError, ModelError, ModelFault
from astra_mcp.llm.prompt import Prompt
from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.trajectory import AssistantMessage, Trajectory, TrajectoryWriter, UserMessage
from astra_mcp.types import JsonObject
from training.rewards.calibration import load_calibration
from training.rewards.running import plan_scoring, run_scoring
from training.rewards.score import Dimension, DimensionScore, Method, Score, State, digest_of
from training.rewards.score_files import ScoreWriter, read_scores

from assorted_trajectories import assorted
from trajectories import a_trajectory

pytestmark = pytest.mark.anyio

AnswerT = TypeVar("AnswerT", bound=BaseModel)

METHOD = Method(judge="scripted", prompts="p", repeat=1, max_prompt_bytes=100_000)
SOME = [row.trajectory for row in load_calibration()[:6]]


class Judge:
    """Says that all is right, unless it is told to fail."""

    def __init__(self, fails: Callable[[str], Exception | None] = lambda text: None) -> None:
        self.fails = fails
        self.num_asked = 0
        self.usage = Usage(calls=1)
        """Of each question."""

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Answer in the form that is asked for."""
        del sample
        await anyio.lowlevel.checkpoint()
        self.num_asked += 1
        note_usage(self.usage)
        text = str(prompt.messages[1]["content"])
        if (error := self.fails(text)) is not None:
            raise error
        asked: Sequence[int] = getattr(answer, "asked", ())
        if asked:
            verdicts = [{"call": n, "reason": "so", "necessary": True} for n in asked]
            return answer.model_validate({"verdicts": verdicts})
        return answer.model_validate({"reason": "so", "verdict": "right"})


def write(path: Path, trajectories: Sequence[Trajectory]) -> Path:
    with TrajectoryWriter(path) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
    return path


async def run(
    files: Sequence[Path],
    out: Path,
    judge: Judge,
    method: Method = METHOD,
    *,
    concurrency: int = 3,
) -> list[str]:
    heard: list[str] = []
    with ScoreWriter(out, method) as writer:
        await run_scoring(
            plan_scoring(files),
            writer,
            judge,
            method,
            concurrency=concurrency,
            hear=lambda: heard.append(""),
        )
    return heard


def a_score(number: int = 0, state: State = State.SCORED) -> Score:
    return Score(
        episode_id=f"e{number}",
        digest=f"d{number}",
        state=state,
        total=1,
        defined=7,
        dimensions={dimension: DimensionScore(value=1) for dimension in Dimension},
        method=METHOD,
    )


async def test_one_line_for_each_trajectory_in_their_order_and_nothing_is_scored_twice(
    tmp_path: Path,
) -> None:
    file, out = write(tmp_path / "t.jsonl", SOME), tmp_path / "deep" / "s.jsonl"
    judge = Judge()
    assert len(await run([file], out, judge)) == len(SOME)
    found = read_scores(out)
    assert [*found] == [digest_of(each) for each in SOME]
    assert [score.episode_id for score in found.values()] == [each.episode_id for each in SOME]
    assert {score.state for score in found.values()} == {State.SCORED}
    before, asked = out.read_bytes(), judge.num_asked
    assert await run([file], out, judge) == []
    assert (out.read_bytes(), judge.num_asked) == (before, asked)


def questions(num: int) -> list[Trajectory]:
    """Short trajectories, each with a question of its own, by its number in two digits."""
    return [
        a_trajectory(
            episode_id=f"e{n}",
            messages=(UserMessage(content=f"Who is {n:02}?"), AssistantMessage(content="Me.")),
        )
        for n in range(num)
    ]


@pytest.mark.parametrize("fault", [ModelFault.UNREACHABLE, ModelFault.DENIED])
async def test_a_judge_that_takes_no_call_ends_the_run_and_the_next_one_scores_what_is_left(
    tmp_path: Path, fault: ModelFault
) -> None:
    file, out = write(tmp_path / "t.jsonl", questions(40)), tmp_path / "s.jsonl"
    dead = ModelError("HTTP 401", fault)

    def fails(text: str) -> Exception | None:
        return None if "Who is 00" in text or "Who is 16" in text else dead

    with pytest.raises(ModelError, match=r"16 trajectories in a row \(HTTP 401\)") as stopped:
        await run([file], out, Judge(fails), concurrency=1)
    assert stopped.value.fault is fault
    states = [score.state for score in read_scores(out).values()]
    # Fifteen in a row are too few to end it.
    lost = State.UNSCORED
    assert states == [State.SCORED, *[lost] * 15, State.SCORED, *[lost] * 16]
    assert len(await run([file], out, Judge())) == 38
    assert {score.state for score in read_scores(out).values()} == {State.SCORED}


async def test_answers_of_the_cache_do_not_speak_for_a_judge_that_is_gone(tmp_path: Path) -> None:
    file, out = write(tmp_path / "t.jsonl", questions(40)), tmp_path / "s.jsonl"
    gone = ModelError("gone", ModelFault.UNREACHABLE)
    judge = Judge(lambda text: gone if int(text.split("Who is ")[1][:2]) % 2 else None)
    judge.usage = Usage(cached=1)
    with pytest.raises(ModelError, match="16 trajectories in a row"):
        await run([file], out, judge, concurrency=1)
    assert len(read_scores(out)) == 32


@pytest.mark.parametrize("fault", [ModelFault.REFUSED, ModelFault.TIMEOUT, ModelFault.NOT_JSON])
async def test_a_judge_that_answers_what_is_of_no_use_is_asked_to_the_end(
    tmp_path: Path, fault: ModelFault
) -> None:
    file, out = write(tmp_path / "t.jsonl", questions(40)), tmp_path / "s.jsonl"
    await run([file], out, Judge(lambda text: ModelError("no", fault)))
    assert [score.state for score in read_scores(out).values()] == [State.UNSCORED] * 40


async def test_trajectories_of_which_one_question_was_lost_end_no_run(tmp_path: Path) -> None:
    file, out = write(tmp_path / "t.jsonl", questions(40)), tmp_path / "s.jsonl"
    broken = ModelError("broke", ModelFault.UNREACHABLE)
    judge = Judge(lambda _: broken if judge.num_asked % 4 == 0 else None)
    await run([file], out, judge, concurrency=1)
    assert [score.state for score in read_scores(out).values()] == [State.UNSCORED] * 40


async def test_what_failed_is_tried_again_and_takes_the_place_of_the_failure(
    tmp_path: Path,
) -> None:
    file, out = write(tmp_path / "t.jsonl", SOME), tmp_path / "s.jsonl"
    gone = ModelError("gone", ModelFault.UNREACHABLE)
    await run([file], out, Judge(lambda text: gone if "Ana" in text else None))
    first = read_scores(out)
    states = [score.state for score in first.values()]
    assert State.UNSCORED in states
    assert State.SCORED in states

    judge = Judge()
    heard = await run([file], out, judge)
    assert len(heard) == states.count(State.UNSCORED)
    again = read_scores(out)
    assert [*again] == [*first]
    assert {score.state for score in again.values()} == {State.SCORED}
    assert len(out.read_bytes().splitlines()) == len(SOME)
    whole = tmp_path / "whole.jsonl"
    await run([file], whole, Judge())
    assert whole.read_bytes() == out.read_bytes()


async def test_a_dead_judge_gives_no_score_at_all(tmp_path: Path) -> None:
    file, out = write(tmp_path / "t.jsonl", SOME), tmp_path / "s.jsonl"
    await run([file], out, Judge(lambda text: ModelError("gone", ModelFault.UNREACHABLE)))
    found = read_scores(out).values()
    assert {(score.state, score.total) for score in found} == {(State.UNSCORED, None)}


async def test_a_spent_budget_keeps_what_was_scored_and_the_next_run_goes_on(
    tmp_path: Path,
) -> None:
    file, out = write(tmp_path / "t.jsonl", SOME), tmp_path / "s.jsonl"
    judge = Judge()

    def fails(text: str) -> Exception | None:
        del text
        return BudgetSpentError("spent") if judge.num_asked > 20 else None

    judge.fails = fails
    with pytest.raises(BudgetSpentError):
        await run([file], out, judge)
    kept = read_scores(out)
    assert 0 < len(kept) < len(SOME)
    assert {score.state for score in kept.values()} == {State.SCORED}
    assert len(await run([file], out, Judge())) == len(SOME) - len(kept)
    assert [*read_scores(out)] == [digest_of(each) for each in SOME]


async def test_equal_trajectories_of_several_files_are_scored_once(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.jsonl", SOME[:2]), write(tmp_path / "b.jsonl", SOME[1:3])]
    plan = plan_scoring(files)
    assert (plan.num_read, plan.num_repeated) == (4, 1)
    await run(files, tmp_path / "s.jsonl", Judge())
    assert [*read_scores(tmp_path / "s.jsonl")] == [digest_of(each) for each in SOME[:3]]


async def test_scores_of_other_trajectories_stay_behind_those_of_the_run(tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    await run([write(tmp_path / "a.jsonl", SOME[:2])], out, Judge())
    await run([write(tmp_path / "b.jsonl", SOME[2:4])], out, Judge())
    assert [*read_scores(out)] == [digest_of(each) for each in [*SOME[2:4], *SOME[:2]]]


def test_trajectories_of_every_kind_have_digests_of_their_own() -> None:
    rows = assorted(150)
    assert len({digest_of(row) for row in rows}) == len({row.model_dump_json() for row in rows})
    read = Trajectory.from_line(rows[-1].as_line())
    assert digest_of(read) == digest_of(rows[-1])


def test_a_digest_is_of_everything_in_the_documents_of_tools() -> None:
    def of(schema: JsonObject) -> str:
        return digest_of(a_trajectory(tools=({"function": {"name": "f", "parameters": schema}},)))

    page: list[JsonObject] = [{}, {"default": None}, {"not": {}}, {"default": None, "not": {}}]
    schemas: list[JsonObject] = [{"properties": {"page": each}} for each in page]
    assert len({*map(of, [{}, {"properties": {}}, *schemas])}) == 2 + len(schemas)


async def test_a_file_without_trajectories_or_named_twice_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(ConfigError, match=r"empty\.jsonl: there is no trajectory"):
        plan_scoring([empty])
    with pytest.raises(ConfigError, match="named twice"):
        plan_scoring([empty, tmp_path / "." / "empty.jsonl"])


def written(path: Path, *scores: Score) -> bytes:
    with ScoreWriter(path, METHOD) as writer:
        for score in scores:
            writer.write(score)
    return path.read_bytes()


QU_IS_0 = {each: {"value": int(each is not Dimension.QU)} for each in Dimension}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total": 7}, "total: Input should be less than or equal to 1"),
        ({"total": -1}, "total: Input should be greater than or equal to 0"),
        ({"total": None}, "total: is None, and the mean of the dimensions is 1.0"),
        ({"total": 0.99}, "total: is 0.99, and the mean of the dimensions is 1.0"),
        ({"dimensions": QU_IS_0}, "total: is 1.0, and the mean of the dimensions is 0.857"),
        ({"defined": 99}, "defined: is 99, and 7 dimensions have a value"),
        ({"dimensions": {}, "defined": 0}, "dimensions.QU: has a value or is undefined"),
        ({"state": "unscored"}, "total: what is unscored has none"),
        (
            {"method": METHOD.model_copy(update={"judge": "b"}).model_dump()},
            "method: is b (prompts",
        ),
    ],
)
async def test_scores_that_contradict_themselves_are_refused_by_line_and_field(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    out = tmp_path / "s.jsonl"
    written(out, a_score(0))
    with out.open("a") as file:
        file.write(json.dumps({**a_score(1).as_line(), **change}) + "\n")
    with pytest.raises(ConfigError, match=r"s\.jsonl: line 2: ") as told:
        read_scores(out)
    assert words in str(told.value)


async def test_a_total_that_another_program_rounded_is_read(tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    out.write_text(json.dumps({**a_score().as_line(), "total": 1 - 1e-12}) + "\n")
    assert [*read_scores(out)] == ["d0"]


@pytest.mark.parametrize("cut", [1, 20, 100])
async def test_an_end_that_was_cut_off_is_taken_away_and_one_without_a_newline_kept(
    tmp_path: Path, cut: int
) -> None:
    out = tmp_path / "s.jsonl"
    whole = written(out, a_score(0), a_score(1))
    out.write_bytes(whole[:-cut])
    with ScoreWriter(out, METHOD) as writer:
        kept = writer.settled
        writer.write(a_score(2))
    assert kept == ({"d0", "d1"} if cut == 1 else {"d0"})
    assert {*read_scores(out)} == {*kept, "d2"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello\n", "line 1: "),
        (b"\xff\n", "line 1: is not UTF-8"),
        (b"[]\n", "line 1: this is no line of a score file"),
        (b'{"schema_version": 1, "digest": "d"}\n', "line 1: episode_id: Field required"),
        (b'{"schema_version": 9, "digest": "d"}\n', "line 1: schema_version 9 is newer than 1"),
        (b"[" * 100_000 + b"\n", "line 1: "),
        (b"notes of mine", "its end is no line of a score file"),
    ],
)
async def test_what_is_no_score_file_is_named_and_left_alone(
    tmp_path: Path, content: bytes, words: str
) -> None:
    out = tmp_path / "s.jsonl"
    out.write_bytes(content)
    with pytest.raises(ConfigError, match=r"s\.jsonl") as told:
        ScoreWriter(out, METHOD)
    assert words in str(told.value)
    assert out.read_bytes() == content


async def test_a_file_of_trajectories_is_no_score_file(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", [a_trajectory()])
    before = file.read_bytes()
    with pytest.raises(ConfigError, match="this is no line of a score file"):
        ScoreWriter(file, METHOD)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [{"judge": "other"}, {"prompts": "q"}, {"repeat": 2}, {"max_prompt_bytes": 9000}],
)
async def test_scores_of_two_methods_do_not_get_into_one_file(
    tmp_path: Path, change: dict[str, object]
) -> None:
    written(tmp_path / "s.jsonl", a_score())
    with pytest.raises(ConfigError, match="name another file with --out"):
        ScoreWriter(tmp_path / "s.jsonl", METHOD.model_copy(update=change))


async def test_half_a_character_in_a_reason_spoils_no_file(tmp_path: Path) -> None:
    score = a_score().model_copy(update={"reason": "half \ud83d, 潮水"})
    written(tmp_path / "s.jsonl", score)
    assert read_scores(tmp_path / "s.jsonl")["d0"].reason == "half ?, 潮水"


async def test_a_file_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    written(out, a_score())
    with out.open("rb+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another process writes"):
            ScoreWriter(out, METHOD)


async def test_a_folder_or_a_full_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="is no file to go on with"):
        ScoreWriter(tmp_path, METHOD)
    out = tmp_path / "s.jsonl"
    before = written(out, a_score())
    real = os.write

    def write_little(file: int, data: bytes) -> int:
        return real(file, data[:10])

    with ScoreWriter(out, METHOD) as writer:
        monkeypatch.setattr(os, "write", write_little)
        with pytest.raises(ConfigError, match="the disk is full"):
            writer.write(a_score(1))
    assert out.read_bytes() == before


async def test_a_run_that_fails_before_its_first_line_leaves_no_file(tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    with pytest.raises(RuntimeError), ScoreWriter(out, METHOD):
        raise RuntimeError
    assert not out.exists()
