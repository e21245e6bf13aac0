"""Micro environments behind a real gateway, and what an oracle does in them, as trajectory files."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from astra_mcp.compose.settings import load_settings
from astra_mcp.environments.creation import texts_of, write_bundle
from astra_mcp.llm.usage import Usage
from astra_mcp.serving.process.gateway_access import GatewayAccess, open_gateway_access
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan
from astra_mcp.trajectory import Trajectory, TrajectoryWriter
from gateway.api.client import GatewayClient
from gateway.api.wire import SourceEnvironment
from training.rollout.agents.scripted import OracleAgent
from training.rollout.plan import plan_rollouts
from training.rollout.run import run_rollouts

__all__ = ["open_micro_gateway", "play_oracle", "write_micro_bundles"]

_AT_ONCE = 8


def write_micro_bundles(folder: Path, count: int, *, questions: int, seed: int) -> Sequence[str]:
    """Write environments of one sub-task in English, which nobody verified; gives their names."""
    order = Order(
        find_families(["micro"]),
        count,
        seed,
        languages=("en",),
        sub_tasks=(1, 1),
        questions=questions,
    )
    planned = [*plan(order)]
    for each in planned:
        write_bundle(each.name, texts_of(make_planned(each)), folder)
    return [each.name for each in planned]


@asynccontextmanager
async def open_micro_gateway(home: Path, folder: Path) -> AsyncGenerator[GatewayAccess]:
    """Serve the environments of a folder on a port of this process."""
    async with open_gateway_access(load_settings(home=home, environments=(folder,))) as access:
        yield access


async def play_oracle(access: GatewayAccess, names: Sequence[str], file: Path) -> None:
    """Write what the oracle does for each question of the environments, in their order."""
    async with GatewayClient(access.url, access.key) as gateway:
        sources = [
            (SourceEnvironment(kind="environment", name=name, question=question), None)
            for name in names
            for question in (
                None,
                *(each.id for each in (await gateway.environment(name)).questions),
            )
        ]
        rollouts = plan_rollouts(sources, num_episodes=1, num_samples=1, root_seed=0)
        played: dict[int, Trajectory] = {}

        def keep(place: int, trajectory: Trajectory, usage: Usage) -> None:
            del usage
            played[place] = trajectory

        oracle = OracleAgent(gateway.gold)
        await run_rollouts(gateway, oracle, rollouts, concurrency=_AT_ONCE, on_finished=keep)
    with TrajectoryWriter(file) as writer:
        for place in sorted(played):
            writer.write(played[place])
