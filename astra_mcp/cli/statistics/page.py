"""What environments hold, as an HTML report."""

from collections.abc import Iterator, Sequence

from astra_mcp import __version__
from astra_mcp.cli.statistics.comparison import (
    NONE,
    Categories,
    categories_of,
    figures_of,
    left_out,
    mean_of,
)
from astra_mcp.cli.statistics.counting import Counted
from astra_mcp.domains import Domain
from astra_mcp.environments.statistics import (
    PAPER,
    Distribution,
    EnvironmentCounts,
    Statistics,
)
from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    Mark,
    Report,
    Section,
)

__all__ = ["report_of", "statistics_sections"]

_MAX_ROWS = 1000
"""Environments that are listed: more make a page slow, and nobody reads them."""


def report_of(counted: Counted) -> Report:
    """Make the report."""
    found = counted.statistics
    return Report(
        title="Environment statistics",
        lead="What these environments hold, in the figures that the paper gives of its own data set.",
        key_figures=_key_figures(found),
        sections=[
            *statistics_sections(found),
            Section(title="Environments", parts=[_environments(counted.environments)]),
        ],
        footer=f"Figures of the paper: {PAPER.source}. Written by astra-mcp {__version__}.",
    )


def statistics_sections(found: Statistics) -> list[Section]:
    """Show what environments hold, as part of any report."""
    return [
        Section(
            title="Kinds of questions",
            lead="Shares are of questions. The mark in a row is the paper's share.",
            parts=[_bar_chart(categories) for categories in categories_of(found)],
        ),
        Section(title="Complexity", lead=left_out(found), parts=list(_histograms(found))),
        Section(title="Beside the paper", parts=[_comparison(found)]),
    ]


def _key_figures(found: Statistics) -> list[KeyFigure]:
    languages = ", ".join(f"{num:,} {name}" for name, num in found.languages.items())
    state = f"{found.verified:,} verified"
    if found.unverified:
        state += f", {found.unverified:,} unverified"
    return [
        KeyFigure(label="environments", value=f"{found.environments:,}", note=state),
        KeyFigure(label="questions", value=f"{found.questions:,}", note=languages),
        KeyFigure(label="domains", value=f"{len(found.domains)}", note=f"of {len(Domain)}"),
        KeyFigure(
            label="sub-questions per question",
            value=mean_of(found.sub_questions),
            note=f"paper {PAPER.mean_sub_questions:.2f}",
        ),
        KeyFigure(
            label="tool calls per question",
            value=mean_of(found.tool_calls),
            note=f"paper {PAPER.mean_tool_calls:.2f}",
        ),
        KeyFigure(label="tools per environment", value=mean_of(found.tools)),
    ]


def _bar_chart(categories: Categories) -> BarChart:
    return BarChart(
        caption=f"Questions by {categories.what}",
        what="questions",
        bars=[
            Bar(label=name, count=count, reference=categories.paper.get(name))
            for name, count in categories.counts.items()
        ],
        reference="paper" if categories.paper else "",
    )


def _histograms(found: Statistics) -> Iterator[Histogram]:
    hops, calls = PAPER.mean_sub_questions, PAPER.mean_tool_calls
    for caption, what, of, numbers, paper in (
        ("Sub-questions of a question", "sub-questions", "questions", found.sub_questions, hops),
        ("Hop depth of a question", "hop levels", "questions", found.hop_depth, None),
        ("Tool calls of a question", "gold calls", "questions", found.tool_calls, calls),
        ("Tools of an environment", "tools", "environments", found.tools, None),
    ):
        if numbers is not None:
            yield Histogram(
                caption=caption,
                x_label=what,
                y_label=of,
                bins=numbers.counts,
                marks=_marks(numbers, paper),
            )


def _marks(numbers: Distribution, paper: float | None) -> list[Mark]:
    ours = Mark(label="mean", at=numbers.mean)
    return [ours] if paper is None else [ours, Mark(label="paper", at=paper)]


def _comparison(found: Statistics) -> DataTable:
    return DataTable(
        caption="Every figure and what it means",
        columns=[
            DataColumn(name="figure"),
            DataColumn(name="meaning"),
            DataColumn(name="here", is_number=True),
            DataColumn(name="paper", is_number=True),
        ],
        rows=[(f.name, f.meaning.replace("`", ""), f.ours, f.paper) for f in figures_of(found)],
    )


def _environments(environments: Sequence[EnvironmentCounts]) -> DataTable:
    shown = environments[:_MAX_ROWS]
    rest = len(environments) - len(shown)
    which = f"The first {_MAX_ROWS:,} of {len(environments):,}" if rest else "All that were counted"
    numbers = ("questions", "sub-questions", "gold calls", "tools")
    return DataTable(
        caption=which,
        columns=[
            *(DataColumn(name=name) for name in ("name", "title", "domain", "language", "status")),
            *(DataColumn(name=name, is_number=True) for name in numbers),
        ],
        rows=[_row(environment) for environment in shown],
    )


def _row(counted: EnvironmentCounts) -> Sequence[str]:
    calls = [question.tool_calls for question in counted.questions]
    return (
        counted.name,
        counted.title,
        counted.domain,
        counted.language,
        "verified" if counted.is_verified else "unverified",
        str(len(counted.questions)),
        str(sum(question.sub_questions for question in counted.questions)),
        NONE if None in calls else str(sum(call or 0 for call in calls)),
        str(counted.tools),
    )
