"""``astra-mcp rollout`` over named servers: one deployed, one emulated, distractors and failures on purpose.

Everything is real: ``astra-mcp serve`` as a process, a server over stdio that writes down what reaches it,
documents in the registry, and a model behind an endpoint, which follows a script.
"""

import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from astra_mcp.call_record import CallFacts, CallRecord, EpisodeId
from astra_mcp.completions import Reply
from astra_mcp.environments.loading import load_bundle
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    ToolMessage,
    Trajectory,
    read_trajectories,
)
from astra_mcp.types import EmulatorKind, Origin
from astra_mcp.values.guesses import guess_arguments
from gateway.api.wire import EpisodeRecord
from gateway.episodes.record import Record, read_record, record_path
from servers.bundled import bundled_folder

from command_line import Cli, ServedHome, served_home
from completions_server import Body, CompletionsServer, asks, says
from deployed_workshop import calls_of, raw_entry, write_config

PAGE = Path(__file__).parents[2] / "docs" / "rollouts.md"
DESK = "desk"
BERTHS = "berths"
PROMPT = "Find a berth for the Alma, and count the ships."
OWN = {
    "count": (DESK, None),
    "garbage": (DESK, None),
    "list_berths": (BERTHS, EmulatorKind.OFFLINE),
    "book_berth": (BERTHS, EmulatorKind.OFFLINE),
    "get_berth": (BERTHS, EmulatorKind.OFFLINE),
}
"""The tools that the script calls of its own servers, and who makes their answers up."""
TURNS: Sequence[Sequence[tuple[str, dict[str, Any]]]] = (
    [("count", {}), ("list_berths", {}), ("count", {}), ("count", {})],
    [("book_berth", {"ship": ship, "length_metres": 90}) for ship in ("Alma", "Bella", "Clio")],
    [("count", {}), ("get_berth", {"berth_id": "nowhere"}), ("fly", {}), ("count", {})],
    [("garbage", {"lines": n}) for n in range(4)],
)
"""What the model calls before it turns to the tools that are none of its servers'."""
HARD = ("--distractors", "banded", "--failure-rate", "0.4", "--seed", "3")


class Docks(NamedTuple):
    """A served home, and what reached its deployed server."""

    cli: ServedHome
    calls: Path


def document(name: str, description: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "parameters": parameters}


def berths() -> dict[str, Any]:
    """The documents of the emulated server, one row of a file."""
    text, number = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 400}
    tools = [
        document("list_berths", "List the berths of the harbour, with length and whether free."),
        document("book_berth", "Book a berth for a ship.", ship=text, length_metres=number),
        document("get_berth", "Tell everything that is known of one berth.", berth_id=text),
    ]
    about = {
        "server_title": BERTHS,
        "server_name": BERTHS,
        "server_description": "The berths of a harbour: which are free, and bookings of them.",
        "domain": "logistics",
    }
    return {"base_info": {"group_info": about, "tool_list": tools}, "features": {}}


@pytest.fixture(scope="module")
def docks(tmp_path_factory: pytest.TempPathFactory) -> Generator[Docks]:
    """Both servers and the bundled environments, behind one gateway."""
    folder = tmp_path_factory.mktemp("docks")
    calls = folder / "calls.txt"
    documents = folder / "documents.jsonl"
    documents.write_text(json.dumps(berths()), encoding="utf-8")
    home = folder / "home"
    imported = Cli(home).run("registry", "import", str(documents), "--json")
    assert imported.returncode == 0, imported.stderr
    config = write_config(folder, **{DESK: raw_entry(env={"CALLS": str(calls)})})
    with served_home(home, "--mcp-config", str(config)) as cli:
        yield Docks(cli, calls)


def follow_script(body: Body) -> Reply:
    """Play the turns, then each tool that is not of the two servers once, then stop."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    if done < len(TURNS):
        return asks(*((f"t{done}-{i}", *call) for i, call in enumerate(TURNS[done])))
    if done > len(TURNS):
        return says("The Alma has a berth.")
    functions = [tool["function"] for tool in body["tools"]]
    foreign = [f for f in functions if f["name"] not in LISTED]
    return asks(*((f"f{f['name']}", f["name"], guess_arguments(f["parameters"])) for f in foreign))


LISTED = {tool["name"] for tool in berths()["base_info"]["tool_list"]} | {
    "count", "die", "hang", "garbage", "progress", "sample", "need", "spawn", "grow", "sleep", "show",
    "refuse",
}  # fmt: skip
"""The tools of the two servers."""


class Played(NamedTuple):
    """One hybrid episode, as everything that keeps it tells of it."""

    trajectory: Trajectory
    record: Record
    state: EpisodeRecord
    """The record, as the control plane answers it."""
    reached: list[str]
    """What the deployed server wrote down."""
    requests: list[Body]
    """What the model was sent."""


def play(docks: Docks, model: CompletionsServer, file: Path) -> Played:
    model.always = follow_script
    model.requests.clear()
    before = len(calls_of(docks.calls))
    named = ("--server", DESK, "--server", BERTHS, "--prompt", PROMPT)
    done = docks.cli.play_model(model, *named, *HARD, "--out", str(file))
    assert done.returncode == 0, done.stderr
    (trajectory,) = read_trajectories(file)
    found = next(path for path in records_of(docks.cli) if path.stem == trajectory.episode_id)
    record = read_record(found)
    state = anyio.run(record_of, docks.cli, record.opened.id)
    reached = calls_of(docks.calls)[before:]
    return Played(trajectory, record, state, reached, list(model.requests))


async def record_of(cli: ServedHome, episode: EpisodeId) -> EpisodeRecord:
    async with cli.control() as client:
        return await client.record(episode)


def records_of(cli: Cli) -> list[Path]:
    return sorted(record_path(cli.home / "records", "x").parent.glob("*.jsonl"))


# --- the hybrid episode ---------------------------------------------------------------------------


def test_a_hybrid_episode_is_recorded_with_every_origin_right_and_the_same_for_the_same_seed(
    docks: Docks, endpoint: CompletionsServer, tmp_path: Path
) -> None:
    played = play(docks, endpoint, tmp_path / "t.jsonl")

    check_calls(played)
    check_what_reached_the_deployed_server(played)
    check_the_trajectory(played)
    check_what_the_agent_saw(played)
    again = play(docks, endpoint, tmp_path / "again.jsonl")
    changed = {"episode_id", "created_at"}
    first, second = (p.trajectory.model_dump(exclude=changed) for p in (played, again))
    assert first == second


def check_calls(played: Played) -> None:
    """Each call has its server, tool, origin, mark of a distractor, and emulator; some of each kind."""
    record = played.record
    assert record.opened.emulators == {BERTHS: EmulatorKind.OFFLINE}
    listed = {tool.shown: tool for tool in record.opened.tools}
    strange = {name for name, tool in listed.items() if tool.distractor}
    assert strange == listed.keys() - LISTED
    assert {listed[name].server for name in strange} <= bundled()
    asked = [name for turn in TURNS for name, _ in turn]
    calls = record.calls
    assert [call.shown for call in calls[: len(asked)]] == asked
    assert {call.shown for call in calls[len(asked) :]} == strange
    for call in calls:
        name = call.shown
        assert call.result is not None
        server, emulator = OWN.get(name, (listed[name].server if name in listed else None, None))
        tool = listed[name].tool if name in listed else None
        assert (call.server, call.tool) == (server, tool)
        assert call.is_distractor == (name in strange)
        assert call.emulator == emulator
        assert call.origin in ({Origin.TOOL} if server is None else {Origin.TOOL, Origin.INJECTED})
        assert call.result.is_error or call.origin is Origin.TOOL
    drawn = {
        ("distractor" if call.is_distractor else call.server, call.origin)
        for call in calls
        if call.server
    }
    kinds = (DESK, BERTHS, "distractor")
    assert drawn == {(kind, origin) for kind in kinds for origin in (Origin.TOOL, Origin.INJECTED)}


def bundled() -> set[str]:
    return {folder.parent.name for folder in bundled_folder().glob("*/environment.json")}


def check_what_reached_the_deployed_server(played: Played) -> None:
    """It wrote down the calls that did not fail on purpose, and it counted no other."""
    answered = [
        (call.tool, call.result.text)
        for call in played.record.calls
        if call.server == DESK and call.result and call.origin is Origin.TOOL
    ]
    assert played.reached == [tool for tool, _ in answered]
    counted = [text for tool, text in answered if tool == "count"]
    assert counted == [str(n) for n in range(1, len(counted) + 1)]


def check_the_trajectory(played: Played) -> None:
    """It says of each call what the record says, in the same order."""
    trajectory, calls = played.trajectory, played.state.calls
    assert [told(note) for note in trajectory.calls] == [told(call) for call in calls]
    assert [n.is_error for n in trajectory.calls] == [c.result and c.result.is_error for c in calls]
    for note, call in zip(trajectory.calls, played.record.calls, strict=True):
        assert call.result is not None
        assert (note.origin, note.emulator) == (call.origin, call.emulator)
        assert (note.injected is not None) == (note.origin is Origin.INJECTED)
    texts = [m.content for m in trajectory.messages if isinstance(m, ToolMessage)]
    assert texts == [call.result.text for call in calls if call.result]
    assert trajectory.source == {"kind": "servers", "names": [DESK, BERTHS], "prompt": PROMPT}
    assert (trajectory.reward, trajectory.failure) == (None, None)
    assert (trajectory.failures or {})["rate"] == 0.4
    assert {"mode": "banded", "k": 3}.items() <= (trajectory.distractors or {}).items()


def told(call: CallNote | CallRecord) -> dict[str, Any]:
    """What both say of a call."""
    return call.model_dump(include={"seq", *CallFacts.model_fields})


def check_what_the_agent_saw(played: Played) -> None:
    """Nothing gives away what is made up, out of place or failed on purpose."""
    sent = json.dumps(played.requests, ensure_ascii=False)
    for word in ("dev.astra-mcp", "emulat", "distractor", "inject"):
        assert word not in sent
    shown = [tool["function"]["name"] for tool in played.requests[0]["tools"]]
    assert shown == [tool.shown for tool in played.record.opened.tools]


# --- named servers --------------------------------------------------------------------------------


def test_servers_have_no_reward_and_that_is_no_failure_and_only_what_is_emulated_fails_on_purpose(
    docks: Docks, tmp_path: Path
) -> None:
    noop, files = ("--agent", "noop"), [tmp_path / f"{server}.jsonl" for server in (DESK, BERTHS)]
    named = ("--server", DESK, "--episodes", "2", "--out", str(files[0]))
    report = docks.cli.play(*noop, *named)
    docks.cli.play(*noop, "--server", BERTHS, "--out", str(files[1]))
    plain, emulated = (next(read_trajectories(file)).failures for file in files)

    assert plain is None
    assert emulated is not None
    assert emulated["rate"] == 0.2

    assert report["servers"] == [DESK]
    nothing = {"environment": None, "reward": None, "recall": None, "precision": None}
    for row in report["episodes"]:
        assert row | nothing == row
        assert (row["status"], row["calls"], row["failure"]) == ("closed", 0, None)
    (mean,) = report["environments"]
    assert mean == {**nothing, "question": None, "episodes": 2, "failed": 0, "calls": 0}


def test_people_are_told_which_servers_were_played(docks: Docks) -> None:
    done = docks.cli.run("rollout", "--agent", "noop", "--server", DESK, "--server", BERTHS)

    assert done.returncode == 0, done.stderr
    assert f"{DESK}, {BERTHS}" in done.stdout
    assert "closed" in done.stdout


def test_a_server_that_does_not_exist_is_named_with_the_closest_one(docks: Docks) -> None:
    done = docks.cli.run("rollout", "--agent", "noop", "--server", "dusk")

    assert done.returncode == 1
    assert "no server is named 'dusk'; did you mean desk?" in done.stderr


def test_each_prompt_of_a_file_is_an_episode_of_its_own(docks: Docks, tmp_path: Path) -> None:
    prompts, file = tmp_path / "prompts.txt", tmp_path / "t.jsonl"
    prompts.write_text("Count the ships.\nCount the gulls.\n", encoding="utf-8")

    named = ("--server", DESK, "--prompt-file", str(prompts))
    docks.cli.play("--agent", "noop", *named, "--seeds", "2", "--out", str(file))

    rows = list(read_trajectories(file))
    asked = [(row.source["prompt"], row.seeds.index) for row in rows]
    ships, gulls = "Count the ships.", "Count the gulls."
    assert asked == [(ships, 0), (ships, 1), (gulls, 0), (gulls, 1)]
    assert [row.messages[0].content for row in rows] == [ships, ships, gulls, gulls]
    assert len({row.seeds.episode for row in rows}) == 4


def test_a_model_may_follow_a_file_as_the_page_says(docks: Docks, tmp_path: Path) -> None:
    turns, file = tmp_path / "turns.jsonl", tmp_path / "t.jsonl"
    (script,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    turns.write_text(script, encoding="utf-8")
    serve = [sys.executable, "-P", "-m", "astra_mcp.completions", "--recordings", str(turns)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as endpoint:
        assert endpoint.stdout is not None
        base_url = json.loads(endpoint.stdout.readline())["base_url"]
        named = ("--server", DESK, "--prompt", PROMPT, "--base-url", base_url)
        docks.cli.play("--agent", "scripted", *named, "--out", str(file))
        endpoint.terminate()

    (trajectory,) = read_trajectories(file)
    assert [m.content for m in trajectory.messages if isinstance(m, ToolMessage)] == ["1", "2"]
    assert trajectory.messages[-1] == AssistantMessage(content="There are two.")


def test_the_oracle_earns_the_full_reward_among_distractors(docks: Docks, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    options = ("--agent", "oracle", "--distractors", "banded", "--out", str(file))
    report = docks.cli.play(*options)

    assert {row["environment"] for row in report["episodes"]} == bundled()
    assert min(row["reward"] for row in report["episodes"]) >= 0.999
    own = {name: len(load_bundle(bundled_folder() / name).document.tools) for name in bundled()}
    for row in read_trajectories(file):
        assert row.distractors is not None
        assert row.failures is None
        assert len(row.tools) > own[row.environment or ""]
        assert {note.is_distractor for note in row.calls} == {False}
