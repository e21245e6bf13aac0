"""Routes: places joined by ways, of which a traveller takes one or several, and where that leads."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.entities import Entities
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.micro.tables import Table, follow
from astra_mcp.synthesis.environments.families.micro.vocabulary import (
    NUM_ROWS,
    WAYS,
    Way,
    asked_of,
)
from astra_mcp.synthesis.environments.families.phrases import clauses, listed

__all__ = ["MICRO_ROUTES"]

_NUM_WAYS = (3, 4)
"""Fewest and most in one world."""


class _Journey(NamedTuple):
    """Where somebody begins, and the ways that are taken one after the other, by number."""

    start: str
    ways: tuple[int, ...]


class _Routes:
    """A world of places, and what is asked of it.

    Each call leads from one row of places to the next, so none saves another; and no two ways lead from a place to
    the same one, nor one after the other to the same one in either order.
    """

    def __init__(self, brief: Brief) -> None:
        self.brief, self.draw, self.zh = brief, brief.draw("world"), brief.language == "zh"
        self.draft = Draft(brief, Domain.TRAVEL)
        self.draft.title = self.draft.say("Places and the ways between them", "地点与路线")
        self.draft.description = self.draft.say("Where ways lead.", "各条路线通往哪里。")
        self.ways = self.draw.some(WAYS, self.draw.between(*_NUM_WAYS))
        count = NUM_ROWS * (brief.layout.depth + 1)
        names = Entities(self.draw, brief.language, brief.split).micro(count)
        self.rows = [names[begin : begin + NUM_ROWS] for begin in range(0, count, NUM_ROWS)]
        self.shifts, self.orders = self._laid_out()
        journeys = self._journeys(brief)
        self.tables = self._tables()
        self.draft.answer = listed(
            [follow(self.draft, j.start, (self.tables[w] for w in j.ways)) for j in journeys],
            brief.language,
        )
        self._ask(journeys)
        taken = {way for journey in journeys for way in journey.ways}
        for way, table in enumerate(self.tables):
            if way not in taken:
                table.show(self.draft)

    # --- the world ----------------------------------------------------------------------------------------------

    def _laid_out(self) -> tuple[list[list[int]], list[tuple[int, ...]]]:
        """How far on each way leads from each row but the last, and the orders of ways that are asked about."""
        while True:
            shifts = [self.draw.some(range(NUM_ROWS), len(self.ways)) for _ in self.rows[1:]]
            orders = _telling_orders(shifts)
            if orders and not _some_commute(shifts):
                return shifts, orders

    def _journeys(self, brief: Brief) -> list[_Journey]:
        """What a question is about: several travellers take the same ways, or over one hop each another one."""
        rows, draw = asked_of(range(NUM_ROWS), brief), brief.draw("journeys", brief.turn)
        if brief.layout.depth > 1:
            taken = [draw.pick(self.orders)] * len(rows)
        else:
            taken = draw.pick(self._ways_apart(rows))
        return [_Journey(self.rows[0][row], ways) for row, ways in zip(rows, taken, strict=True)]

    def _ways_apart(self, rows: Sequence[int]) -> list[list[tuple[int, ...]]]:
        """Choices of one way for each traveller, another for each, that lead to as many places."""
        (shift,) = self.shifts
        return [
            [(way,) for way in ways]
            for ways in permutations(range(len(self.ways)), len(rows))
            if len({(row + shift[way]) % NUM_ROWS for row, way in zip(rows, ways, strict=True)})
            == len(rows)
        ]

    def _tables(self) -> list[Table]:
        """Where each way leads; from each place one is missing, unless some question of the world takes it."""
        whole = [
            {
                place: onward[(row + shift[way]) % NUM_ROWS]
                for (here, onward), shift in zip(pairwise(self.rows), self.shifts, strict=True)
                for row, place in enumerate(here)
            }
            for way in range(len(self.ways))
        ]
        taken = self._taken_in(whole)
        return [
            self._table(
                self.ways[way],
                {
                    place: to
                    for at, (place, to) in enumerate(leads.items())
                    if at % len(self.ways) != way or (place, way) in taken
                },
            )
            for way, leads in enumerate(whole)
        ]

    def _taken_in(self, whole: Sequence[Mapping[str, str]]) -> set[tuple[str, int]]:
        """The places and the ways taken from there in all questions of the world."""
        taken: set[tuple[str, int]] = set()
        for turn in range(NUM_ROWS):
            for journey in self._journeys(replace(self.brief, turn=turn)):
                place = journey.start
                for way in journey.ways:
                    taken.add((place, way))
                    place = whole[way][place]
        return taken

    def _table(self, way: Way, leads: dict[str, str]) -> Table:
        say, noun = self.draft.say, way.noun[self.zh]
        table = Table(
            way.tool,
            leads,
            lambda place: say(
                f"Where does the {noun} from {place} go?", f"从{place}{way.verb}{noun}会到哪里？"
            ),
        )
        table.add_to(
            self.draft,
            say(f"Where the {noun} from a place goes.", f"查询从某地{way.verb}{noun}会到哪里。"),
            "at",
            say(
                f"No {noun} goes from {{name}}; take another way.",
                f"从{{name}}出发没有{noun}，请换一种走法。",
            ),
        )
        return table

    # --- the question -------------------------------------------------------------------------------------------

    def _ask(self, journeys: Sequence[_Journey]) -> None:
        if self.brief.layout.depth > 1 or len(journeys) == 1:
            starts = [journey.start for journey in journeys]
            wording = self._alone if len(journeys) == 1 else self._together
            self.draft.question = wording(starts, self._taken(journeys[0]))
        else:
            self.draft.question = self._apart(journeys)

    def _taken(self, journey: _Journey) -> str:
        """The ways as a question names them: ``the ferry, then the train and then the bus``."""
        ways = [self.ways[way] for way in journey.ways]
        if self.zh:
            marks = ("",) if len(ways) == 1 else ("先", "再", "最后")
            return "，".join(
                f"{mark}{way.verb}{way.noun[1]}" for mark, way in zip(marks, ways, strict=False)
            )
        *first, last = [f"the {way.noun[0]}" for way in ways]
        return f"{', then '.join(first)} and then {last}" if first else last

    def _alone(self, starts: Sequence[str], ways: str) -> str:
        (start,) = starts
        return self.draft.say(
            f"I am in {start} and take {ways}. Where do I arrive? || "
            f"Where does one get from {start} by taking {ways}?",
            f"我在{start}，{ways}，会到哪里？ || 从{start}出发，{ways}，能到什么地方？",
        )

    def _together(self, starts: Sequence[str], ways: str) -> str:
        number = len(starts)
        places = listed(starts, self.brief.language)
        where = ["one of us is", "the other" if number == 2 else "one", "one"]
        each = listed([f"{who} in {s}" for who, s in zip(where, starts, strict=False)], "en")
        return self.draft.say(
            f"O{each[1:]}. Each of us takes {ways}. Where does each of us arrive? || "
            f"Where does one get from each of {places} by taking {ways}?",
            f"我们{'零一两三'[number]}个人分别在{places}，每个人都{ways}，分别会到哪里？ || "
            f"分别从{places}出发，都{ways}，各能到什么地方？",
        )

    def _apart(self, journeys: Sequence[_Journey]) -> str:
        say, language = self.draft.say, self.brief.language
        if self.zh:
            legs = [f"从{j.start}{self._taken(j)}" for j in journeys]
            who = ("我", "弟弟", "妹妹")
        else:
            legs = [f"{self._taken(j)} from {j.start}" for j in journeys]
            who = ("I take ", "my brother takes ", "my sister takes ")
        told = clauses([f"{w}{leg}" for w, leg in zip(who, legs, strict=False)], language)
        asked = listed(legs, language)
        return say(
            f"{told}. Where does each of us arrive? || Where do these go: {asked}?",
            f"{told}，我们分别会到哪里？ || {asked}，分别能到什么地方？",
        )


def _some_commute(shifts: Sequence[Sequence[int]]) -> bool:
    """Whether some way and then another one lead to the same place as the other one first."""
    return any(
        (first[a] + then[b] - first[b] - then[a]) % NUM_ROWS == 0
        for first, then in pairwise(shifts)
        for a, b in combinations(range(len(first)), 2)
    )


def _telling_orders(shifts: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """The orders of different ways, one from each row, that end where no other order of the same ways does."""
    ends = {
        ways: (
            frozenset(ways),
            sum(row[way] for row, way in zip(shifts, ways, strict=True)) % NUM_ROWS,
        )
        for ways in permutations(range(len(shifts[0])), len(shifts))
    }
    counts = Counter(ends.values())
    return [ways for ways, end in ends.items() if counts[end] == 1]


MICRO_ROUTES = Family(
    "micro-routes",
    "Places joined by ways, of which one or several are taken.",
    lambda brief: _Routes(brief).draft,
    Bounds(subjects=3, depth=3, facets=1, concludes=False, questions=NUM_ROWS),
    is_micro=True,
)
