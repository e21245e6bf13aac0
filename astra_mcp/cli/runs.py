"""``astra-mcp runs``: rollouts, syntheses and trainings, in the terminal and as a page to send on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from astra_mcp.compose.runs.notes import KnownRun, RunKind, find_run, list_runs, stored_report
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import out, print_json, report_errors, say
from astra_mcp.report.html.parts import Report
from astra_mcp.report.html.writing import write_report
from astra_mcp.report.shown import Table, cut, shown_time, styled, utc_text, whole
from training.sft.run_folder import METRICS

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List and show rollouts, syntheses and trainings.")

_SHOWN = 60
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("list")
def list_all(
    *,
    kind: Annotated[RunKind | None, typer.Option(help="Only those of it.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many.")] = 50,
    as_json: _Json = False,
) -> None:
    """List the runs that were begun last, with how they stand."""
    with report_errors():
        home = load_settings().home
        found = list_runs(home, kind=kind, limit=limit)
    if as_json:
        print_json({"runs": [_as_json(run) for run in found.runs], "all": found.num_all})
        return
    if found.num_unread:
        say.print(f"left out: {found.num_unread} notes that cannot be read", style="yellow")
    if not found.num_all:
        others = 0 if kind is None else list_runs(home, limit=0).num_all
        if others:
            say.print(
                f"no {kind} is noted yet; of other kinds, {others} run{'s' * (others != 1)}: leave --kind out"
            )
        else:
            say.print("no run is noted yet: `astra-mcp rollout`, `synth` and `train` note theirs")
        return
    table = Table(*map(whole, ("id", "kind", "begun", "state")), "name", "came to")
    for run in found.runs:
        note = run.note
        begun = shown_time(note.begun_at)
        table.add_row(
            run.id,
            str(run.kind),
            begun,
            str(run.state),
            cut(note.name, _SHOWN),
            cut(note.figure, _SHOWN),
        )
    out.print(table)
    if found.num_all > len(found.runs):
        say.print(f"{len(found.runs)} of {found.num_all} runs: --limit shows more")


@app.command("show")
def show_one(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="An id or its first characters, a folder of `train`, or a file of trajectories.",
        ),
    ],
    *,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write its page to this file, to send on.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Show what one run came to."""
    with report_errors():
        known, report = _find(run)
        if html is not None:
            write_report(report, user_path(html))
    if as_json:
        figures = {each.label: each.value for each in report.key_figures}
        print_json(
            {**(_as_json(known) if known else {}), "title": report.title, "figures": figures}
        )
    else:
        _print(known, report)
    if html is not None:
        say.print(f"wrote {html}")


def _find(word: str) -> tuple[KnownRun | None, Report]:
    """Find a run by its id, else by its folder or file.

    Raises:
        ConfigError: There is none, or it has nothing to show.
    """
    path = user_path(Path(word))
    if path.is_dir() or (path.is_file() and path.suffix == ".jsonl"):
        return None, _report_at(path)
    home = load_settings().home
    known = find_run(home, word)
    if known.kind is RunKind.TRAINING and known.note.place is not None:
        return known, _report_at(known.note.place)
    report = stored_report(home, known)
    if report is None:
        raise ConfigError(f"the run {known.id} has come to nothing yet")
    return known, report


def _report_at(path: Path) -> Report:
    if path.is_dir():
        from astra_mcp.compose.runs.training import report_of  # noqa: PLC0415 - for this alone

        if not (path / METRICS).exists():
            raise ConfigError(f"{path} has no {METRICS}: is it the folder of a run of `train`?")
        return report_of([path])
    from astra_mcp.compose.runs.rollouts import report_of_file  # noqa: PLC0415 - as above

    return report_of_file(path)


def _print(run: KnownRun | None, report: Report) -> None:
    out.print(styled((report.title, "bold"), f"  {run.state}" if run else ""))
    if report.lead:
        out.print(report.lead)
    table = Table(whole("what"), "value", header=False)
    for figure in report.key_figures:
        note = f" ({figure.note})" if figure.note else ""
        table.add_row(figure.label, f"{figure.value}{note}")
    out.print(table)
    if run is None:
        return
    if run.note.place is not None:
        gone = ", which is no longer there" if run.is_gone else ""
        out.print(f"{run.note.place}{gone}")
    say.print(f"all of it in a browser: astra-mcp open {run.id}")


def _as_json(run: KnownRun) -> dict[str, Any]:
    note = run.note
    return {
        "id": run.id,
        "kind": str(run.kind),
        "command": note.command,
        "name": note.name,
        "state": str(run.state),
        "begun_at": utc_text(note.begun_at),
        "ended_at": None if note.ended_at is None else utc_text(note.ended_at),
        "came_to": note.figure,
        "place": None if note.place is None else str(note.place),
        "is_gone": run.is_gone,
    }
