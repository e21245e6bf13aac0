"""The decomposition of a question as a drawing: a column for each hop level, an arrow for what needs what.

Placed here, and drawn by the template as SVG: at most 20 sub-tasks need no library in the browser.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from astra_mcp.environments.bundle import SubTask
from astra_mcp.environments.decomposition import depths_of

__all__ = ["Drawing", "draw"]

_WIDTH, _HEIGHT = 190, 46
"""Of a node, in pixels."""
_GAP_X, _GAP_Y, _MARGIN = 56, 18, 8
_MAX_LABEL = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    id: int
    x: float
    y: float
    tool: str
    """Cut to what fits; empty where it needs none."""
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Where everything stands, in pixels."""

    width: float
    height: float
    node_width: int
    node_height: int
    nodes: Sequence[_Node]
    arrows: Sequence[str]
    """Paths of SVG."""


def draw(sub_tasks: Sequence[SubTask]) -> Drawing | None:
    """Place sub-tasks; None where they cannot be put into an order, as in one that is not verified."""
    depths = depths_of(sub_tasks)
    if len(depths) < len(sub_tasks):
        return None
    columns = _columns(sub_tasks, depths)
    tallest = max(map(len, columns))
    nodes: dict[int, _Node] = {}
    for number, column in enumerate(columns):
        above = (tallest - len(column)) * (_HEIGHT + _GAP_Y) / 2
        for row, sub in enumerate(column):
            x = _MARGIN + number * (_WIDTH + _GAP_X)
            y = _MARGIN + above + row * (_HEIGHT + _GAP_Y)
            nodes[sub.id] = _node(sub, x, y)
    longest = max((depths[s.id] - depths[d] for s in sub_tasks for d in s.dependencies), default=0)
    below = _depth_of_arc(longest) if longest > 1 else 0
    return Drawing(
        width=2 * _MARGIN + len(columns) * (_WIDTH + _GAP_X) - _GAP_X,
        height=2 * _MARGIN + tallest * (_HEIGHT + _GAP_Y) - _GAP_Y + below,
        node_width=_WIDTH,
        node_height=_HEIGHT,
        nodes=tuple(nodes.values()),
        arrows=[
            _arrow(nodes[d], nodes[s.id], depths[s.id] - depths[d])
            for s in sub_tasks
            for d in s.dependencies
        ],
    )


def _columns(sub_tasks: Sequence[SubTask], depths: Mapping[int, int]) -> list[list[SubTask]]:
    """Sort each hop level by where what it needs stands, so that few arrows cross."""
    levels: defaultdict[int, list[SubTask]] = defaultdict(list)
    for sub in sub_tasks:
        levels[depths[sub.id]].append(sub)
    rows: dict[int, float] = {}
    columns: list[list[SubTask]] = []
    for _, level in sorted(levels.items()):
        means = {
            s.id: sum(rows[d] for d in s.dependencies) / (len(s.dependencies) or 1) for s in level
        }
        column = sorted(level, key=lambda sub: (means[sub.id], sub.id))
        rows |= {sub.id: row - len(column) / 2 for row, sub in enumerate(column)}
        columns.append(column)
    return columns


def _node(sub: SubTask, x: float, y: float) -> _Node:
    tool = sub.tool or ""
    label = tool if len(tool) <= _MAX_LABEL else f"{tool[: _MAX_LABEL - 1]}…"
    return _Node(id=sub.id, x=x, y=y, tool=label, question=sub.question or "")


def _depth_of_arc(levels: int) -> float:
    return 14.0 + 10.0 * levels


def _arrow(begin: _Node, end: _Node, levels: int) -> str:
    """Lead from a node to one of the next level, or below those in between to one of a later level."""
    if levels > 1:
        x1, y1 = begin.x + _WIDTH * 0.6, begin.y + _HEIGHT
        x2, y2 = end.x + _WIDTH * 0.4, end.y + _HEIGHT + 3
        deepest = max(y1, y2) + _depth_of_arc(levels)
        return f"M{x1:g},{y1:g} C{x1:g},{deepest:g} {x2:g},{deepest:g} {x2:g},{y2:g}"
    x1, y1 = begin.x + _WIDTH, begin.y + _HEIGHT / 2
    x2, y2 = end.x - 3, end.y + _HEIGHT / 2
    bend = _GAP_X / 2
    return f"M{x1:g},{y1:g} C{x1 + bend:g},{y1:g} {x2 - bend:g},{y2:g} {x2:g},{y2:g}"
