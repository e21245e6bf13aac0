"""The HTML report of a run of synthesis. Models wrote much of what it shows; the page escapes every text."""

from collections.abc import Iterator
from dataclasses import dataclass

from astra_mcp import __version__
from astra_mcp.cli.statistics.page import statistics_sections
from astra_mcp.cli.synth.report_parts import (
    NONE,
    accepted_table,
    attempt_plots,
    cost_table,
    funnel,
    gate_tables,
    loss_tables,
    origin_charts,
    per_accepted,
    quality_parts,
    share,
    signal_table,
    stage_table,
)
from astra_mcp.environments.statistics import PAPER
from astra_mcp.pipeline import YieldTable
from astra_mcp.report.html.parts import (
    DataColumn,
    DataTable,
    KeyFigure,
    Report,
    Section,
    is_empty,
)
from astra_mcp.synthesis.environments.making import Made
from astra_mcp.synthesis.environments.run_statistics import RunStatistics

__all__ = ["ReportedRun", "report_of", "report_of_families"]

_DEMO = "Every answer of a model in this run was written by hand: it shows the stages, not a model."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """A run, as far as it came."""

    name: str
    table: YieldTable
    statistics: RunStatistics
    is_demo: bool = False


def report_of(run: ReportedRun) -> Report:
    """Make the report."""
    table, found = run.table, run.statistics
    names = [row.stage for row in table.stages]
    sections = [
        Section(title="Funnel", parts=[funnel(table), stage_table(table)]),
        Section(
            title="Rejections",
            lead=_REJECTED,
            parts=loss_tables("Rejected", "reason", found.rejected, names),
        ),
        Section(
            title="Failures", lead=_FAILED, parts=loss_tables("Failed", "kind", found.failed, names)
        ),
        Section(title="Accepted", parts=[accepted_table(found, table.accepted)]),
        Section(title="Attempts", lead=_ATTEMPTS, parts=list(attempt_plots(found))),
        Section(title="Cost", lead=_cost_lead(table), parts=[cost_table(table)]),
        Section(title="Where answers come from", lead=_ORIGINS, parts=origin_charts(found)),
        Section(title="Levels and flags", lead=_SIGNALS, parts=[signal_table(found.signals)]),
        Section(title="Quality", lead=_QUALITY, parts=list(quality_parts(found))),
    ]
    if found.gate is not None:
        sections.append(
            Section(title="Without the gate", lead=_GATE, parts=gate_tables(found.gate))
        )
    accepted = found.accepted
    if accepted.environments:
        sections.extend(statistics_sections(accepted))
    return Report(
        title=f"Synthesis run {run.name}",
        lead=" ".join(_lead(run)),
        key_figures=_key_figures(run),
        sections=[section for section in sections if not all(map(is_empty, section.parts))],
        footer=f"Figures of the paper: {PAPER.source}. Written by astra-mcp {__version__}.",
    )


def report_of_families(made: Made, seconds: float, planned: int) -> Report:
    """Make the report of environments that no model made.

    Args:
        made: What became of them.
        seconds: That it took.
        planned: Environments that were asked for.
    """
    refused = [(s, reason, n) for s, found in made.rejected.items() for reason, n in found.items()]
    numbers = DataColumn(name="draws", is_number=True)
    draws = DataTable(
        caption="Draws that were refused, and made anew",
        columns=[DataColumn(name="stage"), DataColumn(name="reason"), numbers],
        rows=[(stage, reason, f"{count:,}") for stage, reason, count in refused],
    )
    given_up = DataTable(
        caption="Given up: every draw was refused",
        columns=[DataColumn(name="environment")],
        rows=[(name,) for name in made.given_up],
    )
    return Report(
        title="Environments of families",
        lead=f"{made.accepted:,} of {planned:,} environments; no model was asked.",
        key_figures=[
            KeyFigure(
                label="environments",
                value=f"{made.accepted:,}",
                note=f"{made.kept:,} of them from before" if made.kept else "",
            ),
            KeyFigure(label="questions", value=f"{made.questions:,}"),
            KeyFigure(label="time", value=f"{seconds:,.0f} s", note="of this run"),
        ],
        sections=[Section(title="Refused", parts=[draws, given_up])] if refused else (),
        footer=f"Written by astra-mcp {__version__}.",
    )


# --- what is said ----------------------------------------------------------------------------------

_REJECTED = "Judged not good enough, which is final: an item is left out of all later stages."
_FAILED = (
    "A model, the sandbox or the machine failed. Nothing is decided; the next run tries again."
)
_ATTEMPTS = (
    "Attempts that failed on the way of accepted environments; 0 where all went well at once."
)
_ORIGINS = (
    "An answer that its source's text states is from_corpus. Sources without a text do not count."
)
_SIGNALS = (
    "What the model says of its own decomposition, beside what the dependencies make of it. The dependencies"
    " decide; the rest is a signal."
)
_QUALITY = "Of instances that went on: what is below the threshold stands among the rejections."
_GATE = (
    "A control run: what the topology gate would have refused went on. Calls, tokens and cost are those"
    " behind the gate; a call that the cache answered has no tokens."
)


def _lead(run: ReportedRun) -> Iterator[str]:
    table = run.table
    if run.is_demo:
        yield _DEMO
    sources, written = table.stages[0].received, run.statistics.written
    yield f"{sources:,} sources, {written:,} instances, {table.accepted:,} accepted environments."
    left = sum(row.not_begun + row.interrupted + row.running for row in table.stages)
    if left:
        items = "item is" if left == 1 else "items are"
        reason = f": {table.stopped}" if table.stopped else ""
        yield f"The run was stopped{reason}; {left:,} {items} left to the next one."


def _cost_lead(table: YieldTable) -> str:
    return (
        "All runs together, for all items that are settled; what became nothing is shared among the"
        f" {table.accepted:,} accepted environments too."
    )


def _key_figures(run: ReportedRun) -> list[KeyFigure]:
    table, written = run.table, run.statistics.written
    spent, attempts = table.spent, run.statistics.attempts_per_accepted
    cached = f"{spent.cached:,} more from the cache" if spent.cached else ""
    return [
        KeyFigure(
            label="accepted environments",
            value=f"{table.accepted:,}",
            note=f"{share(table.accepted, written)} of the instances",
        ),
        KeyFigure(label="calls per accepted", value=per_accepted(spent.calls, table), note=cached),
        KeyFigure(label="tokens per accepted", value=per_accepted(spent.tokens, table, digits=0)),
        KeyFigure(
            label="cost per accepted",
            value=per_accepted(spent.cost, table, digits=4) if spent.cost else NONE,
            note="" if spent.cost else "no prices are configured",
        ),
        KeyFigure(
            label="failed attempts per accepted",
            value=NONE if attempts is None else f"{attempts.mean:.2f}",
        ),
        KeyFigure(label="time", value=f"{table.seconds:,.0f} s", note="of this run"),
    ]
