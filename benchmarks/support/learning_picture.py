"""Rewards over steps as a picture."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["draw_curves"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 380, 240, 48, 44, 36
_COLOURS = ("#1f6feb", "#d1242f", "#2da44e", "#8250df", "#bf8700")
_TITLES = {"worlds": "New worlds, names of the training", "names": "New worlds, names never seen"}


def draw_curves(runs: Sequence[Mapping[str, Any]]) -> str:
    """Draw a panel for each held-out set: a colour for each seed, greedy in full, T = 1 in dashes.

    Args:
        runs: Each with ``seed`` and ``curve``, whose rows have ``step`` and the rewards.
    """
    last = max(row["step"] for run in runs for row in run["curve"])
    parts = [_panel(number, name, runs, last) for number, name in enumerate(_TITLES)]
    width = len(_TITLES) * (_WIDTH + _LEFT + _GAP)
    legend = " ".join(_legend(runs))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT + _TOP + 76}" '
        'font-family="sans-serif" font-size="12" fill="#57606a">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}{legend}\n</svg>\n'
    )


def _panel(number: int, name: str, runs: Sequence[Mapping[str, Any]], last: int) -> str:
    left = _LEFT + number * (_WIDTH + _LEFT + _GAP)
    lines = [
        f'<text x="{left}" y="{_TOP - 18}" font-size="14" fill="#24292f">{_TITLES[name]}</text>'
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
    for place, run in enumerate(runs):
        colour = _COLOURS[place % len(_COLOURS)]
        for kind, dashes in (("greedy", ""), ("sampled", ' stroke-dasharray="5 4"')):
            points = " ".join(_points(run["curve"], f"{name}/{kind}/reward", left, last))
            style = f'fill="none" stroke="{colour}" stroke-width="1.8"{dashes}'
            lines.append(f'<polyline points="{points}" {style}/>')
    return "\n".join(lines) + "\n"


def _points(
    curve: Sequence[Mapping[str, Any]], figure: str, left: float, last: int
) -> Iterator[str]:
    """Begin at nothing: random weights call no tool."""
    for step, reward in ((0, 0.0), *((row["step"], row[figure]) for row in curve if figure in row)):
        yield f"{left + _WIDTH * step / last:.1f},{_TOP + _HEIGHT * (1 - reward):.1f}"


def _legend(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    y = _TOP + _HEIGHT + 52
    yield f'<text x="{_LEFT}" y="{y}">Reward over steps of SFT; full: greedy, dashed: T = 1.</text>'
    for place, run in enumerate(runs):
        x = _LEFT + 330 + place * 80
        colour = _COLOURS[place % len(_COLOURS)]
        yield f'<path d="M{x} {y - 4}h24" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{x + 30}" y="{y}">seed {escape(str(run["seed"]))}</text>'
