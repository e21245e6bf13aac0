"""The HTML report of a run of task synthesis. Models wrote much of what it shows; all of it is escaped."""

from collections import Counter
from collections.abc import Iterator, Sequence

from astra_mcp import __version__
from astra_mcp.cli.synth.report_parts import (
    NONE,
    cost_table,
    funnel,
    loss_tables,
    per_accepted,
    stage_table,
)
from astra_mcp.pipeline import YieldTable
from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    Part,
    Report,
    Section,
    is_empty,
)
from astra_mcp.synthesis.trajectories.run_statistics import TaskStatistics
from astra_mcp.synthesis.trajectories.task import Task, TaskScores

__all__ = ["report_of_tasks"]

_DEMO = "Every answer of a model in this run was written by hand: it shows the stages, not a model."
_REJECTED = "Judged not good enough, which is final: an item is left out of all later stages."
_FAILED = (
    "A model, the gateway or the machine failed. Nothing is decided; the next run tries again."
)
_MAX_READ = 40
_SCORES = (
    "question_quality",
    "scenario_realism",
    "tool_necessity",
    "selection_difficulty",
    "selection_uniqueness",
)


def report_of_tasks(
    name: str, table: YieldTable, found: TaskStatistics, *, is_demo: bool = False
) -> Report:
    """Make the report of a run, as far as it came."""
    stages = [row.stage for row in table.stages]
    sections = [
        Section(title="Funnel", parts=[funnel(table, "items"), stage_table(table)]),
        Section(
            title="Rejections",
            lead=_REJECTED,
            parts=loss_tables("Rejected", "reason", found.rejected, stages),
        ),
        Section(
            title="Failures",
            lead=_FAILED,
            parts=loss_tables("Failed", "kind", found.failed, stages),
        ),
        Section(title="Tasks", parts=list(_task_parts(found))),
        Section(title="Scores", parts=list(_score_parts(found.tasks))),
        Section(title="To read", parts=[_examples(found.tasks)]),
        Section(title="Cost", parts=[cost_table(table)]),
    ]
    return Report(
        title=f"Tasks of run {name}",
        lead=" ".join(([_DEMO] if is_demo else []) + [f"{table.accepted:,} tasks were kept."]),
        key_figures=[
            KeyFigure(label="tasks", value=f"{table.accepted:,}"),
            KeyFigure(label="model calls per task", value=per_accepted(table.spent.calls, table)),
            KeyFigure(
                label="model tokens per task",
                value=per_accepted(table.spent.tokens, table, digits=0),
            ),
            KeyFigure(label="time", value=f"{table.seconds:,.0f} s", note="of this run"),
        ],
        sections=[section for section in sections if not all(map(is_empty, section.parts))],
        footer=f"Written by astra-mcp {__version__}.",
    )


def _task_parts(found: TaskStatistics) -> Iterator[Part]:
    lengths = Counter(len(task.chain.steps) for task in found.tasks if task.chain is not None)
    yield Histogram(
        caption="Calls of a chain",
        x_label="calls",
        y_label="tasks",
        bins=[(float(length), num) for length, num in sorted(lengths.items())],
    )
    yield _bars("Made of", found.counts(lambda task: task.origin))
    yield _bars("Variations", found.counts(lambda task: task.axis))
    yield _bars("Languages", found.counts(lambda task: task.language or "unknown"))
    yield _bars("Domains", found.counts(lambda task: task.domain or "unlabelled"))


def _bars(caption: str, counts: Sequence[tuple[str, int]]) -> BarChart:
    bars = [Bar(label=label, count=num) for label, num in counts]
    return BarChart(caption=caption, what="tasks", bars=bars)


def _score_parts(tasks: Sequence[Task]) -> Iterator[Part]:
    scored = [task.scores for task in tasks if task.scores is not None]
    for name in _SCORES:
        bins = Counter(float(getattr(scores, name)) for scores in scored)
        yield Histogram(
            caption=name.replace("_", " "),
            x_label="score",
            y_label="tasks",
            bins=sorted(bins.items()),
        )


def _examples(tasks: Sequence[Task]) -> DataTable:
    names = ("task", "what is asked", "chain", "made of", "variation", "scores")
    return DataTable(
        caption=f"The first {min(_MAX_READ, len(tasks))} of {len(tasks):,} tasks, by id",
        columns=[DataColumn(name=name) for name in names],
        rows=[_row(task) for task in tasks[:_MAX_READ]],
    )


def _row(task: Task) -> Sequence[str]:
    steps = task.chain.steps if task.chain is not None else ()
    tools = " \u2192 ".join(step.tool for step in steps) or NONE
    return (task.id, task.query, tools, task.origin, task.axis, _told(task.scores))


def _told(scores: TaskScores | None) -> str:
    if scores is None:
        return NONE
    return " ".join(f"{float(getattr(scores, name)):g}" for name in _SCORES)
