"""Schedules: who is in charge, when two can meet, which room is free and fits then, and who is asked for it."""

import datetime as dt
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
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import listed
from astra_mcp.synthesis.environments.families.times import clock_time, money, spoken_time
from astra_mcp.types import JsonObject

__all__ = ["SCHEDULES"]

_Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Theme:
    """Who meets where; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of the houses end in."""
    room_kinds: tuple[tuple[str, ...], tuple[str, ...]]
    room: _Text
    file: _Text
    """What somebody is in charge of, by its code."""
    lead: _Text
    """Who is in charge of it."""
    meet: _Text
    """What two of them do, after ``want to`` and after ``要``."""
    keeper: _Text
    fee: _Text
    """The questions about the room."""
    code: tuple[str, str, str, str, str]
    """What code calls room, file, lead, keeper and fee."""


_THEMES = (
    _Theme(
        Domain.PRODUCTIVITY, (("Offices", "Business Centre", "Coworking"), ("商务中心", "联合办公", "写字楼")),
        (("Room", "Lounge"), ("会议室", "厅")), ("meeting room", "会议室"), ("project", "项目"), ("project lead", "负责人"),
        ("meet||sit down together", "开会||碰头"), ("Who hands out the key to it?||Who has to be asked for the key?", "钥匙找谁拿？||由谁保管钥匙？"),
        ("What is the rent?||What does it cost?", "租金是多少？||要多少钱？"),
        ("room|meeting_room", "project|venture", "lead|project_lead", "key_holder|keyholder", "rent|room_rent"),
    ),
    _Theme(
        Domain.EDUCATION, (("University", "College", "Academy"), ("大学", "学院", "理工大学")),
        (("Hall", "Seminar Room"), ("教室", "研讨室")), ("seminar room", "教室"), ("thesis", "论文"), ("supervisor", "导师"),
        ("hold a workshop||hold a seminar", "办研讨会||开讨论课"), ("Who is the technician on duty there?||Which technician looks after it that day?", "当天的值班技术员是谁？||设备由谁值班？"),
        ("What does the technology cost?||How much is charged for the equipment?", "设备费是多少？||设备要收多少钱？"),
        ("seminar_room|hall", "thesis|dissertation", "supervisor|adviser", "technician|duty_technician", "equipment_fee|technology_fee"),
    ),
    _Theme(
        Domain.HEALTHCARE, (("Clinic", "Hospital", "Medical Centre"), ("医院", "诊疗中心", "专科医院")),
        (("Therapy Room", "Ward Room"), ("治疗室", "会诊室")), ("treatment room", "治疗室"), ("patient file", "病历"), ("attending doctor", "主治医生"),
        ("hold a group session||hold a case conference", "做病例讨论||做小组治疗"), ("Which nurse is on duty there?||Who is the nurse there?", "当天的值班护士是谁？||哪位护士在那里值班？"),
        ("What is charged for it?||What does the use of it cost?", "使用费是多少？||要收多少使用费？"),
        ("treatment_room|therapy_room", "patient_file|chart", "doctor|attending", "nurse|duty_nurse", "charge|usage_charge"),
    ),
    _Theme(
        Domain.MUSIC_AND_AUDIO, (("Studios", "Sound Works", "Recording House"), ("录音棚", "音乐工场", "唱片")),
        (("Studio", "Stage"), ("录音室", "排练厅")), ("studio", "录音室"), ("production", "作品"), ("producer", "制作人"),
        ("record together||rehearse", "录音||排练"), ("Which sound engineer works there that day?||Who is the sound engineer there?", "当天的录音师是谁？||哪位录音师在那里？"),
        ("What does the session cost?||How much is the session?", "这一场要多少钱？||场租是多少？"),
        ("studio|stage", "production|album", "producer|record_producer", "engineer|sound_engineer", "session_price|studio_price"),
    ),
    _Theme(
        Domain.LEGAL, (("Mediation", "Law Chambers", "Arbitration"), ("律师事务所", "调解中心", "仲裁中心")),
        (("Chamber", "Hearing Room"), ("调解室", "听证室")), ("hearing room", "调解室"), ("case", "案件"), ("counsel", "代理律师"),
        ("hold a hearing||hold talks", "开听证会||谈调解"), ("Which clerk is there that day?||Who is the clerk there?", "当天的书记员是谁？||书记员是哪位？"),
        ("What is the fee for it?||What fee is due for it?", "场地费是多少？||要交多少场地费？"),
        ("chamber|hearing_room", "case|matter", "counsel|attorney", "clerk|duty_clerk", "room_fee|hearing_fee"),
    ),
)  # fmt: skip


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


def _make(brief: Brief) -> Draft:
    return _Schedules(brief, brief.draw("theme").pick(_THEMES)).draft


class _Schedules:
    """One house with its people and rooms, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
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
        self._ask()

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
        records, subjects = self.brief.knobs.records, self.brief.layout.subjects
        self.days = self.calendar.ahead(self.draw, 5 + records // 50, within=26)
        first, step = 5 * self.draw.between(97, 101), self.draw.pick([35, 40, 50])
        self.slots = [first + step * n for n in range(11)]
        rooms = self.entities.places(8 + records // 40, *self.theme.room_kinds[self.zh])
        seats = self.draw.some(range(5, 42), len(rooms))
        self.seats = dict(zip(rooms, seats, strict=True))
        self.people = self.entities.people(max(min(records, 120), 4 * subjects + 6))
        files = self.entities.codes(f"{self._letters()}-####", min(records, 60))
        self.files = dict(zip(files, self.draw.shuffled(self.people)[: len(files)], strict=False))
        self._draw_asked(subjects)
        self._calendars()
        self._free_rooms()
        self._facts()

    def _letters(self) -> str:
        return "".join(self.draw.pick("BCDFGHKLMNPRSTVWX") for _ in range(2))

    def _draw_asked(self, count: int) -> None:
        leads = self.draw.some([*self.files], count)
        taken = {self.files[f] for f in leads}
        who = self.draw.some([p for p in self.people if p not in taken], count)
        places = [p for p in range(3, 11) if self.slots[p] % 60]
        slots = self.draw.some(places, count)
        fitting = sorted(self.seats, key=lambda r: self.seats[r])[2:]
        rooms = self.draw.some(fitting, count)
        self.asked = [
            _Asked(w, self.files[f], f, self.draw.pick(self.days), s, self._people_in(r), r)
            for w, f, s, r in zip(who, leads, slots, rooms, strict=True)
        ]

    def _people_in(self, room: str) -> int:
        """How many just fit in a room, though not in the next smaller one."""
        below = max(s for s in self.seats.values() if s < self.seats[room])
        return max(below + 1, self.seats[room] - self.draw.below(3))

    def _bound(self, asked: _Asked) -> int:
        return self.slots[asked.slot] // 60 * 60

    def _calendars(self) -> None:
        """Who is free when: those who are asked for first together at the slot that is asked for."""
        self.free = {
            (p, d): [self.draw.chance(9, 20) for _ in self.slots]
            for p in self.people
            for d in self.days
        }
        for asked in self.asked:
            one, other = self.free[asked.who, asked.day], self.free[asked.other, asked.day]
            for place, at in enumerate(self.slots):
                if any(place == a.slot for a in self.asked) or self._bound(asked) <= at < self.slots[asked.slot]:  # fmt: skip
                    one[place], other[place] = self.draw.pick([(True, False), (False, True)])
                elif at < self._bound(asked) and self.brief.knobs.near_misses > 1:
                    one[place] = other[place] = True
            one[asked.slot] = other[asked.slot] = True

    def _free_rooms(self) -> None:
        """Which rooms are free when: those that are asked for seldom elsewhere, and never together."""
        wanted = [a.room for a in self.asked]
        others = [r for r in self.seats if r not in wanted]
        self.vacant: dict[tuple[dt.date, int], list[str]] = {}
        for day in self.days:
            for place in range(len(self.slots)):
                rooms = self.draw.some(others, self.draw.between(2, min(4, len(others))))
                if self.draw.chance(1, 6):
                    rooms.append(self.draw.pick(wanted))
                self.vacant[day, place] = rooms
        for asked in self.asked:
            small = [r for r in others if self.seats[r] < asked.seats]
            large = [r for r in others if self.seats[r] > self.seats[asked.room]]
            near = sorted(small, key=lambda r: -self.seats[r])[: self.brief.knobs.near_misses]
            rooms = [asked.room, *near, *self.draw.shuffled(large)[:2]]
            self.vacant[asked.day, asked.slot] = self.draw.shuffled(rooms)

    def _facts(self) -> None:
        draft, depth = self.draft, self.brief.layout.depth
        keepers = self.entities.people(30 + len(self.asked))
        self.keepers = {
            (r, d): self.draw.pick(keepers[len(self.asked) :])
            for r in self.seats
            for d in self.days
        }
        for asked, keeper in zip(self.asked, keepers, strict=False):
            self.keepers[asked.room, asked.day] = keeper
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
        at = clock_time(self.slots[asked.slot])
        return self.base[asked.room] + issued(asked.room, asked.day.isoformat(), at) % 97 * 25

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
            "$who", say(f"Tell who is there for a {self.room} on a day.||The person in charge of a {self.room} on a day.", f"查询某天{self.room}由谁负责。||某天{self.room}的当班人员。"),
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
        parts = [self.calendar.now(), self._plan_of_all() if several else self._plan(self.asked[0])]
        parts += [self._smallest(), self._wanted_of_all(kind) if several else self._wanted()]
        self.draft.question = ("" if self.zh else " ").join(p for p in parts if p)

    def _day(self, asked: _Asked) -> str:
        relative = self.calendar.relative(asked.day)
        said = relative or self.calendar.day(asked.day)
        return said if relative or self.zh else f"on {said}"

    def _time(self, minutes: int) -> str:
        return spoken_time(minutes, self.brief.language)

    def _plan(self, asked: _Asked) -> str:
        """What the one who asks has in mind."""
        say, day, at = self.draft.say, self._day(asked), self._time(self.slots[asked.slot])
        house, meet, seats = self.house, self.draft.say(*self.theme.meet), asked.seats
        bound = self._time(self._bound(asked))
        match self.brief.layout.depth:
            case 1:
                return say(f"I would like to have the {asked.room} of {house} {day} at {at}. || Could I use the {asked.room} at {house} {day}, from {at}?", f"我想{day}{at}用{house}的{asked.room}。 || {day}{at}我打算用一下{house}的{asked.room}。")  # fmt: skip
            case 2:
                return say(f"{seats} of us want to {meet} at {house} {day} at {at}. || We are {seats} people and will {meet} at {house} {day}, at {at}.", f"我们{seats}个人{day}{at}要在{house}{meet}。 || {day}{at}，我们有{seats}个人在{house}{meet}。")  # fmt: skip
            case 3:
                return say(f"{asked.who} and {asked.other} want to {meet} at {house} {day}, as early as both are free, though not before {bound}; with guests they are {seats}. || Find out when {asked.who} and {asked.other} first have time for each other {day} at {house}, from {bound} on: they are going to {meet} with a group, {seats} people in all.", f"{asked.who}和{asked.other}{day}要在{house}{meet}，{bound}以后两人都有空的最早时间就行，加上来宾一共{seats}人。 || {day}{bound}以后，{asked.who}和{asked.other}一有共同的空就在{house}{meet}，总共{seats}人。")  # fmt: skip
            case _:
                return say(f"My name is {asked.who}, and I have to {meet} with the {self.lead} of {self.file} {asked.file} at {house} {day}, as soon as we are both free, though not before {bound}. We will be {seats} people. || {asked.who} here, {house}. {self._day_first(asked)} I want to {meet} with whoever is {self.lead} of {self.file} {asked.file}, the first time from {bound} on that suits us both; {seats} people come.", f"我是{house}的{asked.who}，{day}要和{self.file}{asked.file}的{self.lead}一起{meet}，{bound}以后双方都有空的最早时间，一共{seats}人。 || 我是{asked.who}，{day}{bound}以后想尽早和{self.file}{asked.file}的{self.lead}在{house}{meet}，要双方都有空，总共{seats}人。")  # fmt: skip

    def _day_first(self, asked: _Asked) -> str:
        day = self._day(asked)
        return day[:1].upper() + day[1:]

    def _plan_of_all(self) -> str:
        say, house, meet = self.draft.say, self.house, self.draft.say(*self.theme.meet)
        clauses = [self._clause(a) for a in self.asked]
        joined = (("；" if self.zh else "; ").join(clauses)) + ("。" if self.zh else ".")
        match self.brief.layout.depth:
            case 1:
                return say(f"These are planned at {house}: {joined} || {house} has been asked for the following: {joined}", f"{house}有这几项安排：{joined} || 有几个人要用{house}的{self.room}：{joined}")  # fmt: skip
            case 2:
                return say(f"Several people {meet} at {house}: {joined}", f"有几个人要在{house}{meet}：{joined}")  # fmt: skip
            case _:
                return say(f"Several people want to {meet} at {house}, always at the first time that suits both: {joined}", f"有几组人要在{house}{meet}，都取双方有空的最早时间：{joined}")  # fmt: skip

    def _clause(self, asked: _Asked) -> str:
        say, day, at = self.draft.say, self._day(asked), self._time(self.slots[asked.slot])
        bound, seats = self._time(self._bound(asked)), asked.seats
        match self.brief.layout.depth:
            case 1:
                return say(f"{asked.who} in the {asked.room} {day} at {at}", f"{asked.who}{day}{at}用{asked.room}")  # fmt: skip
            case 2:
                return say(f"{asked.who} {day} at {at}, with a group of {seats} in all", f"{asked.who}{day}{at}，共{seats}人")  # fmt: skip
            case 3:
                return say(f"{asked.who} and {asked.other} {day}, not before {bound}, {seats} people", f"{asked.who}和{asked.other}，{day}{bound}以后，共{seats}人")  # fmt: skip
            case _:
                return say(f"{asked.who} and the {self.lead} of {self.file} {asked.file} {day}, not before {bound}, {seats} people", f"{asked.who}和{self.file}{asked.file}的{self.lead}，{day}{bound}以后，共{seats}人")  # fmt: skip

    def _smallest(self) -> str:
        """By what the room is chosen."""
        if self.brief.layout.depth == 1:
            return ""
        several = len(self.asked) > 1
        return self.draft.say(
            f"{'Each time the' if several else 'The'} smallest free {self.room} that holds everybody will do. || {'Everyone takes' if several else 'We take'} the smallest {self.room} that is free then and big enough.",
            f"{'各自' if several else ''}选坐得下的空闲{self.room}里最小的一间。 || {self.room}{'都' if several else ''}要当时空着、坐得下且最小的那间。",
        )  # fmt: skip

    def _wanted(self) -> str:
        asks = {"keeper": self.theme.keeper, "fee": self.theme.fee}
        texts = [self.draft.say(*asks[f]) for f in self.facets]
        if len(texts) == 1:
            return texts[0]
        return texts[0] + texts[1] if self.zh else f"{texts[0]} And {texts[1][0].lower()}{texts[1][1:]}"  # fmt: skip

    def _wanted_of_all(self, kind: Conclusion) -> str:
        say, least = self.draft.say, kind is Conclusion.LEAST
        if kind is Conclusion.SUM:
            return say(f"What do the {self.room}s cost altogether? || How much is it for all of these together?", "费用加起来一共多少？ || 这几场总共要多少钱？")  # fmt: skip
        if kind is not Conclusion.NONE:
            return say(f"Who of them pays {'least' if least else 'most'}? || Of {listed([a.who for a in self.asked], 'en')}, whose {self.room} is the {'cheapest' if least else 'most expensive'}?", f"其中谁的费用最{'低' if least else '高'}？ || {listed([a.who for a in self.asked], 'zh')}中，谁花的钱最{'少' if least else '多'}？")  # fmt: skip
        return say("For each of these:", "请分别告诉我：") + ("" if self.zh else " ") + self._lowered(self._wanted())  # fmt: skip

    def _lowered(self, text: str) -> str:
        return text[0].lower() + text[1:]

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
        say, answers, step, fee = self.draft.say, list[str](), 0, self._fee_of(asked)
        when = f"{asked.room}{'，' if self.zh else ', '}{self._day(asked)}" if not needs else say("That room", "那一间")  # fmt: skip
        colon = "：" if self.zh else ": "
        room = key(asked.room, [r for r in self.seats if r != asked.room])
        arguments = {"$name": room, "$day": self._dated(asked, self.days)}
        if "keeper" in self.facets:
            answers.append(self.keepers[asked.room, asked.day])
            step = self.draft.solve(f"{when}{colon}{self._lowered(say(*self.theme.keeper))}", answers[-1], self.who, arguments, needs=needs)  # fmt: skip
        if "fee" in self.facets:
            timed = {**arguments, "$at": self._timed(asked, range(len(self.slots)))}
            answers.append(money(fee, self.currency))
            if not needs:
                when += ("，" if self.zh else ", ") + self._time(self.slots[asked.slot])
            step = self.draft.solve(f"{when}{colon}{self._lowered(say(*self.theme.fee))}", answers[-1], self.price, timed, needs=needs)  # fmt: skip
        return Found(asked.who, tuple(answers), step, fee)


SCHEDULES = Family(
    "schedules", "Calendars: when people can meet, which room is free and fits, who is asked for it, what it costs.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
