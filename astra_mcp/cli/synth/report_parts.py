"""The parts of the report of a run of synthesis: tables, bars and histograms."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor
from statistics import fmean
from urllib.parse import quote

from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline import Loss, YieldTable
from astra_mcp.pipeline.yield_table import StageYield
from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    Mark,
    Part,
)
from astra_mcp.synthesis.environments.gate_comparison import GateComparison, Passage
from astra_mcp.synthesis.environments.run_statistics import RunStatistics, Signals

__all__ = [
    "NONE",
    "accepted_table",
    "attempt_plots",
    "cost_table",
    "funnel",
    "gate_tables",
    "loss_tables",
    "origin_charts",
    "per_accepted",
    "quality_parts",
    "share",
    "signal_table",
    "stage_table",
]

NONE = "\u2013"
"""Where there is no figure."""
_QS = "QS"
_BINS = 20
"""Of the histogram of QS, from 0 to 1."""


def funnel(table: YieldTable, what: str = "instances") -> BarChart:
    """Show how many are left behind each stage."""
    return BarChart(
        caption=f"{what.capitalize()} that come out of each stage",
        what=what,
        bars=[Bar(label=row.stage, count=row.outputs) for row in table.stages],
        whole=table.stages[0].outputs,
    )


def stage_table(table: YieldTable) -> DataTable:
    """Show what became of the items of each stage."""
    names = ("in", "finished", "rejected", "failed", "left", "recalled", "out")
    return DataTable(
        caption="Items of each stage",
        columns=[DataColumn(name="stage"), *_numbers(*names)],
        rows=[(row.stage, *(f"{num:,}" for num in _counts(row))) for row in table.stages],
    )


def _counts(row: StageYield) -> Sequence[int]:
    left = row.not_begun + row.interrupted + row.running
    settled = (row.finished, row.num_rejected, row.num_failed)
    return (row.received, *settled, left, row.recalled, row.outputs)


def loss_tables(
    verb: str, of: str, losses: Mapping[tuple[str, str], Loss], stages: Sequence[str]
) -> list[Part]:
    """Show what got no further: how many by stage and reason, and examples.

    Args:
        verb: What became of them.
        of: What the reasons are called.
        losses: By stage and reason.
        stages: Their names, in order.
    """
    ordered = sorted(
        ((stage, reason, loss) for (stage, reason), loss in losses.items()),
        key=lambda told: (stages.index(told[0]), -told[2].count, told[1]),
    )
    return [
        DataTable(
            caption=f"{verb} by stage and {of}",
            columns=[DataColumn(name="stage"), DataColumn(name=of), *_numbers("items")],
            rows=[(stage, reason, f"{loss.count:,}") for stage, reason, loss in ordered],
        ),
        DataTable(
            caption="Examples",
            columns=[DataColumn(name=name) for name in ("item", "stage", of, "what was said")],
            rows=[
                (example.item, stage, reason, example.detail or NONE)
                for stage, reason, loss in ordered
                for example in loss.examples
            ],
        ),
    ]


def accepted_table(found: RunStatistics, accepted: int) -> DataTable:
    """Show environments that were accepted, and what they ask."""
    shown = found.examples
    of_all = "" if len(shown) == accepted else f", {len(shown)} of {accepted:,}"
    return DataTable(
        caption=f"Accepted environments{of_all}",
        columns=[DataColumn(name="environment"), DataColumn(name="what is asked")],
        rows=[(each.name, each.question) for each in shown],
        paths=[f"/environments/{quote(each.name, safe='')}" for each in shown],
    )


def attempt_plots(found: RunStatistics) -> Iterator[Part]:
    """Show how many attempts failed on the way of accepted environments."""
    attempts = found.attempts_per_accepted
    if attempts is None:
        return
    yield Histogram(
        caption="Failed attempts of an accepted environment",
        x_label="failed attempts",
        y_label="environments",
        bins=attempts.counts,
        marks=[Mark(label="mean", at=attempts.mean)],
    )
    yield _bars("Failed attempts by step", "attempts", found.attempts_by_step)


def cost_table(table: YieldTable) -> DataTable:
    """Show what models were asked, by stage and for each accepted environment."""
    names = ("calls", "from the cache", "tokens", "model seconds", "cost")
    shared = ("calls per accepted", "tokens per accepted", "cost per accepted")
    rows = [(row.stage, row.spent) for row in table.stages]
    return DataTable(
        caption="Calls of models by stage",
        columns=[DataColumn(name="stage"), *_numbers(*names, *shared)],
        rows=[_cost(name, spent, table) for name, spent in [*rows, ("all", table.spent)]],
    )


def _cost(name: str, spent: Usage, table: YieldTable) -> Sequence[str]:
    return (
        name,
        f"{spent.calls:,}",
        f"{spent.cached:,}",
        f"{spent.tokens:,}",
        f"{spent.seconds:,.1f}",
        _cost_of(spent),
        per_accepted(spent.calls, table),
        per_accepted(spent.tokens, table, digits=0),
        per_accepted(spent.cost, table, digits=4) if spent.cost else NONE,
    )


def origin_charts(found: RunStatistics) -> list[Part]:
    """Show how many answers stand in the text of their source."""
    return [
        _bars(f"Answers of {what}", "answers", {origin.value: n for origin, n in counts.items()})
        for what, counts in (
            ("instances behind the gate", found.origins),
            ("accepted environments", found.accepted_origins),
        )
        if counts
    ]


def signal_table(signals: Signals) -> DataTable:
    """Show where the model's own levels and flags differ."""
    rows = [
        (name, f"{signals.said[name]:,}", f"{signals.differing[name]:,}")
        for name in ("hop_level", "is_parallel")
    ]
    return DataTable(
        caption=f"{signals.differing_instances:,} of {signals.instances:,} instances differ somewhere",
        columns=[DataColumn(name="field"), *_numbers("sub-questions that state it", "differing")],
        rows=rows if signals.instances else [],
    )


def quality_parts(found: RunStatistics) -> Iterator[Part]:
    """Show the scores of quality."""
    scores = found.scores
    if _QS not in scores:
        return
    bins: dict[float, int] = {}
    for score, num in sorted(scores[_QS].items()):
        place = min(floor(score * _BINS + 1e-9), _BINS - 1)
        middle = (place + 0.5) / _BINS
        bins[middle] = bins.get(middle, 0) + num
    yield Histogram(
        caption="Quality score",
        x_label="QS",
        y_label="instances",
        bins=[*bins.items()],
        bin_width=1 / _BINS,
        marks=[Mark(label="mean", at=fmean(scores[_QS].elements()))],
    )
    yield DataTable(
        caption="Scores by dimension",
        columns=[DataColumn(name="dimension"), *_numbers("mean", "least", "instances")],
        rows=[
            (name, f"{fmean(of.elements()):.3f}", f"{min(of):.2f}", f"{of.total():,}")
            for name, of in scores.items()
        ],
    )


def gate_tables(gate: GateComparison) -> list[Part]:
    """Show what the gate would have refused, beside the others."""
    groups = [
        ("would have been refused", gate.refused),
        *((f"of them: {name}", gate.by_reason[name]) for name in sorted(gate.by_reason)),
        ("others", gate.sound),
    ]
    names = ("instances", "accepted", "yield", "calls", "from the cache", "tokens", "cost")
    stages = list(dict.fromkeys(s for _, group in groups for s in (*group.rejected, *group.failed)))
    return [
        DataTable(
            caption="What the gate would have refused, beside the others",
            columns=[
                DataColumn(name="group"),
                *_numbers(*names, "calls of each", "tokens of each"),
            ],
            rows=[_passage(name, group) for name, group in groups],
        ),
        DataTable(
            caption="Where they got no further: rejected and failed",
            columns=[DataColumn(name="group"), *_numbers(*stages)],
            rows=[
                (name, *(f"{g.rejected[s]:,} + {g.failed[s]:,}" for s in stages))
                for name, g in groups
                if stages
            ],
        ),
    ]


def _passage(name: str, group: Passage) -> Sequence[str]:
    usage = group.usage
    return (
        name,
        f"{group.instances:,}",
        f"{group.accepted:,}",
        share(group.accepted, group.instances),
        f"{usage.calls:,}",
        f"{usage.cached:,}",
        f"{usage.tokens:,}",
        _cost_of(usage),
        _ratio(usage.calls, group.instances),
        _ratio(usage.tokens, group.instances),
    )


def _bars(caption: str, what: str, counts: Mapping[str, int]) -> BarChart:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return BarChart(
        caption=caption, what=what, bars=[Bar(label=name, count=num) for name, num in ranked]
    )


def _numbers(*names: str) -> list[DataColumn]:
    return [DataColumn(name=name, is_number=True) for name in names]


def _cost_of(usage: Usage) -> str:
    return f"{usage.cost:,.4f}" if usage.cost else NONE


def per_accepted(amount: float, table: YieldTable, *, digits: int = 1) -> str:
    """Share something among the accepted environments."""
    return _ratio(amount, table.accepted, digits=digits)


def _ratio(amount: float, of: int, *, digits: int = 1) -> str:
    return f"{amount / of:,.{digits}f}" if of else NONE


def share(part: int, whole: int) -> str:
    """Write a share down."""
    return f"{part / whole:.1%}" if whole else NONE
