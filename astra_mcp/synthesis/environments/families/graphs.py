"""Graphs in which the shortest ways that are asked for are unique and share little with others."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import heappop, heappush

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.draw import Draw

__all__ = ["Graph", "way_between"]

_Edge = tuple[str, str]
_Ways = Mapping[str, tuple[_Edge, ...]]
_MAX_TRIES = 300
_MAX_GOALS = 12
"""That are tried for each question of a graph."""
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
class Asked:
    """A way to a goal, of which the edge that ranks lowest is asked for."""

    start: str
    goal: str
    way: tuple[_Edge, ...]
    edge: _Edge
    starts: tuple[str, ...]
    goals: tuple[str, ...]
    """Other ends: between none of them, nor from one of them to the start or goal, the way uses the edge."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Places of a grid with some diagonals, whose edges rank, and ways that are asked for."""

    edges: dict[_Edge, int]
    """Lengths."""
    ranks: dict[_Edge, int]
    """From 0, in no order."""
    questions: tuple[tuple[Asked, ...], ...]
    """Ways that are asked for together: to one goal, and sharing little."""

    @classmethod
    def drawn(
        cls, draw: Draw, nodes: Sequence[str], columns: int, count: int, questions: int
    ) -> "Graph":
        """A graph in which so many ways are asked for in each of so many questions.

        Raises:
            DrawError: None was found among many.
        """
        for _ in range(_MAX_TRIES):
            ways = _Finder(_grid(draw, nodes, columns))
            ranks = dict(zip(draw.shuffled([*ways.edges]), range(len(ways.edges)), strict=True))
            found: list[tuple[Asked, ...]] = []
            for _ in range(_MAX_GOALS * questions):
                asked = _chosen(draw.shuffled(nodes), draw.pick(nodes), ways, ranks, count)
                if len(asked) == count:
                    found.append(tuple(asked))
                if len(found) == questions:
                    return cls(ways.edges, ranks, tuple(found))
        raise DrawError(f"no graph of {len(nodes)} places has {count} ways that share little")


class _Finder:
    """The shortest ways of a graph, found when they are first asked for."""

    def __init__(self, edges: dict[_Edge, int]) -> None:
        self.edges = edges
        self._near: dict[str, list[tuple[str, int, _Edge]]] = {}
        self._found: dict[str, _Ways] = {}
        self._over: dict[str, dict[_Edge, set[str]]] = {}
        self.tied: set[tuple[str, str]] = set()
        """Places between which two ways are equally short."""
        for (a, b), length in edges.items():
            self._near.setdefault(a, []).append((b, length, (a, b)))
            self._near.setdefault(b, []).append((a, length, (a, b)))

    def ways(self, start: str) -> _Ways:
        """From a place to all others."""
        if start not in self._found:
            self._found[start] = self._search(start)
            self._over[start] = {}
            for place, way in self._found[start].items():
                for edge in way:
                    self._over[start].setdefault(edge, set()).add(place)
        return self._found[start]

    def over(self, start: str, edge: _Edge) -> Set[str]:
        """The places to which the way from one uses an edge."""
        self.ways(start)
        return self._over[start].get(edge, frozenset())

    def _search(self, start: str) -> _Ways:
        best: dict[str, tuple[_Edge, ...]] = {}
        lengths: dict[str, int] = {}
        waiting: list[tuple[int, tuple[_Edge, ...], str]] = [(0, (), start)]
        while waiting:
            length, way, place = heappop(waiting)
            if place in best:
                if lengths[place] == length:
                    self.tied.add((start, place))
                continue
            best[place], lengths[place] = way, length
            if way and any((start, before) in self.tied for before in way[-1] if before != place):
                self.tied.add((start, place))
            for other, more, edge in self._near[place]:
                if other not in best:
                    heappush(waiting, (length + more, (*way, edge), other))
        return best


def _grid(draw: Draw, nodes: Sequence[str], columns: int) -> dict[_Edge, int]:
    edges: dict[_Edge, int] = {}
    for place, node in enumerate(nodes):
        right, below = place + 1, place + columns
        if right % columns and right < len(nodes):
            edges[node, nodes[right]] = draw.between(11, 97)
        if below < len(nodes):
            edges[node, nodes[below]] = draw.between(11, 97)
        if right % columns and below + 1 < len(nodes) and draw.chance(1, 4):
            edges[node, nodes[below + 1]] = draw.between(31, 110)
    return edges


def _chosen(nodes: Sequence[str], goal: str, ways: _Finder, ranks: Mapping[_Edge, int], count: int) -> list[Asked]:  # fmt: skip
    """Ways of which none runs through another start, or over an edge that another is asked for."""
    asked: list[Asked] = []
    to_goal = ways.ways(goal)
    for start in nodes:
        own = to_goal[start]
        if len(asked) == count:
            break
        if len(own) < _MIN_EDGES or (goal, start) in ways.tied:
            continue
        if any(start in e for a in asked for e in a.way) or any(a.start in e or a.edge == e for a in asked for e in own):  # fmt: skip
            continue
        edge = min(own, key=lambda e: ranks[e])
        found = None if any(edge in a.way for a in asked) else _apart(nodes, start, goal, ways, edge)  # fmt: skip
        if found is not None:
            asked.append(Asked(start, goal, own, edge, *found))
    return asked


def _apart(nodes: Sequence[str], start: str, goal: str, ways: _Finder, edge: _Edge) -> tuple[tuple[str, ...], tuple[str, ...]] | None:  # fmt: skip
    """Other starts and goals that have nothing to do with an edge, where there are enough of both."""
    others = [n for n in nodes if n not in {start, goal}]
    starts = [n for n in others if n not in ways.over(goal, edge)]
    goals = [n for n in others if n not in ways.over(start, edge)]
    if 5 * min(len(starts), len(goals)) < 3 * len(nodes):
        return None
    among = {*starts}
    goals = [g for g in goals if 2 * len(ways.over(g, edge) & among) < len(starts)][:_MAX_OTHERS]
    starts = [s for s in starts if not any(s in ways.over(g, edge) for g in goals)][:_MAX_OTHERS]
    enough = min(len(starts), len(goals)) >= _MIN_OTHERS
    return (tuple(starts), tuple(goals)) if enough else None
