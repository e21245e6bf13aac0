"""Making environments with a model: the options, the run, and what is told of it."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import typer

from astra_mcp.cli.progress import print_yield, show_pipeline
from astra_mcp.cli.synth.options import Given
from astra_mcp.cli.synth.reading import read_languages, read_range, read_types
from astra_mcp.cli.synth.report import ReportedRun, report_of
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.compose.synthesis import open_demo_models, run_synthesis
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
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


def make_with_model(given: Given) -> None:
    """Make environments of what is given; ends the command with 1 where something failed."""
    with report_errors():
        recipe = _recipe(given)
        settings = load_settings()
        script = load_script() if given.demo else None
        sources = _sources(given, script)
        folder = user_path(given.folder or settings.made_environments).absolute()
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{folder} is no folder: name another one with --out")
        if given.report is not None:
            require_writable(user_path(given.report))
    budget = Budget(given.max_calls, given.max_cost, given.max_tokens)
    statistics = RunStatistics(is_control=not recipe.has_gate)
    if script is not None and not given.as_json:
        out.print(_BY_HAND)
    with show_pipeline(stage_names(recipe), total=len(sources)) as shown:

        def hear(event: Progress) -> None:
            shown.hear(event)
            statistics.hear(event)

        try:
            run_async(_run, settings, given, script, recipe, sources, budget, folder, hear)
        finally:
            run = ReportedRun(
                name=_DEMO if given.demo else given.run,
                table=shown.table,
                statistics=statistics,
                is_demo=given.demo,
            )
            if given.report is not None:
                _write_report(run, user_path(given.report))
            _tell(run, folder, given)
    if run.table.stopped or any(row.failed for row in run.table.stages):
        raise typer.Exit(ExitCode.FAILED)


async def _run(  # noqa: PLR0917 - what one run takes
    settings: Settings,
    given: Given,
    script: Script | None,
    recipe: Recipe,
    sources: list[Source],
    budget: Budget,
    folder: Path,
    hear: Callable[[Progress], None],
) -> None:
    models = nullcontext(settings) if script is None else open_demo_models(settings, script)
    run = given.run if script is None else _DEMO
    async with models as settings_of_run:
        await run_synthesis(
            settings_of_run, run, sources, recipe, budget=budget, folder=folder, hear=hear
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--corpus: cannot read {path}: {error}") from None


def _tell(run: ReportedRun, folder: Path, given: Given) -> None:
    table = run.table
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
