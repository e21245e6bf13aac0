"""Many episodes at once, with calls that fail on purpose: each trajectory is that of its own record."""

import json
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import CallRecord, EpisodeId, EpisodeStatus
from astra_mcp.llm.usage import Usage
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, open_test_gateway
from astra_mcp.trajectory import (
    AgentInfo,
    AssistantMessage,
    StopReason,
    ToolMessage,
    Trajectory,
    read_trajectories,
)
from astra_mcp.types import EmulatorKind, Origin
from gateway.api.wire import FailureRequest, SourceServers
from gateway.episodes.record import read_record, record_path
from training.rollout.agent import CallRequest, EpisodeView
from training.rollout.episode import result_text
from training.rollout.plan import plan_rollouts
from training.rollout.run import run_rollouts

from command_line import Cli, served_home

MIB = 1 << 20
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


class Parrot:
    """Calls one tool with words of its own seed, which no other episode has."""

    info = AgentInfo(name="parrot")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make two turns of three calls."""
        for turn in range(2):
            words = [f"{episode.seed} {turn} {n}" for n in range(3)]
            await episode.take_turn([CallRequest.of("repeat", {"word": word}) for word in words])
        episode.answer("Enough.")
        return StopReason.ANSWER


def check(
    trajectories: Iterable[Trajectory], calls_of: Callable[[str], Iterable[CallRecord]]
) -> int:
    """Compare every call with the record's; gives how many there were."""
    total = 0
    for trajectory in trajectories:
        assert trajectory.episode_id is not None
        played = list(calls_of(trajectory.episode_id))
        asked = [
            c for m in trajectory.messages if isinstance(m, AssistantMessage) for c in m.tool_calls
        ]
        told = [m.content for m in trajectory.messages if isinstance(m, ToolMessage)]
        recorded = [(c.seq, c.shown, c.arguments, c.origin, c.injected) for c in played]
        assert recorded == [
            (
                note.seq,
                call.function.name,
                json.loads(call.function.arguments),
                note.origin,
                note.injected,
            )
            for call, note in zip(asked, trajectory.calls, strict=True)
        ]
        assert told == [c.result and result_text(c.result) for c in played]
        total += len(played)
    return total


async def test_twenty_rollouts_at_once_keep_their_calls_apart(
    tmp_path: Path, anyio_backend: str
) -> None:
    def repeat(word: str) -> str:
        return f"you said {word}"

    source = SourceServers(kind="servers", names=("parrot",))
    rollouts = plan_rollouts(
        [(source, None)],
        num_episodes=5,
        num_samples=4,
        root_seed=1,
        failures=FailureRequest(rate=0.2),
    )
    played: list[Trajectory] = []

    def keep(_place: int, trajectory: Trajectory, _usage: Usage) -> None:
        played.append(trajectory)

    async with open_test_gateway(
        InMemoryCatalog(InMemoryServer("parrot", repeat)), tmp_path
    ) as gateway:
        await run_rollouts(gateway.control, Parrot(), rollouts, concurrency=20, on_finished=keep)
        records = {
            t.episode_id: await gateway.control.record(EpisodeId(t.episode_id or ""))
            for t in played
        }

    assert len(records) == 20
    assert check(played, lambda episode: records[episode].calls) == 20 * 6
    origins = Counter(note.origin for t in played for note in t.calls)
    assert set(origins) == {Origin.TOOL, Origin.INJECTED}
    assert len({t.messages for t in played}) == 20  # each sample makes calls of its own


@pytest.mark.volume
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    sys.platform != "linux", reason="memory of child processes is told in KiB on Linux"
)
def test_two_hundred_rollouts_at_once_on_emulated_servers_lose_and_mix_up_nothing(
    tmp_path: Path,
) -> None:
    home, file = tmp_path / "home", tmp_path / "t.jsonl"
    documents = tmp_path / "documents.jsonl"
    documents.write_text("\n".join(map(_document, range(4))), encoding="utf-8")
    assert Cli(home).run("registry", "import", str(documents), "--json").returncode == 0
    names = [word for n in range(4) for word in ("--server", f"berths_{n}")]
    plan = ("--episodes", "50", "--samples", "4", "--concurrency", "200", "--failure-rate", "0.2")
    with served_home(home) as cli:
        done = cli.run_program(
            "rollout", "--agent", "random", *names, *plan, "--out", str(file), "--json", seconds=500
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024

    assert done.returncode == 0, done.stderr
    rows = list(read_trajectories(file))
    named = [(row.seeds.index, row.sample) for row in rows]
    assert named == [(index, sample) for index in range(50) for sample in range(4)]
    assert {row.status for row in rows} == {EpisodeStatus.CLOSED}
    assert len({row.episode_id for row in rows}) == 200
    total = check(
        rows, lambda episode: read_record(record_path(home / "records", EpisodeId(episode))).calls
    )
    assert total == 200 * 32
    notes = [note for row in rows for note in row.calls]
    injected = sum(note.origin is Origin.INJECTED for note in notes)
    assert 0.15 < injected / total < 0.25
    assert {note.emulator for note in notes} == {EmulatorKind.OFFLINE}
    assert peak <= 800 * MIB  # of the largest child, the gateway among them


def _document(number: int) -> str:
    """The documents of one server, as a row of a file."""
    ship = {"type": "object", "properties": {"ship": {"type": "string"}}, "required": ["ship"]}
    described = {
        "list_berths": ("List the berths.", NOTHING),
        "book_berth": ("Book a berth for a ship.", ship),
        "find_ship": ("Tell in which berth a ship is.", ship),
    }
    tools = [
        {"name": f"{name}_{number}", "description": words, "parameters": parameters}
        for name, (words, parameters) in described.items()
    ]
    about = {
        "server_title": f"berths_{number}",
        "server_name": f"berths_{number}",
        "server_description": "The berths of a harbour: which are free, and bookings of them.",
        "domain": "logistics",
    }
    return json.dumps({"base_info": {"group_info": about, "tool_list": tools}, "features": {}})
