"""Task synthesis as a whole, over sockets: flaws are refused for their reasons, nothing is paid twice."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus

from astra_mcp.completions import open_completions
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

from scripted_tasks import TaskModel
from task_fates import Fates, Outcomes, is_accounted_for, kept_tasks, read_outcomes
from tiers import AT_THE_GATE
from written_servers import WRITTEN_SERVERS

RECIPE = Recipe(executes=True, num_server_tasks=2, concurrency=8)
NAMED = {
    "unknown_tool",
    "unsupported_argument",
    "wrong_order",
    "incoherent",
    "other_language",
    "names_a_tool",
    "lost_detail",
    "unchanged",
}
SERVER = "Parcel_post"
"""Its documents give orders to whoever reads them."""
NUM_EVENTS_BEFORE_DEATH = 60
SMALL = Recipe(executes=True, num_server_tasks=1, num_proposals=3, num_chains=4, concurrency=8)


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

    def point_at(self, url: str) -> None:
        """Ask the model at another address from now on."""
        model = self.settings.models.generator.model_copy(update={"base_url": url})
        models = ModelsSettings(generator=model, judge=model)
        self.settings = self.settings.model_copy(update={"models": models})

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
    home: Path, *names: str, recipe: Recipe = SMALL, seed: int = 0
) -> AsyncGenerator[Bench]:
    """Open all that a run of some servers needs, or of all."""
    model = TaskModel(seed=seed)
    async with open_completions(model) as server:
        scripted = ModelConfig(model="scripted", base_url=server.base_url, max_retries=0)
        settings = Settings(home=home, models=ModelsSettings(generator=scripted, judge=scripted))
        async with open_database(settings.registry_url) as database:
            await import_documents(database, WRITTEN_SERVERS, prepare=prepare_server)
        documents = await read_wanted(settings, WantedServers(names=names))
        async with (
            open_gateway_access(settings) as access,
            GatewayClient(access.url, access.key) as client,
        ):
            runner = GatewayChainRunner(client, "test")
            yield Bench(settings, documents, runner, recipe, model)


@dataclass(frozen=True)
class Whole:
    """How a run of one server ends that nobody disturbs."""

    tasks: bytes
    num_events: int
    num_calls: int


@pytest.fixture(scope="module")
async def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """An undisturbed run of the server that gives orders."""
    async with opened_bench(tmp_path_factory.mktemp("whole"), SERVER) as bench:
        events: list[Progress] = []
        table = await bench.run(hear=events.append)
        assert bench.tasks
        return Whole(bench.tasks, len(events), table.usage.calls)


async def test_each_flaw_is_refused_for_its_reason_and_every_kept_chain_was_executed(
    tmp_path: Path,
) -> None:
    async with opened_bench(tmp_path, recipe=RECIPE, seed=4) as bench:
        table = await bench.run()
        num_answers = bench.model.num_answers
        again = await bench.run()

    fates = Fates(bench.outcomes, bench.model.planted)
    assert (fates.kept, dict(fates.other)) == ([], {})
    assert fates.own.total() == len(bench.model.planted)
    assert fates.own.keys() >= NAMED
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


@pytest.mark.parametrize("num_points", [3, pytest.param(10, marks=AT_THE_GATE)])
async def test_a_run_that_is_cut_off_again_and_again_ends_as_one_that_was_not(
    tmp_path: Path, whole: Whole, num_points: int
) -> None:
    async with opened_bench(tmp_path, SERVER) as bench:
        for point in range(1, num_points + 1):
            await bench.run_until(whole.num_events * point // (num_points + 1))
        table = await bench.run()

    assert bench.tasks == whole.tasks
    assert is_accounted_for(table)
    assert not table.num_failed


@pytest.mark.volume
async def test_a_budget_that_is_spent_leaves_the_rest_to_the_next_run_and_pays_nothing_twice(
    tmp_path: Path, whole: Whole
) -> None:
    async with opened_bench(tmp_path, SERVER) as bench:
        tables = [await bench.run(max_calls=most) for most in (1, 5, 12, None)]

    assert all(table.stopped for table in tables[:-1])
    assert all(map(is_accounted_for, tables))
    assert [table.usage.calls for table in tables[:-1]] == [1, 5, 12]
    assert sum(table.usage.calls for table in tables) == whole.num_calls
    assert bench.tasks == whole.tasks


@pytest.mark.volume
async def test_a_model_that_dies_midway_and_comes_back_leaves_no_trace_in_the_tasks(
    tmp_path: Path, whole: Whole
) -> None:
    async with opened_bench(tmp_path, SERVER) as bench:
        dying, alive = anyio.Event(), str(bench.settings.models.generator.base_url)
        events: list[Progress] = []

        async def serve_until_death(*, task_status: TaskStatus[str]) -> None:
            async with open_completions(bench.model) as server:
                task_status.started(server.base_url)
                await dying.wait()

        def hear(event: Progress) -> None:
            events.append(event)
            if len(events) == NUM_EVENTS_BEFORE_DEATH:
                dying.set()

        tables: list[YieldTable] = []
        async with anyio.create_task_group() as group:
            bench.point_at(await group.start(serve_until_death))
            tables.append(await bench.run(hear=hear))
        died = tables[0]
        bench.point_at(alive)
        table = await bench.run()

    assert {reason for row in died.stages for reason in row.failed} <= {
        "model_unreachable",
        "model_connection",
        "undecided",
    }
    assert died.num_failed
    assert died.accepted < table.accepted
    assert bench.tasks == whole.tasks
    assert all(map(is_accounted_for, (died, table)))


@pytest.mark.volume
async def test_two_runs_of_one_name_at_once_are_refused(tmp_path: Path) -> None:
    async with opened_bench(tmp_path, SERVER) as bench:
        refused: list[str] = []

        async def run_beside() -> None:
            with pytest.raises(ConfigError) as error:
                await bench.run()
            refused.append(str(error.value))

        async with anyio.create_task_group() as group:

            def hear(_: Progress) -> None:
                if not refused:
                    refused.append("asked")
                    group.start_soon(run_beside)

            await bench.run(hear=hear)

    assert "another process works on the run 'test'" in refused[1]
    assert bench.tasks
