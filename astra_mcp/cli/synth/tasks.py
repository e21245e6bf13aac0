"""Making tasks of tool documents with a model: the options, the run, and what is told of it."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import typer

from astra_mcp.cli.noting import noted
from astra_mcp.cli.progress import ShownPipeline, print_yield, show_pipeline
from astra_mcp.cli.synth.noted_yield import note_end, note_yield
from astra_mcp.cli.synth.reading import read_languages, read_range
from astra_mcp.cli.synth.task_audit import require_new, tell_flags, write_audit
from astra_mcp.cli.synth.task_options import Given
from astra_mcp.cli.synth.task_report import report_of_tasks
from astra_mcp.compose.models import require_models
from astra_mcp.compose.runs.notes import NotedRun, RunKind
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.compose.synthesis.documents import WantedServers
from astra_mcp.compose.synthesis.trajectories import (
    read_listed,
    read_wanted,
    run_task_synthesis,
)
from astra_mcp.domains import Domain
from astra_mcp.errors import ConfigError, UnknownNameError
from astra_mcp.home import user_path
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import Progress, YieldTable
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.html.parts import Report
from astra_mcp.report.html.writing import require_writable, write_report
from astra_mcp.serving.process.gateway_access import open_gateway_access
from astra_mcp.synthesis.trajectories.chains.proposing import Lengths
from astra_mcp.synthesis.trajectories.pipeline import ChainSource, Recipe, tally_of
from astra_mcp.synthesis.trajectories.run_statistics import TaskStatistics
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import Axis
from astra_mcp.synthesis.trajectories.tasks.augmenting import Variations
from astra_mcp.synthesis.trajectories.tasks.scoring import Thresholds
from astra_mcp.types import JsonObject, canonical_json
from gateway.api.client import GatewayClient
from training.rollout.chain_runner import GatewayChainRunner

__all__ = ["make_tasks", "write_tasks"]

_NO_AXES = "none"
_NUM_PROPOSALS = 4
_MAX_LENGTH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What a run is made of, once all that a person wrote is understood."""

    settings: Settings
    recipe: Recipe
    documents: Documents
    budget: Budget
    gateway: str | None
    listed: frozenset[str]
    """Ids of the tasks that earlier runs of the name left in the registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """What the registry lists under the name of a run, once it is over."""

    num: int
    num_older: int
    """Of them, those that this run did not keep: of other servers, or since it did not come to its end."""
    num_removed: int
    """Listed before, and neither kept by this run nor listed any more."""

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {"listed": self.num, "of_earlier_runs": self.num_older, "removed": self.num_removed}

    def tell(self, run: str) -> None:
        """Say it to people."""
        if self.num:
            told = f"{self.num} tasks in the registry: `astra-mcp rollout --tasks {run}` plays them"
            out.print(told)
        if self.num_older:
            out.print(
                f"{self.num_older} of them are of earlier runs of this name: of other servers, or not"
                " decided anew as far as this one came"
            )
        if self.num_removed:
            out.print(
                f"{self.num_removed} tasks of earlier runs, not kept by this one, were removed"
            )


def make_tasks(given: Given) -> None:
    """Make tasks of what is given; ends the command with 1 where something failed."""
    with report_errors():
        if given.audited is not None:
            tell_flags(user_path(given.audited), as_json=given.as_json)
            return
        if given.audit is not None or given.audit_file is not None:
            write_audit(given)
            return
        _check(given)
        prepared = _prepare(given)
    say.print(f"{len(prepared.documents)} servers")
    noting = noted(
        prepared.settings.home,
        RunKind.SYNTHESIS,
        command="synth tasks",
        name=given.run,
        key=f"tasks {given.run}",
    )
    with noting as run:
        raise typer.Exit(_make(prepared, given, run))


def _make(prepared: _Prepared, given: Given, run: NotedRun) -> ExitCode:
    statistics = TaskStatistics()
    ending = ExitCode.DONE
    with show_pipeline(tally_of(prepared.recipe), total=len(prepared.documents)) as shown:

        def page() -> Report:
            return report_of_tasks(given.run, shown.table, statistics)

        def hear(event: Progress) -> None:
            shown.hear(event)
            statistics.hear(event)
            note_yield(run, event, lambda: shown.table, page)

        try:
            run_async(_run, prepared, given.run, shown, hear)
        except typer.Exit as error:
            ending = ExitCode(error.exit_code)
    table = shown.table
    if any(row.received for row in table.stages):
        note_end(run, table, page, was_stopped=ending is ExitCode.STOPPED)
        with report_errors():
            after = run_async(read_listed, prepared.settings, given.run)
            kept = {task.id for task in statistics.tasks}
            listed = _Listed(
                num=len(after),
                num_older=len(after - kept),
                num_removed=len(prepared.listed - after),
            )
            _tell(table, statistics, given, listed)
    if ending is ExitCode.STOPPED:
        say.print("stopped: what was finished is kept; run it again to go on")
    if not ending and (table.stopped or table.num_failed):
        ending = ExitCode.FAILED
    return ending


def _check(given: Given) -> None:
    """Refuse what cannot be meant, or could not be written, before anything is asked."""
    if given.gateway is not None and not given.execute:
        raise typer.BadParameter("it goes with --execute", param_hint="--gateway")
    if given.offline and given.proposals is not None:
        raise typer.BadParameter("--offline asks no model for chains", param_hint="--proposals")
    if given.proposals == 0 and not (given.server_tasks or given.cross_server):
        raise typer.BadParameter(
            "nothing is left to make: --proposals, --server-tasks and --cross-server are all 0"
        )
    known = [domain.value for domain in Domain]
    if given.domain is not None and given.domain not in known:
        raise UnknownNameError.among("domain", given.domain, known, "see docs/registry.md")
    if given.out is not None:
        require_new("--out", user_path(given.out))
    if given.report is not None:
        require_writable(user_path(given.report))


def _prepare(given: Given) -> _Prepared:
    recipe = _recipe(given)
    settings = load_settings()
    wanted = WantedServers(
        names=tuple(given.servers or ()),
        domain=given.domain,
        crawled=given.crawled,
        limit=given.limit,
    )
    if given.crawled and given.execute and given.gateway is None and not settings.emulators.crawled:
        raise ConfigError(
            "--crawled with --execute needs a gateway that serves such servers: set emulators.crawled = true"
        )
    documents = run_async(read_wanted, settings, wanted)
    if not documents:
        raise ConfigError("no kept server of the registry fits: see `astra-mcp registry list`")
    require_models(settings, given.budget, Role.GENERATOR, Role.JUDGE)
    return _Prepared(
        settings=settings,
        recipe=recipe,
        documents=documents,
        budget=given.budget,
        gateway=given.gateway,
        listed=run_async(read_listed, settings, given.run),
    )


def _recipe(given: Given) -> Recipe:
    least, most = read_range("--length", given.length, 1, _MAX_LENGTH)
    language = None if given.language is None else read_languages(given.language)
    if language is not None and len(language) > 1:
        raise typer.BadParameter("tasks are written in one language", param_hint="--language")
    chains = ChainSource.OFFLINE if given.offline else ChainSource.PROPOSALS
    return Recipe(
        chains=ChainSource.NONE if given.proposals == 0 else chains,
        num_proposals=given.proposals or _NUM_PROPOSALS,
        lengths=Lengths(least=least, most=most),
        is_acyclic=given.acyclic,
        num_chains=given.chains,
        num_cross_server=given.cross_server,
        num_votes=given.votes,
        num_translations=given.back_translation,
        executes=given.execute,
        num_server_tasks=given.server_tasks,
        variations=_variations(given.axes),
        language=language[0] if language else None,
        thresholds=Thresholds(
            question_quality=given.min_question_quality,
            scenario_realism=given.min_scenario_realism,
            tool_necessity=given.min_tool_necessity,
        ),
        seed=given.seed,
        concurrency=given.concurrency,
    )


def _variations(text: str) -> Variations:
    words = [word.strip() for word in text.split(",")]
    known = [axis.value for axis in Axis if axis is not Axis.ORIGINAL]
    unknown = [word for word in words if word not in (*known, _NO_AXES)]
    if unknown or (_NO_AXES in words and len(words) > 1):
        told = f"{text!r}: write {','.join(known)}, some of them, or {_NO_AXES}"
        raise typer.BadParameter(told, param_hint="--axes")
    return Variations(**{axis: int(axis in words) for axis in known})


async def _run(
    prepared: _Prepared, run: str, shown: ShownPipeline, hear: Callable[[Progress], None]
) -> None:
    async with AsyncExitStack() as opened:
        runner = None
        if prepared.recipe.executes:
            access = await opened.enter_async_context(
                open_gateway_access(prepared.settings, url=prepared.gateway)
            )
            client = await opened.enter_async_context(GatewayClient(access.url, access.key))
            await client.workers()  # before any call of a model: it is there, and takes the key
            runner = GatewayChainRunner(client, run)
        await opened.enter_async_context(shown.telling())
        await run_task_synthesis(
            prepared.settings,
            run,
            prepared.documents,
            prepared.recipe,
            budget=prepared.budget,
            runner=runner,
            hear=hear,
        )


def _tell(table: YieldTable, statistics: TaskStatistics, given: Given, listed: _Listed) -> None:
    if given.out is not None:
        _write_out(table, statistics, user_path(given.out))
    if given.report is not None:
        report = report_of_tasks(given.run, table, statistics)
        write_report(report, Path(user_path(given.report)))
        say.print(f"wrote {given.report}")
    if given.as_json:
        print_json({**table.as_json(), **statistics.as_json(), "registry": listed.as_json()})
        return
    print_yield(table)
    if given.cross_server:
        out.print(
            f"chains over servers: the documents give {statistics.num_cross_server} of the"
            f" {given.cross_server} that were asked for"
        )
    for (stage, reason), loss in sorted(statistics.failed.items()):
        first = loss.examples[0]
        out.print(f"{reason} in {stage}, such as {first.item}: {first.detail}")
    listed.tell(given.run)


def _write_out(table: YieldTable, statistics: TaskStatistics, file: Path) -> None:
    """Write the tasks of a run that came to its end; a file of half a run would be in the way of the rest."""
    if table.stopped or table.num_failed or table.num_not_begun:
        say.print(f"{file} is written once the run has come to its end", style="yellow")
    elif not table.accepted:
        say.print(f"no task was kept, so {file} is not written", style="yellow")
    else:
        write_tasks(statistics, file)
        say.print(f"wrote {file}")


def write_tasks(statistics: TaskStatistics, file: Path) -> None:
    """Write the kept tasks, a line each, whole or not at all; an existing file stays."""
    lines = [canonical_json(task.model_dump(mode="json")) for task in statistics.tasks]
    draft = file.with_name(f".{token_hex(8)}.draft")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(b"".join(line + b"\n" for line in lines))
        os.link(draft, file)
    except OSError as error:
        raise ConfigError(f"--out {file} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
