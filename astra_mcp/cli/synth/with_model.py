"""Making environments with a model: the options, the run, and what is told of it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from astra_mcp.cli.noting import noted
from astra_mcp.cli.progress import ShownPipeline, print_yield, show_pipeline
from astra_mcp.cli.synth.noted_yield import note_end, note_yield
from astra_mcp.cli.synth.options import Given
from astra_mcp.cli.synth.reading import read_languages, read_range, read_types
from astra_mcp.cli.synth.report import ReportedRun, report_of
from astra_mcp.compose.models import require_models
from astra_mcp.compose.runs.notes import NotedRun, RunKind
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.compose.synthesis.environments import open_demo_models, run_synthesis
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import Progress
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.html.writing import require_writable, write_report
from astra_mcp.synthesis.environments.building.tool import BuildAttempts
from astra_mcp.synthesis.environments.demo.script import MODEL, Script, load_script
from astra_mcp.synthesis.environments.pipeline import Recipe, stage_names
from astra_mcp.synthesis.environments.questions.source import Source, make_source, read_sources
from astra_mcp.synthesis.environments.questions.topology import Wanted
from astra_mcp.synthesis.environments.run_statistics import RunStatistics
from astra_mcp.types import JsonObject

__all__ = ["make_with_model"]

_MIN_QUALITY = 0.85
_DEMO = "demo"
"""The run of the demo, whatever --run says: its outcomes are nobody else's."""
_BY_HAND = "the demo: no model is asked, all of its completions were written by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What a run is made of, once all that a person wrote is understood."""

    settings: Settings
    recipe: Recipe
    script: Script | None
    sources: list[Source]
    folder: Path
    budget: Budget

    @property
    def stages(self) -> list[str]:
        return stage_names(self.recipe)


def make_with_model(given: Given) -> None:
    """Make environments of what is given; ends the command with 1 where something failed."""
    with report_errors():
        prepared = _prepare(given)
    say.print(_BY_HAND if given.demo else _counted(prepared.sources))
    name = _DEMO if given.demo else given.run
    noting = noted(
        prepared.settings.home,
        RunKind.SYNTHESIS,
        command="synth environments",
        name=name,
        key=f"environments {name}",
        place=prepared.folder,
    )
    with noting as run:
        ending = _make(prepared, given, name, run)
        raise typer.Exit(ending)


def _make(prepared: _Prepared, given: Given, name: str, run: NotedRun) -> ExitCode:
    statistics = RunStatistics(is_control=not prepared.recipe.has_gate)
    ending = ExitCode.DONE
    with show_pipeline(prepared.stages, total=len(prepared.sources)) as shown:

        def reported() -> ReportedRun:
            return ReportedRun(
                name=name, table=shown.table, statistics=statistics, is_demo=given.demo
            )

        def hear(event: Progress) -> None:
            shown.hear(event)
            statistics.hear(event)
            note_yield(run, event, lambda: shown.table, lambda: report_of(reported()))

        try:
            run_async(_run, prepared, name, shown, hear)
        except typer.Exit as error:
            ending = ExitCode(error.exit_code)
    table = shown.table
    if table.stages[0].received:
        was_stopped = ending is ExitCode.STOPPED
        note_end(run, table, lambda: report_of(reported()), was_stopped=was_stopped)
        _tell(reported(), prepared.folder, given)
    if ending is ExitCode.STOPPED:
        say.print("stopped: what was finished is kept; run it again to go on")
    if not ending and (table.stopped or table.num_failed):
        ending = ExitCode.FAILED
    return ending


def _prepare(given: Given) -> _Prepared:
    recipe = _recipe(given)
    settings = load_settings()
    script = load_script() if given.demo else None
    if given.report is not None:
        require_writable(user_path(given.report))
    if script is None:
        require_models(settings, given.budget, Role.GENERATOR, Role.JUDGE)
    return _Prepared(
        settings=settings,
        recipe=recipe,
        script=script,
        sources=_sources(given, script),
        folder=user_path(given.folder or settings.made_environments).absolute(),
        budget=given.budget,
    )


async def _run(
    prepared: _Prepared, run: str, shown: ShownPipeline, hear: Callable[[Progress], None]
) -> None:
    script, settings = prepared.script, prepared.settings
    models = nullcontext(settings) if script is None else open_demo_models(settings, script)
    async with models as settings_of_run, shown.telling():
        await run_synthesis(
            settings_of_run,
            run,
            prepared.sources,
            prepared.recipe,
            budget=prepared.budget,
            folder=prepared.folder,
            hear=hear,
        )


def _write_report(run: ReportedRun, file: Path) -> None:
    with report_errors():
        write_report(report_of(run), file)
        say.print(f"wrote {file}")


def _recipe(given: Given) -> Recipe:
    if given.percentile is not None and given.min_quality is not None:
        raise typer.BadParameter("it takes the place of --min-quality", param_hint="--percentile")
    return Recipe(
        wanted=Wanted(
            hops=read_range("--hops", given.hops, 1, 20),
            types=tuple(read_types(given.types)),
            is_strict=given.strict_corpus,
        ),
        num_samples=given.samples,
        has_gate=given.topology_gate,
        min_quality=_MIN_QUALITY if given.min_quality is None else given.min_quality,
        percentile=given.percentile,
        num_votes=given.votes,
        num_judge_votes=given.judge_votes,
        num_attacks=given.attack,
        attempts=BuildAttempts(),
        seed=given.seed,
        concurrency=given.concurrency,
    )


def _sources(given: Given, script: Script | None) -> list[Source]:
    """The sources of a file, or the one that options describe, in each language that is asked for."""
    languages = [None] if given.language is None else read_languages(given.language)
    is_described = bool(given.domain or given.corpus or given.question)
    if script is not None:
        if is_described or given.sources is not None or given.language is not None:
            raise typer.BadParameter(
                "it has sources of its own: leave --from, --domain, --corpus, --question and "
                "--language out",
                param_hint="--demo",
            )
        return [source.source for source in script.sources][: given.limit]
    if is_described == (given.sources is not None):
        raise typer.BadParameter(
            "name what to make environments of: --from FILE, or --domain, --corpus and --question, or "
            "--families, or --demo",
            param_hint="--from",
        )
    if given.sources is not None:
        if len(languages) > 1:
            raise typer.BadParameter("a file is read in one language", param_hint="--language")
        return read_sources(user_path(given.sources), languages[0])[: given.limit]
    corpus = "" if given.corpus is None else _text(user_path(given.corpus))
    return [
        make_source(
            domain=given.domain or "", corpus=corpus, question=given.question, language=language
        )
        for language in languages
    ]


def _counted(sources: list[Source]) -> str:
    """Say what a run begins with; sources without a text lead to answers that a model makes up."""
    with_text = sum(bool(source.corpus) for source in sources)
    return f"{len(sources)} sources, {with_text} of them with a text"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--corpus: cannot read {path}: {error}") from None


def _tell(run: ReportedRun, folder: Path, given: Given) -> None:
    table = run.table
    if given.report is not None:
        _write_report(run, user_path(given.report))
    if given.as_json:
        by_hand: JsonObject = {"completions": "written by hand", "model": MODEL}
        told = table.as_json() | run.statistics.as_json()
        print_json({**told, **(by_hand if given.demo else {})})
    else:
        print_yield(table)
        for (stage, reason), loss in sorted(run.statistics.failed.items()):
            first = loss.examples[0]
            out.print(f"{reason} in {stage}, such as {first.item}: {first.detail}")
        if given.demo:
            out.print(_BY_HAND)
        if table.accepted:
            out.print(f"{table.accepted} environments in {folder}")
