"""Synthesis with a model, over a socket: good work is published, cheap work is not, nothing is paid twice."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.completions import CompletionsServer, open_completions
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.synthesis.environments import run_synthesis
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import ModelConfig, ModelsSettings
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import YieldTable
from astra_mcp.synthesis.environments.building.tool import BuildAttempts
from astra_mcp.synthesis.environments.pipeline import Recipe
from astra_mcp.synthesis.environments.questions.source import make_source
from astra_mcp.synthesis.environments.questions.topology import Wanted

from deployed_workshop import until
from synthesis_model import SynthesisModel, source_rows

RECIPE = Recipe(wanted=Wanted(), attempts=BuildAttempts(inner=1, outer=1), num_judge_votes=0)


@asynccontextmanager
async def serving(count: int) -> AsyncGenerator[CompletionsServer]:
    """Serve the scripted models, which know so many environments."""
    async with open_completions(SynthesisModel(count)) as server:
        yield server


async def synthesized(
    server: CompletionsServer, home: Path, kind: str, count: int, **budget: Any
) -> YieldTable:
    """Make environments of the sources of a kind of model."""
    model = ModelConfig(model="scripted", base_url=server.base_url)
    settings = Settings(home=home, models=ModelsSettings(generator=model, judge=model))
    sources = [make_source(domain=str(row["domain"])) for row in source_rows(kind, count)]
    return await run_synthesis(
        settings,
        "test",
        sources,
        RECIPE,
        budget=Budget(**budget),
        folder=home / "environments",
        hear=lambda _: None,
    )


def published(home: Path) -> dict[str, bytes]:
    """All files that were published."""
    files = (home / "environments").rglob("*")
    return {f"{f.relative_to(home)}": f.read_bytes() for f in files if f.is_file()}


@pytest.mark.volume
@pytest.mark.claim("P51")
async def test_of_good_lazy_and_random_models_what_the_good_one_made_is_published_and_no_more(
    tmp_path: Path,
) -> None:
    async with serving(6) as server:
        table = await synthesized(server, tmp_path, "mixed", 6)

    assert table.accepted == 2
    assert sum(row.num_rejected for row in table.stages) == 4
    assert not any(row.failed for row in table.stages)


@pytest.mark.volume  # what a budget leaves to the next run is shown of the runner itself
async def test_a_run_cut_short_by_its_budget_ends_like_one_that_was_not_and_pays_no_call_twice(
    tmp_path: Path,
) -> None:
    async with serving(2) as server:
        whole = await synthesized(server, tmp_path / "whole", "good", 2)
        tables = [
            await synthesized(server, tmp_path / "cut", "good", 2, max_calls=most)
            for most in (2, 7, 20, None)
        ]
        again = await synthesized(server, tmp_path / "cut", "good", 2)

    assert tables[0].stopped
    assert published(tmp_path / "cut") == published(tmp_path / "whole")
    assert sum(table.usage.calls for table in tables) == whole.usage.calls
    assert (again.usage.calls, again.accepted) == (0, whole.accepted)


async def test_a_run_is_worked_on_by_one_at_a_time_and_an_environment_of_its_name_stays(
    tmp_path: Path,
) -> None:
    async with serving(1) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(synthesized, server, tmp_path, "good", 1)
            await until(lambda: any((tmp_path / "runs").glob("*.lock")))
            with pytest.raises(ConfigError, match="another process works on the run 'test'"):
                await synthesized(server, tmp_path, "good", 1)
        code = next((tmp_path / "environments").glob("*/tools.py"))
        code.write_text(f"{code.read_text()}# mine\n")
        table = await synthesized(server, tmp_path, "good", 1)

    assert table.stages[-1].rejected == {"name_taken": 1}
    assert code.read_text().endswith("# mine\n")


@pytest.mark.volume
@pytest.mark.timeout(600)
async def test_at_least_nine_of_ten_of_a_good_models_and_none_of_lazy_or_random_ones(
    tmp_path: Path,
) -> None:
    async with serving(120) as server:
        table = await synthesized(server, tmp_path, "mixed", 120)

    assert 36 <= table.accepted <= 40
