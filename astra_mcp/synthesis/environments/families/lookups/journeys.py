"""Journeys: a run is found on a board, where and when it ends or closes, and what connects to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.conclusions import (
    Conclusion,
    Found,
    conclusion_of,
    tell,
)
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed
from astra_mcp.synthesis.environments.families.times import clock_time, money, spoken_time

__all__ = ["JOURNEYS"]


@dataclass(frozen=True, slots=True)
class _Theme:
    """What runs; each text in English and in Chinese."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who run it end in."""
    run: tuple[str, str]
    runs: tuple[str, str]
    stand: tuple[str, str]
    """Where it is boarded or loaded."""
    cargo: tuple[str, str] | None
    """What travels, or None for people."""
    code_run: str
    code_stand: str
    code_fare: str


_THEMES = (
    _Theme(
        Domain.TRANSPORTATION, (("Railway", "Regional Trains", "Rail"), ("铁路", "城际铁路", "轨道交通")),
        ("train", "列车"), ("trains", "列车"), ("platform", "站台"), None,
        "train|service", "platform|track", "fare|ticket_price",
    ),
    _Theme(
        Domain.TRAVEL, (("Boats", "Lake Line", "Waterways"), ("水上巴士", "航运", "客轮公司")),
        ("boat", "客船"), ("boats", "客船"), ("pier", "泊位"), None,
        "boat|sailing", "pier|landing", "passage_fare|fare_per_person",
    ),
    _Theme(
        Domain.SPORTS, (("Ski Shuttle", "Trail Shuttle", "Mountain Shuttle"), ("滑雪班车", "登山接驳", "山地接驳车")),
        ("shuttle", "班车"), ("shuttles", "班车"), ("bay", "候车位"), None,
        "shuttle|shuttle_run", "bay|boarding_bay", "seat_price|shuttle_fare",
    ),
    _Theme(
        Domain.LOGISTICS, (("Freight", "Haulage", "Cargo"), ("货运", "物流", "快运")),
        ("truck", "货车"), ("trucks", "货车"), ("dock", "装卸口"), ("pallets", "托盘货"),
        "truck|line_haul", "dock|loading_dock", "freight_rate|charge",
    ),
    _Theme(
        Domain.HEALTHCARE, (("Medical Couriers", "Lab Couriers", "Sample Transport"), ("医学物流", "检验冷链", "样本运输")),
        ("courier van", "专车"), ("courier vans", "专车"), ("hatch", "交接窗口"), ("samples", "检验样本"),
        "courier|round", "hatch|handover_hatch", "transport_fee|fee",
    ),
    _Theme(
        Domain.FOOD_AND_DINING, (("Cold Chain", "Fresh Lines", "Market Haulage"), ("生鲜冷链", "冷藏运输", "鲜货配送")),
        ("reefer", "冷藏车"), ("reefers", "冷藏车"), ("ramp", "卸货台"), ("crates", "生鲜"),
        "reefer|cold_run", "ramp|cold_ramp", "haulage_cost|cost",
    ),
)  # fmt: skip


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


def _make(brief: Brief) -> Draft:
    return _Journeys(brief, brief.draw("theme").pick(_THEMES)).draft


class _Journeys:
    """One timetable, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.catches = brief.draw("mode").chance(1, 2)
        """Whether the first run is to be caught, else gone on from."""
        self.draft = Draft(brief, theme.domain)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.run, self.runs, self.stand = (
            self.draft.say(*t) for t in (theme.run, theme.runs, theme.stand)
        )
        self.goods = "" if theme.cargo is None else self.draft.say(*theme.cargo)
        self.cost, self.checking = ("运费", "收货") if self.goods else ("票价", "检票")
        self.unit = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.change = brief.draw("change").pick([8, 10, 12, 15, 20])
        self.facets = self._facets()
        self._name()
        self._fill()
        self._tools()
        self._ask()

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
        asked, records = self.brief.layout.subjects, self.brief.knobs.records
        count = max(asked + 1, min(9, 2 + records // 20))
        self.joints = self.entities.places(count)
        self.others = self.entities.places(count)
        self.starts = self.entities.places(max(asked + 1, min(8, 2 + records // 25)))
        self.numbers = iter(self.entities.codes(self._pattern(), 400))
        self.firsts: dict[str, _First] = {}
        self.links: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
        self.length = {(j, o): self.draw.between(17, 66) for j in self.joints for o in self.others}
        self.asked = [self._subject(i, *t) for i, t in enumerate(self._times(asked))]
        for index in range(asked):
            self._near_misses(index)
        self._others(records)
        self._facts()

    def _pattern(self) -> str:
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        return f"{letters}-####"

    def _times(self, count: int) -> list[tuple[int, int]]:
        """When the first runs that are asked for leave, and when they end or close: the latter stands nowhere else."""
        while True:
            found: list[tuple[int, int]] = []
            for _ in range(count):
                at = self.draw.between(6 * 60, 10 * 60)
                joint_at = at + (360 if self.catches else self.draw.between(45, 170))
                found.append((joint_at + 31 if self.catches else at, joint_at))
            self.joint_times = {joint_at for _, joint_at in found}
            if len(self.joint_times) == count and not any(
                at in self.joint_times for at, _ in found
            ):
                return found

    def _subject(self, index: int, at: int, joint_at: int) -> _Asked:
        start, joint, other = self.starts[index], self.joints[index], self.others[index]
        first = _First(start, at, joint, joint_at)
        number = self._first(first)
        name = "" if self.brief.layout.subjects == 1 else self.entities.people(1)[0]
        return _Asked(name, number, first, other, self._connect(joint, other, joint_at))

    def _near_misses(self, index: int) -> None:
        """Runs from the same place at other times, and from other places at the same time."""
        first = self.asked[index].first
        for near in range(self.brief.knobs.near_misses):
            place = first.place if near % 2 else self.starts[(index + 1) % len(self.starts)]
            at = first.at + (5 * (near + 1) if near % 2 else 0)
            self._first(_First(place, at, self.joints[index - 1], first.joint_at + 7 * near + 3))

    def _first(self, first: _First) -> str:
        taken = any((f.place, f.at) == (first.place, first.at) for f in self.firsts.values())
        if taken or first.at in self.joint_times:
            return ""
        number = next(self.numbers)
        self.firsts[number] = first
        return number

    def _connect(self, joint: str, other: str, joint_at: int) -> str:
        """The runs between the two, among them one that just fits; and those that narrowly miss."""
        length, misses = self.length[joint, other], self.brief.knobs.near_misses
        if self.catches:
            good = self._free(joint_at - self.draw.between(1, 9) - length, -1, length)
            missed = [joint_at - length + 2 + 6 * n for n in range(misses)]
            fine = [good - 23 - 31 * n for n in range(2)]
        else:
            good = self._free(joint_at + self.change + self.draw.between(0, 9), 1, length)
            missed = [joint_at + self.change - 2 - 6 * n for n in range(misses)]
            fine = [good + 23 + 31 * n for n in range(2)]
        for at in [good, *missed, *fine]:
            self._link(joint, other, at)
        return next(n for n, at, _ in self.links[joint, other] if at == good)

    def _free(self, at: int, step: int, length: int) -> int:
        """The nearest time from which a run shows none of the times that are asked for."""
        while self.joint_times & {at, at + length}:
            at += step
        return at

    def _link(self, joint: str, other: str, at: int) -> None:
        here = self.links.setdefault((joint, other), [])
        is_free = not self.joint_times & {at, at + self.length[joint, other]}
        if is_free and all(abs(at - n) > 1 for _, n, _ in here):
            here.append((next(self.numbers), at, at + self.length[joint, other]))

    def _others(self, records: int) -> None:
        """Further runs, up to the number of records."""
        count = len(self.joints)
        for turn in range(2 * count):
            pair = self.joints[turn % count], self.others[(turn + turn // count) % count]
            for _ in range(max(2, records // (5 * count))):
                if pair not in self.links or turn >= self.brief.layout.subjects:
                    self._link(*pair, self.draw.between(7 * 60, 20 * 60))
        for place in self.starts:
            for _ in range(max(2, min(9, records // 14))):
                at = self.draw.between(6 * 60, 15 * 60)
                ends = at - 33 if self.catches else at + self.draw.between(45, 170)
                self._first(_First(place, at, self.draw.pick(self.joints), ends))

    def _facts(self) -> None:
        draft = self.draft
        runs = [*self.firsts, *(n for rows in self.links.values() for n, _, _ in rows)]
        stands = [f"{_SIGNS[n % 20]}{n // 20}" for n in self.draw.some(range(200, 2000), len(runs))]
        fares = self.draw.some(range(150, 1850), len(runs))
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
            say(f"Tell where to check in for a {self.run} and until when.", f"查询某趟{self.run}在哪里{self.checking}、几点截止。")
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
        gap = "" if self.zh else " "
        self.price = self.draft.tool(
            "$price", say(f"Tell what a {self.run} costs.", f"查询某趟{self.run}的{self.cost}。"), {"$number": self._number(), **more},
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
        some = next(iter(self.stands))
        about = self.draft.say(f"Of the {self.run}.", f"{self.run}编号。")
        return {"type": "string", "pattern": f"^{some[:3]}[0-9]{{4}}$", "description": about}

    def _unknown(self) -> str:
        return self.draft.say(
            f"There is no {self.run} {{$number!r}}; numbers look like {next(iter(self.stands))[:3]}0000.",
            f"没有编号为{{$number}}的{self.run}；编号形如{next(iter(self.stands))[:3]}0000。",
        )

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found = [self._follow(a) for a in self.asked]
        kind, depth = conclusion_of(self.brief), self.brief.layout.depth
        tell(self.draft, found, self._concluded(kind), lambda cents: money(cents, self.unit))
        if len(self.asked) == 1:
            parts = [self._situation(self.asked[0]), self._wanted()]
        else:
            clauses = [self._clause(a) for a in self.asked]
            stop, end = ("；", "。") if self.zh else ("; ", ".")
            every = stop.join(clauses) if depth > 1 else listed(clauses, self.brief.language)
            parts = [self._opening(), every + end, self._patience(), self._wanted_of_all(kind)]
        text = ("" if self.zh else " ").join(p for p in parts if p)
        self.draft.question = text

    def _situation(self, asked: _Asked) -> str:
        """Where the one who asks stands, at the depth of the layout."""
        say, run, house, minutes = self.draft.say, self.run, self.house, self.change
        first, other, there = asked.first, asked.other, self._said(asked.first.joint_at)
        if self.brief.layout.depth == 1:
            return self._known(asked.connection)
        if self.brief.layout.depth > 2:
            return self._from_first(asked)
        if self.goods and self.catches:
            return say(f"Our {self.goods} have to be at {first.joint} by {there}; {house} takes them straight from {other}. || By {there} our {self.goods} must have come to {first.joint}. They leave {other} with {house}, straight.", f"我们的{self.goods}要在{there}前送到{first.joint}，由{house}从{other}直达运过去。 || {house}要把我们的{self.goods}从{other}直达运到{first.joint}，{there}之前必须到。")  # fmt: skip
        if self.goods:
            return say(f"Our {self.goods} get to {first.joint} at {there} and go straight on to {other} with {house}; moving them across takes {minutes} minutes.", f"我们的{self.goods}{there}到{first.joint}，再由{house}直达运往{other}，中转装卸要{minutes}分钟。")  # fmt: skip
        if self.catches:
            return say(f"I am coming straight from {other} with {house} and have to be at {first.joint} by {there}. || I have an appointment at {first.joint} and must be there by {there}; I go straight from {other}, with {house}.", f"我要在{there}前赶到{first.joint}，从{other}坐{house}的{run}直达。 || 我从{other}坐{house}直达{first.joint}，{there}之前必须到。")  # fmt: skip
        return say(f"I get to {first.joint} at {there} and go straight on to {other} with {house}; I need {minutes} minutes to change. || At {there} I arrive at {first.joint}. From there {house} takes me straight to {other}, but I want {minutes} minutes for the change.", f"我{there}到{first.joint}，接着坐{house}的{run}直达{other}，换乘至少要{minutes}分钟。 || 我{there}到{first.joint}，要转{house}直达{other}，给我留{minutes}分钟换乘。")  # fmt: skip

    def _known(self, number: str) -> str:
        say, run, house, goods = self.draft.say, self.run, self.house, self.goods
        if goods:
            return say(f"We want to send {goods} with {house}, on the {run} {number}. || {house}, {run} {number}: we would like to put some {goods} on it.", f"我们有一批{goods}想走{house}的{number}次{run}， || {house}{number}次{run}，我们想托运一批{goods}，")  # fmt: skip
        return say(f"I am about to take the {run} {number} of {house}. || My friend wants me to come with {house}, on the {run} {number}.", f"我打算坐{house}的{number}次{run}， || 朋友让我坐{house}{number}次{run}过去，")  # fmt: skip

    def _which(self, asked: _Asked, of: str = "") -> str:
        """The first run, as one says it."""
        at, run, place = self._said(asked.first.at), self.run, asked.first.place
        whose = f" of {of}" if of else ""
        if self.brief.layout.depth == 3:
            return self.draft.say(f"the {run} {asked.number}{whose}", f"{of}{asked.number}次{run}")
        return self.draft.say(
            f"the {at} {run}{whose} from {place}", f"{of}{at}从{place}出发的{run}"
        )

    def _from_first(self, asked: _Asked) -> str:
        say, run, house, goods = self.draft.say, self.run, self.house, self.goods
        minutes, other = self.change, asked.other
        which, its = self._which(asked), self._which(asked, house)
        if goods and self.catches:
            return say(f"Our {goods} must make {its}; before its check-in closes they have to come there from {other}, straight and with {house} too. || {house} takes our {goods} on {which}. They still lie at {other} and go straight from there to wherever that one is checked in, before it closes.", f"我们的{goods}要赶上{its}，货还在{other}，也由{house}直达送到收货处，须在停止收货前送到。 || {its}要带上我们的{goods}。货现在在{other}，得用{house}的{run}直达送到收货处，赶在停止收货之前。")  # fmt: skip
        if goods:
            return say(f"Our {goods} are on {its} to wherever that ends, then go straight on to {other}; moving them across takes {minutes} minutes. || With {house} our {goods} ride on {which} all the way, and from its end they are meant straight for {other}. Reloading takes {minutes} minutes.", f"我们的{goods}装在{its}上，到终点后再直接转运到{other}，装卸要{minutes}分钟。 || {its}载着我们的{goods}开到终点，之后再直达{other}，中转要{minutes}分钟。")  # fmt: skip
        if self.catches:
            return say(f"I must not miss {its}. I set out from {other} and can go with {house} straight to where one checks in for it. || I have a seat on {which} with {house} and live in {other}; {house} also runs straight from there to the check-in.", f"我要赶{its}，从{other}出发，也坐{house}的{run}直达检票处。 || 我订了{its}，人在{other}，打算坐{house}的{run}直达检票处。")  # fmt: skip
        return say(f"I am on {its} right to its end, and then want to go straight on to {other}. I need {minutes} minutes to change. || With {house} I take {which} to the end of the line and go straight on to {other} from there; give me {minutes} minutes for changing.", f"我坐{its}到终点，再直达{other}，换乘要留{minutes}分钟。 || 我坐{its}一直到终点站，然后直接转去{other}，给我留{minutes}分钟换乘。")  # fmt: skip

    def _said(self, minutes: int) -> str:
        return spoken_time(minutes, self.brief.language)

    def _it(self) -> str:
        """What is asked about: the run itself, or the one that connects."""
        say, run, who = self.draft.say, self.run, "them" if self.goods else "me"
        if self.brief.layout.depth == 1:
            return "" if self.zh else "it"
        if self.catches:
            return say(f"the last {run} that gets {who} there in time", f"来得及的最后一趟{run}")
        who = "they" if self.goods else "I"
        return say(f"the first {run} {who} can still make", f"能赶上的最早一趟{run}")

    def _wanted(self) -> str:
        say, it, stand, cost = self.draft.say, self._it(), self.stand, self.cost
        price = f"{it}{cost}是多少？ || {it}{cost}要多少钱？"
        if self.facets == ["stand"]:
            return say(f"Which {stand} does {it} leave from? || At which {stand} will I find {it}?" if not self.goods else f"Which {stand} does {it} leave from? || To which {stand} do we go for {it}?", f"{it}在哪个{stand}？ || 请问{it}在几号{stand}？")  # fmt: skip
        if self.facets == ["fare"]:
            return say(f"What does {it} cost? || How much would {it} be?", price)
        return say(f"Which {stand} does {it} leave from, and what does it cost? || What does {it} cost, and which {stand} is it?", f"{it}在哪个{stand}，{cost}是多少？ || 请问{it}在几号{stand}，要多少钱？")  # fmt: skip

    def _opening(self) -> str:
        say, house, goods = self.draft.say, self.house, self.goods
        if goods:
            return say(f"We send {goods} for several people with {house}: || {house} carries {goods} for some of our customers today:", f"{house}今天替我们运几批{goods}： || 今天有几位客户的{goods}交给{house}运：")  # fmt: skip
        return say(f"Some of us travel with {house} today: || We all come with {house} tomorrow:", f"我们几个今天都坐{house}的{self.run}： || 明天大家都坐{house}的{self.run}过来：")  # fmt: skip

    def _clause(self, asked: _Asked) -> str:
        """The journey of one of several."""
        say, first, other, goods = self.draft.say, asked.first, asked.other, bool(self.goods)
        there, which = self._said(first.joint_at), self._which(asked)
        whose = say(f"{asked.name}'s", f"{asked.name}的货") if goods else asked.name
        takes = "走" if goods else "坐"
        goes, comes, gets, has = (
            ("go", "come", "get", "have") if goods else ("goes", "comes", "gets", "has")
        )
        if self.brief.layout.depth == 1:
            return say(f"{whose} on {asked.connection}", f"{whose}{takes}{asked.connection}次")
        if self.brief.layout.depth == 2 and self.catches:
            return say(f"{whose} {comes} straight from {other} and {has} to be at {first.joint} by {there}", f"{whose}从{other}直达{first.joint}，{there}前要到")  # fmt: skip
        if self.brief.layout.depth == 2:
            return say(f"{whose} {gets} to {first.joint} at {there} and {goes} straight on to {other}", f"{whose}{there}到{first.joint}，再直达{other}")  # fmt: skip
        if self.catches:
            return say(f"{whose} {has} to make {which} and {comes} straight from {other} to its check-in", f"{whose}要赶{which}，从{other}直达{'收货处' if goods else '检票处'}")  # fmt: skip
        return say(f"{whose} {goes} on {which} to its end and straight on to {other}", f"{whose}{takes}{which}到终点，再直达{other}")  # fmt: skip

    def _patience(self) -> str:
        say, minutes = self.draft.say, self.change
        if self.brief.layout.depth == 1:
            return ""
        if self.catches:
            return say("They should leave as late as still works." if self.goods else "Everyone wants to leave as late as possible.", "都尽量晚发车。" if self.goods else "大家都想尽量晚出发。")  # fmt: skip
        return say(f"Reloading takes {minutes} minutes each time, and they should go on as soon as possible." if self.goods else f"Everyone needs {minutes} minutes to change and wants to get on as soon as possible.", f"每次中转装卸要{minutes}分钟，都要接最早的一趟。" if self.goods else f"换乘都要留{minutes}分钟，大家都想坐最早的一趟。")  # fmt: skip

    def _wanted_of_all(self, kind: Conclusion) -> str:
        say, stand, cost, run = self.draft.say, self.stand, self.cost, self.run
        depth, least = self.brief.layout.depth, kind is Conclusion.LEAST
        it = (
            "it"
            if depth == 1
            else f"the last {run} in time"
            if self.catches
            else f"the connecting {run}"
        )
        by = (
            "" if depth == 1 else "按来得及的最后一趟算，" if self.catches else "按接上的那一趟算，"
        )
        if kind is Conclusion.SUM:
            return say("What does that come to for all of them?" if depth == 1 else f"Counting {it} of each, what does that cost altogether?", f"{by}{cost}加起来一共多少？ || {by}{cost}总共要多少钱？")  # fmt: skip
        if kind is not Conclusion.NONE:
            return say(f"Who pays {'least' if least else 'most'}?" if depth == 1 else f"Who pays {'least' if least else 'most'} for {it}?", f"{by}谁的{cost}最{'低' if least else '高'}？")  # fmt: skip
        if self.facets == ["stand"]:
            return say(f"Which {stand} does each leave from?" if depth == 1 else f"Which {stand} does {it} leave from, for each of them?", f"{by}各自在哪个{stand}？")  # fmt: skip
        if self.facets == ["fare"]:
            return say("What does each of these cost?" if depth == 1 else f"What does {it} cost each of them?", f"{by}各自的{cost}是多少？")  # fmt: skip
        return say(f"I need the {stand} and the cost for each." if depth == 1 else f"Tell me for each of them the {stand} and the cost of {it}.", f"{by}各自在哪个{stand}，{cost}多少？")  # fmt: skip

    def _concluded(self, kind: Conclusion) -> str:
        return self.draft.say("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else self.draft.say("Which of them is it?", "是其中哪一位？")  # fmt: skip

    def _follow(self, asked: _Asked) -> Found:
        """The sub-tasks of one subject."""
        say, depth, run, first = self.draft.say, self.brief.layout.depth, self.run, asked.first
        needs: list[int] = []
        if depth > 3:
            needs = [self.draft.solve(say(f"Which {run} leaves {first.place} at {self._said(first.at)}?", f"{self._said(first.at)}从{first.place}出发的是哪一趟{run}？"), asked.number, self.board, {"$place": key(first.place, self.starts)})]  # fmt: skip
        if depth > 2:
            about = say(f"Until when can one check in for {asked.number}?", f"{asked.number}次几点停止{self.checking}？") if self.catches else say(f"When does {asked.number} get to its end?", f"{asked.number}次几点到终点？")  # fmt: skip
            if depth > 3:
                about = say("Until when can one check in for it?", f"它几点停止{self.checking}？") if self.catches else say("When does it get to its end?", "它几点到终点？")  # fmt: skip
            needs = [self.draft.solve(about, clock_time(first.joint_at), self.details, {"$number": key(asked.number, self.firsts)}, needs=needs)]  # fmt: skip
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
