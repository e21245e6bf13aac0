"""Plots as shapes that need no script: bars and lines within a frame, and what the ends of its axes are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeGuard

from astra_mcp.report.html.parts import Histogram, LinePlot, Series
from astra_mcp.report.html.plots import look_of, shown, y_ends_of

__all__ = ["HEIGHT", "WIDTH", "Drawing", "drawing_of"]

WIDTH, HEIGHT = 600.0, 200.0
"""Of the frame."""
_BAR_OF_NUMBER, _BAR_OF_RANGE = 0.82, 0.98
"""Of the width of a bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What stands in a frame whose lower left corner is the least of both axes."""

    bars: Sequence[tuple[float, float, float, float]] = ()
    """x, y, width and height of each."""
    lines: Sequence[tuple[str, int]] = ()
    """The path of each line, and how it looks: a number from 0 to 5."""
    x_ends: tuple[str, str]
    y_ends: tuple[str, str]
    """The least first."""


def drawing_of(part: Histogram | LinePlot) -> Drawing | None:
    """Draw a plot; None where no number of it can be drawn."""
    return _histogram(part) if isinstance(part, Histogram) else _lines(part)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Numbers, and the length that they are spread over."""

    least: float
    most: float
    length: float

    def at(self, value: float) -> float:
        # Halves, since the whole of two numbers at the ends of their range is none.
        span = self.most / 2 - self.least / 2
        share = (value / 2 - self.least / 2) / span if span else 0.5
        return round(share * self.length, 1)

    @property
    def ends(self) -> tuple[str, str]:
        return shown(self.least), shown(self.most)


def _histogram(part: Histogram) -> Drawing | None:
    half = part.bin_width / 2
    places = [at for at, _ in part.bins]
    most = max((count for _, count in part.bins), default=0)
    if not most:
        return None
    x, y = _Axis(min(places) - half, max(places) + half, WIDTH), _Axis(0, most, HEIGHT)
    # A bar of a range covers it but for a hair; one of a whole number stands at it.
    share = _BAR_OF_NUMBER if part.bin_width == 1 else _BAR_OF_RANGE
    width = round(share * WIDTH * part.bin_width / (x.most - x.least), 1)
    bars = [(x.at(at) - width / 2, y.at(count)) for at, count in part.bins]
    return Drawing(
        bars=[(round(left, 1), round(HEIGHT - top, 1), width, top) for left, top in bars],
        x_ends=x.ends,
        y_ends=y.ends,
    )


def _lines(part: LinePlot) -> Drawing | None:
    ends = y_ends_of(part)
    if ends is None:
        return None
    x, y = _Axis(part.x[0], part.x[-1], WIDTH), _Axis(*ends, HEIGHT)
    return Drawing(
        lines=[
            (" ".join(_path(part.x, line, x, y)), look_of(place, line))
            for place, line in enumerate(part.series)
        ],
        x_ends=x.ends,
        y_ends=y.ends,
    )


def _path(places: Sequence[float], line: Series, x: _Axis, y: _Axis) -> Iterator[str]:
    """Go from value to value, past gaps; a single one is a short stroke."""
    pairs = zip(places, line.values, strict=True)
    found = [(x.at(at), HEIGHT - y.at(value)) for at, value in pairs if _is_drawn(value)]
    for number, (left, top) in enumerate(found):
        yield f"{'L' if number else 'M'}{left:g} {top:g}"
    if len(found) == 1:
        yield "h4"


def _is_drawn(value: float | None) -> TypeGuard[float]:
    return value is not None and isfinite(value)
