"""Measurements: from where something is measured to its series, its highest day, the limit and what follows."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.asides import Aside, Asides
from astra_mcp.synthesis.environments.families.lookups.themes.measurements import (
    MEASUREMENT_THEMES,
    MeasurementWording,
)
from astra_mcp.synthesis.environments.families.phrases import labelled, listed

__all__ = ["MEASUREMENTS"]

_ASIDES = (
    Aside("maker|built_by|vendor", ("the number of its maker", "厂商编号"), 'f"V{issued(\'maker\', $meter) % 89 + 10}"'),
    Aside("installed|year|in_use_since", ("the year in which it was installed", "安装年份"), '1998 + issued($meter, "y") % 24'),
    Aside("checked|last_check|serviced", ("when it was last checked", "上次检修年月"), 'f"2025-{issued($meter, \'c\') % 12 + 1:02d}"'),
)  # fmt: skip

_ZONES, _STEPS = 4, 3
_ALIKE = (("New ", "Old ", "Upper ", "Lower "), ("新", "老", "上", "下"))

_CODE = """
def _reading($meter, day):
    base, spread = METERS[$meter][2:4]
    return base + issued(day, $meter) % spread
"""


@dataclass(frozen=True, slots=True)
class _Meter:
    code: str
    site: str
    spot: str
    base: int
    spread: int
    limit: int
    zone: int

    def reading(self, day: dt.date) -> int:
        return self.base + issued(day.isoformat(), self.code) % self.spread

    def over(self, day: dt.date) -> int:
        return self.reading(day) - self.limit

    def step(self, over: int) -> int:
        """How serious it is to be so far over the limit."""
        return min(_STEPS - 1, 9 * over // self.spread)


@lru_cache(maxsize=4096)
def _peak(meter: _Meter, month: tuple[dt.date, ...]) -> tuple[dt.date, bool]:
    """The first day with the highest reading, and whether it is the only one."""
    readings = [meter.reading(d) for d in month]
    return month[readings.index(max(readings))], readings.count(max(readings)) == 1


class _Measurement:
    """One network of meters, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.zh, self.layout = brief, brief.language == "zh", brief.layout
        self.theme = brief.draw("theme").pick(MEASUREMENT_THEMES)
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)
        say = self.draft.say
        self.measure, self.unit = say(*self.theme.measure), self.theme.unit[self.zh]
        house = self.entities.firms(1, *self.theme.houses[self.zh])[0]
        self.draft.title = say(f"{house}: {self.measure}", f"{house}：{self.measure}")
        self.draft.description = say(
            f"Readings of {house}: {self.measure}, limits and whom to notify.",
            f"{house}的测量数据：{self.measure}、限值和通报对象。",
        )
        self._name()
        self._fill()
        self.wording = MeasurementWording(
            self.draft,
            self.theme,
            self.measure,
            self.calendar.month(self.month[0]),
            [self.calendar.day(d) for d in self.between],
        )
        self._tools()
        self._ask()

    def _name(self) -> None:
        self.draft.name(
            meter=self.theme.nouns, site=self.theme.places, value=self.theme.values, beside=self.theme.others, spot="spot|position|where",
            month="month|in_month|year_month", day="day|date|on_day", first="first_day|from_day|start", last="last_day|to_day|end",
            over="over_by|above_limit|excess", rule="rule|regulation|notice_rule", inform="inform|contact|to_notify", within="within|deadline|time_allowed",
            find="find_$meter|look_up_$meter|search_${meter}s", peak="highest_$value|peak_$value|day_of_highest_$value",
            change="change_in_$value|compare_$value|${value}_change", check="check_limit|compare_with_limit|limit_on_day",
            also="get_$beside|${beside}_on_day|read_$beside", who="who_to_$inform|get_$inform|${rule}_contact", when="get_$within|${rule}_deadline|notice_time",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Draw meters at several spots of each site, and sites with names like those that are asked for."""
        knobs, each = self.brief.knobs, self.layout.subjects
        spots, kinds = self.theme.spots[self.zh], self.theme.sites[self.zh]
        count = max(4 + each, knobs.records // len(spots), -(-self.brief.subjects // 3))
        sites = self.entities.places(count, *kinds)
        first = [self.draw.below(len(spots)) for _ in sites]
        subjects = [
            (sites[n % count], spots[(first[n % count] + n // count) % len(spots)])
            for n in range(self.brief.subjects)
        ]
        alike = _ALIKE[self.zh][: knobs.near_misses]
        sites += [near + site for site in sites[: self.brief.subjects : each] for near in alike]
        pairs = [(site, spot) for site in sites for spot in spots]
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        codes = self.entities.codes(f"{letters}-#####", len(pairs))
        self.meters = {
            pair: self._meter(code, *pair) for pair, code in zip(pairs, codes, strict=True)
        }
        self._choose(subjects)
        people = self.entities.people(_ZONES * _STEPS)
        hours = self.draw.some(range(11, 97), len(people))
        rules = self.entities.codes(f"{self.draw.pick('JQXZ')}@-##", len(people))
        self.rules = {r: (p, h) for r, p, h in zip(rules, people, hours, strict=True)}

    def _meter(self, code: str, site: str, spot: str) -> _Meter:
        low, high = self.theme.scope
        base, spread = (
            self.draw.between(low, high),
            self.draw.between((high - low) // 2, high - low),
        )
        limit = base + spread * self.draw.between(55, 75) // 100
        return _Meter(code, site, spot, base, spread, limit, self.draw.below(_ZONES))

    def _choose(self, subjects: Sequence[tuple[str, str]]) -> None:
        """Draw a month, and readings that answer all questions in it."""
        first = (self.calendar.today.replace(day=1) - dt.timedelta(days=1)).replace(day=1)
        for _ in range(self.draw.below(3)):
            first = (first - dt.timedelta(days=1)).replace(day=1)
        days = [first + dt.timedelta(days=n) for n in range(31)]
        self.month = tuple(d for d in days if d.month == first.month)
        for begin in range(0, len(subjects), self.layout.subjects):
            together = subjects[begin : begin + self.layout.subjects]
            while self.layout.depth > 1 and not self._is_clear([self.meters[p] for p in together]):
                for pair in together:
                    self.meters[pair] = self._meter(self.meters[pair].code, *pair)
        self.asked = [self.meters[pair] for pair in self.brief.asked(subjects)]
        self.peaks = {m.code: _peak(m, self.month)[0] for m in self.asked}
        self.between = self._two_days()

    def _is_clear(self, meters: Sequence[_Meter]) -> bool:
        """Whether each has one highest day, over the limit, and no two are alike."""
        peaks = [_peak(m, self.month) for m in meters]
        overs = [m.over(day) for m, (day, _) in zip(meters, peaks, strict=True)]
        rules = {(m.zone, m.step(over)) for m, over in zip(meters, overs, strict=True)}
        days = {day for day, is_single in peaks if is_single}
        return min(overs) > 12 and len(days) == len({*overs}) == len(rules) == len(meters)

    def _two_days(self) -> list[dt.date]:
        """Two days between which all readings that are asked about change."""
        draw = self.brief.draw("between", self.brief.attempt, self.brief.turn)
        for _ in range(40):
            first, last = sorted(draw.some(self.month[1:-1], 2))
            if all(abs(m.reading(first) - m.reading(last)) >= 12 for m in self.asked):
                return [first, last]
        raise DrawError("the readings hardly change")

    def _rule(self, meter: _Meter) -> str:
        return [*self.rules][meter.zone * _STEPS + meter.step(meter.over(self.peaks[meter.code]))]

    def _beside(self, meter: _Meter, day: dt.date) -> str:
        return f"{issued(day.isoformat(), meter.code, 'beside') % 871 + 17}{self.theme.beside_unit[self.zh]}"

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        say, layout = self.draft.say, self.layout
        self.asides = Asides(self.draft, _ASIDES)
        self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        self.draft.data(
            "METERS",
            {
                m.code: [m.site, m.spot, m.base, m.spread, m.limit, m.zone]
                for m in self.meters.values()
            },
        )
        self.draft.tool(
            "$find", say("Find the number of a meter by where it is.||Look up the number of what measures at a place.", "按所在位置查询设备编号。||查询某处测量设备的编号。"),
            {
                "$site": {"type": "string", "minLength": 2, "description": say("Full name.||Name in full.", "全称。||完整名称。")},
                "$spot": {"type": "string", "enum": [*self.theme.spots[self.zh]]},
                **self.asides.parameters,
            },
            f"""
            for $meter, row in METERS.items():
                if row[:2] == [$site.strip(), $spot]:
                    return {{"$meter": $meter{self.asides.members}}}
            {self.draft.refusal("Nothing is measured at {$site!r}; give the full name.", "{$site}没有测量设备；请提供全称。")}
            """,
        )  # fmt: skip
        if layout.depth > 1:
            self.draft.code(_CODE)
            self._series_tools()
        if layout.depth > 2:
            self._limit_tool()
        if layout.depth == 3 and layout.facets > 1:
            self._beside_tool()
        if layout.depth > 3:
            self._rule_tools()

    def _by_code(self) -> dict[str, str]:
        return {
            "type": "string",
            "pattern": f"^{self.asked[0].code[:3]}[0-9]{{5}}$",
            "description": self.draft.say("From $find.", "由 $find 查得。"),
        }

    def _day(self) -> dict[str, str]:
        about = self.draft.say("YYYY-MM-DD", "日期，如 2026-03-12")
        return {"type": "string", "format": "date", "description": about}

    def _checks(self, *days: str, margin: int = 12) -> str:
        """Statements that refuse unknown meters and days without readings; ``margin``: how far in they stand."""
        line = "\n" + " " * margin
        unknown = self.draft.refusal(
            "There is no {$meter!r}; look it up with $find.", "没有{$meter}；请先用 $find 查询。"
        )
        lines = [f"if $meter not in METERS:{line}    {unknown}"]
        for day in days:
            refusal = self.draft.refusal(
                f"There are no readings of {{{day}}}; they begin on {{FIRST}} and end on {{LAST}}.",
                f"没有{{{day}}}的数据；数据从{{FIRST}}到{{LAST}}。",
            )
            lines.append(f"if not FIRST <= {day} <= LAST:{line}    {refusal}")
        return line.join(lines)

    def _series_tools(self) -> None:
        say = self.draft.say
        start = (self.month[0] - dt.timedelta(days=70)).replace(day=1)
        self.draft.data("FIRST", start.isoformat())
        self.draft.data("LAST", (self.calendar.today - dt.timedelta(days=1)).isoformat())
        months = {
            "type": "string",
            "pattern": "^20[0-9]{2}-(0[1-9]|1[0-2])$",
            "description": say("YYYY-MM", "年月，如 2026-03"),
        }
        self.draft.tool(
            "$peak", say(f"Tell on which day of a month the {self.measure} was highest.", f"查询某月{self.measure}最高的日期。"),
            {"$meter": self._by_code(), "$month": months},
            f"""
            {self._checks()}
            days = [f"{{$month}}-{{n:02d}}" for n in range(1, 32)]
            days = [d for d in days if FIRST <= d <= LAST and (d[8:] < "29" or _is_day(d))]
            if not days:
                {self.draft.refusal("There are no readings of {$month}; they begin on {FIRST} and end on {LAST}.", "没有{$month}的数据；数据从{FIRST}到{LAST}。")}
            return {{"$day": max(days, key=lambda d: _reading($meter, d))}}
            """,
        )  # fmt: skip
        self.draft.code("""
            def _is_day(day):
                year, month, number = map(int, day.split("-"))
                return number <= (29 if year % 4 == 0 else 28) if month == 2 else number <= 30 + (month in (1, 3, 5, 7, 8, 10, 12))
        """)
        if self.layout.depth == 2 and self.layout.facets > 1:
            self.draft.tool(
                "$change", say(f"Tell how the {self.measure} changed from one day to another.", f"查询{self.measure}在两天之间的变化。"),
                {"$meter": self._by_code(), "$first": self._day(), "$last": self._day()},
                f"""
                {self._checks("$first", "$last", margin=16)}
                change = _reading($meter, $last) - _reading($meter, $first)
                return {{"$value": f"{say("{'up' if change > 0 else 'down'} {abs(change)}", "{'上升' if change > 0 else '下降'}{abs(change)}")}{self.unit}"}}
                """,
            )  # fmt: skip

    def _limit_tool(self) -> None:
        say = self.draft.say
        self.draft.data("RULES", {r: [p, h] for r, (p, h) in self.rules.items()})
        found = '"$rule": [*RULES][METERS[$meter][5] * 3 + min(2, 9 * over // METERS[$meter][3])]'
        self.draft.tool(
            "$check", say(f"Compare the {self.measure} of a day with the limit that applies.", f"把某日的{self.measure}与适用的限值比较。"),
            {"$meter": self._by_code(), "$day": self._day()},
            f"""
            {self._checks("$day")}
            limit, over = METERS[$meter][4], _reading($meter, $day) - METERS[$meter][4]
            if over <= 0:
                return {{"limit": f"{{limit}}{self.unit}", "below_limit": f"{{-over}}{self.unit}"}}
            return {{"limit": f"{{limit}}{self.unit}", "$over": f"{{over}}{self.unit}", {found}}}
            """,
        )  # fmt: skip

    def _beside_tool(self) -> None:
        about = self.draft.say(*self.theme.beside)
        self.draft.tool(
            "$also", self.draft.say(f"Tell a day's {about}.", f"查询某日的{about}。"), {"$meter": self._by_code(), "$day": self._day()},
            f"""
            {self._checks("$day")}
            return {{"$beside": f"{{issued($day, $meter, 'beside') % 871 + 17}}{self.theme.beside_unit[self.zh]}"}}
            """,
        )  # fmt: skip

    def _rule_tools(self) -> None:
        say = self.draft.say
        code = next(iter(self.rules))
        rule = {
            "type": "string",
            "pattern": f"^{code[0]}[A-Z]-[0-9]{{2}}$",
            "description": say("From $check.", "由 $check 查得。"),
        }
        unknown = self.draft.refusal(
            "There is no {$rule!r}; it comes from $check.", "没有{$rule}；请从 $check 获取。"
        )
        self.draft.tool(
            "$who", say("Tell who has to be informed.", "查询应当通知的人。"), {"$rule": rule},
            f"""
            if $rule not in RULES:
                {unknown}
            return {{"$inform": RULES[$rule][0]}}
            """,
        )  # fmt: skip
        if self.layout.facets > 1:
            self.draft.tool(
                "$when", say("Tell how much time there is to do so.||Tell within what time notice must be given.", "查询通报的时限。"), {"$rule": rule},
                f"""
                if $rule not in RULES:
                    {unknown}
                return {{"$within": f"{{RULES[$rule][1]}}{say(" hours", "小时")}"}}
                """,
            )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    def _where(self, meter: _Meter) -> str:
        return self.draft.say(*self.theme.where).format(site=meter.site, spot=meter.spot)

    def _it(self, meters: Sequence[_Meter]) -> str:
        """What measures: at one place, or at several."""
        places = listed([self._where(m) for m in meters], self.brief.language)
        return self.draft.say(*self.theme.meters[len(meters) > 1]).format(where=places)

    def _ask(self) -> None:
        language = self.brief.language
        found = [self._follow(meter) for meter in self.asked]
        names = [self._where(meter) for meter in self.asked]
        if self.layout.concludes:
            asked, self.draft.answer = self._conclusion()
            self.draft.conclude(asked, self.draft.answer, [step for step, _ in found])
            question = self.wording.concluded(
                listed(names, language), listed(names, language, either=True)
            )
        else:
            told = [told for _, told in found]
            self.draft.answer = labelled(names, told, language)
            question = self.wording.asked(self._it(self.asked), listed(names, language))
        today = f"{self.calendar.now()}{'' if self.zh else ' '}" if self.layout.depth > 1 else ""
        self.draft.question = today + question

    def _conclusion(self) -> tuple[str, str]:
        say = self.draft.say
        if self.layout.depth == 2:
            first = min(self.asked, key=lambda m: self.peaks[m.code])
            return say("Where was that first?", "哪里最先？"), self._where(first)
        most = max(self.asked, key=lambda m: m.over(self.peaks[m.code]))
        asked = say("Where was it furthest above the limit?", "哪里超出最多？")
        return asked, self._where(most)

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, meter: _Meter) -> tuple[int, list[str]]:
        """The sub-tasks of one meter: the last step, and what the question asks for."""
        say = self.draft.say
        sites = dict.fromkeys(s for s, _ in self.meters)
        arguments = {
            "$site": key(meter.site, sorted(sites, key=lambda s: not s.endswith(meter.site))),
            "$spot": key(meter.spot, self.theme.spots[self.zh]),
        }
        asked = say(
            f"What is the number of {self._it([meter])}?", f"{self._it([meter])}编号是多少？"
        )
        found = self.draft.solve(asked, meter.code, "$find", arguments)
        self.asides.show("$find", **{"$site": meter.site, "$spot": meter.spot})
        return (found, [meter.code]) if self.layout.depth == 1 else self._series(meter, found)

    def _near(self, meter: _Meter) -> list[str]:
        """Meters of the same site, then others; none with the same highest day."""
        rows = [*self.meters.values()]
        rows = [m for m in rows if m.site == meter.site] + rows[:24]
        peak = _peak(meter, self.month)[0]
        return [m.code for m in rows if _peak(m, self.month)[0] != peak]

    def _series(self, meter: _Meter, found: int) -> tuple[int, list[str]]:
        say, peak = self.draft.say, self.peaks[meter.code].isoformat()
        before = self.month[0] - dt.timedelta(days=3)
        months = [d.isoformat()[:7] for d in (before, before.replace(day=1) - dt.timedelta(days=2))]
        of_meter = {"$meter": key(meter.code, self._near(meter))}
        asked = say(
            f"On which day {self.wording.then} was the {self.measure} there at its highest?",
            f"{self.wording.then}那里的{self.measure}哪天最高？",
        )
        arguments = {**of_meter, "$month": key(peak[:7], months, source=self.wording.month)}
        step = self.draft.solve(asked, peak, "$peak", arguments, needs=[found])
        if self.layout.depth > 2:
            return self._limit(meter, found, step)
        if self.layout.facets == 1:
            return step, [peak]
        first, last = self.between
        change = meter.reading(last) - meter.reading(first)
        answer = (
            say(
                f"{'up' if change > 0 else 'down'} {abs(change)}",
                f"{'上升' if change > 0 else '下降'}{abs(change)}",
            )
            + self.unit
        )
        days = [d.isoformat() for d in self.month[::7] if d not in self.between]
        asked = say(
            f"How did it change from {self.calendar.day(first)} to {self.calendar.day(last)}?",
            f"从{self.calendar.day(first)}到{self.calendar.day(last)}变化了多少？",
        )
        arguments = {
            **of_meter,
            "$first": key(first.isoformat(), days),
            "$last": key(last.isoformat(), days),
        }
        self.draft.solve(asked, answer, "$change", arguments, needs=[found])
        return step, [peak, answer]

    def _limit(self, meter: _Meter, found: int, known: int) -> tuple[int, list[str]]:
        say, peak = self.draft.say, self.peaks[meter.code]
        ranked = sorted(self.month, key=meter.reading, reverse=True)[1:4]
        arguments = {
            "$meter": key(meter.code, self._near(meter)),
            "$day": key(peak.isoformat(), [d.isoformat() for d in [*ranked, *self.month[:2]]]),
        }
        over = f"{meter.over(peak)}{self.unit}"
        asked = say("How far above the limit was it on that day?", "那天超出限值多少？")
        step = self.draft.solve(asked, over, "$check", arguments, needs=[found, known])
        if self.layout.depth > 3:
            return self._notice(meter, step)
        if self.layout.facets == 1:
            return step, [over]
        beside = self._beside(meter, peak)
        about = say(*self.theme.beside)
        asked = say(f"What was the {about} on that day?", f"当天的{about}是多少？")
        self.draft.solve(asked, beside, "$also", arguments, needs=[found, known])
        return step, [over, beside]

    def _notice(self, meter: _Meter, known: int) -> tuple[int, list[str]]:
        say = self.draft.say
        rule = self._rule(meter)
        arguments = {"$rule": key(rule, self.rules)}
        person, hours = self.rules[rule]
        step = self.draft.solve(
            say("Who has to be informed of that?", "这种情况应该通知谁？"),
            person,
            "$who",
            arguments,
            needs=[known],
        )
        if self.layout.facets == 1:
            return step, [person]
        within = say(f"{hours} hours", f"{hours}小时")
        self.draft.solve(
            say("Within what time?", "要在多长时间内？"), within, "$when", arguments, needs=[known]
        )
        return step, [person, within]


def _make(brief: Brief) -> Draft:
    return _Measurement(brief).draft


MEASUREMENTS = Family(
    "measurements", "Readings over time: what measures, its highest day, the limit, and who has to know of it.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=2, concludes_from=2),
)  # fmt: skip
