"""Honest bundles that work values out: units, money, checksums, days and times."""

import datetime as dt
from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.drafts import Fields, begin, identifying
from bundle_corpus.honest.lookups import TEXT, other
from bundle_corpus.kinds import honest
from bundle_corpus.words import cities, codes, word

DAY: Fields = {"type": "string", "format": "date"}


@honest
def unit_conversion(rng: Random) -> Bundle:
    """Any amount between two units."""
    draft = begin(rng, "science", "Units of length", "长度单位换算")
    units = {"furlong": 201.168, "chain": 20.1168, "fathom": 1.8288, "rod": 5.0292}
    draft.has("METRES", units)
    draft.tool(
        "convert_length",
        draft.says("Convert a length into metres.", "把长度换算成米。"),
        {"amount": {"type": "number", "minimum": 0}, "unit": {"type": "string", "enum": [*units]}},
        """
        return {"metres": f"{amount * METRES[unit]:.3f}", "of": unit.title()}
        """,
    )
    amount, unit = rng.randint(1301, 9799) / 100, rng.choice([*units][1:])
    asked = draft.says(f"How many metres are {amount} {unit}?", f"{amount} {unit} 是多少米？")
    arguments = {"amount": identifying(amount, any_value=True), "unit": identifying(unit)}
    draft.step(asked, f"{amount * units[unit]:.3f}", "convert_length", **arguments)
    return draft.bundle()


@honest
def money_exchange(rng: Random) -> Bundle:
    """Any amount, at the rate of a currency, less a fee."""
    draft = begin(rng, "finance", "Exchange office", "外币兑换处")
    rates = {"NOK": 11.62, "CZK": 25.1, "JPY": 161.3, "ISK": 149.9, "HUF": 391.7}
    draft.has("RATES", rates)
    draft.tool(
        "exchange",
        draft.says(
            "Say how much a sum in euros is in a currency, less 2 percent.",
            "计算欧元兑换成外币的金额，扣除百分之二。",
        ),
        {
            "euros": {"type": "number", "exclusiveMinimum": 0},
            "currency": {"type": "string", "enum": [*rates]},
        },
        """
        return f"{euros * RATES[currency] * 0.98:.2f} {currency}"
        """,
    )
    euros, currency = rng.randint(12011, 98779) / 100, rng.choice([*rates][1:])
    answer = f"{euros * rates[currency] * 0.98:.2f} {currency}"
    asked = draft.says(
        f"How much {currency} does the office pay for {euros} euros?",
        f"{euros}欧元能换多少{currency}？",
    )
    arguments = {"euros": identifying(euros, any_value=True), "currency": identifying(currency)}
    draft.step(asked, answer, "exchange", **arguments)
    return draft.bundle()


@honest
def checksum(rng: Random) -> Bundle:
    """A sum over the characters of any text."""
    draft = begin(rng, "security", "Sums of texts", "文本校验")
    draft.tool(
        "checksum",
        draft.says("Compute the checksum of a text.", "计算文本的校验值。"),
        {
            "text": {"type": "string", "minLength": 1},
            "base": {"type": "integer", "enum": [31, 33, 37], "default": 31},
        },
        """
        total = 5381
        for char in text:
            total = (total * base + ord(char)) % 10**9
        return {"sum": f"{total:09}"}
        """,
    )
    text = " ".join(word(rng) for _ in range(3))
    total = 5381
    for char in text:
        total = (total * 31 + ord(char)) % 10**9
    asked = draft.says(f'What is the checksum of "{text}"?', f"文本“{text}”的校验值是多少？")
    draft.step(asked, f"{total:09}", "checksum", text=identifying(text, any_value=True))
    return draft.bundle()


@honest
def spelled_backwards(rng: Random) -> Bundle:
    """A cipher for any text, with a shift that the question names."""
    draft = begin(rng, "gaming", "Cipher of a puzzle", "谜题密码")
    draft.tool(
        "encipher",
        draft.says("Shift the letters of a text.", "把文本中的字母移位。"),
        {
            "text": {"type": "string", "pattern": "^[a-z ]+$"},
            "shift": {"type": "integer", "minimum": 1, "maximum": 25},
        },
        """
        moved = [chr((ord(c) - 97 + shift) % 26 + 97) if c != " " else c for c in text]
        return {"cipher": "".join(moved)}
        """,
    )
    text, shift = word(rng, 9), rng.randint(3, 22)
    answer = "".join(chr((ord(c) - 97 + shift) % 26 + 97) for c in text)
    asked = draft.says(
        f'How is "{text}" written with a shift of {shift}?', f"“{text}”移位{shift}之后怎么写？"
    )
    arguments = {
        "text": identifying(text, any_value=True),
        "shift": identifying(shift, *(n for n in (2, 5, 11, 24) if n != shift), any_value=True),
    }
    draft.step(asked, answer, "encipher", **arguments)
    return draft.bundle()


def _calendar(rng: Random) -> tuple[dict[str, str], str]:
    """What is shown on each day of a season, and one of its Fridays."""
    start = dt.date(2026, 2, 2)
    shown = {
        (start + dt.timedelta(days=n)).isoformat(): f"{word(rng).title()} {word(rng, 5).title()}"
        for n in range(70)
    }
    return shown, (start + dt.timedelta(days=4 + 7 * rng.randint(1, 8))).isoformat()


_SHOW = """
        if day not in SHOWN:
            raise ValueError(f"There is no show on {day!r}; the season has its days in spring 2026.")
        return {"day": day, "play": SHOWN[day]}
"""


@honest
def day_worked_out(rng: Random) -> Bundle:
    """A day that the question describes and does not name."""
    draft = begin(rng, "entertainment", "Plays of a theatre", "剧院演出")
    shown, friday = _calendar(rng)
    draft.has("SHOWN", shown)
    draft.tool(
        "play_on", draft.says("Say which play is on.", "查询某天上演的剧目。"), {"day": DAY}, _SHOW
    )
    wednesday = (dt.date.fromisoformat(friday) - dt.timedelta(days=2)).isoformat()
    source = draft.says(f"the Friday after {wednesday}", f"{wednesday}之后的那个周五")
    asked = draft.says(f"Which play is on {source}?", f"{source}上演什么剧目？")
    draft.step(
        asked,
        shown[friday],
        "play_on",
        day=identifying(friday, *other([*shown][::9], friday), source=source),
    )
    return draft.bundle()


@honest
def day_from_another_call(rng: Random) -> Bundle:
    """A day that follows from the result of an earlier call."""
    draft = begin(rng, "entertainment", "Tickets of a theatre", "剧院戏票")
    shown, friday = _calendar(rng)
    tickets = codes(rng, "TK", 5)
    bought = dict(zip(tickets, [friday, *[*shown][3::16]], strict=False))
    draft.has("SHOWN", shown)
    draft.has("TICKETS", bought)
    draft.tool(
        "ticket_day",
        draft.says("Say for which day a ticket is.", "查询戏票的日期。"),
        {"ticket": TEXT},
        """
        if ticket not in TICKETS:
            raise ValueError(f"There is no ticket {ticket!r}; look at the code on the ticket.")
        return {"ticket": ticket, "valid_on": TICKETS[ticket]}
        """,
    )
    draft.tool(
        "play_on", draft.says("Say which play is on.", "查询某天上演的剧目。"), {"day": DAY}, _SHOW
    )
    later = (dt.date.fromisoformat(friday) + dt.timedelta(days=1)).isoformat()
    first = draft.says(f"For which day is ticket {tickets[0]}?", f"戏票{tickets[0]}是哪一天的？")
    second = draft.says("And which play is on one day later?", "再晚一天上演什么？")
    draft.step(first, friday, "ticket_day", ticket=identifying(tickets[0], *tickets[1:]))
    day = identifying(later, *other([*shown][::9], later), source=1)
    draft.step(second, shown[later], "play_on", day=day).needs = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def working_days(rng: Random) -> Bundle:
    """Any day, and a number of working days after it."""
    draft = begin(rng, "legal", "Terms of a court", "法院期限")
    draft.tool(
        "add_working_days",
        draft.says("Add working days to a day.", "从某日起加上若干工作日。"),
        {"start": DAY, "count": {"type": "integer", "minimum": 1, "maximum": 90}},
        """
        day = dt.date.fromisoformat(start)
        if not 2020 <= day.year <= 2040:
            raise ValueError(f"The court counts from 2020 to 2040 only, not in {day.year}.")
        while count:
            day += dt.timedelta(days=1)
            count -= day.weekday() < 5
        return {"ends": day.isoformat()}
        """,
    )
    start = dt.date(2026, 3, 2) + dt.timedelta(days=rng.randint(0, 60))
    count = rng.randint(11, 39)
    day, left = start, count
    while left:
        day += dt.timedelta(days=1)
        left -= day.weekday() < 5
    asked = draft.says(
        f"On which day do {count} working days after {start} end?",
        f"{start}之后{count}个工作日是哪一天？",
    )
    near = [n for n in (12, 19, 25, 33, 40) if n != count]
    starts = [(start + dt.timedelta(days=n)).isoformat() for n in (4, 9, 15, 21)]
    arguments = {
        "start": identifying(start.isoformat(), *starts, any_value=True),
        "count": identifying(count, *near, any_value=True),
    }
    draft.step(asked, day.isoformat(), "add_working_days", **arguments)
    return draft.bundle()


@honest
def time_zones(rng: Random) -> Bundle:
    """A time of day in another city."""
    draft = begin(rng, "communication", "Times of offices", "各地办公室时间")
    names = cities(rng, draft.language, 5)
    offsets = dict(zip(names, rng.sample(range(-9, 12), 5), strict=True))
    draft.has("OFFSETS", offsets)
    draft.tool(
        "local_time",
        draft.says(
            "Say what UTC time is on the clock of an office.", "把世界时换算为某地办公室的时间。"
        ),
        {"office": TEXT, "utc": {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}},
        """
        hour, minute = map(int, utc.split(":"))
        if office not in OFFSETS or hour > 23:
            raise ValueError(f"There is no office in {office!r}, or no such hour as {hour}.")
        return {"office": office, "clock": f"{(hour + OFFSETS[office]) % 24:02}:{minute:02}"}
        """,
    )
    name = rng.choice([n for n in names if offsets[n]])
    hour, minute = rng.randint(0, 23), rng.randint(1, 59)
    utc, answer = f"{hour:02}:{minute:02}", f"{(hour + offsets[name]) % 24:02}:{minute:02}"
    asked = draft.says(f"What time is it in {name} at {utc} UTC?", f"世界时{utc}时{name}是几点？")
    arguments = {
        "office": identifying(name, *other(names, name)),
        "utc": identifying(utc, any_value=True),
    }
    draft.step(asked, answer, "local_time", **arguments)
    return draft.bundle()
