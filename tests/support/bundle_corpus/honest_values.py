"""Honest bundles that work values out: units, money, dates, sums, sets, routes and spellings."""

import datetime as dt
from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.drafts import Fields, begin, identifying
from bundle_corpus.honest_records import TEXT, other
from bundle_corpus.kinds import honest
from bundle_corpus.words import amounts, cities, codes, people, word

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
        draft.says("Say how much a sum in euros is in a currency, less 2 percent.", "计算欧元兑换成外币的金额，扣除百分之二。"),
        {"euros": {"type": "number", "exclusiveMinimum": 0}, "currency": {"type": "string", "enum": [*rates]}},
        """
        return f"{euros * RATES[currency] * 0.98:.2f} {currency}"
        """,
    )
    euros, currency = rng.randint(12011, 98779) / 100, rng.choice([*rates][1:])
    answer = f"{euros * rates[currency] * 0.98:.2f} {currency}"
    asked = draft.says(f"How much {currency} does the office pay for {euros} euros?", f"{euros}欧元能换多少{currency}？")
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
        {"text": {"type": "string", "minLength": 1}, "base": {"type": "integer", "enum": [31, 33, 37], "default": 31}},
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
        {"text": {"type": "string", "pattern": "^[a-z ]+$"}, "shift": {"type": "integer", "minimum": 1, "maximum": 25}},
        """
        moved = [chr((ord(c) - 97 + shift) % 26 + 97) if c != " " else c for c in text]
        return {"cipher": "".join(moved)}
        """,
    )
    text, shift = word(rng, 9), rng.randint(3, 22)
    answer = "".join(chr((ord(c) - 97 + shift) % 26 + 97) for c in text)
    asked = draft.says(f'How is "{text}" written with a shift of {shift}?', f"“{text}”移位{shift}之后怎么写？")
    arguments = {
        "text": identifying(text, any_value=True),
        "shift": identifying(shift, *(n for n in (2, 5, 11, 24) if n != shift), any_value=True),
    }
    draft.step(asked, answer, "encipher", **arguments)
    return draft.bundle()


def _calendar(rng: Random) -> tuple[dict[str, str], str]:
    """What is shown on each day of a season, and one of its Fridays."""
    start = dt.date(2026, 2, 2)
    shown = {(start + dt.timedelta(days=n)).isoformat(): f"{word(rng).title()} {word(rng, 5).title()}" for n in range(70)}
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
    draft.tool("play_on", draft.says("Say which play is on.", "查询某天上演的剧目。"), {"day": DAY}, _SHOW)
    wednesday = (dt.date.fromisoformat(friday) - dt.timedelta(days=2)).isoformat()
    source = draft.says(f"the Friday after {wednesday}", f"{wednesday}之后的那个周五")
    asked = draft.says(f"Which play is on {source}?", f"{source}上演什么剧目？")
    draft.step(asked, shown[friday], "play_on", day=identifying(friday, *other([*shown][::9], friday), source=source))
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
    draft.tool("play_on", draft.says("Say which play is on.", "查询某天上演的剧目。"), {"day": DAY}, _SHOW)
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
        f"On which day do {count} working days after {start} end?", f"{start}之后{count}个工作日是哪一天？"
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
        draft.says("Say what UTC time is on the clock of an office.", "把世界时换算为某地办公室的时间。"),
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
    arguments = {"office": identifying(name, *other(names, name)), "utc": identifying(utc, any_value=True)}
    draft.step(asked, answer, "local_time", **arguments)
    return draft.bundle()


def _price_list(rng: Random) -> dict[str, int]:
    return {f"{word(rng, 6)}": n for n in rng.sample(range(211, 9911), 7)}


@honest
def set_of_items(rng: Random) -> Bundle:
    """The sum over a set of items."""
    draft = begin(rng, "e_commerce", "Prices of a shop", "商店价格")
    prices = _price_list(rng)
    draft.has("CENTS", prices)
    draft.tool(
        "sum_prices",
        draft.says("Add up the prices of some items.", "计算若干商品的总价。"),
        {"items": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}},
        """
        unknown = [i for i in items if i not in CENTS]
        if unknown:
            raise ValueError(f"The shop does not sell {unknown[0]!r}; check how it is spelled.")
        return {"total": f"{sum(CENTS[i] for i in items) / 100:.2f} EUR"}
        """,
    )
    names = [*prices]
    chosen = names[:3]
    near = [names[1:4], [names[0], names[4]], names[2:6], [names[5]]]
    total = f"{sum(prices[n] for n in chosen) / 100:.2f} EUR"
    asked = draft.says(f"What do {', '.join(chosen)} cost together?", f"{'、'.join(chosen)}一共多少钱？")
    draft.step(asked, total, "sum_prices", items=identifying(chosen, *near))
    return draft.bundle()


@honest
def order_lines(rng: Random) -> Bundle:
    """The price of a list of objects, with amounts of each."""
    draft = begin(rng, "e_commerce", "Offers of a printer", "印刷厂报价")
    prices = _price_list(rng)
    draft.has("CENTS", prices)
    line: Fields = {
        "type": "object",
        "properties": {"item": TEXT, "count": {"type": "integer", "minimum": 1, "maximum": 500}},
        "required": ["item", "count"],
        "additionalProperties": False,
    }
    draft.tool(
        "quote",
        draft.says("Give the price of an order.", "计算订单的价格。"),
        {"lines": {"type": "array", "items": line, "minItems": 1, "maxItems": 9}},
        """
        for line in lines:
            if line["item"] not in CENTS:
                raise ValueError(f"There is no item named {line['item']!r}; check how it is spelled.")
        return {"price": f"{sum(CENTS[n['item']] * n['count'] for n in lines) / 100:.2f} EUR"}
        """,
    )
    names, counts = [*prices], rng.sample(range(3, 60), 3)
    lines: list[Fields] = [{"item": n, "count": c} for n, c in zip(names, counts, strict=False)]
    near = [lines[:2], lines[1:], [lines[0] | {"item": names[4]}, *lines[1:]], [lines[0] | {"item": names[5]}]]
    total = f"{sum(prices[x['item']] * x['count'] for x in lines) / 100:.2f} EUR"
    wanted = ", ".join(f"{x['count']} {x['item']}" for x in lines)
    asked = draft.says(f"What does an order of {wanted} cost?", f"订购{wanted}一共多少钱？")
    draft.step(asked, total, "quote", lines=identifying(lines, *near))
    return draft.bundle()


@honest
def sales_tax(rng: Random) -> Bundle:
    """The tax on any sum by region."""
    draft = begin(rng, "finance", "Sales tax", "销售税")
    rates = dict(zip(cities(rng, draft.language, 6), rng.sample(range(41, 199), 6), strict=True))
    draft.has("PER_MILLE", rates)
    draft.tool(
        "tax_on",
        draft.says("Compute the tax on a sum.", "计算一笔款项的税额。"),
        {"place": TEXT, "sum": {"type": "number", "minimum": 1, "maximum": 1000000}},
        """
        if place not in PER_MILLE:
            raise ValueError(f"No rate is known for {place!r}; give the name of a city.")
        return {"tax": f"{sum * PER_MILLE[place] / 1000:.3f}", "per_mille": PER_MILLE[place]}
        """,
    )
    place, total = rng.choice([*rates]), rng.randint(2101, 9999)
    asked = draft.says(f"How much is the tax on {total} in {place}?", f"在{place}，{total}的税额是多少？")
    arguments = {
        "place": identifying(place, *other([*rates], place)),
        "sum": identifying(total, 3000, 4100, 5500, any_value=True),
    }
    draft.step(asked, f"{total * rates[place] / 1000:.3f}", "tax_on", **arguments)
    return draft.bundle()


@honest
def statistics(rng: Random) -> Bundle:
    """A figure over the values of one station."""
    draft = begin(rng, "data_analysis", "Measurements", "测量数据")
    names = cities(rng, draft.language, 5)
    table = {n: [float(a) for a in amounts(rng, 9)] for n in names}
    draft.has("VALUES", table)
    draft.tool(
        "summarise",
        draft.says("Compute a figure over the values of a station.", "计算某站点数据的统计量。"),
        {"station": TEXT, "figure": {"type": "string", "enum": ["count", "least", "median", "most"]}},
        """
        own = sorted(VALUES.get(station, []))
        if not own:
            raise ValueError(f"There is no station in {station!r}; give the name of a city.")
        figures = {"count": len(own), "least": own[0], "median": own[len(own) // 2], "most": own[-1]}
        return {"station": station, figure: figures[figure]}
        """,
    )
    name, figure = rng.choice(names), rng.choice(["median", "most", "least"])
    own = sorted(table[name])
    answer = str({"least": own[0], "median": own[4], "most": own[-1]}[figure])
    said = {"least": "最小值（least）", "median": "中位数（median）", "most": "最大值（most）"}[figure]
    asked = draft.says(f"What is the {figure} value of the station in {name}?", f"{name}站数据的{said}是多少？")
    arguments = {"station": identifying(name, *other(names, name)), "figure": identifying(figure)}
    draft.step(asked, answer, "summarise", **arguments)
    return draft.bundle()


@honest
def members_of_both(rng: Random) -> Bundle:
    """Who belongs to two groups at once."""
    draft = begin(rng, "social_media", "Clubs of a town", "社团成员")
    names, clubs = people(rng, draft.language, 12), [word(rng).title() for _ in range(4)]
    pairs = [(a, b) for i, a in enumerate(clubs) for b in clubs[i + 1 :]]
    table: dict[str, list[str]] = {c: [] for c in clubs}
    for (a, b), name in zip(pairs, names, strict=False):
        table[a].append(name)
        table[b].append(name)
    draft.has("CLUBS", table)
    draft.tool(
        "in_both",
        draft.says("Say who belongs to two clubs.", "查询同时属于两个社团的人。"),
        {"one": TEXT, "other": TEXT},
        """
        for club in (one, other):
            if club not in CLUBS:
                raise ValueError(f"There is no club named {club!r}; check how it is spelled.")
        if one == other:
            raise ValueError("Name two clubs that are not the same one.")
        return [p for p in CLUBS[one] if p in CLUBS[other]]
        """,
    )
    index = rng.randrange(len(pairs))
    one, two = pairs[index]
    rest = [c for c in clubs if c not in (one, two)]
    asked = draft.says(f"Who belongs to both {one} and {two}?", f"谁同时属于{one}和{two}？")
    draft.step(asked, names[index], "in_both", one=identifying(one, *rest), other=identifying(two, *rest))
    return draft.bundle()


@honest
def shortest_way(rng: Random) -> Bundle:
    """The length of the shortest way between two stops."""
    draft = begin(rng, "transportation", "Ways of a tram", "电车线路")
    stops = [word(rng).title() for _ in range(8)]
    lengths = rng.sample(range(311, 989), 12)
    edges = [(stops[i], stops[(i + 1) % 8], lengths[i]) for i in range(8)]
    edges += [(stops[i], stops[(i + 3) % 8], lengths[8 + i]) for i in range(4)]
    draft.has("EDGES", edges)
    code = """
        if start not in STOPS or goal not in STOPS or start == goal:
            raise ValueError(f"There is no way from {start!r} to {goal!r}; name two stops of the tram.")
        best = {start: 0}
        for _ in STOPS:
            for a, b, n in [*EDGES, *((b, a, n) for a, b, n in EDGES)]:
                if a in best and best[a] + n < best.get(b, 10**9):
                    best[b] = best[a] + n
        return {"metres": f"{best[goal]} m"}
    """
    draft.data.append("STOPS = {e[0] for e in EDGES} | {e[1] for e in EDGES}")
    draft.tool("way", draft.says("Give the length of the shortest way.", "查询最短路线的长度。"), {"start": TEXT, "goal": TEXT}, code)
    start, goal = rng.sample(stops, 2)
    best = {start: 0}
    for _ in stops:
        for a, b, n in [*edges, *((b, a, n) for a, b, n in edges)]:
            if a in best:
                best[b] = min(best.get(b, 10**9), best[a] + n)
    rest = [s for s in stops if s not in (start, goal)]
    asked = draft.says(f"How long is the shortest way from {start} to {goal}?", f"从{start}到{goal}最短要走多远？")
    arguments = {"start": identifying(start, *rest[:4]), "goal": identifying(goal, *rest[2:])}
    draft.step(asked, f"{best[goal]} m", "way", **arguments)
    return draft.bundle()


@honest
def instalments(rng: Random) -> Bundle:
    """The instalment of a loan, from three numbers."""
    draft = begin(rng, "finance", "Loans of a bank", "银行贷款")
    draft.tool(
        "instalment",
        draft.says("Compute the monthly instalment of a loan.", "计算贷款的月供。"),
        {
            "principal": {"type": "integer", "minimum": 1000, "maximum": 1000000},
            "percent": {"type": "number", "minimum": 0.5, "maximum": 19},
            "months": {"type": "integer", "minimum": 6, "maximum": 480},
        },
        """
        rate = percent / 1200
        return {"instalment": f"{principal * rate / (1 - (1 + rate) ** -months):.2f}"}
        """,
    )
    principal, percent, months = rng.randint(201, 990) * 100, rng.randint(21, 79) / 10, rng.randint(13, 96)
    rate = percent / 1200
    answer = f"{principal * rate / (1 - (1 + rate) ** -months):.2f}"
    asked = draft.says(
        f"A loan of {principal} at {percent} percent over {months} months: what is the instalment?",
        f"贷款{principal}，年利率{percent}%，{months}个月，月供是多少？",
    )
    arguments = {
        "principal": identifying(principal, any_value=True),
        "percent": identifying(percent, any_value=True),
        "months": identifying(months, any_value=True),
    }
    draft.step(asked, answer, "instalment", **arguments)
    return draft.bundle()
