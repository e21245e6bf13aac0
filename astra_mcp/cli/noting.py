"""Noting what a command runs in the home, and saying where its page is."""

import os
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from astra_mcp.compose.runs.notes import NotedRun, RunKind, RunState, note_run
from astra_mcp.report.console import ExitCode, say
from gateway.edge.discovery import find_gateway

__all__ = ["noted"]

_ENDINGS: Mapping[int, RunState] = {
    ExitCode.DONE: RunState.DONE,
    ExitCode.STOPPED: RunState.STOPPED,
}


@contextmanager
def noted(
    home: Path, kind: RunKind, *, command: str, name: str, key: str, place: Path | None = None
) -> Generator[NotedRun]:
    """Note a run while the block lasts, and print where people see it.

    Args:
        home: Keeps the note.
        kind: What it does.
        command: Its name without options.
        name: For people.
        key: What the run goes on by, among those of its kind.
        place: What it writes.
    """
    with note_run(home, kind, command=command, name=name, key=key, place=place) as run:
        _say_where(home, run)
        try:
            yield run
        except BaseException as error:
            if isinstance(error, click.exceptions.Exit):
                run.ending = run.ending or _ENDINGS.get(error.exit_code, RunState.FAILED)
            if run.is_noted and not run.has_figures:
                say.print(f"nothing came of it: {run.id} is not kept among the runs")
            raise
    if run.fault:
        say.print(f"not shown by `astra-mcp runs` and the pages: {run.fault}", style="yellow")


def _say_where(home: Path, run: NotedRun) -> None:
    """Name the page of a run, where somebody shows it; no address holds a secret."""
    if not run.is_noted:
        return
    running = find_gateway(home)
    command = f"astra-mcp open {run.id}"
    named = os.environ.get("ASTRA_MCP_HOME", "")
    if named and not Path(named).expanduser().is_absolute():  # of this folder alone
        command = f"cd {shlex.quote(os.getcwd())} && {command}"
    if running is None or not running.has_pages:
        say.print(f"to see it in a browser: {command}")
        return
    base = running.public_url or running.url
    say.print(f"see it at {base}/runs/{run.id}, or by: {command}")
