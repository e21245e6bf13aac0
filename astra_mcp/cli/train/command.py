"""``astra-mcp train``: its commands and their options."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from astra_mcp.cli.train.demo import Demo, run_demo
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
_SETTINGS_FILE = typer.Option(metavar="FILE", help="TOML with the settings: docs/training.md.")
_Model = Annotated[str | None, typer.Option(help="A folder, or a name of the hub.")]
_RunFolder = Annotated[
    Path | None, typer.Option("--out", help="The run's folder; one that was begun goes on.")
]
_Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting, as training.learning_rate=1e-5; repeatable.",
    ),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def sft(
    *,
    config: Annotated[Path | None, _SETTINGS_FILE] = None,
    preset: Annotated[str | None, typer.Option(help=f"Settings to begin with: {_PRESETS}.")] = None,
    model: _Model = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A set to train on, of weight 1; repeatable."),
    ] = None,
    folder: _RunFolder = None,
    assignments: _Assignments = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be used, and stop.")
    ] = False,
    as_json: _AsJson = False,
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
    config: Annotated[Path, _SETTINGS_FILE],
    backend: Annotated[
        Literal["native", "verl"],
        typer.Option(help="What updates the model: plain PyTorch, or verl (docs/verl.md)."),
    ] = "native",
    model: _Model = None,
    folder: _RunFolder = None,
    assignments: _Assignments = None,
    preflight: Annotated[
        bool,
        typer.Option(
            "--preflight",
            help="Make the first 50 steps at most, and stop at the first critical alarm.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Have verl check its configuration, and stop; verl alone."),
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Train a model by GRPO on what it earns in environments, through the gateway.

    Ctrl-C saves the step that is under way; the same command goes on from there.
    """
    with report_errors():
        named = {"model": model, "out": str(folder) if folder else None}
        options = {key: value for key, value in named.items() if value is not None}
        overrides = read_assignments(assignments or (), options)
        if backend == "verl":
            if preflight:
                raise ConfigError("--preflight is for --backend native")
            asked = read_settings_of(VerlSettings, user_path(config), overrides, find=find_preset)
            found = {**check_versions(), **check_verl()}
            from astra_mcp.cli.train.verl import run_verl  # noqa: PLC0415 - it loads PyTorch

            run_verl(asked, found, dry_run=dry_run, as_json=as_json)
            return
        if dry_run:
            raise ConfigError("--dry-run of train rl is for --backend verl")
        settings = read_settings_of(RlSettings, user_path(config), overrides)
        versions = check_versions()
        from astra_mcp.cli.train.rl import run_rl  # noqa: PLC0415 - it loads PyTorch

        run_rl(settings, versions, is_preflight=preflight, as_json=as_json)


@app.command()
def demo(
    *,
    folder: Annotated[
        Path, typer.Option("--out", help="Where all of it goes; a demo that was begun goes on.")
    ],
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of worlds, weights and order.")] = 0,
    worlds: Annotated[
        int, typer.Option(min=1, help="Environments to imitate in; half as many others to earn in.")
    ] = Demo.worlds,
    held_out: Annotated[
        int, typer.Option(min=1, help="Environments to be judged by.")
    ] = Demo.held_out,
    sft_steps: Annotated[int, typer.Option(min=1, help="Steps of SFT.")] = Demo.sft_steps,
    steps: Annotated[int, typer.Option(min=1, help="Steps of GRPO.")] = Demo.steps,
) -> None:
    """Make a tiny model learn on a CPU: environments, an oracle, SFT, and GRPO through the gateway.

    It shows each command that it gives. After Ctrl-C the same one goes on.
    """
    with report_errors():
        check_versions()
        run_demo(
            Demo(
                folder=user_path(folder),
                seed=seed,
                worlds=worlds,
                held_out=held_out,
                sft_steps=sft_steps,
                steps=steps,
            )
        )


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")],
    *,
    file: Annotated[Path, typer.Option("--html", "--out", help="The page to write.")],
) -> None:
    """Draw rewards, losses and all other figures of one run or several into one page."""
    with report_errors():
        from astra_mcp.compose.runs.training import report_of  # noqa: PLC0415 - for this alone
        from astra_mcp.report.html.writing import write_report  # noqa: PLC0415

        write_report(report_of([user_path(each) for each in runs]), user_path(file))
    out.print(f"wrote {file}")
