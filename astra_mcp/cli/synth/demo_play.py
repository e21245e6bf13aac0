"""The demo of trajectories as it is played: documents, tasks, rollouts, scores, a training set."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from astra_mcp.cli.synth.tasks import write_tasks
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.synthesis.documents import WantedServers
from astra_mcp.compose.synthesis.trajectories import (
    import_demo_documents,
    open_demo_models,
    read_wanted,
    run_task_synthesis,
)
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget, Usage
from astra_mcp.pipeline import Progress
from astra_mcp.serving.process.gateway_access import open_gateway_access
from astra_mcp.synthesis.trajectories.chains.proposing import Lengths
from astra_mcp.synthesis.trajectories.demo.script import TaskScript
from astra_mcp.synthesis.trajectories.demo.words import MODEL
from astra_mcp.synthesis.trajectories.pipeline import Recipe
from astra_mcp.synthesis.trajectories.run_statistics import TaskStatistics
from astra_mcp.trajectory import Trajectory, TrajectoryWriter
from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest, FailureRequest, SourceTask
from training.export.selection import ScoreFloors, Selection
from training.export.sft_exporting import SftExport, SftForm, export_sft
from training.rewards.floors import MIN_CALLS, Floors
from training.rewards.judging import prompts_version
from training.rewards.running import plan_scoring, run_scoring
from training.rewards.score import Dimension, Method
from training.rewards.score_files import ScoreWriter, read_scores
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.chain_runner import GatewayChainRunner
from training.rollout.plan import plan_rollouts
from training.rollout.run import run_rollouts

__all__ = ["FILES", "RECIPE", "RUN", "Played", "play_demo"]

RUN: Final = "demo"
RECIPE: Final = Recipe(lengths=Lengths(least=2, most=3), executes=True)
"""How its tasks are made; all else is as ``synth tasks`` has it."""
FILES: Final = {
    "tasks": "tasks.jsonl",
    "trajectories": "trajectories.jsonl",
    "scores": "scores.jsonl",
    "sft": "sft.jsonl",
    "card": "README.md",
    "report": "report.html",
    "scores_report": "scores.html",
}
"""What lies in its folder, by what people call it."""
_FLOORS: Final = Floors({Dimension.FA: 0.5})
_CONCURRENCY: Final = 8
_MAX_PROMPT_BYTES: Final = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of it, beside the files."""

    method: Method
    export: SftExport


async def play_demo(
    settings: Settings,
    script: TaskScript,
    folder: Path,
    statistics: TaskStatistics,
    hear: Callable[[Progress], None],
) -> Played:
    """Play all of it, and write tasks, trajectories, scores, training set and card into a folder.

    Args:
        settings: Of a home that is empty.
        script: The words in the place of the models'.
        folder: Empty.
        statistics: Take the tasks.
        hear: Told every step of the synthesis.

    Raises:
        AstraError: Something of it failed.
    """
    async with AsyncExitStack() as opened:
        settings = await opened.enter_async_context(open_demo_models(settings, script))
        await import_demo_documents(settings)
        access = await opened.enter_async_context(open_gateway_access(settings))
        client = await opened.enter_async_context(GatewayClient(access.url, access.key))
        await run_task_synthesis(
            settings,
            RUN,
            await read_wanted(settings, WantedServers()),
            RECIPE,
            budget=Budget(),
            runner=GatewayChainRunner(client, RUN),
            hear=hear,
        )
        write_tasks(statistics, folder / FILES["tasks"])
        await _roll_out(settings, client, folder / FILES["trajectories"])
        method = await _score(settings, folder)
        return Played(method=method, export=_export(folder))


async def _roll_out(settings: Settings, client: GatewayClient, file: Path) -> None:
    """Let the agent play every task once; nothing fails on purpose, and no tool is mixed in."""
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to load

    rollouts = plan_rollouts(
        [(SourceTask(kind="task", id=task.id), None) for task in await client.tasks(RUN)],
        num_episodes=1,
        root_seed=RECIPE.seed,
        distractors=DistractorRequest(mode="none"),
        failures=FailureRequest(rate=0.0),
    )
    places: list[int] = []
    with TrajectoryWriter(file) as writer:

        def keep(place: int, trajectory: Trajectory, usage: Usage) -> None:
            del usage
            places.append(place)
            writer.write(trajectory)

        async with open_model(Role.AGENT, settings.models.of_role(Role.AGENT)) as chat:
            await run_rollouts(
                client,
                ModelAgent(MODEL, chat),
                rollouts,
                concurrency=_CONCURRENCY,
                on_finished=keep,
                limits=settings.rollout.limits,
            )
        writer.arrange(sorted(range(len(places)), key=places.__getitem__))


async def _score(settings: Settings, folder: Path) -> Method:
    from astra_mcp.compose.models import open_role  # noqa: PLC0415 - a second to load

    judge = settings.models.of_role(Role.JUDGE)
    method = Method(
        judge=f"{judge.model} {judge.revision}",
        prompts=prompts_version(),
        repeat=1,
        max_prompt_bytes=_MAX_PROMPT_BYTES,
    )
    plan = plan_scoring([folder / FILES["trajectories"]])
    async with open_role(settings, Role.JUDGE, Budget()) as model:
        with ScoreWriter(folder / FILES["scores"], method) as writer:
            await run_scoring(
                plan, writer, model, method, concurrency=_CONCURRENCY, hear=lambda: None
            )
    return method


def _export(folder: Path) -> SftExport:
    """Export in a form that has no place for times and ids, so that every run writes the same bytes."""
    scored = ScoreFloors(read_scores(folder / FILES["scores"]), _FLOORS)
    selection = Selection(min_calls=MIN_CALLS, scored=scored)
    files = [folder / FILES["trajectories"]]
    return export_sft(files, folder / FILES["sft"], SftForm.OPENAI, selection)
