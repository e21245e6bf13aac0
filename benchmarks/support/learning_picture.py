"""Rewards over steps as a picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

__all__ = ["Panel", "draw_curves"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 380, 240, 48, 44, 36
_CAPTION = 420
"""Room for the words before the seeds."""
_COLOURS = ("#1f6feb", "#d1242f", "#2da44e", "#8250df", "#bf8700")


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: a colour for each run, greedy in full, T = 1 in dashes."""

    title: str
    prefix: str
    """Of the figures that are drawn, such as ``worlds/``."""
    runs: Sequence[Mapping[str, Any]]
    """Each with ``seed`` and ``curve``, whose rows have ``step`` and the rewards."""


def draw_curves(panels: Sequence[Panel], caption: str) -> str:
    """Draw panels beside each other."""
    parts = [_panel(number, panel) for number, panel in enumerate(panels)]
    width = len(panels) * (_WIDTH + _LEFT + _GAP)
    legend = " ".join(_legend(panels[0].runs, caption))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT + _TOP + 76}" '
        'font-family="sans-serif" font-size="12" fill="#57606a">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}{legend}\n</svg>\n'
    )


def _panel(number: int, panel: Panel) -> str:
    last = max(row["step"] for run in panel.runs for row in run["curve"])
    left = _LEFT + number * (_WIDTH + _LEFT + _GAP)
    lines = [
        f'<text x="{left}" y="{_TOP - 18}" font-size="14" fill="#24292f">{escape(panel.title)}</text>'
    ]
    for tenth in range(0, 11, 2):
        y = _TOP + _HEIGHT * (1 - tenth / 10)
        lines.append(f'<path d="M{left} {y:.1f}h{_WIDTH}" stroke="#d0d7de"/>')
        lines.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10}</text>')
    for quarter in range(5):
        x = left + _WIDTH * quarter / 4
        text = round(last * quarter / 4)
        lines.append(
            f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{text}</text>'
        )
    for place, run in enumerate(panel.runs):
        colour = _COLOURS[place % len(_COLOURS)]
        for kind, dashes in (("greedy", ""), ("sampled", ' stroke-dasharray="5 4"')):
            points = " ".join(_points(run["curve"], f"{panel.prefix}{kind}/reward", left, last))
            style = f'fill="none" stroke="{colour}" stroke-width="1.8"{dashes}'
            lines.append(f'<polyline points="{points}" {style}/>')
    return "\n".join(lines) + "\n"


def _points(
    curve: Sequence[Mapping[str, Any]], figure: str, left: float, last: int
) -> Iterator[str]:
    """Begin at nothing where nobody looked: random weights call no tool."""
    found = [(row["step"], row[figure]) for row in curve if figure in row]
    for step, reward in found if found[0][0] == 0 else [(0, 0.0), *found]:
        yield f"{left + _WIDTH * step / last:.1f},{_TOP + _HEIGHT * (1 - reward):.1f}"


def _legend(runs: Sequence[Mapping[str, Any]], caption: str) -> Iterator[str]:
    y = _TOP + _HEIGHT + 52
    yield f'<text x="{_LEFT}" y="{y}">{escape(caption)}; full: greedy, dashed: T = 1.</text>'
    for place, run in enumerate(runs):
        x = _LEFT + _CAPTION + place * 80
        colour = _COLOURS[place % len(_COLOURS)]
        yield f'<path d="M{x} {y - 4}h24" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{x + 30}" y="{y}">seed {escape(str(run["seed"]))}</text>'
