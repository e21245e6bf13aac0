"""Graphs in which the shortest ways that are asked for are unique and share little with others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.draw import Draw

__all__ = ["Graph", "way_between"]

_Edge = tuple[str, str]
_Ways = Mapping[str, tuple[_Edge, ...]]
_MAX_TRIES = 300
_MIN_EDGES = 3
_MIN_OTHERS = 4
_MAX_OTHERS = 5


def way_between(links: dict[tuple[str, str], int], start: str, goal: str) -> list[tuple[str, str]]:
    """The links on the shortest way."""
    best: dict[str, tuple[int, list[tuple[str, str]]]] = {start: (0, [])}
    while goal not in best:
        length, way, place = min(
            (best[a][0] + n, [*best[a][1], (x, y)], b)
            for (x, y), n in links.items()
            for a, b in ((x, y), (y, x))
            if a in best and b not in best
        )
        best[place] = (length, way)
    return best[goal][1]


@dataclass(frozen=True, slots=True)
class Graph:
    """Places of a grid with some diagonals, a goal, and starts whose ways to it are asked for."""

    edges: dict[_Edge, int]
    """Lengths."""
    goal: str
    asked: tuple["Asked", ...]

    @classmethod
    def drawn(cls, draw: Draw, nodes: Sequence[str], columns: int, count: int) -> "Graph":
        """A graph in which so many ways are asked for.

        Raises:
            DrawError: None was found among many.
        """
        for _ in range(_MAX_TRIES):
            ways = _Finder(_grid(draw, nodes, columns))
            goal = draw.pick(nodes)
            asked = _chosen(draw.shuffled(nodes), goal, ways, count)
            if len(asked) == count:
                return cls(ways.edges, goal, tuple(asked))
        raise DrawError(f"no graph of {len(nodes)} places has {count} ways that share little")


@dataclass(frozen=True, slots=True)
class Asked:
    """A way to the goal of which one edge is asked for."""

    start: str
    way: tuple[_Edge, ...]
    edge: _Edge
    starts: tuple[str, ...]
    goals: tuple[str, ...]
    """Other ends: between none of them, nor from one of them to the start or goal, the way uses the edge."""


class _Finder:
    """The shortest ways of a graph, found when they are first asked for."""

    def __init__(self, edges: dict[_Edge, int]) -> None:
        self.edges = edges
        self._near: dict[str, list[tuple[str, int, _Edge]]] = {}
        self._found: dict[str, _Ways] = {}
        self.tied: set[str] = set()
        """Places from which two ways to somewhere are equally short."""
        for (a, b), length in edges.items():
            self._near.setdefault(a, []).append((b, length, (a, b)))
            self._near.setdefault(b, []).append((a, length, (a, b)))

    def ways(self, start: str) -> _Ways:
        """From a place to all others."""
        if start not in self._found:
            self._found[start] = self._search(start)
        return self._found[start]

    def _search(self, start: str) -> _Ways:
        best: dict[str, tuple[_Edge, ...]] = {}
        lengths: dict[str, int] = {}
        waiting: list[tuple[int, tuple[_Edge, ...], str]] = [(0, (), start)]
        while waiting:
            length, way, place = heappop(waiting)
            if place in best:
                if lengths[place] == length:
                    self.tied.add(start)
                continue
            best[place], lengths[place] = way, length
            for other, more, edge in self._near[place]:
                if other not in best:
                    heappush(waiting, (length + more, (*way, edge), other))
        return best


def _grid(draw: Draw, nodes: Sequence[str], columns: int) -> dict[_Edge, int]:
    edges: dict[_Edge, int] = {}
    for place, node in enumerate(nodes):
        right, below = place + 1, place + columns
        if right % columns:
            edges[node, nodes[right]] = draw.between(11, 97)
        if below < len(nodes):
            edges[node, nodes[below]] = draw.between(11, 97)
        if right % columns and below + 1 < len(nodes) and draw.chance(1, 4):
            edges[node, nodes[below + 1]] = draw.between(31, 110)
    return edges


def _chosen(nodes: Sequence[str], goal: str, ways: _Finder, count: int) -> list[Asked]:
    """Ways of which none runs through another start, or over an edge that another is asked for."""
    asked: list[Asked] = []
    to_goal = ways.ways(goal)
    for start in [n for n in nodes if len(to_goal[n]) >= _MIN_EDGES]:
        own = to_goal[start]
        if len(asked) == count or goal in ways.tied:
            break
        if any(start in e for a in asked for e in a.way) or any(a.start in e or a.edge == e for a in asked for e in own):  # fmt: skip
            continue
        free = [e for e in own if not any(e in a.way for a in asked)]
        for edge in free:
            found = _apart(nodes, start, goal, ways, edge)
            if found is not None and start not in ways.tied:
                asked.append(Asked(start, own, edge, *found))
                break
    return asked


def _apart(nodes: Sequence[str], start: str, goal: str, ways: _Finder, edge: _Edge) -> tuple[tuple[str, ...], tuple[str, ...]] | None:  # fmt: skip
    """Other starts and goals that have nothing to do with an edge, where there are enough of both."""
    starts = [n for n in nodes if n not in {start, goal} and edge not in ways.ways(goal)[n]]
    goals = [n for n in nodes if n not in {start, goal} and edge not in ways.ways(start)[n]]
    if 5 * min(len(starts), len(goals)) < 3 * len(nodes):
        return None
    goals = [g for g in goals if 2 * sum(edge in ways.ways(g)[s] for s in starts) < len(starts)]
    goals = goals[:_MAX_OTHERS]
    starts = [s for s in starts if not any(edge in ways.ways(g)[s] for g in goals)][:_MAX_OTHERS]
    enough = min(len(starts), len(goals)) >= _MIN_OTHERS
    return (tuple(starts), tuple(goals)) if enough else None
