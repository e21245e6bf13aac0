"""Graphs as drawings: columns from left to right, an arrow for what leads to what.

Sub-tasks of a question stand in a column for each hop level, tools of a server by how many transitions lead
to them from a tool that begins. Placed here, and drawn by the template as SVG: so few nodes need no library
in the browser.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from astra_mcp.environments.bundle import SubTask
from astra_mcp.environments.decomposition import depths_of

__all__ = ["MAX_ARROWS", "MAX_NODES", "Drawing", "ToolGraph", "draw", "draw_tools"]

MAX_NODES = 60
"""Tools that are drawn of one server; those with the most transitions."""
MAX_ARROWS = 240
_WIDTH, _HEIGHT = 190, 46
"""Of a node, in pixels."""
_GAP_X, _GAP_Y, _MARGIN = 56, 18, 8
_WIDE_GAP_X = 100
"""Where many arrows cross, with numbers on them."""
_MAX_LABEL = 22
_LOOP = 26
"""So far an arrow within a column reaches to the right."""
_WEIGHTS = 4
"""Widths of arrows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    key: Hashable
    x: float
    y: float
    above: str
    """Stands small above the label."""
    label: str
    """Cut to what fits; empty where there is none."""
    title: str
    """Shown where somebody points at it."""


class _Arrow(NamedTuple):
    path: str
    """Of SVG."""
    x: float
    y: float
    """Of its middle, where its weight is written."""
    weight: int | None
    """None where arrows have none."""
    heaviness: int
    """From 1 to 4, by the heaviest of the drawing."""
    leads_back: bool
    """To an earlier column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Where everything stands, in pixels."""

    width: float
    height: float
    node_width: int
    node_height: int
    nodes: Sequence[_Node]
    arrows: Sequence[_Arrow]


class _Named(NamedTuple):
    """A node that has no place yet."""

    key: Hashable
    above: str
    label: str
    title: str


class _Edge(NamedTuple):
    begin: Hashable
    end: Hashable
    weight: int | None = None


def draw(sub_tasks: Sequence[SubTask]) -> Drawing | None:
    """Place sub-tasks; None where they cannot be put into an order, as in one that is not verified."""
    depths = depths_of(sub_tasks)
    if len(depths) < len(sub_tasks):
        return None
    named = [_Named(s.id, str(s.id), s.tool or "", s.question or "") for s in sub_tasks]
    edges = [_Edge(d, s.id) for s in sub_tasks for d in s.dependencies]
    return _place(named, {**depths}, edges, gap=_GAP_X)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGraph:
    """The transitions of a server, with as much of them as is drawn."""

    drawing: Drawing | None
    """None where no tool leads to another."""
    transitions: Sequence[tuple[str, str, int]]
    """All that are drawn: from, to, and how often; the most frequent first."""
    num_transitions: int
    left_out: Sequence[str]
    """Tools with transitions that are not drawn."""
    alone: Sequence[str]
    """Tools without any."""


def draw_tools(tools: Sequence[str], transitions: Mapping[tuple[str, str], int]) -> ToolGraph:
    """Place the tools of a server, at most 60 and 240 arrows.

    Args:
        tools: The names of all, those included that only transitions name.
        transitions: How often a tool followed another one, or itself.
    """
    degrees = Counter[str]()
    for (begin, end), weight in transitions.items():
        degrees[begin] += weight
        degrees[end] += weight
    ranked = sorted(degrees, key=lambda tool: (-degrees[tool], tool))
    kept = frozenset(ranked[:MAX_NODES])
    heaviest = sorted(transitions.items(), key=lambda item: (-item[1], item[0]))
    edges = [_Edge(*pair, weight) for pair, weight in heaviest if kept.issuperset(pair)]
    drawn = edges[:MAX_ARROWS]
    nodes = [_Named(t, f"{degrees[t]:,}", t, t) for t in sorted(kept)]
    levels = _levels(sorted(kept), drawn)
    return ToolGraph(
        drawing=_place(nodes, levels, drawn, gap=_WIDE_GAP_X) if nodes else None,
        transitions=[(str(e.begin), str(e.end), e.weight or 0) for e in drawn],
        num_transitions=len(transitions),
        left_out=sorted(ranked[MAX_NODES:]),
        alone=sorted(set(tools) - degrees.keys()),
    )


def _levels(keys: Sequence[str], edges: Sequence[_Edge]) -> dict[Hashable, int]:
    """Count the steps to each tool from one that begins: that none leads to, or most lead on from."""
    after: defaultdict[Hashable, list[Hashable]] = defaultdict(list)
    balance = Counter[Hashable]()
    led_to = set[Hashable]()
    for begin, end, weight in edges:
        if begin != end:
            after[begin].append(end)
            led_to.add(end)
            balance[begin] += weight or 0
            balance[end] -= weight or 0
    waiting = sorted(keys, key=lambda key: (key in led_to, -balance[key], key))
    levels: dict[Hashable, int] = {}
    starts = [key for key in waiting if key not in led_to]
    for start in [starts, *([key] for key in waiting)]:
        queue = deque[Hashable](key for key in start if key not in levels)
        levels.update(dict.fromkeys(queue, 0))
        while queue:
            key = queue.popleft()
            for following in after[key]:
                if following not in levels:
                    levels[following] = levels[key] + 1
                    queue.append(following)
    return levels


def _place(
    named: Sequence[_Named], levels: Mapping[Hashable, int], edges: Sequence[_Edge], *, gap: int
) -> Drawing:
    columns = _columns(named, levels, edges)
    tallest = max(map(len, columns))
    steps = [levels[e.end] - levels[e.begin] for e in edges]
    overhead = _depth_of_arc(-min(steps, default=0)) if min(steps, default=0) < 0 else 0
    below = _depth_of_arc(max(steps, default=0)) if max(steps, default=0) > 1 else 0
    beside = _LOOP if 0 in steps else 0
    nodes: dict[Hashable, _Node] = {}
    for number, column in enumerate(columns):
        above = overhead + (tallest - len(column)) * (_HEIGHT + _GAP_Y) / 2
        for row, each in enumerate(column):
            x = _MARGIN + number * (_WIDTH + gap)
            y = _MARGIN + above + row * (_HEIGHT + _GAP_Y)
            nodes[each.key] = _node(each, x, y)
    ends = [(nodes[edge.begin], nodes[edge.end]) for edge in edges]
    curves = [_curve(*each, step) for each, step in zip(_spread(ends, steps), steps, strict=True)]
    heaviest = max((edge.weight or 0 for edge in edges), default=0)
    return Drawing(
        width=2 * _MARGIN + len(columns) * (_WIDTH + gap) - gap + beside,
        height=2 * _MARGIN + overhead + tallest * (_HEIGHT + _GAP_Y) - _GAP_Y + below,
        node_width=_WIDTH,
        node_height=_HEIGHT,
        nodes=tuple(nodes.values()),
        arrows=[
            _arrow(curve, edge.weight, heaviest, leads_back=step < 0)
            for curve, edge, step in zip(curves, edges, steps, strict=True)
        ],
    )


def _columns(
    named: Sequence[_Named], levels: Mapping[Hashable, int], edges: Sequence[_Edge]
) -> list[list[_Named]]:
    """Sort each column by where what leads there from before stands, so that few arrows cross."""
    needs: defaultdict[Hashable, list[Hashable]] = defaultdict(list)
    for begin, end, _ in edges:
        if levels[begin] < levels[end]:
            needs[end].append(begin)
    by_level: defaultdict[int, list[_Named]] = defaultdict(list)
    for each in named:
        by_level[levels[each.key]].append(each)
    rows: dict[Hashable, float] = {}
    columns: list[list[_Named]] = []
    for _, level in sorted(by_level.items()):
        means = {
            e.key: sum(rows[n] for n in needs[e.key]) / (len(needs[e.key]) or 1) for e in level
        }
        column = sorted(level, key=lambda each: means[each.key])  # equal ones stay as they came
        rows |= {each.key: row - len(column) / 2 for row, each in enumerate(column)}
        columns.append(column)
    return columns


def _node(named: _Named, x: float, y: float) -> _Node:
    label = named.label
    label = label if len(label) <= _MAX_LABEL else f"{label[: _MAX_LABEL - 1]}…"
    return _Node(key=named.key, x=x, y=y, above=named.above, label=label, title=named.title)


def _depth_of_arc(levels: int) -> float:
    return 14.0 + 10.0 * levels


class _End(NamedTuple):
    """Where an arrow begins or ends."""

    node: _Node
    share: float
    """Of the height of the node, from its top, where the arrow is to the right or the left of it."""


def _spread(
    ends: Sequence[tuple[_Node, _Node]], steps: Sequence[int]
) -> Sequence[tuple[_End, _End]]:
    """Spread the arrows between neighbouring columns over the sides of nodes, in the order of the others."""
    shares: dict[tuple[int, int], float] = {}
    for side in (0, 1):
        by_node: defaultdict[Hashable, list[int]] = defaultdict(list)
        for place, (pair, step) in enumerate(zip(ends, steps, strict=True)):
            if step == 1:
                by_node[pair[side].key].append(place)
        for places in by_node.values():
            places.sort(key=lambda place: ends[place][1 - side].y)
            for rank, place in enumerate(places, 1):
                shares[place, side] = 0.1 + 0.8 * rank / (len(places) + 1)
    return [
        (_End(begin, shares.get((place, 0), 0.5)), _End(end, shares.get((place, 1), 0.5)))
        for place, (begin, end) in enumerate(ends)
    ]


def _arrow(
    curve: tuple[float, ...], weight: int | None, heaviest: int, *, leads_back: bool
) -> _Arrow:
    x1, y1, x2, y2, x3, y3, x4, y4 = curve
    path = f"M{x1:g},{y1:g} C{x2:g},{y2:g} {x3:g},{y3:g} {x4:g},{y4:g}"
    x, y = (x1 + 3 * x2 + 3 * x3 + x4) / 8, (y1 + 3 * y2 + 3 * y3 + y4) / 8
    more = 0 if weight is None or heaviest < 2 else (_WEIGHTS - 1) * (weight - 1) / (heaviest - 1)
    return _Arrow(path, x, y, weight, 1 + round(more), leads_back)


def _curve(begins: _End, ends: _End, step: int) -> tuple[float, ...]:
    """Lead to a node of the next column, below those in between, beside a column, or above all back."""
    begin, end = begins.node, ends.node
    if step == 1:
        x1, y1 = begin.x + _WIDTH, begin.y + _HEIGHT * begins.share
        x2, y2 = end.x - 3, end.y + _HEIGHT * ends.share
        bend = (x2 - x1) / 2
        return x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2
    if step == 0:
        x = begin.x + _WIDTH
        y1, y2 = begin.y + _HEIGHT * 0.35, end.y + _HEIGHT * 0.65
        return x, y1, x + _LOOP * 4 / 3, y1, x + _LOOP * 4 / 3, y2, x + 3, y2
    x1, x2 = begin.x + _WIDTH * 0.6, end.x + _WIDTH * 0.4
    if step > 1:
        y1, y2 = begin.y + _HEIGHT, end.y + _HEIGHT + 3
        deepest = max(y1, y2) + _depth_of_arc(step)
        return x1, y1, x1, deepest, x2, deepest, x2, y2
    y1, y2 = begin.y, end.y - 3
    highest = min(y1, y2) - _depth_of_arc(-step)
    return x1, y1, x1, highest, x2, highest, x2, y2
