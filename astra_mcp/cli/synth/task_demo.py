"""The demo of trajectories: from three small servers to a training set, with words that were written by hand.

It plays in a home of its own, which is gone at its end, and under settings of its own: nothing of it gets into
the user's registry, and nothing of the user's changes what it makes.
"""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from astra_mcp.cli.progress import ShownPipeline, print_yield, show_pipeline
from astra_mcp.cli.score.page import report_of
from astra_mcp.cli.synth.task_options import Given
from astra_mcp.cli.synth.task_report import report_of_tasks
from astra_mcp.cli.synth.tasks import write_tasks
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.synthesis.documents import WantedServers
from astra_mcp.compose.synthesis.trajectories import (
    import_demo_documents,
    open_demo_models,
    read_wanted,
    run_task_synthesis,
)
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget, Usage
from astra_mcp.pipeline import Progress, YieldTable
from astra_mcp.report.console import out, print_json, report_errors, run_async, say
from astra_mcp.report.html.writing import write_report
from astra_mcp.serving.process.gateway_access import open_gateway_access
from astra_mcp.synthesis.trajectories.chains.proposing import Lengths
from astra_mcp.synthesis.trajectories.demo.script import TaskScript, load_task_script
from astra_mcp.synthesis.trajectories.demo.words import MODEL
from astra_mcp.synthesis.trajectories.pipeline import Recipe, tally_of
from astra_mcp.synthesis.trajectories.run_statistics import TaskStatistics
from astra_mcp.trajectory import Trajectory, TrajectoryWriter, read_trajectories
from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest, FailureRequest, SourceTask
from training.export.selection import ScoreFloors, Selection
from training.export.sft_exporting import SftExport, SftForm, export_sft
from training.rewards.floors import MIN_CALLS, Floors
from training.rewards.judging import prompts_version
from training.rewards.running import plan_scoring, run_scoring
from training.rewards.score import Dimension, Method, digest_of
from training.rewards.score_files import ScoreWriter, read_scores
from training.rewards.statistics import ScoreSummary
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.chain_runner import GatewayChainRunner
from training.rollout.plan import plan_rollouts
from training.rollout.run import run_rollouts

__all__ = ["RECIPE", "make_demo"]

_RUN = "demo"
_FOLDER = Path("trajectories-demo")
_BY_HAND = "no model is asked: every word of one was written by hand"
_CONCURRENCY = 8
_MAX_PROMPT_BYTES = 120_000
RECIPE = Recipe(lengths=Lengths(least=2, most=3), executes=True)
"""How the demo makes its tasks; all else is as ``synth tasks`` has it."""
_FLOORS = Floors({Dimension.FA: 0.5})


@dataclass(frozen=True, slots=True)
class _Files:
    """What the demo leaves behind, by what people call it."""

    folder: Path

    def of(self, name: str) -> Path:
        return self.folder / _NAMES[name]


_NAMES = {
    "tasks": "tasks.jsonl",
    "trajectories": "trajectories.jsonl",
    "scores": "scores.jsonl",
    "sft": "sft.jsonl",
    "card": "README.md",
    "report": "report.html",
    "scores_report": "scores.html",
}


@dataclass(slots=True)
class _Told:
    """What came of it, as far as it is."""

    statistics: TaskStatistics = field(default_factory=TaskStatistics)
    method: Method | None = None
    export: SftExport | None = None


def make_demo(given: Given) -> None:
    """Make all of it in a new folder, whole or not at all, and tell where it lies."""
    folder = user_path(given.out or _FOLDER).absolute()
    with report_errors():
        script = load_task_script()
        say.print(f"the demo: {_BY_HAND}")
        with _made_whole(folder) as (home, draft):
            table, told = _make(Settings.model_construct(home=home), script, _Files(draft))
            _report(table, told, _Files(draft))
            summary = ScoreSummary.of([*read_scores(draft / _NAMES["scores"]).values()])
    _tell(table, told, summary, _Files(folder), as_json=given.as_json)


@contextmanager
def _made_whole(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Give a home and a folder beside the wanted one, which it becomes where the block ends well."""
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"--out {folder} exists already and is kept: name a new folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = TemporaryDirectory(prefix=".trajectories-demo-", dir=folder.parent)
    except OSError as error:
        raise ConfigError(f"--out {folder} cannot be made: {error.strerror}") from None
    with made as place:
        home, draft = Path(place) / "home", Path(place) / "made"
        home.mkdir(mode=0o700)
        draft.mkdir()
        yield home, draft
        try:
            draft.rename(folder)
        except OSError as error:
            raise ConfigError(f"--out {folder} cannot be made: {error.strerror}") from None


def _make(settings: Settings, script: TaskScript, files: _Files) -> tuple[YieldTable, _Told]:
    told = _Told()
    with show_pipeline(tally_of(RECIPE), total=len(script.servers)) as shown:
        run_async(_play, settings, script, files, shown, told)
        return shown.table, told


async def _play(
    settings: Settings, script: TaskScript, files: _Files, shown: ShownPipeline, told: _Told
) -> None:
    async with AsyncExitStack() as opened:
        settings = await opened.enter_async_context(open_demo_models(settings, script))
        await import_demo_documents(settings)
        access = await opened.enter_async_context(open_gateway_access(settings))
        client = await opened.enter_async_context(GatewayClient(access.url, access.key))
        await _synthesize(settings, client, shown, told.statistics)
        write_tasks(told.statistics, files.of("tasks"))
        await _roll_out(settings, client, files.of("trajectories"))
        told.method = await _score(settings, files)
        told.export = _export(files)


async def _synthesize(
    settings: Settings, client: GatewayClient, shown: ShownPipeline, statistics: TaskStatistics
) -> None:
    def hear(event: Progress) -> None:
        shown.hear(event)
        statistics.hear(event)

    await run_task_synthesis(
        settings,
        _RUN,
        await read_wanted(settings, WantedServers()),
        RECIPE,
        budget=Budget(),
        runner=GatewayChainRunner(client, _RUN),
        hear=hear,
    )


async def _roll_out(settings: Settings, client: GatewayClient, file: Path) -> None:
    """Let the agent play every task once; nothing fails on purpose, and no tool is mixed in."""
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to load

    rollouts = plan_rollouts(
        [(SourceTask(kind="task", id=task.id), None) for task in await client.tasks(_RUN)],
        num_episodes=1,
        root_seed=RECIPE.seed,
        distractors=DistractorRequest(mode="none"),
        failures=FailureRequest(rate=0.0),
    )
    places: list[int] = []
    async with open_model(Role.AGENT, settings.models.of_role(Role.AGENT)) as chat:
        with TrajectoryWriter(file) as writer:

            def keep(place: int, trajectory: Trajectory, usage: Usage) -> None:
                del usage
                places.append(place)
                writer.write(trajectory)

            agent = ModelAgent(MODEL, chat)
            limits = settings.rollout.limits
            await run_rollouts(
                client, agent, rollouts, concurrency=_CONCURRENCY, on_finished=keep, limits=limits
            )
            writer.arrange(sorted(range(len(places)), key=places.__getitem__))


async def _score(settings: Settings, files: _Files) -> Method:
    from astra_mcp.compose.models import open_role  # noqa: PLC0415 - a second to load

    judge = settings.models.of_role(Role.JUDGE)
    method = Method(
        judge=f"{judge.model} {judge.revision}",
        prompts=prompts_version(),
        repeat=1,
        max_prompt_bytes=_MAX_PROMPT_BYTES,
    )
    plan = plan_scoring([files.of("trajectories")])
    async with open_role(settings, Role.JUDGE, Budget()) as model:
        with ScoreWriter(files.of("scores"), method) as writer:
            await run_scoring(
                plan, writer, model, method, concurrency=_CONCURRENCY, hear=lambda: None
            )
    return method


def _export(files: _Files) -> SftExport:
    scored = ScoreFloors(read_scores(files.of("scores")), _FLOORS)
    selection = Selection(min_calls=MIN_CALLS, scored=scored)
    return export_sft([files.of("trajectories")], files.of("sft"), SftForm.OPENAI, selection)


def _report(table: YieldTable, told: _Told, files: _Files) -> None:
    write_report(report_of_tasks(_RUN, table, told.statistics, is_demo=True), files.of("report"))
    if told.method is None:
        return
    scores = read_scores(files.of("scores"))
    played = read_trajectories(files.of("trajectories"))
    rows = ((each, scores.get(digest_of(each))) for each in played)
    write_report(report_of(rows, told.method), files.of("scores_report"))


def _tell(
    table: YieldTable, told: _Told, summary: ScoreSummary, files: _Files, *, as_json: bool
) -> None:
    selected = told.export.selected if told.export else None
    if selected is None:
        return
    if as_json:
        print_json(
            {
                "completions": "written by hand",
                "model": MODEL,
                **table.as_json(),
                **told.statistics.as_json(),
                "scores": summary.as_json(),
                "sft": {
                    "read": selected.num_read,
                    "rows": selected.num_taken,
                    "left_out": {**selected.left_out},
                },
                "files": {name: str(files.of(name)) for name in _NAMES},
            }
        )
        return
    print_yield(table)
    out.print(f"{selected.num_taken} rows of {selected.account()}")
    for name in _NAMES:
        out.print(f"{name.replace('_', ' ')}: {files.of(name)}")
    out.print(_BY_HAND)
