"""Puts the parts of a run of SFT together: model, data, gateway, and what people see."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import anyio.from_thread
import anyio.to_thread
import typer

from astra_mcp.cli.train.noted_training import NotedTraining, noted_training
from astra_mcp.cli.train.plan import Plan, print_outcome, print_plan, show_progress
from astra_mcp.cli.train.stopping import hearing_signals
from astra_mcp.cli.train.validating import check_environments, open_validator
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.report.console import ExitCode, print_json, run_async, say
from training.render import Renderer, ThinkingPolicy, Tokenizer, load_tokenizer
from training.sft.devices import parallelism
from training.sft.estimate import config_of, count_parameters, devices_here, estimate_memory
from training.sft.model import find_model, model_config
from training.sft.preparing import Prepared, check_data, check_fit, prepare, require_data
from training.sft.presets import find_preset
from training.sft.settings import SftSettings
from training.sft.training import Ending, Outcome, Progress, train
from training.tiny.start import save_start

__all__ = ["run_sft"]

_TINY = "tiny"


def run_sft(
    settings: SftSettings,
    preset: str | None,
    versions: Mapping[str, str],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Check everything, say what will be used, and train.

    Args:
        settings: Of the run.
        preset: By whose name it was asked for.
        versions: Of the libraries.
        dry_run: Stop before anything is written or trained.
        as_json: Print one JSON object in the place of tables.

    Raises:
        ConfigError: Something cannot be used; names it.
    """
    is_first = os.environ.get("RANK", "0") == "0"
    parallelism(settings)
    _check_tiny(settings)
    _check_environments(settings)
    _check_wandb(settings)
    if not dry_run:
        require_data(settings)
    rows = check_data(settings)
    with TemporaryDirectory(prefix="astra-mcp-") as workplace:
        plan, text = _look(settings, preset, versions, rows, Path(workplace), is_dry=dry_run)
        shown = print_plan(plan, as_json=as_json) if is_first else {}
        if plan.prepared is None or text is None or dry_run:
            if as_json and is_first:
                print_json(shown)
            return
        outcome = run_async(_train, plan.prepared, *text)
    if not is_first:
        return
    print_outcome(outcome, shown, as_json=as_json)
    if outcome.ending is Ending.STOPPED:
        say.print(f"stopped at step {outcome.step}, which is saved: the same command goes on")
        raise typer.Exit(ExitCode.STOPPED)


def _check_tiny(settings: SftSettings) -> None:
    if settings.model == _TINY and settings.parallel.processes > 1:
        raise ConfigError(
            "parallel.processes: the model tiny is made by one process; name the folder of one that was made"
        )


def _check_environments(settings: SftSettings) -> None:
    if settings.validation.environments and settings.parallel.processes > 1:
        raise ConfigError(
            "validation.environments: a model that is spread over processes plays no environments; name"
            " validation.file, and play with its checkpoints"
        )
    if settings.validation.environments:
        run_async(check_environments, settings)


def _check_wandb(settings: SftSettings) -> None:
    if settings.log.wandb_project and find_spec("wandb") is None:
        raise ConfigError("log.wandb_project needs Weights & Biases: install astra-mcp[wandb]")


def _look(
    settings: SftSettings,
    preset: str | None,
    versions: Mapping[str, str],
    rows: Mapping[str, str],
    workplace: Path,
    *,
    is_dry: bool,
) -> tuple[Plan, tuple[Renderer, Tokenizer] | None]:
    sizes = find_preset(preset) if preset else None
    text: tuple[Renderer, Tokenizer] | None = None
    prepared: Prepared | None = None
    absent: str | None = None
    try:
        model = _find_model(settings, workplace)
        config: Any = model_config(model)
    except ConfigError as error:
        is_of_preset = sizes is not None and sizes.settings["model"] == settings.model
        if not is_dry or sizes is None or sizes.shape is None or not is_of_preset:
            raise
        config, absent = config_of(sizes), str(error)
    else:
        thinking = ThinkingPolicy(settings.examples.thinking)
        tokenizer, renderer = load_tokenizer(model, thinking=thinking)
        text = renderer, tokenizer
        if settings.data:
            prepared = prepare(settings, renderer, tokenizer, model=model, versions=versions)
            check_fit(prepared, config)
    parameters = count_parameters(config)
    tokens = trained = settings.examples.max_tokens
    if prepared is not None:
        tokens = max(len(each.ids) for each in prepared.examples)
        trained = max(each.num_trained for each in prepared.examples)
    estimated = partial(
        estimate_memory, config, settings, parameters=parameters, tokens=tokens, trained=trained
    )
    plan = Plan(
        settings=settings,
        preset=preset,
        parameters=parameters,
        dialect=text[0].dialect.name if text else None,
        absent=absent,
        rows=rows,
        prepared=prepared,
        memory=estimated(is_whole=_is_on_cpus()),
        memory_of_whole=estimated(is_whole=True),
        tokens=tokens,
        devices=devices_here(),
        versions=versions,
    )
    return plan, text


def _find_model(settings: SftSettings, workplace: Path) -> str:
    """Find the model; the small one is made anew each time, outside of the run's folder."""
    if settings.model == _TINY:
        return str(save_start(workplace / _TINY, seed=settings.seed))
    return find_model(settings.model)


def _is_on_cpus() -> bool:
    """Whether several processes were started, without a GPU."""
    return not devices_here() and int(os.environ.get("WORLD_SIZE", "1")) > 1


async def _train(prepared: Prepared, renderer: Renderer, tokenizer: Tokenizer) -> Outcome:
    """Train in a thread, while this one hears signals and serves the gateway that the model plays through."""
    settings = prepared.settings
    stop = Event()
    async with (
        open_validator(settings, renderer, tokenizer, prepared.model) as validator,
        hearing_signals(stop),
    ):

        def validate(model: Any, step: int) -> Mapping[str, float]:
            return anyio.from_thread.run(validator, model, step) if validator is not None else {}

        with _noted(settings) as run, show_progress(len(prepared.batches)) as show:

            def hear(progress: Progress) -> None:
                show(progress)
                run.hear(progress)

            outcome = await anyio.to_thread.run_sync(
                lambda: train(
                    prepared,
                    hear=hear,
                    validate=validate if validator is not None else None,
                    should_stop=stop.is_set,
                )
            )
            run.end(outcome)
            return outcome


def _noted(settings: SftSettings) -> AbstractContextManager[NotedTraining]:
    """Note the run in the home; of several processes the first one does."""
    home, is_first = load_settings().home, os.environ.get("RANK", "0") == "0"
    return noted_training(home, "train sft", settings.out, is_first=is_first)
