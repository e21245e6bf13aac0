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
from training.export.selection import SCORABLE, ScoreFloors, Selection
from training.export.sft_exporting import SftExport, SftForm, export_sft
from training.rewards.floors import MIN_CALLS, MIN_TOTAL, Floors
from training.rewards.score import Dimension
from training.rewards.score_files import read_scores

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
    scores: Annotated[
        Path | None,
        typer.Option(help="Take what passes the floors of this file of `astra-mcp score`."),
    ] = None,
    floors: Annotated[
        list[str] | None,
        typer.Option(
            "--min", metavar="DIMENSION=LEAST", help="With --scores: such as QU=0.5; repeatable."
        ),
    ] = None,
    min_total: Annotated[
        float | None,
        typer.Option(min=0, max=1, help=f"With --scores: least total. \\[default: {MIN_TOTAL:g}]"),
    ] = None,
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
        scored = _read_floors(scores, floors, min_total)
        if scored is not None and min_calls is None:
            min_calls = MIN_CALLS
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
            scored=scored,
        )
        done = export_sft([*map(user_path, files)], user_path(file), form, selection, split=split)
    _report(done, file, form, as_json=as_json)


def _read_floors(
    scores: Path | None, floors: list[str] | None, min_total: float | None
) -> ScoreFloors | None:
    if scores is None:
        for name, value in {"--min": floors, "--min-total": min_total}.items():
            if value is not None and value != []:
                raise typer.BadParameter("only --scores has floors", param_hint=name)
        return None
    least = dict(map(_read_floor, floors or ()))
    if len(least) < len(floors or ()):
        raise typer.BadParameter("a dimension has one floor: name each once", param_hint="--min")
    total = MIN_TOTAL if min_total is None else min_total
    return ScoreFloors(read_scores(user_path(scores)), Floors(least, total))


def _read_floor(text: str) -> tuple[Dimension, float]:
    """Read ``QU=0.5``."""
    name, _, written = text.partition("=")
    try:
        dimension, least = Dimension(name.strip().upper()), float(written)
    except ValueError:
        least = -1.0
        dimension = None
    if dimension is None or not 0 <= least <= 1:
        names = ", ".join(Dimension)
        words = f"{text!r} is no floor: write QU=0.5, with one of {names} and a value from 0 to 1"
        raise typer.BadParameter(words, param_hint="--min")
    return dimension, least


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
