"""Task synthesis as a whole, over sockets: each flaw is refused for its reason, and nothing is lost or paid twice."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from scripted_tasks import CHAIN_FLAWS, VARIATION_FLAWS, TaskModel
from task_fates import Fates, Outcomes, is_accounted_for, kept_tasks, read_outcomes
from written_servers import WRITTEN_SERVERS

from astra_mcp.completions import Policy, open_completions
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.synthesis.documents import WantedServers
from astra_mcp.compose.synthesis.trajectories import read_wanted, run_task_synthesis
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import ModelConfig, ModelsSettings
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import Progress, YieldTable
from astra_mcp.serving.process.gateway_access import open_gateway_access
from astra_mcp.synthesis.trajectories.pipeline import Recipe, tally_of
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.types import canonical_json
from gateway.api.client import GatewayClient
from registry.documents.preparation import prepare_server
from registry.intake.importing import import_documents
from registry.store.database import open_database
from training.rollout.chain_runner import GatewayChainRunner

RECIPE = Recipe(executes=True, num_server_tasks=4, concurrency=8)


@dataclass
class Bench:
    """Servers in a registry, a gateway that answers for them, and a scripted model."""

    settings: Settings
    documents: Documents
    runner: GatewayChainRunner
    recipe: Recipe
    model: TaskModel = field(default_factory=TaskModel)

    async def run(
        self, *, hear: Callable[[Progress], None] = lambda _: None, **budget: Any
    ) -> YieldTable:
        """Run once, as far as it comes; the table is of this run."""
        tally = tally_of(self.recipe)

        def listen(event: Progress) -> None:
            tally.hear(event)
            hear(event)

        await run_task_synthesis(
            self.settings,
            "test",
            self.documents,
            self.recipe,
            budget=Budget(**budget),
            runner=self.runner,
            hear=listen,
        )
        return tally.table()

    async def run_until(self, num_events: int) -> None:
        """Run, and be cut off at once after so many steps, unless the run ends before."""
        left = [num_events]
        with anyio.CancelScope() as scope:

            def hear(_: Progress) -> None:
                left[0] -= 1
                if not left[0]:
                    scope.cancel()

            await self.run(hear=hear)

    @property
    def outcomes(self) -> Outcomes:
        """What the registry keeps of the run."""
        return read_outcomes(self.settings.registry_url, "test")

    @property
    def tasks(self) -> bytes:
        """All tasks that were kept, by id."""
        kept = sorted(kept_tasks(self.outcomes), key=lambda task: task["id"])
        return b"\n".join(map(canonical_json, kept))


@asynccontextmanager
async def opened_bench(
    home: Path, *, recipe: Recipe = RECIPE, policy: Callable[[TaskModel], Policy] = lambda m: m
) -> AsyncGenerator[Bench]:
    """Open all that a run needs."""
    model = TaskModel()
    async with open_completions(policy(model)) as server:
        scripted = ModelConfig(model="scripted", base_url=server.base_url, max_retries=0)
        settings = Settings(home=home, models=ModelsSettings(generator=scripted, judge=scripted))
        async with open_database(settings.registry_url) as database:
            await import_documents(database, WRITTEN_SERVERS, prepare=prepare_server)
        documents = await read_wanted(settings, WantedServers())
        async with (
            open_gateway_access(settings) as access,
            GatewayClient(access.url, access.key) as client,
        ):
            runner = GatewayChainRunner(client, "test")
            yield Bench(settings, documents, runner, recipe, model)


async def test_each_flaw_is_refused_for_its_reason_and_every_kept_chain_was_executed(
    tmp_path: Path,
) -> None:
    async with opened_bench(tmp_path) as bench:
        table = await bench.run()
        num_answers = bench.model.num_answers
        again = await bench.run()

    fates = Fates(bench.outcomes, bench.model.planted)
    assert (fates.kept, dict(fates.other)) == ([], {})
    assert fates.own.total() == len(bench.model.planted)
    assert {*CHAIN_FLAWS, *VARIATION_FLAWS, "unknown_tool", "wrong_order"} <= {*fates.own}
    assert fates.unflawed["kept"] >= 0.8 * fates.unflawed.total()
    assert is_accounted_for(table)
    chains = [task for task in kept_tasks(bench.outcomes) if task["chain"]]
    for task in chains:
        steps = [call["step"] for call in task["executed"]]
        assert steps == task["chain"]["steps"]
        assert not any(call["is_error"] for call in task["executed"])
    assert chains
    assert "wire_all_money" not in str(chains)

    assert (bench.model.num_answers, again.usage.calls) == (num_answers, 0)
    assert [row.outputs for row in again.stages] == [row.outputs for row in table.stages]
