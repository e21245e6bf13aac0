"""An audit of a run's tasks by people: a sample that is written, and what is read back."""

from collections.abc import Sequence
from pathlib import Path

import typer

from astra_mcp.cli.synth.report_parts import NONE
from astra_mcp.cli.synth.task_options import Given
from astra_mcp.compose.settings import load_settings
from astra_mcp.compose.synthesis.trajectories import read_tasks
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import out, print_json, run_async, say
from astra_mcp.report.html.writing import require_writable
from astra_mcp.report.shown import Table, number
from astra_mcp.synthesis.trajectories.tasks.audit import (
    FlagRate,
    flag_rates,
    read_labels,
    sample_tasks,
    write_sample,
)

__all__ = ["require_new", "tell_flags", "write_audit"]


def write_audit(given: Given) -> None:
    """Write a sample of the tasks that a run keeps in the registry.

    Raises:
        ConfigError: The run has no task, or the file cannot be made.
        RegistryError: The registry cannot be read.
    """
    if given.audit is None or given.audit_file is None:
        raise typer.BadParameter("--audit and --audit-file go together", param_hint="--audit")
    file = user_path(given.audit_file)
    require_new("--audit-file", file)
    drawn = sample_tasks(
        run_async(read_tasks, load_settings(), given.run), given.audit, seed=given.seed
    )
    write_sample(drawn, file)
    say.print(f"wrote {len(drawn)} tasks of the run {given.run} to {file}")


def require_new(option: str, file: Path) -> None:
    """Find out that a file is not there yet and can be written; its folder is made.

    Raises:
        ConfigError: It is there, or cannot be written.
    """
    if file.exists() or file.is_symlink():
        raise ConfigError(f"{option} {file} exists already and is kept: name a new file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{option} {file} cannot be written: {error.strerror}") from None
    require_writable(file)


def tell_flags(file: Path, *, as_json: bool) -> None:
    """Tell what people made of a sample.

    Raises:
        ConfigError: It cannot be read, or is none.
    """
    rates = flag_rates(read_labels(file))
    if as_json:
        print_json({"flags": [rate.model_dump(mode="json") for rate in rates]})
        return
    out.print(_table(rates))
    if not any(rate.num_labelled for rate in rates):
        say.print(f"nobody has labelled a task in {file}: write true or false to flag")


def _table(rates: Sequence[FlagRate]) -> Table:
    shown = Table("tasks", *map(number, ("labelled", "flagged", "rate", "95 % from", "to", "left")))
    for rate in rates:
        share = NONE if rate.rate is None else f"{rate.rate:.3f}"
        counts = (str(rate.num_labelled), str(rate.num_flagged), share)
        bounds = (f"{rate.low:.3f}", f"{rate.high:.3f}", str(rate.num_unlabelled))
        shown.add_row(rate.group, *counts, *bounds)
    return shown
