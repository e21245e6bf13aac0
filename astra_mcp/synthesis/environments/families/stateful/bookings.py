"""Bookings: one is found, what it could be changed to is looked up, it is changed, and the new one has consequences."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed, tagged, with_article
from astra_mcp.synthesis.environments.families.stateful.venues import Booking, Venue
from astra_mcp.synthesis.environments.families.times import money

__all__ = ["BOOKINGS"]


def _make(brief: Brief) -> Draft:
    return _Bookings(brief).written()


class _Bookings(Venue):
    """What is asked of such a world."""

    def _ask(self) -> None:
        relative = self.calendar.relative(self.target)
        self.goal = relative or self.calendar.day(self.target)
        self.goal_from = self.goal if relative else None
        answers = [self._follow(one) for one in self.asked]
        wording = (self._first, self._second, self._third, self._third)[self.brief.layout.depth - 1]
        self.draft.question = self.calendar.now() + " " * (not self.zh) + wording()
        mark, end = ("：", "；") if self.zh else (": ", "; ")
        self.draft.answer = end.join(
            one.who + mark + listed(found, self.brief.language)
            for one, found in zip(self.asked, answers, strict=True)
        )

    def _people(self) -> str:
        """Those who are asked about, with their days."""
        day = self.calendar.day
        names, days = zip(*((one.who, day(one.day)) for one in self.asked), strict=True)
        return tagged(names, days, self.brief.language, about="on ")

    @property
    def _one(self) -> tuple[str, str]:
        """The only one who is asked about, and the day."""
        return self.asked[0].who, self.calendar.day(self.asked[0].day)

    @property
    def _of_house(self) -> str:
        """Where something is booked, in English."""
        return f"{self.theme.preposition} {self.house}"

    @property
    def _when(self) -> str:
        """On which day something else is wanted, in English."""
        return self.goal if self.goal.startswith("th") else f"on {self.goal}"

    @property
    def _all(self) -> str:
        return "both" if len(self.asked) == 2 else "all"

    def _first(self) -> str:
        say, theme, (item, zh_item) = self.draft.say, self.theme, self.theme.item
        house, booked, ref = self.house, theme.booked, theme.reference
        if len(self.asked) > 1:
            people = self._people()
            return say(
                f"{people} have {self._all} booked {theme.items} {self._of_house}, but I can't find the confirmations. What are their {ref[0]}s? || "
                f"I need the {ref[0]}s of {people}, who have {self._all} booked {theme.items} {self._of_house}. Could you look them up?",
                f"{people}都在{house}{booked}了{zh_item}，报销要填{ref[1]}，麻烦查一下分别是多少。 || "
                f"{people}在{house}{booked}的{zh_item}，确认短信都找不到了，{ref[1]}分别是多少？",
            )
        who, day = self._one
        return say(
            f"I'm {who}. I've booked {with_article(item)} {self._of_house} for {day}, but I can't find my {ref[0]}. What is it? || "
            f"This is {who}. I've deleted the e-mail about my {theme.booking[0]} {self._of_house} for {day}. What was the {ref[0]}? || "
            f"{who} has {with_article(item)} booked {self._of_house} for {day}. Could you look up the {ref[0]}?",
            f"我是{who}，在{house}{booked}了{day}的{zh_item}，{ref[1]}找不到了，能帮我查一下吗？ || "
            f"{who}在{house}{booked}了{day}的{zh_item}，麻烦查一下{ref[1]}。",
        )

    def _second(self) -> str:
        say, theme, (item, zh_item) = self.draft.say, self.theme, self.theme.item
        house, booked, goal, move = self.house, theme.booked, self.goal, theme.move
        if len(self.asked) > 1:
            people = self._people()
            return say(
                f"{people} have {self._all} booked {theme.items} {self._of_house}, but {goal} would suit everyone better. What's the least each of them would have to pay to change? || "
                f"{people} have {theme.items} booked {self._of_house} and would rather go together {self._when}. What would the cheapest change cost for each of them?",
                f"{people}都在{house}{booked}了{zh_item}，现在想一起{move}{goal}，每个人最少要补多少钱？ || "
                f"{people}都在{house}{booked}了{zh_item}，如果都{move}{goal}，最便宜的话每人要补多少钱？",
            )
        who, day = self._one
        return say(
            f"I'm {who} and I've booked {with_article(item)} {self._of_house} for {day}, but {goal} would suit me better. What's the least I'd have to pay to change? || "
            f"{who} has {with_article(item)} booked {self._of_house} for {day} and would like to move it to {goal}. How much would the cheapest change cost? || "
            f"My name is {who}. What's the least it would cost to move my {theme.booking[0]} {self._of_house} from {day} to {goal}?",
            f"我叫{who}，在{house}{booked}了{day}的{zh_item}，想{move}{goal}，最少要补多少钱？ || "
            f"{who}在{house}{booked}了{day}的{zh_item}，如果{move}{goal}，最便宜要补多少钱？",
        )

    def _third(self) -> str:
        say, theme, (item, zh_item) = self.draft.say, self.theme, self.theme.item
        house, booked, goal, move = self.house, theme.booked, self.goal, theme.move
        (tell, asked), (time, zh_time) = self._wanted(), theme.time
        cheapest = f"the cheapest {time} {self._when}"
        if len(self.asked) > 1:
            people, bookings = (
                self._people(),
                "both bookings" if len(self.asked) == 2 else "all the bookings",
            )
            return say(
                f"{people} have {self._all} booked {theme.items} {self._of_house}. Please move {bookings} to {goal}, choosing the cheapest {time} for each, and tell me {tell}. || "
                f"Could you move the {theme.booking[0]}s that {people} have {self._of_house} to {goal}, choosing the cheapest {time} for each? {asked}",
                f"{people}都在{house}{booked}了{zh_item}，请都{move}{goal}，各选最便宜的{zh_time}，改好后告诉我{tell}。 || "
                f"请把{people}在{house}{booked}的{zh_item}都{move}{goal}，各选最便宜的{zh_time}。{asked}",
            )
        who, day = self._one
        return say(
            f"Something has come up. Could you move my {theme.booking[0]} {self._of_house} from {day} to {cheapest}? My name is {who}. {asked} || "
            f"I'm {who} and I can't make it to my {item} {self._of_house} on {day}. Please move it to {cheapest} and tell me {tell}. || "
            f"{who} has {with_article(item)} booked {self._of_house} for {day}. Please move it to {cheapest} and tell me {tell}.",
            f"我是{who}，临时有事，在{house}{booked}的{day}的{zh_item}要{move}{goal}，选最便宜的{zh_time}就行。{asked} || "
            f"{who}在{house}{booked}了{day}的{zh_item}，请{move}{goal}，选最便宜的{zh_time}，改好后告诉我{tell}。",
        )

    def _wanted(self) -> tuple[str, str]:
        """What is to be told in the end: within a sentence, and as one of its own."""
        say, layout, several = self.draft.say, self.brief.layout, len(self.asked) > 1
        room, apiece = self.theme.room[self.zh], "分别" if several else ""
        if layout.depth == 3:
            return (
                say(f"the new voucher number{'s' if several else ''}", f"新的凭证号{apiece}是多少"),
                say("What are the new voucher numbers?" if several else "What's the new voucher number?", f"新的凭证号{apiece}是多少？"),
            )  # fmt: skip
        where = f"which {room} {'each of them needs' if several else 'to go to'}"
        whose = "does each of them have to go" if several else "do I have to go"
        tell = say(where, f"{apiece}去哪个{room}")
        asked = say(f"Which {room} {whose} to", f"改好后{apiece}要去哪个{room}")
        if layout.facets == 1:
            return tell, asked + say("?", "？")
        by = say("and by what time", "、最晚几点到")
        return f"{tell}{'' if self.zh else ' '}{by}", asked + say(
            ", and by what time?", "，最晚几点到？"
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Booking) -> list[str]:
        """The sub-tasks of one booking; gives what the question asks for."""
        say, depth, day = self.draft.say, self.brief.layout.depth, self.calendar.day(one.day)
        names = [n for n, d in self.refs if d == one.day.isoformat()] + [n for n, _ in self.refs]
        days = [d for n, d in self.refs if n == one.who] + [d.isoformat() for d in self.days]
        first = self.draft.solve(
            say(f"What is the {self.theme.reference[0]} of {one.who} for {day}?", f"{one.who}{day}的{self.theme.reference[1]}是多少？"),
            one.ref, "$find", {"$who": key(one.who, names), "$day": key(one.day.isoformat(), days)},
        )  # fmt: skip
        if depth == 1:
            return [one.ref]
        price = money(one.cents, self.money)
        others = [ref for ref in self.refs.values() if ref != one.ref]
        second = self.draft.solve(
            say(f"What does the cheapest change of it to {self.goal} cost?", f"{self.theme.move}{self.goal}，最少要补多少钱？"),
            price, "$offers",
            {"$ref": key(one.ref, others), "$day": key(self.target.isoformat(), [d.isoformat() for d in self.days], source=self.goal_from)},
            needs=[first],
        )  # fmt: skip
        if depth == 2:
            return [price]
        third = self.draft.solve(
            say("What is the voucher number after the change?", "改好后的凭证号是多少？"), one.voucher, "$change",
            {"$ref": key(one.ref, others), "$slot": key(one.slot, [s for s in self.slots if s != one.slot])}, needs=[first, second],
        )  # fmt: skip
        return [one.voucher] if depth == 3 else self._arrive(one, third)

    def _arrive(self, one: Booking, third: int) -> list[str]:
        say, (room, zh_room) = self.draft.say, self.theme.room
        voucher = {"$voucher": key(one.voucher)}
        asked = say(f"Which {room} does one go to with it?", f"凭它去哪个{zh_room}？")
        self.draft.solve(asked, one.where, "$desk", voucher, needs=[third])
        if self.brief.layout.facets == 1:
            return [one.where]
        asked = say("By what time must one be there?", "最晚几点到？")
        self.draft.solve(asked, one.until, "$until", voucher, needs=[third])
        return [one.where, one.until]


BOOKINGS = Family(
    "bookings", "Bookings that are found, changed and followed to where they lead.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4, concludes=False),
)  # fmt: skip
