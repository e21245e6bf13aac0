"""``astra-mcp export sft``: trajectories as rows for fine-tuning, or as a log for a viewer."""

from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import out, print_json, report_errors, say
from astra_mcp.trajectory import StopReason
from training.export.readme import CARD
from training.export.selection import SCORABLE, Selection
from training.export.sft_exporting import SftExport, SftForm, export_sft

__all__ = ["sft"]


def sft(  # noqa: PLR0913 - one parameter for each option
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Trajectory files, in order.")
    ],
    *,
    file: Annotated[
        Path, typer.Option("--out", help="The file to write: .parquet, .jsonl or .eval.")
    ],
    form: Annotated[
        SftForm,
        typer.Option(
            "--format",
            help="Chats for training libraries, OpenAI's fine-tuning, or a log for Inspect.",
        ),
    ] = SftForm.MESSAGES,
    status: Annotated[
        list[EpisodeStatus] | None,
        typer.Option(help="Of the episode; repeatable. \\[default: closed, expired, limit]"),
    ] = None,
    stop: Annotated[
        list[StopReason] | None, typer.Option(help="Why the agent stopped; repeatable.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="An agent's or model's name; repeatable.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="An environment's or server's name; repeatable.")
    ] = None,
    min_reward: Annotated[float | None, typer.Option(min=0, max=1, help="Least reward.")] = None,
    max_reward: Annotated[float | None, typer.Option(min=0, max=1, help="Most reward.")] = None,
    min_calls: Annotated[int | None, typer.Option(min=0, help="Fewest answered calls.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Most answered calls.")] = None,
    max_messages: Annotated[int | None, typer.Option(min=1, help="Most messages.")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="What the rows are for: train, test. \\[default: train]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write trajectories for supervised fine-tuning, or as a log that Inspect shows.

    What a filter leaves out is counted; failed trajectories are left out unless
    --status failed asks for them.
    """
    with report_errors():
        if status and EpisodeStatus.OPEN in status:
            raise ConfigError("--status open: a trajectory is of an episode that has ended")
        _check_bounds("reward", min_reward, max_reward)
        _check_bounds("calls", min_calls, max_calls)
        selection = Selection(
            statuses=status or SCORABLE,
            stops=stop or (),
            agents=agent or (),
            sources=source or (),
            min_reward=min_reward,
            max_reward=max_reward,
            min_calls=min_calls,
            max_calls=max_calls,
            max_messages=max_messages,
        )
        done = export_sft([*map(user_path, files)], user_path(file), form, selection, split=split)
    _report(done, file, form, as_json=as_json)


def _check_bounds(what: str, least: float | None, most: float | None) -> None:
    if least is not None and most is not None and least > most:
        raise ConfigError(f"--min-{what} {least:g} is more than --max-{what} {most:g}")


def _report(done: SftExport, file: Path, form: SftForm, *, as_json: bool) -> None:
    selected = done.selected
    if as_json:
        print_json(
            {
                "read": selected.num_read,
                "rows": selected.num_taken,
                "left_out": {**selected.left_out},
                "reasonings_left_out": done.reasonings_left_out,
                "file": str(file),
            }
        )
    else:
        out.print(f"wrote {file}: {selected.num_taken} trajectories; {selected.account()}")
    if done.reasonings_left_out:
        num = done.reasonings_left_out
        say.print(f"the reasoning of {num} messages has no place in OpenAI's form", style="yellow")
    if done.card is None and form is not SftForm.INSPECT:
        say.print(f"{file.parent / CARD} is not ours and stays as it is", style="yellow")
