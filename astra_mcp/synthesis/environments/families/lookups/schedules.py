"""Schedules: who is in charge, when two can meet, which room is free and fits then, and who is asked for it."""

import datetime as dt
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.conclusions import (
    Conclusion,
    Found,
    conclusion_of,
    tell,
)
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.themes.schedules import THEMES, Theme
from astra_mcp.synthesis.environments.families.phrases import clauses, listed, with_article
from astra_mcp.synthesis.environments.families.times import clock_time, money, spoken_time
from astra_mcp.types import JsonObject

__all__ = ["SCHEDULES"]

T = TypeVar("T")

_PLANS = (
    ("I'd like to use the {hall} at {house} {day} at {at}. || I need the {hall} at {house} {day} at {at}.", "我想{day}{at}用{house}的{hall}。 || {day}{at}我要用{house}的{hall}。"),
    ("A group of {seats} of us want to {meet} at {house} {day} at {at}, in the smallest free {room} that's big enough. || There'll be {seats} of us, and we want to {meet} at {house} {day} at {at}. We'll take the smallest free {room} that's big enough.", "{day}{at}我们{seats}个人要在{house}{meet}，想订那时空着又坐得下的最小的{room}。 || 我们{seats}个人{day}{at}在{house}{meet}，{room}就订当时空着又坐得下的最小的一间。"),
    ("{who} and {other} want to {meet} at {house} {day}, at the earliest time from {bound} on when they're both free. There'll be {seats} people in all, and they'll take the smallest free {room} that's big enough.", "{who}和{other}{day}要在{house}{meet}，时间定在{bound}以后两人最早都有空的时候。一共{seats}人，{room}就订当时空着又坐得下的最小的一间。"),
    ("I'm {who}, and I want to {meet} with {led} at {house} {day}, at the earliest time from {bound} on when we're both free. There'll be {seats} of us in all, and we'll take the smallest free {room} that's big enough.", "我是{who}，{day}想和{led}在{house}{meet}，时间定在{bound}以后双方最早都有空的时候。一共{seats}人，{room}就订当时空着又坐得下的最小的一间。"),
)  # fmt: skip
"""What one person has in mind, at each depth."""

_SMALLEST = "{room}都选当时空着又坐得下的最小的一间。"
_SOONEST = (
    "Each time, they'll meet as soon as both are free and take the smallest free {room} that's big enough.",
    f"时间都定在双方最早都有空的时候，{_SMALLEST}",
)
_CLAUSES = (
    (("{who} needs the {hall} {day} at {at}", "{who}{day}{at}要用{hall}"), ("", "")),
    (
        ("{who} needs {a_room} for {seats} people {day} at {at}", "{who}{day}{at}要{meet}，一共{seats}人"),
        ("Each of them takes the smallest one that's free and big enough.", _SMALLEST),
    ),
    (("{who} and {other} want to {meet} {day} from {bound} on, with {seats} people in all", "{who}和{other}{day}{bound}以后要{meet}，一共{seats}人"), _SOONEST),
    (("{who} wants to {meet} with {led} {day} from {bound} on, with {seats} people in all", "{who}{day}{bound}以后要和{led}{meet}，一共{seats}人"), _SOONEST),
)  # fmt: skip
"""What each of several has in mind, and what goes for all of them."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject: who meets whom, since what, when, with how many, and where that ends up."""

    who: str
    other: str
    file: str
    day: dt.date
    slot: int
    seats: int
    room: str


@lru_cache(maxsize=2)
def _world(brief: Brief) -> "_Schedules":
    return _Schedules(brief, brief.draw("theme").pick(THEMES))


def _make(brief: Brief) -> Draft:
    return _world(replace(brief, turn=0)).asking(brief)


class _Schedules:
    """One house with its people and rooms, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(brief.draw("day"), brief.language)
        self.draft = Draft(brief, theme.domain, clock=self.calendar.clock)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.room, self.file, self.lead = (
            self.draft.say(*t) for t in (theme.room, theme.file, theme.lead)
        )
        self.currency = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        both = brief.layout.facets == 2
        is_fee = brief.layout.concludes or brief.draw("facet").chance(1, 2)
        self.facets = ["keeper", "fee"] if both else ["fee" if is_fee else "keeper"]
        self._name()
        self._fill()
        self._tools()

    def asking(self, brief: Brief) -> Draft:
        """One question of this world."""
        own = copy(self)
        own.brief, own.draft = brief, self.draft.again(brief)
        own.asked = brief.asked(self.everyone)
        own._check()
        own._ask()
        return own.draft

    def _name(self) -> None:
        room, file, lead, keeper, fee = self.theme.code
        self.draft.title = (
            f"{self.house}{'：日程与' + self.room if self.zh else f': calendars and {self.room}s'}"
        )
        self.draft.description = self.draft.say(
            f"Calendars and {self.room}s of {self.house}.", f"{self.house}的日程和{self.room}安排。"
        )
        self.draft.name(
            room=room, file=file, lead=lead, keeper=keeper, fee=fee,
            ref="${file}_number|${file}_code|${file}_ref", name="$room|${room}_name|name", day="day|date|on_day", at="time|start|at",
            first="first|person|attendee", second="second|other_person|partner", seats="seats|places|capacity",
            find="${lead}_of|find_$lead|get_$lead", common="common_slots|free_together|find_common_times",
            rooms="free_${room}s|list_free_${room}s|vacant_${room}s", who="${keeper}_of|find_$keeper|get_$keeper",
            price="${fee}_of|get_$fee|quote_$fee", equipment="with_equipment|show_equipment|equipment",
            phone="with_phone|with_contact|contact", drinks="catering|with_drinks|refreshments",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        records, subjects = self.brief.knobs.records, self.brief.subjects
        count = 5 + records // 50 + min(8, self.brief.questions // 25)
        self.days = self.calendar.ahead(self.draw, count, within=26)
        first, step = 5 * self.draw.between(97, 101), self.draw.pick([35, 40, 50])
        self.slots = [first + step * n for n in range(11)]
        count = 30 + min(8, subjects // 25)
        rooms = self.entities.places(count, *self.theme.room_kinds[self.zh])
        seats = self.draw.some(range(5, 48), len(rooms))
        self.seats = dict(zip(rooms, seats, strict=True))
        leads = max(min(records, 60), 4 + 2 * subjects // len(self.days))
        self.people = self.entities.people(max(min(records, 120), 2 * leads))
        files = self.entities.codes(f"{self._letters()}-####", leads)
        self.files = dict(zip(files, self.draw.shuffled(self.people)[:leads], strict=True))
        self._free_rooms()
        taken: set[tuple[str, dt.date]] = set()
        groups = [self._group(taken) for _ in range(self.brief.questions)]
        self._calendars(groups)
        self._facts()
        self.everyone = [asked for group in groups for asked in group]
        self.asked = self.brief.asked(self.everyone)

    def _letters(self) -> str:
        return "".join(self.draw.pick("BCDFGHKLMNPRSTVWX") for _ in range(2))

    def _free_rooms(self) -> None:
        """Which rooms are free when."""
        self.vacant = {
            (day, place): self.draw.some([*self.seats], 4)
            for day in self.days
            for place in range(len(self.slots))
        }

    def _group(self, taken: set[tuple[str, dt.date]]) -> list[_Asked]:
        """The subjects of one question; on each day nobody is in two of them."""
        places = [p for p in range(3, 11) if self.slots[p] % 60]
        found: list[_Asked] = []
        for _ in range(self.brief.layout.subjects):
            day, slot, place = self._one([
                (d, s, n)
                for d in self.days
                for s in places
                if all(s != a.slot and a.room not in self.vacant[d, s] for a in found)
                for n, room in enumerate(self._in_order(d, s)[:-1])
                if n and not any(room in self.vacant[a.day, a.slot] for a in found)
            ])  # fmt: skip
            used = {a.who for a in found} | {a.other for a in found}
            used |= {p for p in self.people if (p, day) in taken}
            file = self._one([f for f, lead in self.files.items() if lead not in used])
            other = self.files[file]
            who = self._one([p for p in self.people if p not in used and p != other])
            taken |= {(who, day), (other, day)}
            in_order = self._in_order(day, slot)
            seats = self._people_in(in_order[place], self.seats[in_order[place - 1]])
            found.append(_Asked(who, other, file, day, slot, seats, in_order[place]))
        return found

    def _in_order(self, day: dt.date, slot: int) -> list[str]:
        """The rooms that are free then, smallest first."""
        return sorted(self.vacant[day, slot], key=lambda room: self.seats[room])

    def _one(self, options: Sequence[T]) -> T:
        if not options:
            raise DrawError("no further subject fits into this world")
        return self.draw.pick(options)

    def _people_in(self, room: str, too_small: int) -> int:
        """How many fit in a room, though not in the next smaller one that is free, often narrowly so."""
        if self.brief.knobs.near_misses > self.draw.below(4):
            return self.draw.pick([too_small + 1, self.seats[room]])
        return self.draw.between(too_small + 1, self.seats[room])

    def _check(self) -> None:
        keepers = {self.keepers[a.room, a.day] for a in self.asked}
        fees = {self._fee_of(a) for a in self.asked}
        if min(len(keepers), len(fees)) < len(self.asked):
            raise DrawError("two of them have the same answer")

    def _bound(self, asked: _Asked) -> int:
        return self.slots[asked.slot] // 60 * 60

    def _calendars(self, groups: Sequence[Sequence[_Asked]]) -> None:
        """Who is free when: those who are asked for first together at the slot that is asked for."""
        self.free = {
            (p, d): [self.draw.chance(7, 20) for _ in self.slots]
            for p in self.people
            for d in self.days
        }
        for asked, group in [(asked, several) for several in groups for asked in several]:
            one, other = self.free[asked.who, asked.day], self.free[asked.other, asked.day]
            for place, at in enumerate(self.slots):
                if any(place == a.slot for a in group) or self._bound(asked) <= at < self.slots[asked.slot]:  # fmt: skip
                    one[place], other[place] = self.draw.pick([(True, False), (False, True)])
                elif at < self._bound(asked) and self.brief.knobs.near_misses > 1:
                    one[place] = other[place] = True
            one[asked.slot] = other[asked.slot] = True

    def _facts(self) -> None:
        draft, depth = self.draft, self.brief.layout.depth
        keepers = self.entities.people(2 * len(self.seats) + 20)
        self.keepers = {
            (room, day): keeper
            for day in self.days
            for room, keeper in zip(self.seats, self.draw.shuffled(keepers), strict=False)
        }
        base = self.draw.some(range(160, 900), len(self.seats))
        self.base = {r: 25 * b for r, b in zip(self.seats, base, strict=True)}
        if depth > 3:
            draft.data("LEADS", self.files)
        if depth > 2:
            draft.data("TIMES", [*map(clock_time, self.slots)])
            draft.data("FREE", {p: {d.isoformat(): "".join("X" if f else "-" for f in self.free[p, d]) for d in self.days} for p in self.people})  # fmt: skip
        if depth > 1:
            draft.data("SEATS", self.seats)
            draft.data("VACANT", {f"{d.isoformat()} {clock_time(self.slots[s])}": rooms for (d, s), rooms in self.vacant.items()})  # fmt: skip
        if "keeper" in self.facets:
            draft.data("KEEPERS", {r: {d.isoformat(): self.keepers[r, d] for d in self.days} for r in self.seats})  # fmt: skip
        if "fee" in self.facets:
            draft.data("BASE", self.base)
            draft.data("DAYS", [d.isoformat() for d in sorted(self.days)])
            draft.data("STARTS", [*map(clock_time, self.slots)])

    def _fee_of(self, asked: _Asked) -> int:
        return self._price_of(asked.room, asked.day, asked.slot)

    def _price_of(self, room: str, day: dt.date, slot: int) -> int:
        at = clock_time(self.slots[slot])
        return self.base[room] + issued(room, day.isoformat(), at) % 97 * 25

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        depth, self.options, say = self.brief.layout.depth, self.brief.knobs.options, self.draft.say
        about = say("YYYY-MM-DD", "日期，如 2026-03-12")
        self.day = {"type": "string", "format": "date", "description": about}
        about = say("Start, as HH:MM.", "开始时间，如 09:10。")
        self.at = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "description": about}  # fmt: skip
        self.text = {"type": "string", "minLength": 2}
        if "keeper" in self.facets:
            self._keeper()
        if "fee" in self.facets:
            self._fee()
        if depth > 1:
            self._rooms()
        if depth > 2:
            self._common()
        if depth > 3:
            self._lead()

    def _switch(self, name: str) -> dict[str, dict[str, object]]:
        """A further parameter, while there are options left."""
        if self.options < 1:
            return {}
        self.options -= 1
        return {name: {"type": "boolean", "default": False}}

    def _place(self) -> dict[str, str]:
        return {"type": "string", "description": self.draft.say("Full name, as the house gives it.", "完整名称。")}  # fmt: skip

    def _keeper(self) -> None:
        say, more, asked = self.draft.say, self._switch("$phone"), self.asked[0]
        self.who = self.draft.tool(
            "$who", say(f"Tell who is there for a {self.room} on a day.||The person responsible for a {self.room} on a day.", f"查询某天{self.room}由谁负责。||某天{self.room}的当班人员。"),
            {"$name": self._place(), "$day": self.day, **more},
            f"""
            if $name not in KEEPERS:
                raise ValueError(f"{self._no_room()}")
            if $day not in KEEPERS[$name]:
                raise ValueError(f"{say("Nobody is planned for {$day} yet; try another day.", "{$day}尚未排班；请换一天。")}")
            found = {{"$keeper": KEEPERS[$name][$day]}}
            {'return {**found, "phone": "0" + str(issued($name, $day))} if $phone else found' if more else "return found"}
            """,
        )  # fmt: skip
        if more or "fee" in self.facets:
            self.draft.code(source_of(issued))
        if more:
            self.draft.example("$who", **{"$name": asked.room, "$day": asked.day.isoformat(), "$phone": True})  # fmt: skip

    def _fee(self) -> None:
        say, more, asked = self.draft.say, self._switch("$drinks"), self.asked[0]
        if "keeper" not in self.facets:
            self.draft.code(source_of(issued))
        gap = "" if self.zh else " "
        self.price = self.draft.tool(
            "$price", say(f"Tell what a {self.room} costs at a time.", f"查询{self.room}某个时段的费用。"),
            {"$name": self._place(), "$day": self.day, "$at": self.at, **more},
            f"""
            if $name not in BASE:
                raise ValueError(f"{self._no_room()}")
            if $day not in DAYS or $at not in STARTS:
                raise ValueError(f"{self._no_time()}")
            cents = BASE[$name] + issued($name, $day, $at) % 97 * 25{" + (1900 if $drinks else 0)" if more else ""}
            return {{"$fee": f"{{cents // 100}}.{{cents % 100:02d}}{gap}{self.currency}"}}
            """,
        )  # fmt: skip
        if more:
            at = clock_time(self.slots[asked.slot])
            self.draft.example("$price", **{"$name": asked.room, "$day": asked.day.isoformat(), "$at": at, "$drinks": True})  # fmt: skip

    def _no_room(self) -> str:
        return self.draft.say(f"There is no {self.room} {{$name!r}}; give its full name.", f"没有名为{{$name}}的{self.room}；请填写完整名称。")  # fmt: skip

    def _no_time(self) -> str:
        first = clock_time(self.slots[0])
        return self.draft.say(f"Nothing begins on {{$day}} at {{$at}}; times of a day begin at {first}, {self.slots[1] - self.slots[0]} minutes apart.", f"{{$day}} {{$at}}没有时段；每天从{first}开始，每{self.slots[1] - self.slots[0]}分钟一段。")  # fmt: skip

    def _rooms(self) -> None:
        say, more, asked = self.draft.say, self._switch("$equipment"), self.asked[0]
        built = (
            ', **({"equipment": ["screen", "board"][len(r) % 2]} if $equipment else {})'
            if more
            else ""
        )
        self.vacancies = self.draft.tool(
            "$rooms", say(f"List which {self.room}s are free at a time, with their size.", f"查询某个时段空闲的{self.room}及其座位数。"),
            {"$day": self.day, "$at": self.at, **more},
            f"""
            found = VACANT.get($day + " " + $at)
            if found is None:
                raise ValueError(f"{self._no_time()}")
            return {{"free": [{{"$name": r, "$seats": SEATS[r]{built}}} for r in found]}}
            """,
        )  # fmt: skip
        if more:
            at = clock_time(self.slots[asked.slot])
            self.draft.example("$rooms", **{"$day": asked.day.isoformat(), "$at": at, "$equipment": True})  # fmt: skip

    def _common(self) -> None:
        say = self.draft.say
        person = self.text | {"description": say("Full name.", "姓名。")}
        self.common = self.draft.tool(
            "$common", say("List when two people are both free on a day.", "查询两人某天都有空的时间。"),
            {"$first": person, "$second": person, "$day": self.day},
            f"""
            for someone in ($first, $second):
                if someone not in FREE:
                    raise ValueError(f"{say("Nobody here is called {someone!r}; give the full name.", "没有名叫{someone}的人；请填写全名。")}")
                if $day not in FREE[someone]:
                    raise ValueError(f"{say("No calendar is kept for {$day}; try another day.", "{$day}没有日程；请换一天。")}")
            if $first == $second:
                raise ValueError("{say("Name two different people.", "请填写两个不同的人。")}")
            pairs = zip(TIMES, FREE[$first][$day], FREE[$second][$day])
            found = [t for t, a, b in pairs if a == b == "X"]
            if not found:
                raise ValueError("{say("They have no time in common on that day; try another one.", "两人当天没有共同的空闲时间；请换一天。")}")
            return {{"both_free": found}}
            """,
        )  # fmt: skip

    def _lead(self) -> None:
        say, some = self.draft.say, next(iter(self.files))
        pattern = {"type": "string", "pattern": f"^{some[:3]}[0-9]{{4}}$"}
        self.leads = self.draft.tool(
            "$find", say(f"Tell the {self.lead} of a {self.file}.", f"查询{self.file}的{self.lead}。"), {"$ref": pattern},
            f"""
            if $ref not in LEADS:
                raise ValueError(f"{say(f"There is no {self.file} {{$ref!r}}; codes look like {some[:3]}0000.", f"没有编号为{{$ref}}的{self.file}；编号形如{some[:3]}0000。")}")
            return {{"$ref": $ref, "$lead": LEADS[$ref]}}
            """,
        )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found = [self._follow(a) for a in self.asked]
        kind, several = conclusion_of(self.brief), len(self.asked) > 1
        concluded = ("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else ("Whose is it?", "是哪一位的？")  # fmt: skip
        tell(self.draft, found, self.draft.say(*concluded), lambda cents: money(cents, self.currency))  # fmt: skip
        plan = self._plan_of_all() if several else self._plan(self.asked[0])
        asks = self._concluding(kind) if kind is not Conclusion.NONE else self._wanted()
        gap = "" if self.zh else " "
        self.draft.question = f"{self.calendar.now()}{gap}{plan}{gap}{_capital(asks)}"

    def _day(self, asked: _Asked) -> str:
        relative = self.calendar.relative(asked.day)
        said = relative or self.calendar.day(asked.day)
        return said if self.zh or said.startswith(("t", "this ")) else f"on {said}"

    def _time(self, minutes: int) -> str:
        return spoken_time(minutes, self.brief.language)

    def _words(self, asked: _Asked) -> dict[str, str]:
        """What is said of one subject."""
        say = self.draft.say
        return {
            "who": asked.who, "other": asked.other, "hall": asked.room, "seats": str(asked.seats),
            "day": self._day(asked), "at": self._time(self.slots[asked.slot]), "bound": self._time(self._bound(asked)),
            "led": say(*self.theme.led).format(x=asked.file), "house": self.house, "meet": say(*self.theme.meet),
            "room": self.room, "a_room": with_article(self.room),
        }  # fmt: skip

    def _plan(self, asked: _Asked) -> str:
        """What the one who asks has in mind."""
        return self.draft.say(*_PLANS[self.brief.layout.depth - 1]).format(**self._words(asked))

    def _plan_of_all(self) -> str:
        """What several people have in mind."""
        clause, rule = _CLAUSES[self.brief.layout.depth - 1]
        said = [self.draft.say(*clause).format(**self._words(a)) for a in self.asked]
        told = clauses(said, self.brief.language)
        ruled = self.draft.say(*rule).format(**self._words(self.asked[0]))
        where = self.draft.say(f"At {self.house}, {told}.", f"在{self.house}，{told}。")
        return f"{where}{'' if self.zh else ' '}{ruled}".rstrip()

    def _wanted(self) -> str:
        several, theme = len(self.asked) > 1, self.theme
        if self.zh:
            asks = {"keeper": theme.keeper[1], "fee": theme.fee[1]}
            each = ["分别", "各"] if several else ["", ""]
            texts = [asks[f].format(each=e) for f, e in zip(self.facets, each, strict=False)]
            return "，".join(texts) + "？"
        asks = {"keeper": theme.keepers, "fee": theme.fees} if several else {"keeper": theme.keeper[0], "fee": theme.fee[0]}  # fmt: skip
        return ", and ".join(asks[f].rstrip("?") for f in self.facets) + "?"

    def _concluding(self, kind: Conclusion) -> str:
        noun, least, two = self.theme.noun, kind is Conclusion.LEAST, len(self.asked) == 2
        if kind is Conclusion.SUM:
            return f"{noun[1]}一共多少？" if self.zh else self.theme.total
        if self.zh:
            return f"谁的{noun[1]}{'更' if two else '最'}{'低' if least else '高'}？"
        most = ("lower" if least else "higher") if two else f"the {'low' if least else 'high'}est"
        return f"whose {noun[0]} is {most}?"

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _dated(self, asked: _Asked, days: Sequence[dt.date]) -> JsonObject:
        others = [d.isoformat() for d in days if d != asked.day]
        return key(asked.day.isoformat(), others, source=self.calendar.relative(asked.day))

    def _follow(self, asked: _Asked) -> Found:
        say, depth, needs = self.draft.say, self.brief.layout.depth, list[int]()
        if depth > 3:
            about = say(f"Who is the {self.lead} of {self.file} {asked.file}?", f"{self.file}{asked.file}的{self.lead}是谁？")  # fmt: skip
            needs = [self.draft.solve(about, asked.other, self.leads, {"$ref": key(asked.file, self.files)})]  # fmt: skip
        if depth > 2:
            needs = [self._common_step(asked, needs)]
        if depth > 1:
            needs = [self._room_step(asked, needs)]
        return self._facet_steps(asked, needs)

    def _common_step(self, asked: _Asked, needs: list[int]) -> int:
        other = asked.other if not needs else self.draft.say("that person", "此人")
        bound = self._time(self._bound(asked))
        about = self.draft.say(f"When are {asked.who} and {other} first both free {self._day(asked)}, from {bound} on?", f"{self._day(asked)}{bound}以后，{asked.who}和{other}最早几点都有空？")  # fmt: skip
        days = [d for d in self.days if not (self.free[asked.who, d][asked.slot] and self.free[asked.other, d][asked.slot])]  # fmt: skip
        busy = [p for p in self.people if not self.free[p, asked.day][asked.slot]]
        arguments = {"$first": key(asked.who, busy), "$second": key(asked.other, busy), "$day": self._dated(asked, days)}  # fmt: skip
        return self.draft.solve(about, clock_time(self.slots[asked.slot]), self.common, arguments, needs=needs)  # fmt: skip

    def _timed(self, asked: _Asked, slots: Sequence[int]) -> JsonObject:
        """The time as an argument: said in the question, or found before."""
        at = self.slots[asked.slot]
        said = self._time(at) if self.brief.layout.depth < 3 else None
        return key(clock_time(at), [clock_time(self.slots[s]) for s in slots], source=said)

    def _room_step(self, asked: _Asked, needs: list[int]) -> int:
        when = self.draft.say("then", "那时") if needs else f"{self._day(asked)}{'' if self.zh else ' at '}{self._time(self.slots[asked.slot])}"  # fmt: skip
        about = self.draft.say(f"Which is the smallest {self.room} that is free {when} and holds {asked.seats} people?", f"{when}空闲、坐得下{asked.seats}人的最小{self.room}是哪间？")  # fmt: skip
        days = [d for d in self.days if asked.room not in self.vacant[d, asked.slot]]
        slots = [s for s in range(len(self.slots)) if asked.room not in self.vacant[asked.day, s]]
        arguments = {"$day": self._dated(asked, days), "$at": self._timed(asked, slots)}
        return self.draft.solve(about, asked.room, self.vacancies, arguments, needs=needs)

    def _facet_steps(self, asked: _Asked, needs: list[int]) -> Found:
        answers, step, fee = list[str](), 0, self._fee_of(asked)
        room, day, slot = asked.room, asked.day, asked.slot
        which = self.draft.say("That room", "那一间") if needs else f"{room}{'，' if self.zh else ', '}{self._day(asked)}"  # fmt: skip
        if "keeper" in self.facets:
            keeper = self.keepers[room, day]
            arguments = {
                "$name": key(room, [r for r in self.seats if self.keepers[r, day] != keeper]),
                "$day": self._dated(asked, [d for d in self.days if self.keepers[room, d] != keeper]),
            }  # fmt: skip
            answers.append(keeper)
            step = self.draft.solve(self._of(which, self.theme.keeper), answers[-1], self.who, arguments, needs=needs)  # fmt: skip
        if "fee" in self.facets:
            arguments = {
                "$name": key(room, [r for r in self.seats if self._price_of(r, day, slot) != fee]),
                "$day": self._dated(asked, [d for d in self.days if self._price_of(room, d, slot) != fee]),
                "$at": self._timed(asked, [n for n in range(len(self.slots)) if self._price_of(room, day, n) != fee]),
            }  # fmt: skip
            answers.append(money(fee, self.currency))
            if not needs:
                which += ("，" if self.zh else ", ") + self._time(self.slots[slot])
            step = self.draft.solve(self._of(which, self.theme.fee), answers[-1], self.price, arguments, needs=needs)  # fmt: skip
        who = [asked.who, asked.other] if self.brief.layout.depth == 3 else [asked.who]
        return Found(listed(who, self.brief.language), tuple(answers), step, fee)

    def _of(self, which: str, asks: tuple[str, str]) -> str:
        """The question of a sub-task about one room."""
        if self.zh:
            return f"{which}：{asks[1].format(each='')}？"
        return f"{which}: {asks[0]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


SCHEDULES = Family(
    "schedules", "Calendars: when people can meet, which room is free and fits, who is asked for it, what it costs.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
