"""Directories: which office a matter belongs to, who is on duty there on a day, and how to reach that person."""

import datetime as dt
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.questions.directory import Questions
from astra_mcp.synthesis.environments.families.lookups.themes.directory import THEMES, Matter, Theme
from astra_mcp.synthesis.environments.families.phrases import labelled

__all__ = ["DIRECTORY"]

_TEXT = {"type": "string", "minLength": 2}


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _place_in_rota(day: dt.date) -> int:
    return (day.weekday() + day.toordinal() // 7 * 2) % 5


def _room(person: str, day: str) -> str:
    number = issued(person, day)
    return "ABCDEFGH"[number % 8] + f"{number // 8 % 6 + 1}.{number // 48 % 88 + 11}"


def _make(brief: Brief) -> Draft:
    return copy(_drawn(replace(brief, turn=0))).written(brief)


@lru_cache(maxsize=1)
def _drawn(brief: Brief) -> "_Directory":
    """The world that all turns share."""
    return _Directory(brief, brief.draw("theme").pick(THEMES))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject of the question."""

    place: str
    matter: Matter
    unit: str
    person: str


class _Directory:
    """One house, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.house = self.entities.firms(1, *theme.house[self.zh])[0]
        monday = self.calendar.today - dt.timedelta(days=self.calendar.today.weekday())
        week = [monday + dt.timedelta(days=n) for n in range(12) if n % 7 < 5]
        self.days = [d for d in week if d > self.calendar.today]
        self._fill()

    def written(self, brief: Brief) -> Draft:
        """The draft with its texts, tools and sub-tasks.

        Raises:
            DrawError: Two subjects of the question have an answer in common.
        """
        self.brief = brief
        self.day = brief.draw("day", brief.turn, brief.attempt).pick(self.days)
        self.goal = self.calendar.relative(self.day) or self.calendar.day(self.day)
        self.when = f"on {self.goal}" if self.goal.endswith("next week") else self.goal
        turn = _place_in_rota(self.day)
        self.asked = [
            _Asked(place, matter, unit, self.staff[unit][turn])
            for place, matter, unit in brief.asked(self.chosen)
        ]
        self.answers = [self._answers_of(asked) for asked in self.asked]
        flat = [a for answers in self.answers for a in answers]
        if len(flat) > len({*flat}):
            raise DrawError("two subjects of the question have an answer in common")
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)
        say, unit = self.draft.say, self.theme.unit[self.zh]
        self.draft.title = say(
            f"{self.house}: who deals with what || Directory of {self.house}",
            f"{self.house}办事指南||{self.house}通讯录",
        )
        self.draft.description = say(
            f"Which {unit} at {self.house} deals with what, and who is on duty there.",
            f"{self.house}各{unit}的职责和值班人员。",
        )  # fmt: skip
        self._name()
        self._write_data()
        self._tools()
        ids = [
            self._follow(a, answers) for a, answers in zip(self.asked, self.answers, strict=True)
        ]
        self._ask(ids)
        return self.draft

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        knobs, draw, brief = self.brief.knobs, self.draw, self.brief
        count = max(6, knobs.records // 6, min(brief.subjects // 3, 200))
        places = self.entities.places(count, *self.theme.places[self.zh])
        letter = draw.pick("BCDFGHKLMNPRSTVW")
        own = min(brief.subjects, 40)
        units = self.entities.codes(f"{letter}-###", max(12, knobs.records // 7) + own)
        names = [m.name[self.zh] for m in self.theme.matters]
        self.table = {p: dict(zip(names, draw.some(units[own:], 6), strict=True)) for p in places}
        self.chosen: list[tuple[str, Matter, str]] = []
        taken = set[tuple[str, Matter]]()
        for _ in range(brief.questions):
            for matter in draw.some(self.theme.matters, brief.layout.subjects):
                place = draw.pick([p for p in places if (p, matter) not in taken])
                taken.add((place, matter))
                self.chosen.append((place, matter, units[len(self.chosen) % own]))
        for place, matter, unit in self.chosen:
            self.table[place][matter.name[self.zh]] = unit
        people = self.entities.people(5 * len(units))
        self.staff = {u: people[5 * n : 5 * n + 5] for n, u in enumerate(units)}
        self._add_relatives(units[:own], units[own:])
        calls, visits = draw.shuffled(range(30)), draw.shuffled(range(30, 60))
        self.opening = {
            u: [_clock(425 + 10 * times[n % 30]) for times in (calls, visits)]
            for n, u in enumerate(units)
        }
        phones = self.entities.codes(f"{draw.between(2, 8)}-####", 5 * len(units))
        everybody = [name for staff in self.staff.values() for name in staff]
        self.phones = {
            n: [e, _clock(draw.between(48, 95) * 10)]
            for n, e in zip(everybody, phones, strict=True)
        }

    def _add_relatives(self, asked: list[str], others: list[str]) -> None:
        """Let people with the last name of somebody who may be asked about work elsewhere."""
        places = [(unit, n) for unit in others for n in range(5)]
        near = self.brief.knobs.near_misses
        wanted = [self.draw.pick(self.staff[unit]) for unit in asked for _ in range(near)]
        at = self.draw.some(places, min(len(places) // 2, len(wanted)))
        for (unit, n), name in zip(at, wanted, strict=False):
            self.staff[unit][n] = self.entities.relatives(name, 1)[0]

    def _write_data(self) -> None:
        depth = self.brief.layout.depth
        self.draft.data("IN_CHARGE", self.table)
        self.draft.data("OPEN_FROM", self.opening)
        if depth > 1:
            self.draft.data("DAYS", [d.isoformat() for d in self.days])
            self.draft.data("ROTA", {u: [*staff] for u, staff in self.staff.items()})
            self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        if depth > 2:
            self.draft.data("PHONES", self.phones)
            self.draft.code(source_of(_room))

    def _begins(self, unit: str) -> str:
        number = [*self.staff].index(unit) * 11 + self.day.toordinal() * 5
        return _clock(450 + number % 29 * 10)

    def _answers_of(self, asked: _Asked) -> list[str]:
        """What the sub-tasks of a subject find, in order."""
        layout, day = self.brief.layout, self.day.isoformat()
        if layout.depth == 1:
            return [self.opening[asked.unit][0] if layout.concludes else asked.unit]
        if layout.depth == 2:
            return [asked.unit, self._begins(asked.unit) if layout.concludes else asked.person]
        extension, since = self.phones[asked.person]
        found = [asked.unit, asked.person, since if layout.concludes else extension]
        return [*found, _room(asked.person, day)] if layout.facets > 1 else found

    # --- tools --------------------------------------------------------------------------------------------------

    def _name(self) -> None:
        self.draft.name(
            unit=self.theme.units, place=self.theme.place, matter=self.theme.matter, person=self.theme.person,
            day="day|date|on_day", address="with_address|include_address|show_address", channel="channel|way|contact_by",
            find="find_$unit|${unit}_in_charge|responsible_$unit", duty="on_duty|${person}_on_duty|duty_rota",
            phone="phone_of_$person|${person}_extension|call_$person", room="room_of_$person|${person}_room|where_is_$person",
        )  # fmt: skip

    def _tools(self) -> None:
        say, depth, unit = self.draft.say, self.brief.layout.depth, self.theme.unit[self.zh]
        self._find_tool()
        if depth > 1:
            self.duty = self.draft.tool(
                "$duty", say(f"Tell who is on duty in a {unit} on a day, and from what time.", f"查询某{unit}某天的值班人员和到岗时间。"),
                {"$unit": self._code(), "$day": self._day()},
                f"""
                if $unit not in ROTA:
                    raise ValueError(f"{say(f"There is no {unit} {{$unit!r}}; $find gives the codes.", f"没有编号为{{$unit}}的{unit}；编号可由 $find 查得。")}")
                {self._wrong_day()}
                at = datetime.date.fromisoformat($day)
                begins = 450 + ([*ROTA].index($unit) * 11 + at.toordinal() * 5) % 29 * 10
                turn = (at.weekday() + at.toordinal() // 7 * 2) % 5
                return {{"$person": ROTA[$unit][turn], "from": f"{{begins // 60:02d}}:{{begins % 60:02d}}"}}
                """,
            )  # fmt: skip
        if depth > 2:
            self._last_tools()

    def _find_tool(self) -> None:
        say, options, unit = self.draft.say, self.brief.knobs.options, self.theme.unit[self.zh]
        ways = ["电话", "窗口"] if self.zh else ["phone", "counter"]
        extra = {
            "$channel": {"type": "string", "enum": ways, "default": ways[0], "description": say("Whose opening time to give.", "按哪种方式的开放时间。")},
            "$address": {"type": "boolean", "default": False, "description": say("Also give its address.", "同时返回地点。")},
        }  # fmt: skip
        used = dict([*extra.items()][:options])
        which = f"$channel == {ways[1]!r}" if options else "0"
        where = """
            if $address:
                found["address"] = f"{'ABCDEF'[sum(map(ord, found['$unit'])) % 6]}{sum(map(ord, found['$unit'])) % 17 + 1}"
        """ if options > 1 else ""  # fmt: skip
        self.find = self.draft.tool(
            "$find", say(
                f"Tell which {unit} deals with a matter at a place, and from what time it {'is open' if options else 'takes calls'}.",
                f"按地点和事项查询负责的{unit}及{'开放时间' if options else '几点起可以打电话'}。",
            ),
            {"$place": _TEXT, "$matter": {"type": "string", "enum": [m.name[self.zh] for m in self.theme.matters]}, **used},
            f"""
            known = {{p.casefold(): p for p in IN_CHARGE}}
            if $place.strip().casefold() not in known:
                raise ValueError(f"{say("The directory does not know {$place!r}; give the full name.", "没有{$place}这个地点；请提供全称。")}")
            in_charge = IN_CHARGE[known[$place.strip().casefold()]][$matter]
            found = {{"$unit": in_charge, "open_from": OPEN_FROM[in_charge][{which}]}}
            """ + where + """
            return found
            """,
        )  # fmt: skip
        given = {"$place": self.asked[0].place, "$matter": self.asked[0].matter.name[self.zh]}
        if options:
            self.draft.example("$find", **given, **{"$channel": ways[1]})
        if options > 1:
            self.draft.example("$find", **given, **{"$address": True})

    def _code(self) -> dict[str, str]:
        return {"type": "string", "pattern": f"^{self.asked[0].unit[0]}-[0-9]{{3}}$"}

    def _day(self) -> dict[str, str]:
        return {
            "type": "string",
            "format": "date",
            "description": self.draft.say("YYYY-MM-DD", "日期，如 2026-03-12"),
        }

    def _wrong_day(self) -> str:
        said = self.draft.say(
            "The rota knows working days from {DAYS[0]} to {DAYS[-1]}, not {$day}.", "值班表只有{DAYS[0]}至{DAYS[-1]}的工作日，没有{$day}。"
        )  # fmt: skip
        return f'if $day not in DAYS:\n                    raise ValueError(f"{said}")'

    def _last_tools(self) -> None:
        say = self.draft.say
        unknown = f"""
                if $person not in PHONES:
                    raise ValueError(f"{say("Nobody is called {$person!r} here; give the full name.", "这里没有{$person}；请提供姓名全称。")}")
                """
        self.phone = self.draft.tool(
            "$phone", say("Give somebody's extension, and from what time they answer calls.", "查询某人的分机号和接听时间。"), {"$person": _TEXT},
            unknown + """
                extension, since = PHONES[$person]
                return {"$person": $person, "extension": extension, "answers_from": since}
            """,
        )  # fmt: skip
        if self.brief.layout.facets > 1:
            self.room = self.draft.tool(
                "$room", say("Tell which room somebody is in on a day.", "查询某人某天所在的房间。"), {"$person": _TEXT, "$day": self._day()},
                unknown + f"""
                {self._wrong_day()}
                return {{"$person": $person, "room": _room($person, $day)}}
                """,
            )  # fmt: skip

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked, answers: list[str]) -> int:
        """The sub-tasks of one subject; gives the last of those that answer the question first."""
        say, sums, depth = self.draft.say, self.brief.layout.concludes, self.brief.layout.depth
        unit, told = self.theme.unit[self.zh], self._told(asked)
        matters = [m.name[self.zh] for m in self.theme.matters]
        name = asked.matter.name[self.zh]
        places = [p for p, row in self.table.items() if row[name] != asked.unit]
        given = {
            "$place": key(asked.place, places),
            "$matter": key(name, [m for m in matters if self.table[asked.place][m] != asked.unit]),
        }
        first = self.draft.solve(
            say(f"{told}. From what time does the {unit} in charge take calls?", f"{told}，负责的{unit}几点起可以打电话？") if sums and depth == 1
            else say(f"{told}. Which {unit} deals with that?", f"{told}，归哪个{unit}管？"),
            answers[0], self.find, given,
        )  # fmt: skip
        if depth == 1:
            return first
        days = [d.isoformat() for d in self.days if _place_in_rota(d) != _place_in_rota(self.day)]
        day = key(self.day.isoformat(), days, source=self.goal)
        second = self.draft.solve(
            say(f"From what time is someone on duty there {self.when}?", f"{self.goal}那里几点起有人值班？") if sums and depth == 2
            else say(f"Who is on duty there {self.when}?", f"{self.goal}那里谁值班？"),
            answers[1], self.duty, {"$unit": key(asked.unit, [u for u in self.staff if u != asked.unit]), "$day": day}, needs=[first],
        )  # fmt: skip
        return second if depth == 2 else self._reach(asked, answers, second)

    def _reach(self, asked: _Asked, answers: list[str], second: int) -> int:
        say = self.draft.say
        person = {"$person": key(asked.person, [n for n in self.phones if n != asked.person])}
        third = self.draft.solve(
            say("From what time does that person answer the phone?", "那位值班人员几点开始接电话？") if self.brief.layout.concludes
            else say("What is the extension of that person?", "那位值班人员的分机号是多少？"),
            answers[2], self.phone, person, needs=[second],
        )  # fmt: skip
        if self.brief.layout.facets > 1:
            day = key(self.day.isoformat(), [d.isoformat() for d in self.days], source=self.goal)
            self.draft.solve(
                say(f"Which room is that person in {self.when}?", f"{self.goal}那位值班人员在哪个房间？"),
                answers[3], self.room, {**person, "$day": day}, needs=[second],
            )  # fmt: skip
        return third

    # --- question -----------------------------------------------------------------------------------------------

    def _told(self, asked: _Asked) -> str:
        return asked.matter.told[self.zh].replace("PLACE", asked.place)

    def _ask(self, ids: list[int]) -> None:
        layout, told = self.brief.layout, [self._told(a) for a in self.asked]
        finals = [a[-layout.facets :] for a in self.answers]
        labels = [
            f"{a.place}，{a.matter.name[1]}" if self.zh else f"{a.matter.name[0]}, {a.place}"
            for a in self.asked
        ]
        now = "" if layout.depth == 1 else self.calendar.now() + " " * (not self.zh)
        asks = Questions(self.draft, self.house, self.theme, self.when)
        self.draft.question = now + (
            asks.for_one(told[0]) if layout.subjects == 1 else asks.for_several(told)
        )  # fmt: skip
        if layout.concludes:
            first = min(range(len(labels)), key=lambda n: finals[n][0])
            answer = f"{labels[first]}{'，' if self.zh else ', '}{finals[first][0]}"
            self.draft.conclude(
                self.draft.say("Which comes first, and at what time?", "哪件最早，几点？"),
                answer,
                ids,
            )
            self.draft.answer = answer
            return
        self.draft.answer = labelled(labels, finals, self.brief.language)


DIRECTORY = Family(
    "directory", "Who is responsible for a matter, who is on duty there on a day, and how to reach that person.", _make,
    Bounds(subjects=4, depth=3, facets=2, facets_from=3),
)  # fmt: skip
