"""One trajectory turn by turn, beside another episode, and run again."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.compose.runs.notes import RunKind, note_run
from astra_mcp.reward import Reward
from astra_mcp.serving.pages import episodes
from astra_mcp.serving.pages.trajectories import files, reading, replay
from astra_mcp.testing import InMemoryCatalog, InMemoryServer
from astra_mcp.trajectory import (
    AgentInfo,
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    Seeds,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    TrajectoryWriter,
    UserMessage,
    Versions,
)
from astra_mcp.types import Origin, ServerKind
from gateway.api.wire import EpisodeRequest
from gateway.episodes.episode import Episode
from training.rewards.score import (
    Assessment,
    Dimension,
    DimensionScore,
    Method,
    Score,
    State,
    digest_of,
)

from shown_gateway import SCRIPT, ShownGateway, make_catalog, open_shown_gateway, words_of

METHOD = Method(judge="a-judge", prompts="p", repeat=1, max_prompt_bytes=1000)


async def opened(shown: ShownGateway, name: str = "harbour", seed: int = 1) -> Episode:
    source = {"kind": "environment", "name": name}
    return await shown.episodes.create(
        EpisodeRequest.model_validate({"source": source, "seed": seed})
    )


async def played(shown: ShownGateway, *ships: str, seed: int = 1) -> str:
    """Run an episode that weighs ships; its id."""
    episode = await opened(shown, seed=seed)
    for place, ship in enumerate(ships):
        await episode.call("weigh", {"ship": ship}, seq=place)
    await shown.episodes.close(episode.id)
    return episode.id


def asks(*arguments: str, thought: str | None = None, first: int = 0) -> list[Message]:
    """A turn that makes these calls at once, and what came back."""
    calls = [
        ToolCall(id=f"call-{first + n}", function=FunctionCall(name="weigh", arguments=given))
        for n, given in enumerate(arguments)
    ]
    answers = [ToolMessage(tool_call_id=c.id, content=f"answer to {c.id}") for c in calls]
    return [AssistantMessage(reasoning_content=thought, tool_calls=tuple(calls)), *answers]


def trajectory_of(id_: str, *messages: Message, name: str = "model") -> Trajectory:
    answers = [m for m in messages if isinstance(m, ToolMessage)]
    notes = [
        CallNote(
            tool_call_id=m.tool_call_id,
            seq=place,
            is_error=False,
            origin=Origin.TOOL,
            is_distractor=True,
        )
        for place, m in enumerate(answers)
    ]
    return Trajectory(
        episode_id=id_,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        source={"kind": "environment", "name": "harbour"},
        agent=AgentInfo(name=name, model="<i>a-model</i>" if name == "model" else None),
        seeds=Seeds(root=0, index=0, episode=1),
        versions=Versions(astra_mcp="0"),
        tools=(),
        tools_hash=None,
        messages=messages,
        calls=tuple(notes),
        status=EpisodeStatus.CLOSED,
        stop=StopReason.ANSWER,
        reward=Reward(reward=1, recall=1, precision=1, solved=1, calls=1),
    )


def write(shown: ShownGateway, *trajectories: Trajectory, name: str = "run.jsonl") -> Path:
    """Leave a file as a rollout does."""
    path = shown.home / "trajectories" / name
    with TrajectoryWriter(path, goes_on=True) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
    return path


SPOKEN = (
    SystemMessage(content="Be brief. " * 10),
    UserMessage(content=f"How heavy is the Alma? {SCRIPT}"),
    *asks('{"ship": "Alma"}', '{"ship": ', thought="I weigh her \u202e twice."),
    AssistantMessage(content="She weighs 300 tons."),
)


async def test_a_trajectory_is_shown_turn_by_turn_with_what_the_record_says(
    shown: ShownGateway,
) -> None:
    id_ = await played(shown, "Alma")
    write(shown, trajectory_of(id_, *SPOKEN))
    page = await shown.page(f"/episodes/{id_}/trajectory")
    turns = re.findall(r'<li class="turn (\w+)" id="turn-(\d)"', page)
    assert turns == [("system", "1"), ("user", "2"), ("agent", "3"), ("agent", "4")]
    assert re.search(r"<details><summary>Be brief", page)
    assert re.search(r'<details class="thought"><summary>Thought: 20 characters', page)
    assert "I weigh her \\u202e twice." in page
    assert re.search(r"solves 1.*?\d\.\d ms.*?answer to call-0", page, re.S)  # of the record
    assert re.search(r'class="badge plain">distractor</span>.*?answer to call-1', page, re.S)
    assert words_of(page).count('{"ship": ') == 1  # as it was written, where it is no JSON
    assert SCRIPT not in page
    assert "<i>a-model" not in page
    assert "She weighs 300 tons." in page
    assert 'href="#turn-2">previous' in page
    message = await shown.browser.get(f"/episodes/{id_}/messages/5")
    assert message.json()["content"] == "She weighs 300 tons."
    line = await shown.browser.get(f"/episodes/{id_}/trajectory/line")
    assert Trajectory.from_line(line.json()).episode_id == id_
    for below in ("messages/6", "messages/x"):
        assert (await shown.browser.get(f"/episodes/{id_}/{below}")).status_code == 404


async def test_without_a_trajectory_the_record_is_shown_turn_by_turn(shown: ShownGateway) -> None:
    id_ = await played(shown, "Alma", "Bo")
    page = await shown.page(f"/episodes/{id_}/trajectory")
    assert "No trajectory of this episode is known here" in page
    assert re.findall(r'<li class="turn (\w+)"', page) == ["user", "agent", "agent"]
    assert "The Bo weighs 300 tons." in page
    assert (await shown.browser.get(f"/episodes/{id_}/trajectory/line")).status_code == 404
    for below in ("trajectory", "trajectory/line", "messages/0", "beside", "replay"):
        assert (await shown.browser.get(f"/episodes/{'0' * 32}/{below}")).status_code == 404


async def test_turns_come_a_page_at_a_time(
    shown: ShownGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_TURNS", 2)
    for is_written in (False, True):
        id_ = await played(shown, "Alma", "Bo", "Cy")
        if is_written:
            turns = [m for n in range(3) for m in asks('{"ship": "Alma"}', first=n)]
            write(shown, trajectory_of(id_, UserMessage(content="?"), *turns))
        seen: list[str] = []
        path: str | None = f"/episodes/{id_}/trajectory"
        while path is not None:
            page = await shown.page(path)
            seen += re.findall(r'id="turn-(\d+)"', page)
            following = re.search(r'rel="next" href="([^"]*)"', page)
            path = following and following[1].replace("&amp;", "&")
        assert seen == ["1", "2", "3", "4"]


def index_of(page: str) -> dict[str, str]:
    """What the list of a page's turns says, in words, by where each entry leads."""
    listed = re.search(r'<details class="index">.*?<ol>(.*?)</ol>', page, re.S)
    assert listed is not None
    entries = re.findall(r'<li><a href="#([^"]+)">(.*?)</li>', listed[1], re.S)
    assert all(f'id="{anchor}"' in page for anchor, _ in entries)
    return {anchor: re.sub(r"<[^>]*>", "", words) for anchor, words in entries}


async def test_a_long_episode_has_an_index_that_names_failures_and_what_was_solved(
    shown: ShownGateway,
) -> None:
    episode = await opened(shown)
    for place in range(14):
        arguments: Any = {"vessel": "Alma"} if place == 7 else {"ship": "Alma"}
        await episode.call("weigh", arguments, seq=place)
    await shown.episodes.close(episode.id)
    for view, what, first in (("", "call", 0), ("/trajectory", "turn", 2)):
        index = index_of(await shown.page(f"/episodes/{episode.id}{view}"))
        assert index[f"{what}-{first}"] == f"{first} weigh solves 1"
        assert index[f"{what}-{first + 7}"] == f"{first + 7} weigh failed"
        assert index[f"{what}-{first + 13}"] == f"{first + 13} weigh solves 1"
    short = await played(shown, "Alma")
    assert 'class="index"' not in await shown.page(f"/episodes/{short}/trajectory")


async def test_a_number_leads_to_its_turn_on_whatever_page(
    shown: ShownGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_TURNS", 3)
    monkeypatch.setattr(episodes, "_CALLS", 3)
    id_ = await played(shown, *["Alma"] * 8)
    for view, what, wanted in (
        ("/trajectory", "turn", {3: 0, 4: 3, 9: 6, 0: None}),
        ("", "call", {2: 0, 3: 3, 7: 6, 0: 0}),
    ):
        for number, begin in wanted.items():
            answer = await shown.browser.get(f"/episodes/{id_}{view}?to={number}")
            assert answer.status_code == 303
            place = answer.headers["location"]
            if begin is not None:
                assert place == f"/episodes/{id_}{view}?from={begin}#{what}-{number}"
            path, _, anchor = place.partition("#")
            assert f'id="{anchor}"' in await shown.page(path)
    assert (await shown.browser.get(f"/episodes/{'0' * 32}?to=1")).status_code == 404


def score_of(trajectory: Trajectory) -> Score:
    dimensions = {d: DimensionScore(undefined="no second round") for d in Dimension}
    said = Assessment(what="query", value=0.5, reason=f"It is so. {SCRIPT}")
    dimensions[Dimension.QU] = DimensionScore(value=0.5, assessments=(said,))
    return Score(
        episode_id=trajectory.episode_id,
        digest=digest_of(trajectory),
        state=State.SCORED,
        total=0.5,
        defined=1,
        dimensions=dimensions,
        method=METHOD,
    )


async def test_scores_of_the_same_content_stand_with_it(shown: ShownGateway) -> None:
    id_, other = await played(shown, "Alma"), await played(shown, "Alma")
    scored, changed = trajectory_of(id_, *SPOKEN), trajectory_of(other, *SPOKEN)
    write(shown, scored, changed)
    foreign = score_of(changed).model_copy(update={"digest": "0" * 64})
    lines = [json.dumps(score.as_line()) for score in (score_of(scored), foreign)]
    (shown.home / "trajectories" / "scores.jsonl").write_text("\n".join(lines) + "\n")
    page = await shown.page(f"/episodes/{id_}/trajectory")
    assert re.search(r"<strong>0\.500</strong> <meter[^>]* value=\"0\.5\"", page)
    assert "query: 0.5 by judge. It is so." in page
    assert "no second round" in page
    assert SCRIPT not in page
    page = await shown.page(f"/episodes/{other}/trajectory")
    assert "<meter" not in page
    assert "the score in scores.jsonl is of other content" in page


async def test_a_rollout_that_wrote_elsewhere_is_found_by_what_is_noted_of_it(
    shown: ShownGateway, tmp_path: Path
) -> None:
    id_ = await played(shown)
    place = tmp_path / "elsewhere.jsonl"
    place.write_text(json.dumps(trajectory_of(id_, *SPOKEN).as_line()) + "\n")
    kind = RunKind.ROLLOUT
    with note_run(shown.home, kind, command="rollout", name="one", key="one", place=place):
        pass
    assert "No trajectory of this episode" not in await shown.page(f"/episodes/{id_}/trajectory")
    place.unlink()
    assert "No trajectory of this episode" in await shown.page(f"/episodes/{id_}/trajectory")


async def test_files_are_followed_as_they_grow_are_rewritten_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = files.TrajectoryFiles(tmp_path)
    assert await index.read("a" * 32) is None
    path = tmp_path / "run.jsonl"
    ids = [c * 32 for c in "abcd"]
    lines = [json.dumps(trajectory_of(id_, *SPOKEN).as_line()).encode() + b"\n" for id_ in ids]
    path.write_bytes(lines[0] + b"no line\n" + lines[1] + lines[2][:-9])
    assert await index.read(ids[0]) is not None
    assert await index.read(ids[1]) is not None
    assert await index.read(ids[2]) is None  # it is being written
    with path.open("ab") as file:
        file.write(lines[2][-9:])
    found = await index.read(ids[2])
    assert found is not None
    assert (found.name, found.trajectory.messages) == ("run.jsonl", SPOKEN)
    draft = tmp_path / "draft"  # as a run puts its lines into their order
    draft.write_bytes(lines[2] + lines[1])
    draft.replace(path)
    assert await index.read(ids[0]) is None
    assert (await index.line(ids[1]), await index.line(ids[2])) == (lines[1], lines[2])
    path.write_bytes(lines[1] + lines[2] + lines[3])  # in its place, behind the index's back
    assert [await index.read(id_) is not None for id_ in ids] == [False, True, True, True]
    assert (await index.players(ids))[ids[1]].shown == "<i>a-model</i>"
    monkeypatch.setattr(files, "_BYTES_A_LOOK", 1)
    (tmp_path / "old.jsonl").write_bytes(lines[0])
    other = files.TrajectoryFiles(tmp_path)
    for _ in range(4):
        assert not other.is_complete
        await other.players(())
    assert other.is_complete
    assert await other.read(ids[0]) is not None
    path.unlink()
    assert await other.read(ids[1]) is None


async def test_a_long_line_that_is_being_written_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE_BYTES", 100)
    index, file = files.TrajectoryFiles(tmp_path), tmp_path / "a.jsonl"
    begin = f'{{"schema_version": 1, "episode_id": "{"a" * 32}", "text": "'
    whole = f'{begin}{"x" * 400}"}}\n'
    file.write_text(whole[:300])
    assert await index.line("a" * 32) is None
    with file.open("r+") as other:  # in what was read, where nobody looks again
        other.seek(150)
        other.write("\n")
    with file.open("a") as more:
        more.write(whole[300:] + whole.replace("a" * 32, "b" * 32))
    assert await index.line("b" * 32) == whole.replace("a" * 32, "b" * 32).encode()
    with file.open("r+") as other:
        other.seek(150)
        other.write("x")
    assert await index.line("a" * 32) == whole.encode()
    file.write_text(begin + "y" * 300)
    assert await index.line("a" * 32) is None
    file.write_text(f'{begin}"}}\n{whole.replace("a" * 32, "c" * 32)}')
    assert await index.line("a" * 32) == f'{begin}"}}\n'.encode()
    assert await index.line("c" * 32) == whole.replace("a" * 32, "c" * 32).encode()


async def test_a_file_that_is_rewritten_in_place_is_read_anew_where_it_is_longer_or_as_long(
    tmp_path: Path,
) -> None:
    index, path = files.TrajectoryFiles(tmp_path), tmp_path / "run.jsonl"
    first, second, third = (trajectory_of(c * 32, *SPOKEN) for c in "abc")
    told = [json.dumps(each.as_line()) + "\n" for each in (first, second, third)]
    path.write_text(told[0] + told[1])
    assert await index.read("b" * 32) is not None
    path.write_text(told[2] + "\n" + told[1] + told[0])
    found = [await index.read(c * 32) is not None for c in "abc"]
    assert found == [True, True, True]
    score = json.dumps(score_of(third).as_line()) + "\n"
    path.write_text(told[2] + "\n" + told[1] + told[0] + score)
    assert await index.read("c" * 32) is not None
    path.write_text(score + told[0] + told[1] + "\n" + told[2])
    shown = await index.read("c" * 32)
    assert shown is not None
    assert shown.score is not None
    assert [await index.line(c * 32) for c in "abc"] == [line.encode() for line in told]


async def test_a_place_whose_line_was_joined_or_parted_is_looked_for_anew(tmp_path: Path) -> None:
    index, path = files.TrajectoryFiles(tmp_path), tmp_path / "run.jsonl"
    line = json.dumps(trajectory_of("a" * 32, *SPOKEN).as_line())
    path.write_text(line + "   \n")
    assert await index.read("a" * 32) is not None
    path.write_text(line + "\nno\n")
    assert await index.line("a" * 32) == f"{line}\n".encode()
    path.write_text(line + " \n \n")
    assert await index.read("a" * 32) is not None


async def test_what_cannot_be_read_is_said_and_the_record_is_shown(
    shown: ShownGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, huge = await played(shown, "Alma"), await played(shown, "Alma")
    line = trajectory_of(id_, *SPOKEN).as_line() | {"stop": "<i>why</i>"}
    path = write(shown, trajectory_of(huge, UserMessage(content="w" * 3000)))
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    page = await shown.page(f"/episodes/{id_}/trajectory")
    assert 'role="alert">the trajectory of this episode in run.jsonl cannot be read: stop' in page
    assert "The Alma weighs 300 tons." in page
    monkeypatch.setattr(files, "_MAX_BYTES", 1 << 10)
    assert "and a page shows 0 at most" in await shown.page(f"/episodes/{huge}/trajectory")
    raw = await shown.browser.get(f"/episodes/{huge}/trajectory/line")
    assert "w" * 3000 in raw.text


# --- beside another one ------------------------------------------------------------------------------


async def test_neighbours_are_of_the_same_question_and_their_group_comes_first(
    tmp_path: Path, migrated: Path
) -> None:
    async with open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown:
        oracle = await played(shown, "Alma", seed=7)
        by_hand = (await shown.send("/environments/harbour/play", seed="9")).headers["location"]
        other = await opened(shown, "awful", seed=7)
        id_ = await played(shown, "Bo", seed=7)
        later = await played(shown, "Bo", seed=8)
        write(shown, trajectory_of(oracle, *SPOKEN, name="oracle"))
        page = await shown.page(f"/episodes/{id_}/beside")
        hand = by_hand.split("/")[2]
        assert re.findall(r"beside\?with=([0-9a-f]{32})", page) == [oracle, later, hand]
        rows = page.split("<tr>")[2:]
        assert "oracle" in rows[0]
        assert "same group" in rows[0]
        assert "1.000" in rows[0]
        assert "same group" not in rows[1]
        assert "by hand" in rows[2]
        assert other.id not in page
        lonely = await shown.page(f"/episodes/{other.id}/beside")
        assert "astra-mcp rollout --agent oracle awful" in lonely


async def test_two_episodes_are_put_side_by_side_and_differences_are_said_in_words(
    shown: ShownGateway,
) -> None:
    left, right = await played(shown, "Alma", "Bo", seed=7), await played(shown, "Alma", "Cy", "Di")
    page = await shown.page(f"/episodes/{left}/beside?with={right}")
    kinds = re.findall(r'<li class="pair (\w+)" id="pair-(\d)"', page)
    assert kinds == [("same", "0"), ("other", "1"), ("alone", "2")]
    assert re.findall(r'<span class="badge \w+">((?:same|other|only)[^<]*)', page) == [
        "same call, same result",
        "other arguments",
        "only on the right",
    ]
    told = "1 call is the same; 1 with other arguments (call 1); 1 only on the right (call 2)."
    assert told in re.sub(r"<[^>]*>", "", page)
    assert f'with={right}&amp;from=0#pair-1">1</a>' in page
    assert "another seed" in page
    by_address = f"/episodes/{left}/beside?with=http://127.0.0.1/episodes/{right}%20"
    assert "1 call is the same" in await shown.page(by_address)
    same = await shown.page(f"/episodes/{left}/beside?with={left}", code=422)
    assert "the same episode" in same
    for wrong in ("x", right[:5], f"{right}0", "..%2Fcontrol", "%3Cscript%3E"):
        assert (await shown.browser.get(f"/episodes/{left}/beside?with={wrong}")).status_code == 404


async def test_the_other_one_may_be_named_by_the_beginning_of_its_id(shown: ShownGateway) -> None:
    left, right = await played(shown, "Alma"), await played(shown, "Bo")
    for given in (right[:12], f"http://127.0.0.1/episodes/{right[:20]}"):
        answer = await shown.browser.get(f"/episodes/{left}/beside", params={"with": given})
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/episodes/{left}/beside?with={right}"


async def test_an_episode_stands_beside_the_gold_calls(shown: ShownGateway) -> None:
    id_ = await played(shown, "Bo", "Alma")
    page = await shown.page(f"/episodes/{id_}/beside")
    assert "?with=gold" in page
    page = await shown.page(f"/episodes/{id_}/beside?with=gold")
    assert re.findall(r'<li class="pair (\w+)"', page) == ["alone", "same"]
    assert "1 call is the same; 1 only on the left (call 0)." in re.sub(r"<[^>]*>", "", page)
    assert "not finished" not in page
    assert page.count("solves 1") == 3
    right = await played(shown, "Alma")
    assert "The only call is the same" in await shown.page(f"/episodes/{right}/beside?with=gold")
    made = await shown.episodes.create(
        EpisodeRequest.model_validate({"source": {"kind": "servers", "names": ["harbour"]}})
    )
    assert "?with=gold" not in await shown.page(f"/episodes/{made.id}/beside")
    missing = await shown.browser.get(f"/episodes/{made.id}/beside?with=gold")
    assert missing.status_code == 404


async def test_pairs_come_a_page_at_a_time(shown: ShownGateway) -> None:
    ships = [f"Ship {n}" for n in range(120)]
    left, right = await played(shown, *ships), await played(shown, *ships[:110])
    first = await shown.page(f"/episodes/{left}/beside?with={right}")
    assert first.count('<li class="pair') == 100
    assert f"with={right}&amp;from=100#pair-110" in first
    second = await shown.page(f"/episodes/{left}/beside?with={right}&from=100")
    assert second.count('<li class="pair') == 20


# --- run again -------------------------------------------------------------------------------------


async def replayed(shown: ShownGateway, id_: str) -> str:
    """Send the form that runs an episode again; what is said of it."""
    answer = await shown.send(f"/episodes/{id_}/replay")
    assert answer.status_code == 303, answer.text
    return await shown.page(answer.headers["location"])


async def test_an_episode_is_run_again_and_compared(shown: ShownGateway) -> None:
    id_ = await played(shown, "Alma", "Bo")
    before = (shown.home / "records" / f"{id_}.jsonl").read_bytes()
    page = await shown.page(f"/episodes/{id_}/replay")
    assert "What became of it" not in page
    page = await replayed(shown, id_)
    assert "the same, byte for byte" in page
    assert re.search(r"<dt>calls compared</dt><dd>2</dd>", page)
    changed = before.replace(b"The Bo weighs 300 tons.", f"The Bo floats {SCRIPT}".encode())
    (shown.home / "records" / f"{id_}.jsonl").write_bytes(changed)
    page = await replayed(shown, id_)
    assert re.search(r"<dt>with another result</dt><dd>1</dd>", page)
    assert "The Bo floats" in page
    assert "The Bo weighs" in page
    assert SCRIPT not in page
    (shown.home / "records" / f"{id_}.jsonl").write_bytes(before)


async def test_one_replay_runs_at_a_time_and_not_for_ever(
    shown: ShownGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = await played(shown, "Alma")
    began, may_end = anyio.Event(), anyio.Event()

    async def waits(*_: Any) -> Any:
        began.set()
        await may_end.wait()
        return replay.Replay(compared=1, skipped=0, divergences=())

    monkeypatch.setattr(replay, "replay_record", waits)
    async with anyio.create_task_group() as group:
        group.start_soon(replayed, shown, id_)
        await began.wait()
        second = await shown.send(f"/episodes/{id_}/replay")
        assert second.status_code == 503
        assert "another episode is being run again" in second.text
        may_end.set()
    may_end = anyio.Event()
    monkeypatch.setattr(replay, "_SECONDS", 0.01)
    assert "it took longer than 0.01 s" in await replayed(shown, id_)


async def test_what_cannot_be_run_again_is_said(
    shown: ShownGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = await played(shown, "Alma")
    path = shown.home / "records" / f"{id_}.jsonl"
    recorded = path.read_bytes()
    path.write_bytes(re.sub(rb'"servers":\{"harbour":"', rb"\g<0>another-", recorded))
    assert "harbour changed since the episode was recorded" in words_of(await replayed(shown, id_))
    path.write_bytes(recorded.replace(b'"server":"harbour"', b'"server":"gone"'))
    assert "gone" in words_of(await replayed(shown, id_)).partition("Nothing was compared")[2]
    path.write_bytes(recorded)
    monkeypatch.setattr(replay, "_MAX_REMEMBERED", 1)
    other = await played(shown, "Alma")
    await replayed(shown, other)
    assert "What became of it" not in await shown.page(f"/episodes/{id_}/replay")


async def test_no_deployed_server_is_called_again(tmp_path: Path, migrated: Path) -> None:
    num_called = 0

    def book() -> str:
        nonlocal num_called
        num_called += 1
        return "booked"

    catalog = InMemoryCatalog(InMemoryServer("berths", book, kind=ServerKind.DEPLOYED))
    async with open_shown_gateway(catalog, tmp_path / "home", migrated) as shown:
        source = {"kind": "servers", "names": ["berths"]}
        episode = await shown.episodes.create(EpisodeRequest.model_validate({"source": source}))
        await episode.call("book", {})
        page = words_of(await replayed(shown, episode.id))
    assert "'berths' is a deployed server" in page
    assert num_called == 1
