"""Puts the parts of a run of GRPO together: model, gateway, questions, and what people see."""

from collections.abc import Mapping
from importlib.util import find_spec
from threading import Event

import typer

from astra_mcp.cli.rollout.bounds import open_users
from astra_mcp.cli.train.noted_training import noted_training
from astra_mcp.cli.train.plan import print_outcome, show_progress
from astra_mcp.cli.train.stopping import hearing_signals
from astra_mcp.cli.train.supervisor import alarms_shown, open_adviser, signals_shown
from astra_mcp.cli.train.watched import Watched, settings_of_preflight
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.report.console import ExitCode, fail, out, run_async, say
from astra_mcp.report.shown import Table, whole
from astra_mcp.serving.process.gateway_access import open_gateway_access
from astra_mcp.types import JsonObject
from gateway.api.client import GatewayClient
from training.render import load_tokenizer
from training.rl.native.questions import find_held_out, find_questions
from training.rl.native.settings import RlSettings
from training.rl.native.trainer import Playground, train
from training.sft.model import find_model
from training.sft.training import Ending, Outcome, Progress

__all__ = ["run_rl"]


def run_rl(
    settings: RlSettings, versions: Mapping[str, str], *, is_preflight: bool, as_json: bool
) -> None:
    """Find what is played, say what will be used, and train.

    Args:
        settings: Of the run.
        versions: Of the libraries.
        is_preflight: Make the first steps alone, and end where it gets critical.
        as_json: Print one JSON object in the place of tables.

    Raises:
        ConfigError: Something cannot be used; names it.
    """
    if settings.log.wandb_project and find_spec("wandb") is None:
        raise ConfigError("log.wandb_project needs Weights & Biases: install astra-mcp[wandb]")
    if settings.user.model is None and "user_turns" in settings.limits.model_fields_set:
        raise ConfigError(
            "limits.user_turns goes with user.model: else the prompt is all that is said"
        )
    model = find_model(settings.model)
    if is_preflight:
        settings = settings_of_preflight(settings)
    watched = Watched(is_preflight)
    outcome, shown = run_async(_run, settings, model, versions, watched, as_json)
    if is_preflight:
        watched.check_preflight(outcome, settings)
        if not as_json:
            watched.print_preflight()
    print_outcome(outcome, shown, watched.as_json(), as_json=as_json)
    if is_preflight and watched.critical:
        fail(f"the pre-flight ended at step {outcome.step}: {', '.join(watched.critical)}")
    if watched.stopping:
        names = ", ".join(each.alarm.name for each in watched.stopping)
        fail(f"stopped at step {outcome.step}, which is saved, by the alarm {names}")
    if outcome.ending is Ending.STOPPED:
        say.print(f"stopped at step {outcome.step}, which is saved: the same command goes on")
        raise typer.Exit(ExitCode.STOPPED)


async def _run(
    settings: RlSettings,
    model: str,
    versions: Mapping[str, str],
    watched: Watched,
    as_json: bool,
) -> tuple[Outcome, JsonObject]:
    tokenizer, renderer = load_tokenizer(model)
    stop, told = Event(), load_settings()
    async with (
        open_gateway_access(told, url=settings.url) as access,
        GatewayClient(access.url, access.key) as client,
        open_users(told, settings.user.model, "user.model") as users,
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
            users=users,
            adviser=adviser,
        )
        shown = _print_plan(settings, playground, versions, as_json=as_json)
        with (
            noted_training(told.home, "train rl", settings.out) as run,
            show_progress(settings.training.steps) as show,
        ):

            def hear(progress: Progress) -> None:
                show(progress)
                watched.hear(progress)
                run.hear(progress)

            outcome = await train(
                settings,
                playground,
                versions=versions,
                hear=hear,
                should_stop=lambda: stop.is_set() or watched.is_enough,
                hear_alarm=watched.hear_alarm,
            )
            run.end(outcome)
    return outcome, shown


def _print_plan(
    settings: RlSettings, playground: Playground, versions: Mapping[str, str], *, as_json: bool
) -> JsonObject:
    training, filling = settings.training, settings.filling
    age = "any" if filling.max_age is None else f"{filling.max_age} steps"
    rows = {
        "model": f"{settings.model}, calls in the dialect {playground.renderer.dialect.name}",
        "libraries": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "questions": f"{len(playground.questions):,}, and {len(playground.held_out):,} held out",
        "steps": (
            f"{training.steps:,} of {training.groups} groups of {training.group_size} episodes;"
            f" {training.mini_batches} updates each, learning rate {training.learning_rate:g}"
        ),
        "signals": signals_shown(settings),
        "alarms": alarms_shown(settings),
        "filling": f"spread above {filling.min_spread:g}, age {age}, refills up to {filling.max_refills}",
        "checkpoints": f"every {settings.checkpoints.every} steps into {settings.out}",
    }
    if not as_json:
        table = Table(whole("what"), "value", header=False)
        for name, value in rows.items():
            table.add_row(name, value)
        out.print(table)
    return {**rows}
