"""Journeys: a run is found on a board, where and when it ends or closes, and what connects to it."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.conclusions import (
    Conclusion,
    Found,
    conclusion_of,
    tell,
)
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.lookups.themes.journeys import (
    CLAUSES,
    KNOWN,
    PLANS,
    RULES,
    THEMES,
    Theme,
)
from astra_mcp.synthesis.environments.families.phrases import clauses, listed, possessive
from astra_mcp.synthesis.environments.families.times import clock_time, money, spoken_time

__all__ = ["JOURNEYS"]

_MAX_FEW = 60
"""Subjects of one world up to which each has all near misses and codes are short."""


_SIGNS = "ABCDEFGHJKLMNPRSTUVW"


@dataclass(frozen=True, slots=True)
class _First:
    """A run from a board: where and when it ends, or closes."""

    place: str
    at: int
    joint: str
    joint_at: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject: the run that it begins with, where else it comes from or goes to, and what connects."""

    name: str
    number: str
    first: _First
    other: str
    connection: str


def _timetable(runs: Sequence[tuple[str, int, int]]) -> list[list[str]]:
    in_order = sorted(runs, key=lambda run: run[1])
    return [[number, clock_time(leaves), clock_time(ends)] for number, leaves, ends in in_order]


@lru_cache(maxsize=2)
def _world(brief: Brief) -> "_Journeys":
    return _Journeys(brief, brief.draw("theme").pick(THEMES))


def _make(brief: Brief) -> Draft:
    return _world(replace(brief, turn=0)).asking(brief)


class _Journeys:
    """One timetable, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.catches = brief.draw("mode").chance(1, 2)
        """Whether the first run is to be caught, else gone on from."""
        self.draft = Draft(brief, theme.domain)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.run, self.stand = self.draft.say(*theme.run), self.draft.say(*theme.stand)
        self.runs = self.run + ("" if self.zh else "es" if self.run.endswith("ch") else "s")
        self.goods = "" if theme.cargo is None else self.draft.say(*theme.cargo)
        self.cost, self.checking = ("运费", "收货") if self.goods else ("票价", "检票")
        self.unit = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.change = brief.draw("change").pick([8, 10, 12, 15, 20])
        self.facets = self._facets()
        self._name()
        self._fill()
        self._tools()

    def asking(self, brief: Brief) -> Draft:
        """One question of this world."""
        own = copy(self)
        own.brief, own.draft = brief, self.draft.again(brief)
        own.asked = brief.asked(self.everyone)
        own._ask()
        return own.draft

    def _facets(self) -> list[str]:
        if self.brief.layout.facets == 2:
            return ["stand", "fare"]
        is_fare = self.brief.layout.concludes or self.brief.draw("facet").chance(1, 2)
        return ["fare" if is_fare else "stand"]

    def _name(self) -> None:
        self.draft.title = (
            f"{self.house}{'：时刻与接驳' if self.zh else ': timetable and connections'}"
        )
        self.draft.description = self.draft.say(
            f"Timetable of {self.house}: boards, {self.runs}, connections.",
            f"{self.house}的时刻表：发车信息、{self.run}与接驳。",
        )
        self.draft.name(
            run=self.theme.code_run, stand=self.theme.code_stand, fare=self.theme.code_fare,
            number="number|${run}_number|${run}_id", place="place|stop|from_place", origin="origin|start|from_stop",
            goal="destination|goal|to_stop", at="departs|leaves|at", arrives="arrives|arrival|gets_in",
            board="departure_board|${run}_board|list_departures", details="${run}_details|show_${run}|track_${run}",
            joint="boards_at|check_in_at|closes_at" if self.catches else "terminus|last_stop|ends_at",
            until="closes|check_in_until|latest" if self.catches else "arrival_there|due|ends",
            links="find_connections|connections_between|list_${run}s_between", where="${stand}_of|find_${stand}|which_${stand}",
            price="${fare}_of|quote_${fare}|get_${fare}", after="after|not_before|from_time", kind="category|rate_class|tariff",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Draw joints and the others that they connect with: each joint with some, in a ring."""
        together, records, subjects = self.brief.layout.subjects, self.brief.knobs.records, self.brief.subjects  # fmt: skip
        count = max(together + 1, min(9, 2 + records // 20), min(30, subjects // 8))
        self.joints, self.others = self.entities.places(count), self.entities.places(count)
        fewest = max(2 * together, min(8, 2 + records // 25), min(60, subjects // 8))
        self.starts = self.entities.places(fewest)
        self.numbers = self._codes("-####" if subjects <= _MAX_FEW else "-#####")
        self.links = {
            (joint, self.others[(place + n) % count]): self._runs()
            for n in range(2)
            for place, joint in enumerate(self.joints)
        }
        self.firsts: dict[str, _First] = {}
        self.boards: dict[str, set[int]] = {start: set() for start in self.starts}
        self.hidden: dict[str, set[int]] = {start: set() for start in self.starts}
        self.left = list[tuple[tuple[str, str], int]]()
        groups = [self._group() for _ in range(self.brief.questions)]
        self.everyone = [asked for group in groups for asked in group]
        for asked in self.everyone:
            self._near_misses(asked.first)
        self._fill_boards(records)
        self._facts()
        self.asked = self.brief.asked(self.everyone)

    def _codes(self, digits: str) -> Iterator[str]:
        self.letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        self.digits = digits
        while True:
            yield from self.entities.codes(self.letters + digits, 50)

    def _runs(self) -> list[tuple[str, int, int]]:
        """The runs between two places: their numbers, when they leave and when they arrive."""
        length, at = self.draw.between(17, 66), self.draw.between(8 * 60, 10 * 60)
        found: list[tuple[str, int, int]] = []
        for _ in range(self.draw.between(5, 9)):
            found.append((next(self.numbers), at, at + length))
            at += self.draw.between(28, 89)
        return found

    def _group(self) -> list[_Asked]:
        """The subjects of one question: none of their times stands in a table that another is found in."""
        chosen: list[tuple[tuple[str, str], int]] = []
        for _ in range(self.brief.layout.subjects):
            chosen.append(self._option({place for pair, _ in chosen for place in pair}))
        shown = {at for pair, _ in chosen for run in self.links[pair] for at in run[1:]}
        times = list[int]()
        for pair, place in chosen:
            times.append(self._joint_time(self.links[pair], place, shown | {*times}))
        names = self.entities.people(len(chosen)) if len(chosen) > 1 else [""]
        starts = list[str]()
        found: list[_Asked] = []
        for name, ((joint, other), place), joint_at in zip(names, chosen, times, strict=True):
            at = joint_at + self.draw.between(22, 38) if self.catches else joint_at - self.draw.between(45, 150)  # fmt: skip
            while at in times:
                at -= 1
            start = next((s for s in self.draw.shuffled(self.starts) if s not in starts and at not in self.hidden[s] | self.boards[s] and not self.boards[s] & {*times}), None)  # fmt: skip
            if start is None:
                raise DrawError("no place is left to start from")
            starts.append(start)
            first = _First(start, at, joint, joint_at)
            number = self._first(first)
            connection = self.links[joint, other][place][0]
            found.append(_Asked(name, connection if self.brief.layout.depth == 1 else number, first, other, connection))  # fmt: skip
        for start in starts:
            self.hidden[start] |= {*times}
        return found

    def _option(self, used: set[str]) -> tuple[tuple[str, str], int]:
        """A run that connects, of a pair that shares no place with those used: each once before any comes again."""
        for _ in range(2):
            for option in self.left:
                if not used & {*option[0]}:
                    self.left.remove(option)
                    return option
            self.left += self.draw.shuffled([(p, n) for p, runs in self.links.items() for n in range(1, len(runs) - 1)])  # fmt: skip
        raise DrawError("no pair of places is left")

    def _joint_time(self, runs: Sequence[tuple[str, int, int]], place: int, shown: set[int]) -> int:
        """When the first run ends or closes, so that a run connects: narrowly so, or narrowly missing another."""
        if self.catches:
            low, high = runs[place][2], runs[place + 1][2] - 1
            first, step = self.draw.pick([(low + self.draw.below(10), 1), (high - self.draw.below(4), -1)])  # fmt: skip
        else:
            low, high = runs[place - 1][1] - self.change + 1, runs[place][1] - self.change
            first, step = self.draw.pick([(low + self.draw.below(4), 1), (high - self.draw.below(10), -1)])  # fmt: skip
        free = (at for at in range(first, high + 1 if step > 0 else low - 1, step) if at not in shown)  # fmt: skip
        found = next(free, None)
        if found is None:
            raise DrawError("no time is left between two runs")
        return found

    def _near_misses(self, first: _First) -> None:
        """Runs from the same place at other times, and from other places at the same time."""
        wanted = self.brief.knobs.near_misses
        for near in range(wanted if self.brief.subjects <= _MAX_FEW else min(wanted, 1)):
            place = first.place if near % 2 else self.draw.pick(self.starts)
            at = first.at + (5 * (near + 1) if near % 2 else 0)
            self._first(_First(place, at, self.draw.pick(self.joints), first.joint_at + 7 * near + 3))  # fmt: skip

    def _first(self, first: _First) -> str:
        if first.at in self.boards[first.place] | self.hidden[first.place]:
            return ""
        number = next(self.numbers)
        self.firsts[number] = first
        self.boards[first.place].add(first.at)
        return number

    def _fill_boards(self, records: int) -> None:
        """Further runs, up to the number of records."""
        for place in self.starts:
            for _ in range(max(2, min(9, records // 14))):
                at = self.draw.between(6 * 60, 15 * 60)
                ends = at - 33 if self.catches else at + self.draw.between(45, 170)
                self._first(_First(place, at, self.draw.pick(self.joints), ends))

    def _facts(self) -> None:
        draft = self.draft
        runs = [*self.firsts, *(n for rows in self.links.values() for n, _, _ in rows)]
        stands = [
            f"{_SIGNS[n % 20]}{n // 20}"
            for n in self.draw.some(range(200, 200 + max(1800, 2 * len(runs))), len(runs))
        ]
        fares = self.draw.some(range(150, 150 + max(1700, 2 * len(runs))), len(runs))
        self.stands = dict(zip(runs, stands, strict=True))
        self.fares = {n: 5 * f for n, f in zip(runs, fares, strict=True)}
        if self.brief.layout.depth > 2:
            firsts = sorted(self.firsts.items(), key=lambda f: f[1].at)
            draft.data("FIRST", {n: [f.place, clock_time(f.at), f.joint, clock_time(f.joint_at)] for n, f in firsts})  # fmt: skip
        if self.brief.layout.depth > 1:
            self.draft.data("LINKS", {" > ".join(self._ends(*p)): _timetable(r) for p, r in self.links.items()})  # fmt: skip
        if "stand" in self.facets:
            draft.data("STANDS", self.stands)
        if "fare" in self.facets:
            draft.data("CENTS", self.fares)

    def _ends(self, joint: str, other: str) -> tuple[str, str]:
        return (other, joint) if self.catches else (joint, other)

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        depth, self.options = self.brief.layout.depth, self.brief.knobs.options
        if depth > 3:
            self._board()
        if depth > 2:
            self._details()
        if depth > 1:
            self._connections()
        if "stand" in self.facets:
            self._stand()
        if "fare" in self.facets:
            self._fare()

    def _after(self) -> dict[str, dict[str, str]]:
        """A further parameter, while there are options left: only what leaves then or later."""
        if self.options < 1:
            return {}
        self.options -= 1
        about = self.draft.say(
            "Only those that leave then or later, as HH:MM.",
            "只列出此时及以后出发的，格式如 08:30。",
        )
        return {
            "$after": {
                "type": "string",
                "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$",
                "default": "00:00",
                "description": about,
            }
        }

    def _board(self) -> None:
        say, more = self.draft.say, self._after()
        late = " and f[1] >= $after" if more else ""
        self.board = self.draft.tool(
            "$board", say(f"List which {self.runs} leave from a place, with times and numbers.||The departures of a place.", f"查询某地的{self.run}发车时间和编号。||某地的{self.run}发车信息。"),
            {"$place": self._text("Name of the place.", "地点名称。"), **more},
            f"""
            if $place not in [f[0] for f in FIRST.values()]:
                raise ValueError(f"{say(f"Nothing leaves from {{$place!r}} here; give the place as {self.house} spells it.", f"没有从{{$place}}出发的{self.run}；请填写时刻表中的地名。")}")
            return {{"$place": $place, "board": [{{"$at": f[1], "$number": n}} for n, f in FIRST.items() if f[0] == $place{late}]}}
            """,
        )  # fmt: skip
        if more:
            asked = self.asked[0].first
            self.draft.example("$board", **{"$place": asked.place, "$after": clock_time(asked.at)})

    def _details(self) -> None:
        say = self.draft.say
        about = (
            say(f"Tell where {'drop-off' if self.goods else 'check-in'} for a {self.run} is and when it closes.", f"查询某趟{self.run}在哪里{self.checking}、几点截止。")
            if self.catches
            else say(f"Tell where a {self.run} ends and when it gets there.", f"查询某趟{self.run}的终点和到达时间。")
        )  # fmt: skip
        self.details = self.draft.tool(
            "$details", about, {"$number": self._number()},
            f"""
            if $number not in FIRST:
                raise ValueError(f"{self._unknown()}")
            return {{"$number": $number, "$joint": FIRST[$number][2], "$until": FIRST[$number][3]}}
            """,
        )  # fmt: skip

    def _connections(self) -> None:
        say, more = self.draft.say, self._after()
        late = " if r[1] >= $after" if more else ""
        self.find = self.draft.tool(
            "$links", say(f"List the {self.runs} that go from one place straight to another.||Which {self.runs} run between two places, without a change.", f"查询两地之间的直达{self.run}。||两地间有哪些直达{self.run}。"),
            {"$origin": self._text("Where it starts.", "出发地。"), "$goal": self._text("Where it goes.", "目的地。"), **more},
            f"""
            found = LINKS.get($origin + " > " + $goal)
            if found is None:
                raise ValueError(f"{say("Nothing goes straight from {$origin!r} to {$goal!r}; both must be places of the timetable.", f"从{{$origin}}到{{$goal}}没有直达{self.run}；两地都须是时刻表中的地名。")}")
            return {{"found": [{{"$number": r[0], "$at": r[1], "$arrives": r[2]}} for r in found{late}]}}
            """,
        )  # fmt: skip
        if more:
            asked = self.asked[0]
            start, goal = self._ends(asked.first.joint, asked.other)
            last = max(at for _, at, _ in self.links[asked.first.joint, asked.other])
            self.draft.example(
                "$links", **{"$origin": start, "$goal": goal, "$after": clock_time(last)}
            )

    def _stand(self) -> None:
        say = self.draft.say
        self.where = self.draft.tool(
            "$where", say(f"Tell the {self.stand} of a {self.run}.", f"查询某趟{self.run}的{self.stand}。"), {"$number": self._number()},
            f"""
            if $number not in STANDS:
                raise ValueError(f"{self._unknown()}")
            return {{"$number": $number, "$stand": STANDS[$number]}}
            """,
        )  # fmt: skip

    def _fare(self) -> None:
        say, more, factor = self.draft.say, {}, ""
        if self.options > 0:
            kinds = ["normal", "express"] if self.theme.cargo else ["adult", "child"]
            more = {"$kind": {"type": "string", "enum": kinds, "default": kinds[0]}}
            factor = f" * (4 if $kind == '{kinds[0]}' else {7 if self.theme.cargo else 2}) // 4"
            self.draft.example("$price", **{"$number": self.asked[0].connection, "$kind": kinds[1]})
        charge = "the charge for" if self.goods else "the fare on"
        gap = "" if self.zh else " "
        self.price = self.draft.tool(
            "$price", say(f"Tell {charge} a {self.run}.", f"查询某趟{self.run}的{self.cost}。"), {"$number": self._number(), **more},
            f"""
            if $number not in CENTS:
                raise ValueError(f"{self._unknown()}")
            cents = CENTS[$number]{factor}
            return {{"$number": $number, "$fare": f"{{cents // 100}}.{{cents % 100:02d}}{gap}{self.unit}"}}
            """,
        )  # fmt: skip

    def _text(self, english: str, chinese: str) -> dict[str, object]:
        return {"type": "string", "minLength": 2, "description": self.draft.say(english, chinese)}

    def _number(self) -> dict[str, str]:
        about = self.draft.say(f"Number of the {self.run}.", f"{self.run}编号。")
        digits = len(self.digits) - 1
        return {"type": "string", "pattern": f"^{self.letters}-[0-9]{{{digits}}}$", "description": about}  # fmt: skip

    def _unknown(self) -> str:
        some = (self.letters + self.digits).replace("#", "0")
        return self.draft.say(
            f"There is no {self.run} {{$number!r}}; numbers look like {some}.",
            f"没有编号为{{$number}}的{self.run}；编号形如{some}。",
        )

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found, kind = [self._follow(a) for a in self.asked], conclusion_of(self.brief)
        tell(self.draft, found, self._concluded(kind), lambda cents: money(cents, self.unit))
        if len(self.asked) == 1:
            told, asks = self._plan(self.asked[0]), self._wanted()
        else:
            asks = self._wanted_of_all() if kind is Conclusion.NONE else self._concluding(kind)
            told = self._plan_of_all()
        gap = "" if self.zh else " "
        self.draft.question = f"{told}{gap}{asks[:1].upper()}{asks[1:]}"

    def _words(self, asked: _Asked) -> dict[str, str]:
        """What is said of one journey."""
        first = asked.first
        return {
            "name": asked.name, "name's": possessive(asked.name), "number": asked.number, "other": asked.other,
            "joint": first.joint, "place": first.place, "at": self._said(first.at), "there": self._said(first.joint_at),
            "minutes": str(self.change), "house": self.house, "run": self.run, "runs": self.runs, "goods": self.goods,
        }  # fmt: skip

    def _told(self, text: tuple[str, str], asked: _Asked) -> str:
        said = self.draft.say(*text)
        for word, stands_for in self._words(asked).items():
            said = said.replace(f"{{{word}}}", stands_for)
        return said

    def _plan(self, asked: _Asked) -> str:
        depth, with_goods = self.brief.layout.depth, bool(self.goods)
        return self._told(KNOWN[with_goods] if depth == 1 else PLANS[with_goods, self.catches][depth - 2], asked)  # fmt: skip

    def _plan_of_all(self) -> str:
        depth, kind = self.brief.layout.depth, (bool(self.goods), self.catches)
        told = [self._told(CLAUSES[kind][depth - 1], a) for a in self.asked]
        said = clauses(told, self.brief.language)
        if depth == 1:
            both = "both" if len(self.asked) == 2 else "all"
            if self.zh:
                return f"{said}，都是{self.house}的{self.run}。"
            if self.goods:
                return f"{self.house} is carrying {listed(told, 'en')} today."
            return f"{said}, {both} with {self.house}."
        rule = self._told(RULES[kind][depth > 2], self.asked[0])
        if self.zh:
            return f"{said}。{rule}"
        return f"{f'With {self.house}, ' if depth > 2 else ''}{said}. {rule}"

    def _said(self, minutes: int) -> str:
        return spoken_time(minutes, self.brief.language)

    def _it(self) -> str:
        """The run that is asked about, where it connects."""
        say, run, is_late = self.draft.say, self.run if self.goods else "", self.brief.layout.depth > 2  # fmt: skip
        if not self.catches:
            return say(f"the first one {'they' if self.goods else 'I'} can catch", f"能赶上的最早一趟{run}")  # fmt: skip
        closing = "drop-off closes" if self.goods else "check-in closes"
        when = f"before {closing}" if is_late else "in time"
        return say(f"the last one that gets {'them' if self.goods else 'me'} there {when}", f"停止{self.checking}前能到的最后一趟{run}" if is_late else f"来得及的最后一趟{run}")  # fmt: skip

    def _wanted(self) -> str:
        is_known, stand = self.brief.layout.depth == 1, self.stand
        it = "" if is_known and self.zh else "it" if is_known else self._it()
        if self.zh:
            asks = {"stand": f"从哪个{stand}出发", "fare": f"{self.cost}是多少"}
            return f"{it}{'，'.join(asks[f] for f in self.facets)}？"
        leaves = f"which {stand} does {it} leave from"
        if self.facets == ["stand"]:
            return f"{leaves}?"
        if len(self.facets) > 1:
            costs = "what does it cost" if self.goods else "what's the fare"
            return f"{leaves}, and {costs}?"
        if is_known or self.goods:
            return f"what will {it} cost us?" if self.goods else "what's the fare?"
        return f"what's the fare on {it}?"

    def _these(self) -> str:
        """The runs that are asked about, of several people."""
        if self.brief.layout.depth == 1:
            return "" if self.zh else self.run
        if self.zh:
            return f"直达{self.run}"
        return f"direct {self.run}" if self.catches else "connection"

    def _wanted_of_all(self) -> str:
        one, stand = self._these(), self.stand
        if self.zh:
            if self.facets == ["fare"]:
                return f"{one}{'的' if one else ''}{self.cost}分别是多少？"
            return f"{one}分别从哪个{stand}出发{f'，{self.cost}各是多少' if len(self.facets) > 1 else ''}？"
        leaves = f"which {stand} does each {one} leave from"
        costs = f"what does each {'of them' if one == self.run else one} cost" if self.goods else f"what's the fare on each of {'them' if one == self.run else f'those {self.runs}'}"  # fmt: skip
        if self.facets == ["fare"]:
            return f"{costs}?"
        also = (
            ", and what does each of them cost"
            if self.goods
            else ", and what's the fare on each of them"
        )
        return f"{leaves}{also if len(self.facets) > 1 else ''}?"

    def _concluding(self, kind: Conclusion) -> str:
        one, two, least = self._these(), len(self.asked) == 2, kind is Conclusion.LEAST
        is_known = self.brief.layout.depth == 1
        if self.zh:
            if kind is Conclusion.SUM:
                return f"{one}{'的' if one else ''}{self.cost}一共多少？"
            of = "" if is_known else f"的直达{self.run}" if self.goods else f"坐的直达{self.run}"
            return f"谁{of or '的'}{self.cost}{'更' if two else '最'}{'低' if least else '高'}？"
        if kind is Conclusion.SUM:
            if is_known or self.goods:
                what = f"the {one}s" if not is_known else "these deliveries" if self.goods else "these tickets"  # fmt: skip
                return f"what do {what} cost in total?"
            return f"what do the fares on the {one}s come to in total?"
        if not is_known:
            most = ("less" if least else "more") if two else f"the {'least' if least else 'most'}"
            return f"who pays {most} for the {one}?"
        most = ("cheaper" if least else "more expensive") if two else f"the {'cheapest' if least else 'most expensive'}"  # fmt: skip
        return f"whose {'delivery' if self.goods else 'ticket'} is {most}?"

    def _concluded(self, kind: Conclusion) -> str:
        return self.draft.say("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else self.draft.say("Which of them is it?", "是其中哪一位？")  # fmt: skip

    def _follow(self, asked: _Asked) -> Found:
        """The sub-tasks of one subject."""
        say, depth, run, first = self.draft.say, self.brief.layout.depth, self.run, asked.first
        needs, closing = list[int](), "drop-off" if self.goods else "check-in"
        if depth > 3:
            needs = [self.draft.solve(say(f"Which {run} leaves {first.place} at {self._said(first.at)}?", f"{self._said(first.at)}从{first.place}出发的是哪一趟{run}？"), asked.number, self.board, {"$place": key(first.place, self.starts)})]  # fmt: skip
        if depth > 2:
            about = say(f"When does {closing} for {asked.number} close?", f"{asked.number}次几点停止{self.checking}？") if self.catches else say(f"When does {asked.number} get to its last stop?", f"{asked.number}次几点到终点？")  # fmt: skip
            if depth > 3:
                about = say(f"When does {closing} for it close?", f"它几点停止{self.checking}？") if self.catches else say("When does it get to its last stop?", "它几点到终点？")  # fmt: skip
            needs = [self.draft.solve(about, clock_time(first.joint_at), self.details, {"$number": key(asked.number, [n for n, f in self.firsts.items() if f.joint_at != first.joint_at])}, needs=needs)]  # fmt: skip
        if depth > 1:
            needs = [self._connect_step(asked, needs)]
        return self._facet_steps(asked, needs)

    def _connect_step(self, asked: _Asked, needs: list[int]) -> int:
        say, run, pairs = self.draft.say, self.run, [self._ends(j, o) for j, o in self.links]
        start, goal = self._ends(asked.first.joint, asked.other)
        starts = [s for s, g in pairs if g == goal] + [s for s, _ in pairs]
        goals = [g for s, g in pairs if s == start] + [g for _, g in pairs]
        there = self._said(asked.first.joint_at) if self.brief.layout.depth == 2 else ""
        if self.catches:
            about = say(f"Which is the last {run} from {start} to {goal} that is there by {there}?" if there else f"Which is the last {run} from {start} that is there in time?", f"从{start}到{goal}、{there}前能到的最后一趟{run}是哪趟？" if there else f"从{start}过去，来得及的最后一趟{run}是哪趟？")  # fmt: skip
        else:
            about = say(f"Which {run} is the first from there to {goal}, {self.change} minutes after {there or 'that'} or later?", f"{there or '到达'}之后留{self.change}分钟换乘，去{goal}最早的一趟是哪趟？")  # fmt: skip
        return self.draft.solve(about, asked.connection, self.find, {"$origin": key(start, starts), "$goal": key(goal, goals)}, needs=needs)  # fmt: skip

    def _facet_steps(self, asked: _Asked, needs: list[int]) -> Found:
        say, number = self.draft.say, asked.connection
        it = say("it", "它") if needs else number
        here = [n for rows in self.links.values() for n, _, _ in rows]
        answers: list[str] = []
        step = 0
        if "stand" in self.facets:
            answers.append(self.stands[number])
            step = self.draft.solve(say(f"Which {self.stand} does {it} leave from?", f"{it}在哪个{self.stand}？"), answers[-1], self.where, {"$number": key(number, here)}, needs=needs)  # fmt: skip
        if "fare" in self.facets:
            answers.append(money(self.fares[number], self.unit))
            step = self.draft.solve(say(f"What does {it} cost?", f"{it}的{self.cost}是多少？"), answers[-1], self.price, {"$number": key(number, here)}, needs=needs)  # fmt: skip
        return Found(asked.name, tuple(answers), step, self.fares[number])


JOURNEYS = Family(
    "journeys", "Journeys in several legs: what connects, from where it leaves and what it costs.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
