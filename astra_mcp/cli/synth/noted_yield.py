"""What a run of synthesis notes of itself while it goes on."""

from collections.abc import Callable

from astra_mcp.compose.runs.notes import NotedRun, RunState
from astra_mcp.pipeline import Progress, Settled, YieldTable
from astra_mcp.report.html.parts import Report

__all__ = ["note_end", "note_yield"]


def note_yield(
    run: NotedRun,
    event: Progress,
    table: Callable[[], YieldTable],
    make: Callable[[], Report],
) -> None:
    """Note how a run goes, where an event says that something came of an item.

    Args:
        run: Of which it is noted.
        event: Of the run.
        table: Gives the sums so far.
        make: Makes the report.
    """
    if isinstance(event, Settled):
        run.tell(_figure_of(table()))
        run.show(make)


def note_end(
    run: NotedRun, table: YieldTable, make: Callable[[], Report], *, was_stopped: bool
) -> None:
    """Note what a run came to; it is done where every item was begun, whatever failed.

    Args:
        run: Of which it is noted.
        table: The sums.
        make: Makes the report.
        was_stopped: Whether somebody stopped it.
    """
    run.tell(_figure_of(table))
    run.show(make, is_last=True)
    run.ending = RunState.STOPPED if was_stopped or table.stopped else RunState.DONE


def _figure_of(table: YieldTable) -> str:
    """Say in a few words how a run goes."""
    rejected = sum(row.num_rejected for row in table.stages)
    failed = f", {table.num_failed:,} failed" if table.num_failed else ""
    return f"{table.accepted:,} accepted, {rejected:,} rejected{failed}"
