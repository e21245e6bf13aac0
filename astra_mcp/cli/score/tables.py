"""What scores say, in the terminal."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from astra_mcp.report.console import out, say
from astra_mcp.report.shown import Table, number, whole
from training.rewards.running import Plan
from training.rewards.score import State
from training.rewards.statistics import ScoreSummary

__all__ = ["print_scores"]

_MAX_SHOWN = 10


def print_scores(summary: ScoreSummary, plan: Plan, *, kept: int, left: int, repeat: int) -> None:
    """Print a row for each dimension and the total, and what became of the rest.

    Args:
        summary: Of the trajectories of the plan.
        plan: Says how many were read.
        kept: How many were settled before.
        left: How many were not begun.
        repeat: How often each question was asked.
    """
    names = ("mean", "defined", "undefined", *(("variance",) if repeat > 1 else ()))
    table = Table(whole("dimension"), *map(number, names))
    for dimension, each in summary.dimensions.items():
        cells = [_shown(each.mean), str(len(each.values)), str(sum(each.undefined.values()))]
        table.add_row(dimension.value, *cells, *_variance(each.mean_variance, repeat))
    total = [
        _shown(fmean(summary.totals) if summary.totals else None),
        str(len(summary.totals)),
        "",
    ]
    table.add_row("total", *total, *_variance(summary.mean_total_variance, repeat))
    out.print(table)
    for line in _lines(summary, plan, kept, left):
        out.print(line)
    for reason, count in [*summary.reasons.items()][:_MAX_SHOWN]:
        say.print(f"{count} without a total: {reason}", style="red")


def _variance(value: float | None, repeat: int) -> Sequence[str]:
    return [_shown(value)] if repeat > 1 else []


def _lines(summary: ScoreSummary, plan: Plan, kept: int, left: int) -> Iterator[str]:
    states = summary.states
    counts = [f"{states[state]} {state.value}" for state in State]
    counts += [f"{left} left"] if left else []
    counts += [f"{plan.num_repeated} of the same content as another"] if plan.num_repeated else []
    before = f" ({kept} of them before)" if kept else ""
    yield f"{plan.num_read} trajectories: {', '.join(counts)}{before}"
    if summary.tcs_without_injected:
        without = fmean(summary.tcs_without_injected)
        yield f"TCS without calls that failed on purpose: {without:.3f}"
    if summary.with_rules:
        yield f"total with rules: {fmean(summary.with_rules):.3f}"
    yield (
        f"final answers: {summary.other_language} in another language than the question,"
        f" {summary.unseen_urls} with a URL that nobody told"
    )
    if summary.cut:
        yield f"of {summary.cut} trajectories, the judge was not shown every text whole"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
