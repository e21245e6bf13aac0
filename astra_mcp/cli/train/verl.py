"""Puts the parts of a run by verl together: gateway, questions, and what people see."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Event

import typer

from astra_mcp.cli.train.noted_training import noted_training
from astra_mcp.cli.train.plan import print_outcome, show_progress
from astra_mcp.cli.train.stopping import hearing_signals
from astra_mcp.cli.train.supervisor import alarms_shown, open_adviser, signals_shown
from astra_mcp.cli.train.watched import Watched
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.report.console import ExitCode, fail, out, print_json, run_async, say
from astra_mcp.report.shown import Table, whole
from astra_mcp.serving.process.gateway_access import open_gateway_access
from astra_mcp.types import JsonObject
from gateway.api.client import GatewayClient
from training.evaluation.sampler import limits_of_model
from training.render import load_tokenizer
from training.rl.core.policy import PolicyLimits
from training.rl.native.generation import limits_of_episode
from training.rl.native.questions import find_held_out, find_questions
from training.rl.native.trainer import Playground
from training.rl.verl.launcher import Reached, check_by_verl, train_by_verl
from training.rl.verl.settings import VerlSettings
from training.rl.verl.stretching import fetch
from training.sft.model import find_model, model_config
from training.sft.training import Ending, Outcome, Progress

__all__ = ["run_verl"]


def run_verl(
    settings: VerlSettings, versions: Mapping[str, str], *, dry_run: bool, as_json: bool
) -> None:
    """Find what is played, say what will be used, and train.

    Args:
        settings: Of the run.
        versions: Of the libraries.
        dry_run: Have verl check its configuration, and stop before anything is written, played or trained.
        as_json: Print one JSON object in the place of tables.

    Raises:
        ConfigError: Something cannot be used; names it.
    """
    if settings.log.wandb_project and find_spec("wandb") is None:
        raise ConfigError("log.wandb_project needs Weights & Biases: install astra-mcp[wandb]")
    if dry_run:
        _show(_checked(settings), as_json=as_json)
        return
    watched = Watched()
    outcome, shown = run_async(_run, settings, versions, watched, as_json)
    print_outcome(outcome, shown, watched.as_json(), as_json=as_json)
    if watched.stopping:
        names = ", ".join(each.alarm.name for each in watched.stopping)
        fail(f"stopped at step {outcome.step}, which is saved, by the alarm {names}")
    if outcome.ending is Ending.STOPPED:
        say.print(f"stopped at step {outcome.step}, which is saved: the same command goes on")
        raise typer.Exit(ExitCode.STOPPED)


def _checked(settings: VerlSettings) -> JsonObject:
    """Have verl check a run; where the model is not here, its limits are those of the settings."""
    try:
        limits, absent = _limits(settings, find_model(settings.model)), None
    except ConfigError as error:
        if Path(settings.model).is_dir():
            raise
        limits, absent = limits_of_episode(settings, PolicyLimits()), str(error)
    said = run_async(check_by_verl, settings, limits, settings.model)
    return {**said, **({} if absent is None else {"not run here": absent})}


def _limits(settings: VerlSettings, model: str) -> PolicyLimits:
    config, factor = model_config(model), settings.verl.rope_factor
    if factor is not None:
        config.max_position_embeddings = int(config.max_position_embeddings * factor)
    return limits_of_episode(settings, limits_of_model(config))


async def _run(
    settings: VerlSettings, versions: Mapping[str, str], watched: Watched, as_json: bool
) -> tuple[Outcome, JsonObject]:
    model = fetch(find_model(settings.model))
    tokenizer, renderer = load_tokenizer(model)
    limits = _limits(settings, model)
    stop, told = Event(), load_settings()
    async with (
        open_gateway_access(told, url=settings.url) as access,
        GatewayClient(access.url, access.key) as client,
        open_adviser(settings, told) as adviser,
        hearing_signals(stop),
    ):
        questions = await find_questions(client, settings)
        playground = Playground(
            gateway=client,
            renderer=renderer,
            tokenizer=tokenizer,
            questions=questions,
            held_out=await find_held_out(client, settings, questions),
            adviser=adviser,
        )
        reached = Reached(
            playground=playground, url=access.url, key=access.key, limits=limits, model=model
        )
        shown = _print_plan(settings, reached, versions, as_json=as_json)
        with (
            noted_training(told.home, "train rl", settings.out) as run,
            show_progress(settings.training.steps) as show,
        ):

            def hear(progress: Progress) -> None:
                show(progress)
                run.hear(progress)

            outcome = await train_by_verl(
                settings,
                reached,
                versions=versions,
                hear=hear,
                should_stop=stop.is_set,
                hear_alarm=watched.hear_alarm,
            )
            run.end(outcome)
    return outcome, shown


def _print_plan(
    settings: VerlSettings, reached: Reached, versions: Mapping[str, str], *, as_json: bool
) -> JsonObject:
    training, filling, laid_out = settings.training, settings.filling, settings.verl
    played, limits = reached.playground, reached.limits
    age = "any" if filling.max_age is None else f"{filling.max_age} steps"
    sampler = "Transformers, float32" if laid_out.device == "cpu" else "vLLM"
    rows = {
        "model": f"{settings.model}, calls in the dialect {played.renderer.dialect.name}",
        "libraries": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "devices": f"{laid_out.devices} ({laid_out.device}); {sampler} samples",
        "gateway": reached.url,
        "questions": f"{len(played.questions):,}, and {len(played.held_out):,} held out",
        "steps": (
            f"{training.steps:,} of {training.groups} groups of {training.group_size} episodes;"
            f" {training.mini_batches} updates each, learning rate {training.learning_rate:g}"
        ),
        "limits": (
            f"{limits.turns} turns; prompt {limits.prompt_tokens:,}, response {limits.response_tokens:,},"
            f" turn {limits.turn_tokens:,} and together {limits.context_tokens:,} tokens"
        ),
        "filling": f"spread above {filling.min_spread:g}, age {age}, refills up to {filling.max_refills}",
        "signals": signals_shown(settings),
        "alarms": alarms_shown(settings),
        "checkpoints": f"every {settings.checkpoints.every} steps into {settings.out}",
    }
    if not as_json:
        _show({**rows}, as_json=False)
    return {**rows}


def _show(rows: JsonObject, *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    table = Table(whole("what"), "value", header=False)
    for name, value in rows.items():
        table.add_row(name, str(value))
    out.print(table)
