"""``astra-mcp rollout``: let an agent play episodes through the gateway, and keep the trajectories."""

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import typer

from astra_mcp.addresses import run_until_stopped
from astra_mcp.cli.completing import BUILT_IN_AGENTS, GOLD_AGENT
from astra_mcp.cli.noting import noted
from astra_mcp.cli.rollout import options as rollout_options
from astra_mcp.cli.rollout.agents import (
    KEY_RULE,
    QWEN_AGENT,
    SHARED_KEY,
    model_config,
    model_of,
    open_agent,
)
from astra_mcp.cli.rollout.bounds import Bounds, ask_bounds, open_users
from astra_mcp.cli.rollout.difficulty import Difficulty, ask_difficulty, naming_options
from astra_mcp.cli.rollout.episode_sources import (
    AskedSources,
    ask_sources,
    find_sources,
    read_system_prompt,
)
from astra_mcp.cli.rollout.own_agents import find_own_agent, names_own_agent
from astra_mcp.cli.rollout.report import RolloutReport
from astra_mcp.compose.runs.notes import NotedRun, RunKind, RunState
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.llm.usage import Usage
from astra_mcp.report.console import ExitCode, report_errors, run_async, say
from astra_mcp.report.shown import TimeRemainingColumn, Words
from astra_mcp.serving.process.gateway_access import GatewayAccess, open_gateway_access
from astra_mcp.tracing import open_tracing
from astra_mcp.trajectory import AgentInfo, Trajectory, TrajectoryWriter
from astra_mcp.types import JsonObject, canonical_json
from gateway.api.client import GatewayClient
from gateway.api.settings import public_url_fault
from gateway.api.wire import SourceTask
from training.rollout.plan import Rollout, plan_rollouts
from training.rollout.resume import find_kept
from training.rollout.run import run_rollouts

__all__ = ["rollout"]

_USUAL_CONCURRENCY = 8
TRAJECTORY_FOLDER = "trajectories"
_TYPO_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    agent: str
    sources: AskedSources
    num_episodes: int
    num_samples: int
    seed: int
    difficulty: Difficulty
    bounds: Bounds
    system_prompt: str | None
    concurrency: int
    out: Path | None
    resumes: bool
    gateway: str | None
    base_url: str | None
    html: Path | None
    as_json: bool


def rollout(  # noqa: PLR0913 - each is an option of the command
    names: rollout_options.Names = None,
    *,
    agent: rollout_options.AgentName = None,
    question: rollout_options.Question = None,
    questions: rollout_options.Questions = "main",
    server: rollout_options.Servers = None,
    tasks: rollout_options.Tasks = None,
    task: rollout_options.Task = None,
    prompt: rollout_options.Prompt = None,
    prompt_file: rollout_options.PromptFile = None,
    system_prompt: rollout_options.SystemPrompt = None,
    episodes: rollout_options.Episodes = 1,
    samples: rollout_options.Samples = 1,
    seed: rollout_options.Seed = 0,
    distractors: rollout_options.Distractors = None,
    k: rollout_options.K = None,
    failure_rate: rollout_options.FailureRate = None,
    failure_kinds: rollout_options.FailureKinds = None,
    failure_delay: rollout_options.FailureDelay = False,
    failure_scope: rollout_options.FailureScopeOption = None,
    max_turns: rollout_options.MaxTurns = None,
    max_seconds: rollout_options.MaxSeconds = None,
    max_completion_tokens: rollout_options.MaxCompletionTokens = None,
    max_prompt_tokens: rollout_options.MaxPromptTokens = None,
    max_invalid_calls: rollout_options.MaxInvalidCalls = None,
    user: rollout_options.UserName = None,
    max_user_turns: rollout_options.MaxUserTurns = None,
    concurrency: rollout_options.Concurrency = None,
    out: rollout_options.Out = None,
    resume: rollout_options.Resume = False,
    gateway: rollout_options.Gateway = None,
    base_url: rollout_options.BaseUrl = None,
    html: rollout_options.Html = None,
    as_json: rollout_options.AsJson = False,
) -> None:
    """Let an agent play environments, tasks or servers over HTTP and MCP, and print what it earned."""
    # Nothing else is bound yet: these are all options, by their names.
    given = rollout_options.Given(**locals())
    with report_errors():
        settings = load_settings()
        options = _asked(given, settings)
        _check(options, settings)
        with open_tracing():
            code = run_async(_rollout, settings, options)
    if code is not ExitCode.DONE:
        raise typer.Exit(code)


def _asked(given: rollout_options.Given, settings: Settings) -> _Options:
    """Read the options."""
    player = given.agent or settings.models.agent.model
    return _Options(
        agent=player,
        sources=ask_sources(
            given.names,
            given.server,
            given.prompt,
            given.prompt_file,
            asked=given.question,
            questions=given.questions,
            tasks=given.task,
            task_run=given.tasks,
        ),
        num_episodes=given.episodes,
        num_samples=given.samples,
        seed=given.seed,
        difficulty=ask_difficulty(
            mode=given.distractors,
            k=given.k,
            rate=given.failure_rate,
            kinds=given.failure_kinds,
            delay=given.failure_delay,
            scope=given.failure_scope,
            is_gold=player == GOLD_AGENT,
        ),
        bounds=ask_bounds(
            settings,
            player,
            user=given.user,
            max_turns=given.max_turns,
            max_seconds=given.max_seconds,
            max_completion_tokens=given.max_completion_tokens,
            max_prompt_tokens=given.max_prompt_tokens,
            max_invalid_calls=given.max_invalid_calls,
            max_user_turns=given.max_user_turns,
        ),
        system_prompt=read_system_prompt(given.system_prompt),
        concurrency=given.concurrency or max(_USUAL_CONCURRENCY, given.samples),
        out=given.out,
        resumes=given.resume,
        gateway=given.gateway,
        base_url=given.base_url,
        html=None if given.html is None else user_path(given.html),
        as_json=given.as_json,
    )


async def _rollout(settings: Settings, options: _Options) -> ExitCode:
    async with (
        open_gateway_access(settings, url=options.gateway) as access,
        GatewayClient(access.url, access.key) as gateway,
        open_agent(settings, options.agent, options.base_url, gateway) as agent,
        open_users(settings, options.bounds.user) as users,
    ):
        _say_gateway(access)
        found = await find_sources(gateway, options.sources)
        _warn_of_uncounted(found.uncounted)
        rollouts = plan_rollouts(
            found.sources,
            num_episodes=options.num_episodes,
            num_samples=options.num_samples,
            root_seed=options.seed,
            distractors=options.difficulty.distractors,
            failures=options.difficulty.failures,
            system_prompt=options.system_prompt,
            options=_recorded_options(options, settings),
        )
        rollouts = [_labelled(rollout, found.labels) for rollout in rollouts]
        path = options.out or _default_file(settings.home, options.agent)
        with (
            TrajectoryWriter(path, goes_on=options.resumes) as writer,
            _noted(settings.home, path, options) as run,
        ):
            playing = partial(
                run_rollouts, gateway, agent, limits=options.bounds.limits, users=users
            )
            rollouts = [replace(rollout, run=run.id) for rollout in rollouts]
            report, was_stopped = await _play(
                playing, agent.info, rollouts, writer, options, run=run
            )
            if report.num_finished == len(rollouts):
                writer.arrange(report.plan_order)
            page = partial(report.page, _name_of(options), len(rollouts))
            run.tell(report.told(len(rollouts)))
            run.show(page, is_last=True)
            run.ending = RunState.STOPPED if was_stopped else None
    if options.html is not None:
        from astra_mcp.report.html.writing import write_report  # noqa: PLC0415 - for this alone

        write_report(page(), options.html)
        say.print(f"wrote {options.html}")
    if options.as_json:
        report.print_object(agent=agent.info, seed=options.seed, url=access.url, file=path)
    else:
        report.print_table(file=path)
    if was_stopped:
        kept = f"{report.num_finished} of {len(rollouts)} episodes are kept in {path}"
        say.print(f"stopped; {kept}")
        return ExitCode.STOPPED
    return ExitCode.FAILED if report.num_failed else ExitCode.DONE


async def _play(
    playing: Callable[..., Awaitable[None]],
    player: AgentInfo,
    rollouts: Sequence[Rollout],
    writer: TrajectoryWriter,
    options: _Options,
    *,
    run: NotedRun,
) -> tuple[RolloutReport, bool]:
    """Play everything that is not there yet; a signal stops it and keeps what is finished."""
    report = RolloutReport(
        writer.write,
        servers=options.sources.servers,
        tasks=options.sources.shown_tasks,
        first_line=writer.num_lines,
    )
    for kept in find_kept(writer.path, writer.num_lines, rollouts, player):
        report.keep(kept.place, kept.trajectory, line=kept.line)
    finished = report.places
    left = [place for place in range(len(rollouts)) if place not in finished]
    if options.resumes:
        _say_kept(writer, report)
    with say.bars(Words("figures"), TimeRemainingColumn(compact=True)) as progress:
        bar = progress.add_task(f"{options.agent} plays", total=len(left), figures="")

        def add(number: int, trajectory: Trajectory, usage: Usage) -> None:
            report.add(left[number], trajectory, usage)
            progress.update(bar, advance=1, figures=report.figures)
            run.tell(report.told(len(rollouts)))
            run.show(partial(report.page, _name_of(options), len(rollouts)))

        async def play() -> None:
            with naming_options():
                await playing(
                    [rollouts[place] for place in left],
                    concurrency=options.concurrency,
                    on_finished=add,
                )

        stopped_by = await run_until_stopped(play)
    return report, stopped_by is not None


def _check(options: _Options, settings: Settings) -> None:
    """Refuse what cannot be meant before anything starts."""
    fault = public_url_fault(options.gateway) if options.gateway is not None else None
    if fault is not None:
        raise ConfigError(f"--gateway is no URL of a gateway: {fault}")
    if options.html is not None:
        from astra_mcp.report.html.writing import require_writable  # noqa: PLC0415 - as above

        require_writable(options.html)
    _check_agent(options, settings)
    _check_task(options)
    if options.concurrency < options.num_samples:
        raise ConfigError(
            f"--concurrency {options.concurrency} is too few for --samples {options.num_samples}: the"
            " samples of a group are open at once"
        )
    if options.resumes and options.out is None:
        raise ConfigError("--resume goes on with a file: name it with --out")
    if not options.resumes and options.out is not None and options.out.exists():
        msg = f"--out {options.out} exists already: name a new file, or go on with it by --resume"
        raise ConfigError(msg)


def _check_task(options: _Options) -> None:
    """Refuse an agent that would have nothing to go by at servers."""
    asked = options.sources
    if options.agent == GOLD_AGENT and (asked.servers or asked.has_tasks):
        what = "tasks" if asked.has_tasks else "servers"
        msg = f"the oracle plays the gold calls of environments, and {what} have none: see --agent"
        raise ConfigError(msg)
    if not asked.servers:
        return
    if options.agent not in BUILT_IN_AGENTS and not options.sources.prompts:
        msg = "a model at servers needs something to do: give --prompt or --prompt-file"
        raise ConfigError(msg)


def _check_agent(options: _Options, settings: Settings) -> None:
    """Refuse what is probably a typing error."""
    built_in = ", ".join(BUILT_IN_AGENTS)
    if not options.agent:
        msg = f"--agent is missing: name {built_in} or a chat model, or set models.agent.model"
        raise ConfigError(msg)
    if options.agent in BUILT_IN_AGENTS:
        if options.system_prompt is not None:
            msg = f"--system-prompt is for a chat model; the agent {options.agent!r} reads nothing"
            raise ConfigError(msg)
        if options.base_url is not None:
            msg = f"--base-url names a model's endpoint; the agent {options.agent!r} has none"
            raise ConfigError(msg)
        return
    if names_own_agent(options.agent) and not find_own_agent(options.agent).wants_chat:
        return
    _check_model(options, settings, built_in)


def _check_model(options: _Options, settings: Settings, built_in: str) -> None:
    """Refuse a model whose endpoint is not known, or that is none."""
    model = model_of(settings, options.agent)
    if not model:
        remedy = (
            f"write {QWEN_AGENT}MODEL" if options.agent == QWEN_AGENT else "set models.agent.model"
        )
        raise ConfigError(f"--agent {options.agent} plays by a model, and names none: {remedy}")
    config = model_config(settings, model, options.base_url)
    if config.base_url is not None:
        return
    close = difflib.get_close_matches(options.agent, BUILT_IN_AGENTS, n=1, cutoff=_TYPO_SIMILARITY)
    if close:
        msg = f"no agent is named {options.agent!r}; did you mean {close[0]}? ({built_in})"
        raise ConfigError(msg)
    if config.api_key is None:
        raise ConfigError(
            f"{model!r} is none of {built_in}, so it is taken for a chat model: name its"
            f" endpoint with --base-url or models.agent.base_url, or set {SHARED_KEY} for OpenAI's;"
            f" {KEY_RULE}"
        )


def _recorded_options(options: _Options, settings: Settings) -> str:
    """What decides the episodes beside source, seeds, agent and instructions, for the trajectories."""
    hard = options.difficulty
    asked: JsonObject = {
        "distractors": hard.distractors.model_dump(mode="json") if hard.distractors else None,
        "failures": hard.failures.model_dump(mode="json") if hard.failures else None,
    }
    if options.agent not in BUILT_IN_AGENTS:
        config = settings.models.agent
        sampling = config.model_dump(mode="json", include={"temperature", "top_p", "max_tokens"})
        asked |= sampling | options.bounds.recorded
        if config.extra_body:  # which may hold what is nobody's business
            digest = sha256(canonical_json(config.extra_body)).hexdigest()
            asked["extra_body_sha256"] = digest
    return canonical_json(asked).decode()


def _say_kept(writer: TrajectoryWriter, report: RolloutReport) -> None:
    """Mend the end of the file, now that it is known to be of this plan, and say what is kept."""
    lost = writer.mend()
    if lost:
        say.print(
            f"the last line of {writer.path} was cut: what there is of it ({lost} B) is dropped, and its"
            " episode is played again",
            style="yellow",
        )
    again = writer.num_lines - report.num_finished
    failed = f", {again} that failed are played again" if again else ""
    say.print(f"{report.num_finished} episodes are kept in {writer.path}{failed}")


def _labelled(rollout: Rollout, labels: Mapping[str, Mapping[str, str]]) -> Rollout:
    """Let the trajectory of a task say which servers it is of, how it came about, and its domain."""
    source = rollout.source
    own = labels.get(source.id) if isinstance(source, SourceTask) else None
    return rollout if own is None else replace(rollout, labels=dict(own))


def _default_file(home: Path, agent: str) -> Path:
    """Name a new file for a run: by agent and time, and never the same twice."""
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in agent)[:60]
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return home / TRAJECTORY_FOLDER / f"{safe}-{time}-{token_hex(2)}.jsonl"


def _noted(home: Path, path: Path, options: _Options) -> AbstractContextManager[NotedRun]:
    return noted(
        home,
        RunKind.ROLLOUT,
        command="rollout",
        name=_name_of(options),
        key=str(path.resolve()),
        place=path,
    )


def _name_of(options: _Options) -> str:
    """Name a rollout for people: who plays what."""
    asked = options.sources
    tasks = f"tasks {asked.shown_tasks}" if asked.has_tasks else ""
    played = ", ".join(asked.servers or asked.environments) or tasks or "all environments"
    return f"{options.agent}: {played}"


def _say_gateway(access: GatewayAccess) -> None:
    what = "no gateway was running: an own one serves" if access.is_own else "gateway"
    say.print(f"{what} at {access.url}")


def _warn_of_uncounted(names: Sequence[str]) -> None:
    if names:
        what = names[0] if len(names) == 1 else f"{len(names)} of the environments played here"
        say.print(
            f"anyone can try {what} at this gateway's interactive endpoints without its being "
            "counted: `astra-mcp serve --interactive none` closes them",
            style="yellow",
        )
