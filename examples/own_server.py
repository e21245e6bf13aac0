"""Test a server and an agent of your own in one process: publish functions, play an episode, read the reward.

python examples/own_server.py
"""

import anyio

from astra_mcp.testing import (
    InMemoryCatalog,
    InMemoryServer,
    Question,
    ScriptedModel,
    open_test_gateway,
)
from gateway.api.wire import SourceEnvironment
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.plan import Rollout
from training.rollout.run import run_rollout


def weigh(ship: str) -> str:
    """Say how heavy a ship is."""
    return f"The {ship} weighs 300 tons."


async def main() -> None:
    """Let turns that were written down solve an environment."""
    question = Question("How heavy is the Alma?", "300 tons", gold=[("weigh", {"ship": "Alma"})])
    harbour = InMemoryServer("harbour", weigh)
    catalog = InMemoryCatalog(harbour, questions={"harbour": question})
    model = ScriptedModel([[("weigh", {"ship": "Alma"})], "It weighs 300 tons."])
    source = SourceEnvironment(kind="environment", name="harbour")
    rollout = Rollout(source=source, version=harbour.version, root_seed=7, index=0)
    async with open_test_gateway(catalog) as gateway:
        trajectory = await run_rollout(gateway.control, ModelAgent(model.name, model), rollout)
    print("calls:", harbour.calls)
    print("reward:", trajectory.reward)


if __name__ == "__main__":
    anyio.run(main)
