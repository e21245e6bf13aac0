"""The figures of the gateway benchmark as a table for people, and as a drawing."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

__all__ = ["chart", "table"]

_COLUMNS = {
    "calls/s": "calls_per_second",
    "CPU ms": "cpu_ms",
    "CPU ratio": "cpu_ratio",
    "p50 ms": "p50_ms",
    "p99 ms": "p99_ms",
    "p99 ratio": "p99_ratio",
    "errors": "errors",
}
_BAR_HEIGHT = 26
_LEFT = 190
_WIDTH = 760
_MAX_RATIO = 6.0
"""Longer bars are cut, and say so."""


def table(figures: Mapping[str, Any], connections: Sequence[int]) -> str:
    """Render a Markdown table: a line of each target at each number of connections."""
    rows = [["target", "connections", *_COLUMNS]]
    for name in _targets(figures, connections):
        measured = [n for n in connections if f"{name}_cpu_ms_{n}" in figures]
        rows += [[name, str(n), *_cells(figures, name, n)] for n in measured]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [_row(row, widths) for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _targets(figures: Mapping[str, Any], connections: Sequence[int]) -> list[str]:
    endings = [f"_cpu_ms_{number}" for number in connections]
    names = (key.removesuffix(end) for end in endings for key in figures if key.endswith(end))
    return list(dict.fromkeys(names))


def _cells(figures: Mapping[str, Any], name: str, number: int) -> list[str]:
    cells: list[str] = []
    for figure in _COLUMNS.values():
        key = f"{name}_{figure}_{number}"
        if key not in figures:
            cells.append("")
        elif f"{key}_min" in figures:
            low, high = figures[f"{key}_min"], figures[f"{key}_max"]
            cells.append(f"{_short(figures[key])} ({_short(low)}-{_short(high)})")
        else:
            cells.append(str(figures[key]))
    return cells


def _short(value: float) -> str:
    """Three digits are more than the spread deserves."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def chart(figures: Mapping[str, Any], connections: int) -> str:
    """Draw the CPU ratios to the baseline as an SVG bar chart, with their spread."""
    ending = f"_cpu_ratio_{connections}"
    bars = {key.removesuffix(ending): figures[key] for key in figures if key.endswith(ending)}
    bars = {"baseline": 1.0, **bars}
    top = max([*bars.values(), *(figures.get(f"{n}{ending}_max", 0) for n in bars)])
    top = min(top, _MAX_RATIO)
    scale = (_WIDTH - _LEFT - 90) / top
    height = 56 + len(bars) * _BAR_HEIGHT
    title = f"Processor time per call, {connections} connections, baseline = 1"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"',
        f'  font-family="sans-serif" font-size="13" role="img" aria-label="{escape(title)}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" fill="#1f2933">{escape(title)}</text>',
    ]
    for index, (name, value) in enumerate(bars.items()):
        spread = [figures.get(f"{name}{ending}_{end}", value) for end in ("min", "max")]
        lines += _bar(name, value, spread, 42 + index * _BAR_HEIGHT, scale)
    return "\n".join([*lines, "</svg>\n"])


def _bar(name: str, value: float, spread: Sequence[float], y: int, scale: float) -> list[str]:
    middle = y + 9
    edge = _LEFT + _MAX_RATIO * scale
    low, high = (min(_LEFT + end * scale, edge) for end in spread)
    length = min(value, _MAX_RATIO) * scale
    cut = " (cut)" if value > _MAX_RATIO else ""
    fill = "#9aa5b1" if name == "baseline" else "#2f6f9f"
    return [
        f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end" fill="#1f2933">{escape(name)}</text>',
        f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="18" fill="{fill}"/>',
        f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#1f2933"/>',
        f'<text x="{high + 8:.1f}" y="{y + 14}" fill="#1f2933">{_short(value)}{cut}</text>',
    ]
