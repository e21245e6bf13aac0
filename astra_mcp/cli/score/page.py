"""What scored trajectories hold, as an HTML report.

Agents, servers and judges wrote much of what it shows; the page escapes every text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor
from statistics import fmean
from typing import Final

from astra_mcp import __version__
from astra_mcp.cli.score.readings import Chosen, reading_of
from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    Mark,
    Part,
    Report,
    Section,
    is_empty,
)
from astra_mcp.trajectory import Trajectory
from training.rewards.floors import MIN_TOTAL, Floors
from training.rewards.score import Dimension, Method, Score, State
from training.rewards.statistics import PAPER, Figures, ScoreSummary

__all__ = ["report_of"]

_NONE: Final = "\u2013"
_BINS: Final = 20
"""Of the histograms of scores, from 0 to 1."""
_FLOORS: Final = (0.5, 0.7, 0.9, 1.0)
_MAX_DOMAINS: Final = 41
_SOURCE: Final = "ASTRA, arXiv:2601.21558, A.1.1"
_SCORES: Final = "Of scored trajectories, where the dimension is defined."
_LEFT_OUT: Final = (
    "Scored trajectories that `export sft --scores` would leave out by a floor of so much; a floor of TCU or"
    " TCP takes those with a single round of calls."
)
_READ: Final = (
    "Those with the lowest total, some with the highest, and some without one; thoughts are folded."
)


def report_of(rows: Iterable[tuple[Trajectory, Score | None]], method: Method) -> Report:
    """Make the report.

    Args:
        rows: Trajectories in their order, each with its score where there is one.
        method: Of the scores.
    """
    figures, chosen = Figures(), Chosen()
    scores: list[Score] = []
    refused: Counter[str] = Counter()
    for trajectory, score in rows:
        figures.add(trajectory)
        if score is not None:
            scores.append(score)
            chosen.add(trajectory, score)
            refused[Floors().refusing(score, trajectory) or "kept"] += 1
    summary = ScoreSummary.of(scores)
    readings = [reading_of(trajectory, score) for trajectory, score in chosen]
    sections = [
        Section(title="Trajectories", parts=list(_figures(figures))),
        Section(title="Scores", lead=_SCORES, parts=list(_scores(summary))),
        Section(title="Floors", lead=_LEFT_OUT, parts=[_floors(scores), _default_floors(refused)]),
        Section(title="Without a total", parts=[_reasons(summary)]),
        Section(title="Trajectories to read", lead=_READ, parts=readings),
    ]
    return Report(
        title="Scored trajectories",
        lead=f"Judged by {method.judge}; each question was asked {_times(method.repeat)}.",
        key_figures=_key_figures(figures, summary),
        sections=[section for section in sections if not all(map(is_empty, section.parts))],
        footer=f"Figures of the paper: {_SOURCE}. Written by astra-mcp {__version__}.",
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _key_figures(figures: Figures, summary: ScoreSummary) -> list[KeyFigure]:
    states = summary.states
    rest = ", ".join(
        f"{states[state]:,} {state.value}" for state in State if state is not State.SCORED
    )
    return [
        KeyFigure(label="trajectories", value=f"{figures.trajectories:,}"),
        KeyFigure(label="scored", value=f"{states[State.SCORED]:,}", note=rest),
        KeyFigure(
            label="mean total", value=_number(fmean(summary.totals) if summary.totals else None)
        ),
        KeyFigure(
            label="messages per trajectory",
            value=_number(figures.mean_messages, 2),
            note=f"paper {PAPER.mean_messages:.2f}",
        ),
        KeyFigure(
            label="calls per trajectory",
            value=_number(figures.mean_calls, 2),
            note=f"paper {PAPER.mean_calls:.2f}",
        ),
        KeyFigure(
            label="with 1 to 5 calls",
            value=_NONE if figures.few_calls is None else f"{figures.few_calls:.1%}",
            note=f"paper {PAPER.few_calls:.1%}",
        ),
        KeyFigure(
            label="unique functions",
            value=f"{len(figures.functions):,}",
            note=f"paper {PAPER.functions:,}",
        ),
    ]


def _number(value: float | None, digits: int = 3) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"


# --- trajectories ----------------------------------------------------------------------------------


def _figures(figures: Figures) -> Iterator[Part]:
    for caption, what, counts, mean, paper in (
        (
            "Messages of a trajectory",
            "messages",
            figures.messages,
            figures.mean_messages,
            PAPER.mean_messages,
        ),
        ("Calls of a trajectory", "calls", figures.calls, figures.mean_calls, PAPER.mean_calls),
    ):
        yield Histogram(
            caption=caption,
            x_label=what,
            y_label="trajectories",
            bins=[*sorted(counts.items())],
            marks=[
                *([] if mean is None else [Mark(label="mean", at=mean)]),
                Mark(label="paper", at=paper),
            ],
        )
    yield BarChart(
        caption="Messages by role",
        what="messages",
        bars=[
            Bar(label=role, count=count, reference=PAPER.roles.get(role))
            for role, count in figures.roles.most_common()
        ],
        reference="paper",
    )
    yield _bars("Trajectories by domain", "trajectories", figures.domains)


def _bars(caption: str, what: str, counts: Counter[str]) -> BarChart:
    shown = counts.most_common(_MAX_DOMAINS)
    rest = counts.total() - sum(count for _, count in shown)
    bars = [Bar(label=name, count=count) for name, count in shown]
    if rest:
        bars.append(Bar(label=f"{len(counts) - len(shown)} others", count=rest))
    return BarChart(caption=caption, what=what, bars=bars)


# --- scores ----------------------------------------------------------------------------------------


def _scores(summary: ScoreSummary) -> Iterator[Part]:
    yield _histogram("Total", summary.totals)
    for dimension, each in summary.dimensions.items():
        yield _histogram(dimension.value, each.values)
    yield DataTable(
        caption="Scores by dimension",
        columns=[
            DataColumn(name="dimension"),
            *(
                DataColumn(name=name, is_number=True)
                for name in ("mean", "least", "defined", "mean variance of repetitions")
            ),
            DataColumn(name="not defined, by reason"),
        ],
        rows=[
            (
                dimension.value,
                _number(each.mean),
                _number(min(each.values, default=None), 2),
                f"{len(each.values):,}",
                _number(each.mean_variance, 4),
                _counted(each.undefined) or _NONE,
            )
            for dimension, each in summary.dimensions.items()
        ],
    )
    yield DataTable(
        caption="What code finds beside the scores",
        columns=[DataColumn(name="check"), DataColumn(name="trajectories", is_number=True)],
        rows=[
            ("the answer is in another language than the question", f"{summary.other_language:,}"),
            ("the answer has a URL that nobody told", f"{summary.unseen_urls:,}"),
            ("the judge was not shown every text whole", f"{summary.cut:,}"),
        ],
    )


def _histogram(caption: str, values: Sequence[float]) -> Histogram:
    bins: Counter[float] = Counter()
    for value in values:
        place = min(floor(value * _BINS + 1e-9), _BINS - 1)
        bins[(place + 0.5) / _BINS] += 1
    return Histogram(
        caption=caption,
        x_label="score",
        y_label="trajectories",
        bins=[*sorted(bins.items())],
        bin_width=1 / _BINS,
        marks=[Mark(label="mean", at=fmean(values))] if values else [],
    )


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())


def _floors(scores: Sequence[Score]) -> DataTable:
    scored = [score for score in scores if score.state is State.SCORED]
    rows = [
        (dimension.value, *(str(_num_refused(scored, dimension, least)) for least in _FLOORS))
        for dimension in Dimension
    ]
    totals = [score.total for score in scored if score.total is not None]
    rows.append(("total", *(str(sum(total < least for total in totals)) for least in _FLOORS)))
    return DataTable(
        caption="Left out by one floor alone",
        columns=[
            DataColumn(name="floor of"),
            *(DataColumn(name=f"{least:g}", is_number=True) for least in _FLOORS),
        ],
        rows=rows if scored else [],
    )


def _num_refused(scored: Sequence[Score], dimension: Dimension, least: float) -> int:
    floors = Floors({dimension: least}, min_total=0)
    return sum(floors.missed(score) is not None for score in scored)


def _default_floors(counts: Counter[str]) -> BarChart:
    return BarChart(
        caption=f"By the default floors (total {MIN_TOTAL:g})",
        what="trajectories",
        bars=[Bar(label=name, count=count) for name, count in counts.most_common()],
    )


def _reasons(summary: ScoreSummary) -> DataTable:
    return DataTable(
        caption="Why there is no total",
        columns=[DataColumn(name="reason"), DataColumn(name="trajectories", is_number=True)],
        rows=[(reason, f"{count:,}") for reason, count in summary.reasons.items()],
    )
