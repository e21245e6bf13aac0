"""Bookings: one is found, what it could be changed to is looked up, it is changed, and the new one has consequences."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["BOOKINGS"]


@dataclass(frozen=True, slots=True)
class _Theme:
    """What is booked; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of such houses end in."""
    thing: tuple[str, str]
    things: tuple[str, str]
    nouns: str
    """What code calls a booking."""
    slots: str
    """What code calls that to which it may be changed."""
    desk: tuple[str, str]
    """Where one goes with the new voucher."""


_THEMES = (
    _Theme(
        Domain.SPORTS,
        (("Sports Centre", "Tennis Club", "Racquet Hall"), ("体育中心", "网球俱乐部", "羽毛球馆")),
        ("court||court booking", "场地"), ("courts", "场地"), "booking|court_booking|court_reservation", "slot|court_slot|free_slot",
        ("entrance", "入口"),
    ),
    _Theme(
        Domain.TRAVEL,
        (("Ferries", "Island Line", "Sea Line"), ("轮渡", "海上客运", "航运")),
        ("crossing||ferry crossing", "船票"), ("crossings", "船票"), "crossing|ferry_booking|passage", "sailing|departure|free_sailing",
        ("gate||boarding gate", "登船口"),
    ),
    _Theme(
        Domain.FOOD_AND_DINING,
        (("Kitchen", "Brasserie", "Dining Room"), ("餐厅", "酒楼", "私房菜")),
        ("table", "订位"), ("tables", "订位"), "table_booking|reservation|table_reservation", "seating|sitting|free_table",
        ("room", "包间"),
    ),
)  # fmt: skip


def _make(brief: Brief) -> Draft:
    theme = brief.draw("theme").pick(_THEMES)
    return _Bookings(brief, theme).draft


class _Bookings:
    """One world of bookings, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.draft = Draft(brief, theme.domain, clock=self.calendar.clock)
        self.things = self.draft.say(*theme.things)
        self.draft.title = f"{self.house}{'：' if self.zh else ': '}{self.things}"
        self.draft.description = self.draft.say(
            f"The desk of {self.house}: bookings, what they can be changed to, and vouchers.",
            f"{self.house}的前台：预订、改期和凭证。",
        )
        self._name()
        self._fill()
        self._tools()
        self._ask()

    def _name(self) -> None:
        self.draft.name(
            booking=self.theme.nouns, slot=self.theme.slots, who="name|holder|booked_by|guest", day="day|date|on_day",
            ref="reference|booking_reference|ref", voucher="voucher|new_pass|confirmation",
            find="find_$booking|look_up_$booking|search_$booking", offers="list_${slot}s|show_${slot}s|get_${slot}s",
            change="change_$booking|move_$booking|switch_$booking",
            desk="check_in_for_$voucher|where_to_go|meeting_point|find_check_in", until="latest_arrival|arrival_time|be_there_by",
        )  # fmt: skip

    def _fill(self) -> None:
        """Draw bookings, what they can be changed to, and near misses of those that are asked for."""
        knobs, layout = self.brief.knobs, self.brief.layout
        count = max(knobs.records, 6 + layout.subjects * (1 + knobs.near_misses))
        self.days = self.calendar.ahead(self.draw, 9)
        people = self.entities.people(count // 2 + layout.subjects)
        self.asked = [(people[i], self.days[self.draw.below(8)]) for i in range(layout.subjects)]
        rows = [*self.asked]
        for who, day in self.asked:
            others = [d for d in self.days[:8] if d != day]
            for number in range(knobs.near_misses):
                near = (
                    (who, others[number // 2 % 7])
                    if number % 2 == 0
                    else (self.entities.relatives(who, 1)[0], day)
                )
                rows.append(near)
        rows += [(people[i % len(people)], self.days[i % 8]) for i in range(layout.subjects, count)]
        rows = self.draw.shuffled([*dict.fromkeys(rows)])
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        refs = self.entities.codes(f"{letters}-####", len(rows))
        self.refs = dict(zip(rows, refs, strict=True))
        self.draft.data(
            "BOOKINGS", {r: [who, day.isoformat()] for (who, day), r in self.refs.items()}
        )
        self._offer()

    def _offer(self) -> None:
        """Draw what may be had instead: some on each day, at different hours."""
        codes = self.entities.codes(f"{self.draw.pick('JQXZ')}##@", 3 * len(self.days))
        self.slots: dict[str, tuple[str, str, int]] = {}
        for number, day in enumerate(self.days):
            for place, hour in enumerate(sorted(self.draw.some(range(16, 40), 3))):
                at = f"{hour // 2:02d}:{hour % 2 * 30:02d}"
                self.slots[codes[3 * number + place]] = (
                    day.isoformat(),
                    at,
                    self.draw.between(36, 130) * 25,
                )
        self.draft.data("SLOTS", self.slots)
        self.draft.data("CHANGED", {})

    def _tools(self) -> None:
        text = {"type": "string", "minLength": 2}
        day = {
            "type": "string",
            "format": "date",
            "description": self.draft.say("YYYY-MM-DD", "日期，如 2026-03-12"),
        }
        refs = [*self.refs.values()]
        ref = {
            "type": "string",
            "pattern": f"^{refs[0][:3]}[0-9]{{4}}$",
            "description": self.draft.say("From $find.", "由 $find 查得。"),
        }
        say = self.draft.say
        self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        self.draft.code("""
            def _price(ref, slot):
                return SLOTS[slot][2] + issued(ref, slot) % 41 * 25
        """)
        self.find = self.draft.tool(
            "$find", say(f"Find the {self.things} that somebody has on a day.", f"按姓名和日期查询{self.things}。"),
            {"$who": text | {"description": say("Full name.||Name in full, as it was given.", "姓名全称。")}, "$day": day},
            f"""
            found = [{{"$ref": r, "$who": b[0]}} for r, b in BOOKINGS.items() if b == [$who.strip(), $day]]
            if not found:
                raise ValueError(f"{say("Nothing is booked by {$who!r} on {$day}; give the full name and the day as YYYY-MM-DD.", "{$who}在{$day}没有预订；请提供姓名全称和正确的日期。")}")
            return {{"found": found}}
            """,
        )  # fmt: skip
        self.offers = self.draft.tool(
            "$offers", say("List what a booking can be changed to on a day, with what it would cost.", "查询某预订在某天可改的时段和价格。"),
            {"$ref": ref, "$day": day},
            f"""
            if $ref not in BOOKINGS:
                raise ValueError(f"{say("There is no booking {$ref!r}; look it up by name and day.", "没有预订{$ref}；请先按姓名和日期查询。")}")
            found = [{{"$slot": s, "at": v[1], "price": f"{{_price($ref, s) / 100:.2f}} {self._money()}"}} for s, v in SLOTS.items() if v[0] == $day]
            if not found:
                raise ValueError(f"{say("Nothing is free on {$day}; try another day.", "{$day}没有可改的时段；请换一天。")}")
            return {{"$ref": $ref, "free": found}}
            """,
        )  # fmt: skip
        if self.brief.layout.depth > 2:
            self._writing_tools(ref)

    def _writing_tools(self, ref: Mapping[str, str]) -> None:
        say = self.draft.say
        self.change = self.draft.tool(
            "$change", say("Change a booking to something else that is free; the answer holds the new voucher.", "把预订改到另一个时段，返回新的凭证号。"),
            {"$ref": ref, "$slot": {"type": "string", "pattern": "^[A-Z][0-9]{2}[A-Z]$"}},
            f"""
            if $ref not in BOOKINGS:
                raise ValueError(f"{say("There is no booking {$ref!r}; look it up by name and day.", "没有预订{$ref}；请先按姓名和日期查询。")}")
            if $slot not in SLOTS:
                raise ValueError(f"{say("{$slot!r} is not free; take one of $offers.", "没有时段{$slot}；请从 $offers 中选择。")}")
            made = f"PV-{{issued($ref, $slot)}}"
            CHANGED[made] = $slot
            return {{"$voucher": made, "at": SLOTS[$slot][1]}}
            """,
            writes=True,
        )  # fmt: skip
        if self.brief.layout.depth > 3:
            self._last_tools()

    def _last_tools(self) -> None:
        say, voucher = self.draft.say, {"type": "string", "pattern": "^PV-[0-9]{6}$"}
        unknown = say(
            "There is no voucher {$voucher!r}; vouchers come from $change.",
            "没有凭证{$voucher}；凭证由 $change 返回。",
        )
        self.desk = self.draft.tool(
            "$desk", say("Tell where to go with a voucher.", "凭证对应的报到地点。"), {"$voucher": voucher},
            f"""
            if $voucher not in CHANGED:
                raise ValueError(f"{unknown}")
            number = issued($voucher, "where")
            return {{"where": "{say(*self.theme.desk)} " + "ABCDEFGHKLMN"[number % 12] + str(number // 12 % 89 + 10)}}
            """,
        )  # fmt: skip
        if self.brief.layout.facets > 1:
            self.until = self.draft.tool(
                "$until", say("Tell until when to be there with a voucher.", "凭证要求的最晚到达时间。"), {"$voucher": voucher},
                f"""
                if $voucher not in CHANGED:
                    raise ValueError(f"{unknown}")
                hour, minute = map(int, SLOTS[CHANGED[$voucher]][1].split(":"))
                at = hour * 60 + minute - 4 - issued($voucher, "until") % 26
                return {{"until": f"{{at // 60:02d}}:{{at % 60:02d}}"}}
                """,
            )  # fmt: skip

    def _money(self) -> str:
        return "CNY" if self.zh else self.brief.draw("money").pick(["EUR", "GBP", "USD"])

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        say = self.draft.say
        self.target = self.days[8]
        relative = self.calendar.relative(self.target)
        self.goal = relative or self.calendar.day(self.target)
        self.goal_from = self.goal if relative else None
        answers = [self._follow(who, day) for who, day in self.asked]
        when = [
            f"{who}{'（' if self.zh else ' ('}{self.calendar.day(day)}{'）' if self.zh else ')'}"
            for who, day in self.asked
        ]
        people = listed(when, self.brief.language)
        self.draft.question = (
            self.calendar.now()
            + " " * (not self.zh)
            + self._wording(people, say(*self.theme.thing))
        )
        parts = [
            f"{who}{'：' if self.zh else ': '}{listed(a, self.brief.language)}"
            for (who, _), a in zip(self.asked, answers, strict=True)
        ]
        self.draft.answer = ("；" if self.zh else "; ").join(parts)

    def _wording(self, people: str, thing: str) -> str:
        """The question for one person, or for several with their days in brackets."""
        say, house, goal, depth = self.draft.say, self.house, self.goal, self.brief.layout.depth
        if len(self.asked) == 1:
            return self._wording_for_one(thing)
        if depth == 1:
            return say(
                f"For our accounts I need the references of the {self.things} booked at {house}: {people}. || "
                f"Which references did {house} give the {self.things} of {people}? The mails are gone.",
                f"对账要用：{people}在{house}订的{thing}，预订号各是多少？ || {house}的短信都找不到了，帮忙查一下{people}的{thing}预订号。",
            )
        if depth == 2:
            return say(
                f"{people} have {self.things} at {house}, but we would all rather go together on {goal}. "
                "What is the least that each of them would pay to change? || "
                f"Before I suggest {goal} to everyone: what would the cheapest change cost for the {self.things} of {people} at {house}?",
                f"{people}在{house}都订了{thing}，现在想一起改到{goal}，每个人最少要付多少钱？ || "
                f"我想建议大家改到{goal}。{people}在{house}订的{thing}，改期最便宜分别要多少钱？",
            )
        return say(
            f"{people} have {self.things} at {house}; please get all of them onto {goal} instead, as cheaply as possible, and tell me {self._wanted(plural=True)}.",
            f"{people}在{house}订了{thing}，请都改到{goal}，挑最便宜的时段，改好后告诉我{self._wanted(plural=True)}。",
        )

    def _wording_for_one(self, thing: str) -> str:
        say, house, goal = self.draft.say, self.house, self.goal
        (who, when), depth = self.asked[0], self.brief.layout.depth
        day = self.calendar.day(when)
        if depth == 1:
            return say(
                f"{who} here. I have a {thing} at {house} on {day} and cannot find the mail with the reference any more. What is it? || "
                f"Could you look up the reference of the {thing} that {who} has at {house} on {day}?",
                f"我是{who}，{day}在{house}订了{thing}，预订号找不到了，能帮我查一下吗？ || 麻烦查一下{who}{day}在{house}订的{thing}，预订号是多少？",
            )
        if depth == 2:
            return say(
                f"I booked a {thing} at {house} for {day}, name {who}, but {goal} would suit me better. What is the least I would have to pay to change? || "
                f"{who} has a {thing} at {house} on {day} and wonders about {goal} instead. How much would the cheapest change be?",
                f"我叫{who}，在{house}订了{day}的{thing}，想换到{goal}，最少要付多少钱？ || {who}在{house}订了{day}的{thing}，如果改到{goal}，最便宜多少钱？",
            )
        wanted = self._wanted(plural=False)
        return say(
            f"Something came up: my {thing} at {house} on {day} (name: {who}) has to be on {goal} instead. Take whatever is cheapest then and tell me {wanted}. || "
            f"Can you get {who}'s {thing} at {house} from {day} onto {goal}? The cheapest one will do. I just need to know {wanted}.",
            f"我临时有事，{house}{day}的{thing}（{who}）要改到{goal}，选最便宜的就行，改好后告诉我{wanted}。 || 请把{who}在{house}{day}的{thing}换到{goal}，最便宜的即可，我想知道{wanted}。",
        )

    def _wanted(self, *, plural: bool) -> str:
        say, layout = self.draft.say, self.brief.layout
        if layout.depth == 3:
            return say(
                "the new voucher numbers" if plural else "the new voucher number", "新的凭证号"
            )
        where = say("where each has to go" if plural else "where I have to go then", "报到地点")
        if layout.facets == 1:
            return where
        return where + say(" and by when", "和最晚到达时间")

    def _follow(self, who: str, day: dt.date) -> list[str]:
        """The sub-tasks of one person; gives what the question asks for."""
        say, layout = self.draft.say, self.brief.layout
        ref = self.refs[who, day]
        names = [n for n, d in self.refs if n != who and d == day] + [
            n for n, _ in self.refs if n != who
        ]
        days = [d.isoformat() for n, d in self.refs if n == who and d != day] + [
            d.isoformat() for d in self.days
        ]
        first = self.draft.solve(
            say(f"What is the reference of what {who} has booked for {self.calendar.day(day)}?", f"{who}在{self.calendar.day(day)}的预订号是多少？"),
            ref, self.find, {"$who": key(who, names), "$day": key(day.isoformat(), days)},
        )  # fmt: skip
        if layout.depth == 1:
            return [ref]
        prices = {
            s: v[2] + issued(ref, s) % 41 * 25
            for s, v in self.slots.items()
            if v[0] == self.target.isoformat()
        }
        slot = min(prices, key=lambda s: prices[s])
        price = f"{prices[slot] / 100:.2f} {self._money()}"
        others = [r for r in self.refs.values() if r != ref]
        second = self.draft.solve(
            say(f"What does the cheapest change of it to {self.goal} cost?", f"它改到{self.goal}最便宜要多少钱？"),
            price, self.offers,
            {"$ref": key(ref, others), "$day": key(self.target.isoformat(), [d.isoformat() for d in self.days], source=self.goal_from)},
            needs=[first],
        )  # fmt: skip
        if layout.depth == 2:
            return [price]
        voucher = f"PV-{issued(ref, slot)}"
        third = self.draft.solve(
            say("What is the voucher after the change?", "改期后的凭证号是多少？"), voucher, self.change,
            {"$ref": key(ref, others), "$slot": key(slot, [s for s in self.slots if s != slot])}, needs=[first, second],
        )  # fmt: skip
        return [voucher] if layout.depth == 3 else self._arrive(voucher, slot, third)

    def _arrive(self, voucher: str, slot: str, third: int) -> list[str]:
        say, number = self.draft.say, issued(voucher, "where")
        where = f"{say(*self.theme.desk)} {'ABCDEFGHKLMN'[number % 12]}{number // 12 % 89 + 10}"
        self.draft.solve(
            say("Where does one go with it?", "凭它到哪里报到？"),
            where,
            self.desk,
            {"$voucher": key(voucher)},
            needs=[third],
        )
        if self.brief.layout.facets == 1:
            return [where]
        hour, minute = map(int, self.slots[slot][1].split(":"))
        at = hour * 60 + minute - 4 - issued(voucher, "until") % 26
        until = f"{at // 60:02d}:{at % 60:02d}"
        self.draft.solve(
            say("By what time must one be there?", "最晚几点到？"),
            until,
            self.until,
            {"$voucher": key(voucher)},
            needs=[third],
        )
        return [where, until]


BOOKINGS = Family(
    "bookings", "Bookings that are found, changed and followed to where they lead.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4, concludes=False),
)  # fmt: skip
