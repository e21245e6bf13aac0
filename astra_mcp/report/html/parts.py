"""What a report is made of: values without a word of HTML.

Every text is shown as it is, whoever wrote it. Figures in tables come as texts, as they are to be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = [
    "MAX_ROWS",
    "Bar",
    "BarChart",
    "DataColumn",
    "DataTable",
    "Histogram",
    "KeyFigure",
    "LinePlot",
    "Mark",
    "Part",
    "Passage",
    "Reading",
    "Report",
    "Section",
    "Series",
    "is_empty",
    "shortened",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumn:
    """A column of a table."""

    name: str
    is_number: bool = False
    """Figures stand on the right, digit below digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """Rows of texts; the first cell of a row names it."""

    caption: str
    columns: Sequence[DataColumn]
    rows: Sequence[Sequence[str]]
    paths: Sequence[str] = ()
    """Of each row, the address among a gateway's pages of what its first cell names; empty where there is
    none. A file has no gateway, and shows the cell alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One category."""

    label: str
    count: int
    reference: float | None = None
    """The share of it elsewhere, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """How often what: a table with bars in it, readable without JavaScript."""

    caption: str
    what: str
    """What is counted, such as ``questions``."""
    bars: Sequence[Bar]
    """In the order in which they are shown."""
    whole: int = 0
    """What shares are of, such as all that a funnel began with; 0 for the sum of the bars."""
    reference: str = ""
    """Who says the other shares, in a word; empty where nobody does."""

    @property
    def total(self) -> int:
        """The sum of the bars."""
        return sum(bar.count for bar in self.bars)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place on a numeric axis that has a name, such as the mean."""

    label: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """How often which number."""

    caption: str
    x_label: str
    y_label: str
    bins: Sequence[tuple[float, int]]
    """The middle of each bin, ascending, and its count; bins without a count may be left out."""
    bin_width: float = 1.0
    marks: Sequence[Mark] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a plot."""

    name: str
    values: Sequence[float | None]
    """One for each x; the line goes past None to its next value."""
    look: int | None = None
    """Lines of the same number look alike on a whole page; None: the line's place in its plot, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePlot:
    """Lines over one numeric axis."""

    caption: str
    x_label: str
    y_label: str
    x: Sequence[float]
    """Ascending."""
    series: Sequence[Series]
    y_span: tuple[float, float] | None = None
    """What the other axis shows at least, whatever the values are; None for what they need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text to read as it was written, lines and spaces included."""

    label: str
    text: str
    is_folded: bool = False
    """Shown when it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Passages in their order, folded behind a caption."""

    caption: str
    passages: Sequence[Passage]


Part = DataTable | BarChart | Histogram | LinePlot | Reading


def is_empty(part: Part) -> bool:
    """Whether a part has nothing to show; a page leaves it out."""
    match part:
        case DataTable():
            return not part.rows
        case BarChart():
            return not part.total
        case Histogram():
            return not part.bins
        case LinePlot():
            return not part.x
        case Reading():
            return not part.passages


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """A figure of the strip on top."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Parts under one heading."""

    title: str
    lead: str = ""
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page."""

    title: str
    lead: str = ""
    key_figures: Sequence[KeyFigure] = ()
    sections: Sequence[Section] = ()
    footer: str = ""


MAX_ROWS = 1_000
"""Of a table where a report is shortened."""


def shortened(report: Report, length: int) -> Report:
    """Cut long texts of tables, captions and passages, and long tables, and say what is left out.

    Args:
        report: Is shown.
        length: Characters of one text.
    """
    return replace(
        report,
        sections=[
            replace(section, parts=[_shortened(part, length) for part in section.parts])
            for section in report.sections
        ],
    )


def _shortened(part: Part, length: int) -> Part:
    part = replace(part, caption=_cut(part.caption, length))
    if isinstance(part, DataTable):
        rows = [[_cut(cell, length) for cell in row] for row in part.rows[:MAX_ROWS]]
        left_out = len(part.rows) - MAX_ROWS
        if left_out > 0:
            rows.append([f"\u2026 {left_out:,} rows more", *[""] * (len(part.columns) - 1)])
        paths = [*part.paths[:MAX_ROWS], *[""] * (left_out > 0)] if part.paths else ()
        return replace(part, rows=rows, paths=paths)
    if isinstance(part, Reading):
        passages = [replace(each, text=_cut(each.text, length)) for each in part.passages]
        return replace(part, passages=passages)
    if isinstance(part, LinePlot):
        series = [replace(each, name=_cut(each.name, length)) for each in part.series]
        return replace(part, y_label=_cut(part.y_label, length), series=series)
    return part


def _cut(text: str, length: int) -> str:
    left_out = len(text) - length
    return f"{text[:length]} \u2026 {left_out:,} characters more" if left_out > 0 else text
