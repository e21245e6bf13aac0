"""What the script of the page draws, and the same numbers as a table, for those who run no script."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from astra_mcp.report.html.parts import DataColumn, DataTable, Histogram, LinePlot, Series
from astra_mcp.types import JsonObject, JsonValue

__all__ = ["Plot", "look_of", "plot_of", "script_json", "shown", "y_ends_of"]

_LOOKS = 6
"""Colours, each with its dashes."""
_ROOM = 0.1
"""Above and below values that are all equal, as a part of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot in the forms that a page needs."""

    spec: JsonObject
    """What the script reads."""
    description: str
    """What it shows, for those who do not see it."""
    table: DataTable
    lines: Sequence[tuple[str, int]] = ()
    """Names of the lines, and how they look: a number from 0 to 5."""


def plot_of(part: Histogram | LinePlot) -> Plot:
    """Prepare a plot.

    Raises:
        ValueError: A line has another number of values than the axis.
    """
    return _histogram(part) if isinstance(part, Histogram) else _lines(part)


def script_json(value: JsonValue) -> str:
    """Write JSON that can stand in a ``<script>``: no text in it ends the element or opens a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def look_of(place: int, line: Series) -> int:
    """Say how a line looks: a number from 0 to 5.

    Args:
        place: Its place in its plot, from 0.
        line: May name its look.
    """
    return (place if line.look is None else line.look) % _LOOKS


def y_ends_of(part: LinePlot) -> tuple[float, float] | None:
    """Find the least and the most that the axis of the values shows, which differ.

    Returns:
        None where there is no number to draw.
    """
    drawn = [v for line in part.series for v in line.values if v is not None and isfinite(v)]
    if not drawn:
        return None
    seen = [*drawn, *(part.y_span or ())]
    least, most = min(seen), max(seen)
    if least < most:
        return least, most
    room = _ROOM * abs(least)
    ends = (least - room, most + room)
    return ends if ends[0] < ends[1] and all(map(isfinite, ends)) else (least, least + 1)


def _histogram(part: Histogram) -> Plot:
    marks = ", ".join(f"{mark.label} {shown(mark.at)}" for mark in part.marks)
    most = max((count for _, count in part.bins), default=0)
    peak = next((_bin(part, at) for at, count in part.bins if count == most), "none")
    described = [
        f"Histogram of {part.x_label} by {part.y_label}",
        f"{len(part.bins)} bins, the highest is {peak} with {most}",
        *([marks] if marks else []),
    ]
    return Plot(
        spec={
            "kind": "histogram",
            "x": [at for at, _ in part.bins],
            "counts": [count for _, count in part.bins],
            "width": part.bin_width,
            "xLabel": part.x_label,
            "yLabel": part.y_label,
            "marks": [{"label": mark.label, "at": mark.at} for mark in part.marks],
        },
        description="; ".join(described),
        table=DataTable(
            caption=part.caption,
            columns=_columns(part.x_label, part.y_label),
            rows=[(_bin(part, at), f"{count:,}") for at, count in part.bins],
        ),
    )


def _lines(part: LinePlot) -> Plot:
    wrong = [line.name for line in part.series if len(line.values) != len(part.x)]
    if wrong:
        raise ValueError(
            f"{wrong[0]!r} has another number of values than the axis: {part.caption!r}"
        )
    names = [line.name for line in part.series]
    looks = [look_of(place, line) for place, line in enumerate(part.series)]
    ends = y_ends_of(part)
    lines: list[JsonValue] = [
        {"name": line.name, "look": look, "values": [_finite(value) for value in line.values]}
        for line, look in zip(part.series, looks, strict=True)
    ]
    values = zip(*(line.values for line in part.series), strict=True)
    return Plot(
        spec={
            "kind": "lines",
            "x": list(part.x),
            "series": lines,
            "xLabel": part.x_label,
            "yLabel": part.y_label,
            "yEnds": None if ends is None else [*ends],
        },
        description=f"Lines of {part.y_label} by {part.x_label}: {', '.join(names)}",
        table=DataTable(
            caption=part.caption,
            columns=_columns(part.x_label, *names),
            rows=[
                (shown(x), *(shown(value) for value in row))
                for x, row in zip(part.x, values, strict=True)
            ],
        ),
        lines=[*zip(names, looks, strict=True)],
    )


def _columns(*names: str) -> tuple[DataColumn, ...]:
    return tuple(DataColumn(name=name, is_number=True) for name in names)


def _bin(part: Histogram, at: float) -> str:
    """Name a bin: by its number where it holds one whole number, else by its bounds."""
    if part.bin_width == 1 and float(at).is_integer():
        return shown(at)
    half = part.bin_width / 2
    return f"{shown(at - half)} to {shown(at + half)}"


def shown(value: float | None) -> str:
    """Write a number down in few digits; a gap is a dash."""
    if value is None or not isfinite(value):
        return "\u2013"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: what is no number is a gap."""
    return value if value is not None and isfinite(value) else None
