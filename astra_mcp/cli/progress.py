"""How a pipeline looks to people: a bar for each stage while it runs, a table of its yield at the end."""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

import anyio

from astra_mcp.pipeline import Progress, Tally, YieldTable
from astra_mcp.report.console import Printer, out, say
from astra_mcp.report.shown import Progress as Bars
from astra_mcp.report.shown import Table, TaskID, TimeRemainingColumn, Words, number, whole

__all__ = ["ShownPipeline", "print_yield", "show_pipeline"]

_PAUSE_SECONDS = 30.0


@contextmanager
def show_pipeline(
    stages: Sequence[str] | Tally, *, total: int | None = None, printer: Printer = say
) -> Generator["ShownPipeline"]:
    """Show a bar for each stage while the block runs; none where nobody looks.

    Args:
        stages: Their names, in order; or a tally of a run of several ways, which counts nothing yet.
        total: Items of the first stage, where that is known beforehand.
        printer: Draws the bars.
    """
    with printer.bars(Words("losses"), TimeRemainingColumn(compact=True)) as drawn:
        tally = stages if isinstance(stages, Tally) else Tally(stages)
        yield ShownPipeline(drawn, tally, total, printer)


class ShownPipeline:
    """Hears a run and draws it; made by :func:`show_pipeline`."""

    def __init__(self, bars: Bars, tally: Tally, total: int | None, printer: Printer) -> None:
        self._bars = bars
        self._printer = printer
        self._tally = tally
        self._known = {tally.stages[0]: total or 0}
        self._ids: dict[str, TaskID] = {
            stage: bars.add_task(stage, total=self._known.get(stage), losses="")
            for stage in tally.stages
        }

    @property
    def table(self) -> YieldTable:
        """The yield so far; also of a run that was cancelled."""
        return self._tally.table()

    @asynccontextmanager
    async def telling(self) -> AsyncGenerator[None]:
        """Where nobody looks at bars, write a line now and then while the block runs."""
        async with anyio.create_task_group() as group:
            if self._bars.disable:
                group.start_soon(self._tell_now_and_then)
            yield
            group.cancel_scope.cancel()

    async def _tell_now_and_then(self) -> None:
        while True:
            await anyio.sleep(_PAUSE_SECONDS)
            rows = [row for row in self.table.stages if row.received]
            done = ", ".join(f"{row.stage} {row.num_settled} of {row.received}" for row in rows)
            self._printer.print(f"{self.table.seconds:.0f} s: {done}")

    def hear(self, event: Progress) -> None:
        """Take an event of the run."""
        self._tally.hear(event)
        if self._bars.disable:
            return
        for stage in self._tally.touched(event):
            self._draw(stage)

    def _draw(self, stage: str) -> None:
        row = self._tally.row(stage)
        losses = [f"{row.num_rejected} rejected"] if row.num_rejected else []
        losses += [f"{row.num_failed} failed"] if row.num_failed else []
        self._bars.update(
            self._ids[stage],
            completed=row.num_settled,
            total=max(row.received, self._known.get(stage, 0)),
            losses=", ".join(losses),
        )


def print_yield(table: YieldTable, *, printer: Printer = out) -> None:
    """Print what became of all items, by stage and reason, and what it cost."""
    names = ("in", "finished", "rejected", "failed", "left", "out", "calls", "tokens")
    shown = Table(whole("stage"), *map(number, names))
    for row in table.stages:
        left = row.not_begun + row.interrupted + row.running
        counts = (row.received, row.finished, row.num_rejected, row.num_failed, left, row.outputs)
        shown.add_row(row.stage, *map(str, (*counts, row.usage.calls, row.usage.tokens)))
    printer.print(shown)
    for line in _notes(table):
        printer.print(line)


def _notes(table: YieldTable) -> Iterator[str]:
    for row in table.stages:
        if row.rejected:
            yield f"rejected by {row.stage}: {_counted(row.rejected)}"
        if row.failed:
            yield f"failed in {row.stage}: {_counted(row.failed)}; the next run tries again"
    usage = table.usage
    price = f", cost {usage.cost:.4f}" if usage.cost else ""
    if usage.calls or usage.cached:
        yield (
            f"models: {usage.calls} calls and {usage.cached} from the cache,"
            f" {usage.tokens} tokens{price}, in {table.seconds:.1f} s"
        )
    if table.stopped:
        yield f"stopped: {table.stopped}; run again to go on"
    yield f"accepted: {table.accepted}"


def _counted(reasons: Mapping[str, int]) -> str:
    """The most frequent first."""
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{reason} {count}" for reason, count in ordered)
