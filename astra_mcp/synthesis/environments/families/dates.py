"""Days as people say them."""

import datetime as dt
from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.draw import Draw

__all__ = ["Calendar"]

_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_ZH_DAYS = "一二三四五六日"


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days around the one on which the person asks."""

    today: dt.date
    language: str

    @classmethod
    def drawn(cls, draw: Draw, language: str) -> "Calendar":
        """Some weekday of 2026."""
        day = dt.date(2026, 1, 5) + dt.timedelta(days=7 * draw.below(48) + draw.below(5))
        return cls(day, language)

    @property
    def clock(self) -> str:
        """Where the clock of the environment starts: this morning."""
        return f"{self.today.isoformat()}T08:30:00Z"

    def ahead(self, draw: Draw, count: int, *, within: int = 40) -> list[dt.date]:
        """Days to come, each once, in no order."""
        return [self.today + dt.timedelta(days=n) for n in draw.some(range(2, within), count)]

    def behind(self, draw: Draw, count: int, *, within: int = 40) -> list[dt.date]:
        """Days that have passed, each once, in no order."""
        return [self.today - dt.timedelta(days=n) for n in draw.some(range(1, within), count)]

    def day(self, day: dt.date) -> str:
        """A day so that anybody knows which: ``Thursday 12 March``."""
        if self.language == "zh":
            return f"{day.month}月{day.day}日"
        return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"

    def relative(self, day: dt.date) -> str | None:
        """A day of the last, this or the next week as seen from today, or None where it lies elsewhere."""
        ahead = (day - self.today).days
        if ahead < 0:
            return self._passed(day, -ahead)
        week = (day.toordinal() - 1) // 7 - (self.today.toordinal() - 1) // 7
        name = _ZH_DAYS[day.weekday()] if self.language == "zh" else _DAYS[day.weekday()]
        if ahead in (1, 2):
            return (
                ("tomorrow", "the day after tomorrow")
                if self.language == "en"
                else ("明天", "后天")
            )[ahead - 1]
        if ahead > 2 and week == 0:
            return f"这周{name}" if self.language == "zh" else f"this {name}"
        if week == 1:
            return f"下周{name}" if self.language == "zh" else f"{name} next week"
        return None

    def _passed(self, day: dt.date, ago: int) -> str | None:
        zh = self.language == "zh"
        if ago <= 2:
            return (("昨天", "前天") if zh else ("yesterday", "the day before yesterday"))[ago - 1]
        if (self.today.toordinal() - 1) // 7 - (day.toordinal() - 1) // 7 != 1:
            return None
        return f"上周{_ZH_DAYS[day.weekday()]}" if zh else f"{_DAYS[day.weekday()]} last week"

    def on(self, day: dt.date) -> str:
        """A day as an adverb, relative to today where people say it so: ``on Thursday 12 March``, ``tomorrow``."""
        said = self.relative(day) or self.day(day)
        is_named = self.language == "en" and said.startswith((*_DAYS, "this "))
        return f"on {said.removeprefix('this ')}" if is_named else said

    def month(self, day: dt.date) -> str:
        """The month of a day that has passed: ``last month``, ``March``, ``December 2025``."""
        ago = 12 * (self.today.year - day.year) + self.today.month - day.month
        is_this_year = day.year == self.today.year
        if self.language == "zh":
            return "上个月" if ago == 1 else f"{'' if is_this_year else '去年'}{day.month}月"
        named = _MONTHS[day.month - 1] if is_this_year else f"{_MONTHS[day.month - 1]} {day.year}"
        return "last month" if ago == 1 else named

    def now(self) -> str:
        """A sentence that says which day it is."""
        if self.language == "zh":
            return f"今天是{self.today.year}年{self.today.month}月{self.today.day}日，星期{_ZH_DAYS[self.today.weekday()]}。"
        return f"Today is {self.day(self.today)} {self.today.year}."
