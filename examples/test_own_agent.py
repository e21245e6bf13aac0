"""Test an agent of your own with pytest: one gateway for the module, an episode for each test.

pytest examples/test_own_agent.py
"""

from collections.abc import AsyncIterator

import pytest

from astra_mcp.testing import (
    InMemoryCatalog,
    InMemoryServer,
    Question,
    RunningGateway,
    open_test_gateway,
)
from astra_mcp.trajectory import AgentInfo, StopReason
from gateway.api.wire import SourceEnvironment
from training.rollout.agent import CallRequest, EpisodeView
from training.rollout.plan import Rollout
from training.rollout.run import run_rollout


def weigh(ship: str) -> str:
    """Say how heavy a ship is."""
    return f"The {ship} weighs 300 tons."


QUESTION = Question("How heavy is the Alma?", "300 tons", gold=[("weigh", {"ship": "Alma"})])
HARBOUR = InMemoryServer("harbour", weigh)


class LastWordAgent:
    """Weighs the ship that the question ends with."""

    info = AgentInfo(name="last word")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make one call, and answer with what it tells."""
        ship = str(episode.messages[-1].content).split()[-1].rstrip("?")
        (weighed,) = await episode.take_turn([CallRequest.of("weigh", {"ship": ship})])
        episode.answer(weighed.text)
        return StopReason.ANSWER


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """A fixture of the module's scope needs an event loop of that scope."""
    return "asyncio"


@pytest.fixture(scope="module")
async def gateway(anyio_backend: str) -> AsyncIterator[RunningGateway]:
    """One gateway for all tests: episodes share no state."""
    catalog = InMemoryCatalog(HARBOUR, questions={"harbour": QUESTION})
    async with open_test_gateway(catalog) as running:
        yield running


@pytest.mark.anyio
async def test_the_agent_earns_the_whole_reward(gateway: RunningGateway) -> None:
    """Play one episode, and look at what is recorded of it."""
    source = SourceEnvironment(kind="environment", name="harbour")
    rollout = Rollout(source=source, version=HARBOUR.version, root_seed=7, index=0)
    trajectory = await run_rollout(gateway.control, LastWordAgent(), rollout)
    assert trajectory.reward is not None
    assert trajectory.reward.recall == 1.0
    assert HARBOUR.calls == [("weigh", {"ship": "Alma"})]
