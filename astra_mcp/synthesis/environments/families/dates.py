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

    def day(self, day: dt.date) -> str:
        """A day so that anybody knows which: ``Thursday 12 March``."""
        if self.language == "zh":
            return f"{day.month}月{day.day}日"
        return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"

    def relative(self, day: dt.date) -> str | None:
        """A day of this week or the next as seen from today, or None where it lies elsewhere."""
        ahead = (day - self.today).days
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

    def now(self) -> str:
        """A sentence that says which day it is."""
        if self.language == "zh":
            return f"今天是{self.today.year}年{self.today.month}月{self.today.day}日，星期{_ZH_DAYS[self.today.weekday()]}。"
        return f"Today is {self.day(self.today)} {self.today.year}."
