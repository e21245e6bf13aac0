"""Parts as templates take them: figures written down, bars with lengths, plots with drawings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from astra_mcp.report.html.drawing import Drawing, drawing_of
from astra_mcp.report.html.parts import (
    BarChart,
    DataTable,
    Part,
    Reading,
    Report,
    Section,
    is_empty,
)
from astra_mcp.report.html.plots import Plot, plot_of, script_json

__all__ = ["View", "views_of"]

_OWN_PATH = re.compile(r"/(?![/\\])[^\x00-\x20]*")
"""Of a gateway's pages: a stored report may lead nowhere else. Browsers leave tabs and newlines out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBar:
    """A bar with its figures written down; lengths are per cent of the longest."""

    label: str
    count: str
    share: str
    reference: str
    length: float
    mark: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A part, and what is computed of it."""

    kind: Literal["table", "bars", "plot", "reading"]
    part: Part
    bars: Sequence[DrawnBar] = ()
    plot: Plot | None = None
    data: str = ""
    """What the script reads."""
    drawing: Drawing | None = None
    """What is seen without a script."""


def views_of(report: Report) -> list[tuple[Section, list[View]]]:
    """Prepare the parts of each section that are not empty."""
    return [
        (section, [_view(part) for part in section.parts if not is_empty(part)])
        for section in report.sections
    ]


def _view(part: Part) -> View:
    if isinstance(part, DataTable):
        paths = [path if _OWN_PATH.fullmatch(path) else "" for path in part.paths]
        return View(kind="table", part=replace(part, paths=paths))
    if isinstance(part, BarChart):
        return View(kind="bars", part=part, bars=tuple(_drawn_bars(part)))
    if isinstance(part, Reading):
        return View(kind="reading", part=part)
    plot = plot_of(part)
    data = Markup(script_json(plot.spec))  # noqa: S704 - escaped for where it stands
    return View(kind="plot", part=part, plot=plot, data=data, drawing=drawing_of(part))


def _drawn_bars(part: BarChart) -> Iterator[DrawnBar]:
    shares = [bar.count / (part.whole or part.total) for bar in part.bars]
    longest = max((*shares, *(bar.reference or 0.0 for bar in part.bars)))
    for bar, share in zip(part.bars, shares, strict=True):
        yield DrawnBar(
            label=bar.label,
            count=f"{bar.count:,}",
            share=f"{share:.1%}",
            reference="" if bar.reference is None else f"{bar.reference:.1%}",
            length=round(100 * share / longest, 2),
            mark=None if bar.reference is None else round(100 * bar.reference / longest, 2),
        )
