"""The gateway is killed under load: nothing answered is lost, nothing takes effect twice."""

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import TransportError
from astra_mcp.types import ToolResult
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.connections import Connections
from gateway.api.wire import EpisodeCreated, EpisodeRequest
from gateway.episodes.record import Record, read_record, record_path

pytestmark = pytest.mark.system

NUM_EPISODES = 8
ANSWERS_BEFORE_KILL = 120
AMOUNT = 5
GONE_SECONDS = 20.0


@dataclass
class Played:
    """What the agent of one episode knows."""

    created: EpisodeCreated
    answered: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    unanswered: str | None = None
    """Id of the call that got no answer."""

    def next_id(self) -> str:
        return f"call-{len(self.answered)}"

    async def play(self, http: Connections, on_answer: Any) -> None:
        """Call until the gateway is gone."""
        client = EpisodeClient(self.created.mcp_url, http)
        while True:
            call_id = self.next_id()
            self.unanswered = call_id
            try:
                result = await client.call("add", {"amount": AMOUNT}, call_id=call_id)
            except TransportError:
                return
            self.answered[call_id] = result
            self.unanswered = None
            on_answer()


@dataclass
class Killed:
    """What is left after the kill."""

    home: Path
    played: list[Played]
    survivors: list[psutil.Process]

    def record(self, played: Played) -> Record:
        return read_record(record_path(self.home / "records", played.created.id))


@pytest.fixture(scope="module")
def killed(
    start_serve: Any, counter_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Killed:
    """Play several episodes at once, and kill the gateway in the midst of it."""
    home = tmp_path_factory.mktemp("killed") / "home"
    return anyio.run(play_and_kill, start_serve, counter_bundle, home)


async def play_and_kill(start_serve: Any, counter_bundle: Path, home: Path) -> Killed:
    running = start_serve(home, "--environments", str(counter_bundle))
    request = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "purse"}})
    async with GatewayClient(running.url, running.key) as control:
        created = await control.create_episodes([request] * NUM_EPISODES)
        played = [Played(c) for c in created]
        children: list[psutil.Process] = []

        def on_answer() -> None:
            if not children and sum(len(p.answered) for p in played) >= ANSWERS_BEFORE_KILL:
                children.extend(psutil.Process(running.process.pid).children(recursive=True))
                running.process.send_signal(signal.SIGKILL)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for one in played:
                    group.start_soon(one.play, control.http, on_answer)
        running.process.wait(GONE_SECONDS)
    assert children, "the sandbox had no process: nothing was tested"
    _, survivors = psutil.wait_procs(children, timeout=GONE_SECONDS)
    return Killed(home, played, survivors)


def test_no_sandbox_process_outlives_a_killed_gateway(killed: Killed) -> None:
    assert killed.survivors == []


def test_everything_answered_is_in_the_record(killed: Killed) -> None:
    assert sum(len(p.answered) for p in killed.played) >= ANSWERS_BEFORE_KILL
    for played in killed.played:
        recorded = {c.call_id: c.result for c in killed.record(played).calls if c.result}
        assert played.answered.items() <= recorded.items()


async def test_after_a_restart_retries_take_effect_once_and_the_state_goes_on(
    killed: Killed, start_serve: Any, counter_bundle: Path
) -> None:
    restarted = start_serve(killed.home, "--environments", str(counter_bundle))
    assert any(p.unanswered for p in killed.played)
    async with GatewayClient(restarted.url, restarted.key) as control:
        for played in killed.played:
            client = EpisodeClient(
                f"{restarted.url}/episodes/{played.created.id}/mcp", control.http
            )
            assert await client.list_tools() == played.created.tools
            num_recorded = len(killed.record(played).calls)
            for call_id, result in played.answered.items():
                again = await client.call("add", {"amount": AMOUNT}, call_id=call_id)
                assert again == result
            assert len(killed.record(played).calls) == num_recorded
            num_effects = len(played.answered)
            if played.unanswered:
                first = await client.call("add", {"amount": AMOUNT}, call_id=played.unanswered)
                second = await client.call("add", {"amount": AMOUNT}, call_id=played.unanswered)
                num_effects += 1
                assert first == second
                assert f'"total": {AMOUNT * num_effects}}}' in first.text
            following = await client.call("add", {"amount": 1})
            assert f'"total": {AMOUNT * num_effects + 1}}}' in following.text
            state = await control.close_episode(played.created.id)
            assert (state.status, state.calls) == (EpisodeStatus.CLOSED, num_effects + 1)
            assert state.failure is None
