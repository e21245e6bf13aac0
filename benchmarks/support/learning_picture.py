"""Figures over steps as a picture: plots beside each other, a line for each run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

__all__ = ["COLOURS", "Line", "Panel", "draw_panels", "reward_panel"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP, _FOOT = 380, 240, 48, 44, 36, 76
_LETTER = 6.6
"""Width of a letter of the legend, about."""
COLOURS = ("#1f6feb", "#d1242f", "#2da44e", "#8250df", "#bf8700", "#57606a", "#0a7ea4", "#bf3989")


@dataclass(frozen=True, slots=True)
class Line:
    """One run's figure."""

    name: str
    """Stands in the legend once; lines of one name have one colour."""
    points: Sequence[tuple[float, float]]
    """Steps and values."""
    colour: str
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot."""

    title: str
    lines: Sequence[Line]
    top: float = 1.0
    """The greatest value that is shown; the least is 0."""


def reward_panel(title: str, runs: Sequence[Mapping[str, Any]], prefix: str = "") -> Panel:
    """Give a plot of rewards: a colour for each run, greedy in full, T = 1 in dashes.

    Args:
        title: Of the plot.
        runs: Each with ``seed`` and ``curve``, whose rows have ``step`` and the rewards.
        prefix: Of the figures that are drawn, such as ``worlds/``.
    """
    return Panel(
        title,
        [
            Line(f"seed {run['seed']}", points, COLOURS[place % len(COLOURS)], is_dashed)
            for place, run in enumerate(runs)
            for kind, is_dashed in (("greedy", False), ("sampled", True))
            if (points := _from_nothing(run["curve"], f"{prefix}{kind}/reward"))
        ],
    )


def _from_nothing(curve: Sequence[Mapping[str, Any]], figure: str) -> Sequence[tuple[float, float]]:
    """Begin at nothing where nobody looked: random weights call no tool."""
    found = [(row["step"], row[figure]) for row in curve if figure in row]
    return found if not found or found[0][0] == 0 else [(0, 0.0), *found]


def draw_panels(panels: Sequence[Panel], caption: str, *, columns: int | None = None) -> str:
    """Draw panels, so many beside each other; by default all."""
    across = columns or len(panels)
    row_height = _HEIGHT + _TOP + 36
    parts = [
        f'<g transform="translate({at % across * (_WIDTH + _LEFT + _GAP)},{at // across * row_height})">'
        f"{_panel(panel)}</g>\n"
        for at, panel in enumerate(panels)
    ]
    width = min(across, len(panels)) * (_WIDTH + _LEFT + _GAP)
    foot = -(-len(panels) // across) * row_height
    legend = " ".join(_legend([line for panel in panels for line in panel.lines], caption, foot))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {foot + _FOOT - 36}" '
        'font-family="sans-serif" font-size="12" fill="#57606a">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}{legend}\n</svg>\n'
    )


def _panel(panel: Panel) -> str:
    last = max((step for line in panel.lines for step, _ in line.points), default=1) or 1
    drawn = [
        f'<text x="{_LEFT}" y="{_TOP - 18}" font-size="14" fill="#24292f">{escape(panel.title)}</text>'
    ]
    for fifth in range(6):
        y = _TOP + _HEIGHT * (1 - fifth / 5)
        drawn.append(f'<path d="M{_LEFT} {y:.1f}h{_WIDTH}" stroke="#d0d7de"/>')
        text = f"{panel.top * fifth / 5:.3g}"
        drawn.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for quarter in range(5):
        x = _LEFT + _WIDTH * quarter / 4
        text = round(last * quarter / 4)
        drawn.append(
            f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{text}</text>'
        )
    for line in panel.lines:
        points = " ".join(
            f"{_LEFT + _WIDTH * step / last:.1f},{_TOP + _HEIGHT * (1 - value / panel.top):.1f}"
            for step, value in line.points
        )
        dashes = ' stroke-dasharray="5 4"' if line.is_dashed else ""
        style = f'fill="none" stroke="{line.colour}" stroke-width="1.8"{dashes}'
        drawn.append(f'<polyline points="{points}" {style}/>')
    return "\n".join(drawn) + "\n"


def _legend(lines: Sequence[Line], caption: str, foot: float) -> Iterator[str]:
    y = foot + 16
    yield f'<text x="{_LEFT}" y="{y}">{escape(caption)}</text>'
    x = _LEFT + len(caption) * _LETTER + 30
    for name, colour in dict.fromkeys((line.name, line.colour) for line in lines):
        yield f'<path d="M{x:.0f} {y - 4}h24" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{x + 30:.0f}" y="{y}">{escape(name)}</text>'
        x += 30 + len(name) * _LETTER + 24
