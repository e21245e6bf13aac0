"""``astra-mcp train``: its commands and their options."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import out, report_errors
from training.rl.native.settings import RlSettings
from training.rl.verl.presets import find_preset
from training.rl.verl.settings import VerlSettings
from training.rl.verl.versions import check_verl
from training.sft.configuring import (
    preset_of,
    read_assignments,
    read_settings,
    read_settings_of,
)
from training.sft.preparing import check_versions
from training.sft.presets import PRESETS

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Train models, and draw the curves of runs.")
_PRESETS = ", ".join(PRESETS)


@app.command()
def sft(
    *,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with the settings: docs/training.md.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help=f"Settings to begin with: {_PRESETS}.")] = None,
    model: Annotated[str | None, typer.Option(help="A folder, or a name of the hub.")] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A set to train on, of weight 1; repeatable."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="The run's folder; one that was begun goes on.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any setting, as training.epochs=3; repeatable."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be used, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fine-tune a model on trajectories.

    Ctrl-C saves the step that is under way; the same command goes on from there.
    """
    with report_errors():
        if config is None and preset is None:
            raise ConfigError(
                f"name settings with --config FILE, or a preset with --preset: {_PRESETS}"
            )
        named: dict[str, Any] = {
            "model": model,
            "out": str(folder) if folder else None,
            "data": [{"file": str(each)} for each in data] if data else None,
        }
        options = {key: value for key, value in named.items() if value is not None}
        overrides = read_assignments(assignments or (), options)
        file = user_path(config) if config else None
        fallbacks = {"out": "run"} if dry_run else {}
        settings = read_settings(file, preset, overrides, fallbacks=fallbacks)
        versions = check_versions()
        from astra_mcp.cli.train.sft import run_sft  # noqa: PLC0415 - it loads PyTorch

        run_sft(settings, preset_of(file, preset), versions, dry_run=dry_run, as_json=as_json)


@app.command()
def rl(
    *,
    config: Annotated[
        Path, typer.Option(metavar="FILE", help="TOML with the settings: docs/training.md.")
    ],
    backend: Annotated[
        Literal["native", "verl"],
        typer.Option(help="What updates the model: plain PyTorch, or verl (docs/verl.md)."),
    ] = "native",
    model: Annotated[str | None, typer.Option(help="A folder, or a name of the hub.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="The run's folder; one that was begun goes on.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any setting, as training.steps=100; repeatable."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Have verl check its configuration, and stop; verl alone."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a model by GRPO on what it earns in environments, through the gateway.

    Ctrl-C saves the step that is under way; the same command goes on from there.
    """
    with report_errors():
        overrides: dict[str, Any] = {**read_assignments(assignments or ())}
        named = {"model": model, "out": str(folder) if folder else None}
        overrides |= {key: value for key, value in named.items() if value is not None}
        if backend == "verl":
            asked = read_settings_of(VerlSettings, user_path(config), overrides, find=find_preset)
            found = {**check_versions(), **check_verl()}
            from astra_mcp.cli.train.verl import run_verl  # noqa: PLC0415 - it loads PyTorch

            run_verl(asked, found, dry_run=dry_run, as_json=as_json)
            return
        if dry_run:
            raise ConfigError("--dry-run is for --backend verl")
        settings = read_settings_of(RlSettings, user_path(config), overrides)
        versions = check_versions()
        from astra_mcp.cli.train.rl import run_rl  # noqa: PLC0415 - it loads PyTorch

        run_rl(settings, versions, as_json=as_json)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")],
    *,
    file: Annotated[Path, typer.Option("--out", help="The page to write (HTML).")],
) -> None:
    """Draw loss, learning rate and rewards of one run or several into one page."""
    with report_errors():
        from astra_mcp.cli.train.page import report_of  # noqa: PLC0415 - for this alone
        from astra_mcp.report.html.writing import write_report  # noqa: PLC0415

        write_report(report_of([user_path(each) for each in runs]), user_path(file))
    out.print(f"wrote {file}")
