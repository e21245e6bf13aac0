"""Honest bundles that add up and compare: sets, orders, taxes, figures, ways and loans."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.drafts import Fields, begin, identifying
from bundle_corpus.honest.lookups import TEXT, other
from bundle_corpus.kinds import honest
from bundle_corpus.words import amounts, cities, people, word


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
        {
            "items": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "uniqueItems": True,
            }
        },
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
    asked = draft.says(
        f"What do {', '.join(chosen)} cost together?", f"{'、'.join(chosen)}一共多少钱？"
    )
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
    near = [
        lines[:2],
        lines[1:],
        [lines[0] | {"item": names[4]}, *lines[1:]],
        [lines[0] | {"item": names[5]}],
    ]
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
    asked = draft.says(
        f"How much is the tax on {total} in {place}?", f"在{place}，{total}的税额是多少？"
    )
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
        {
            "station": TEXT,
            "figure": {"type": "string", "enum": ["count", "least", "median", "most"]},
        },
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
    said = {"least": "最小值（least）", "median": "中位数（median）", "most": "最大值（most）"}[
        figure
    ]
    asked = draft.says(
        f"What is the {figure} value of the station in {name}?", f"{name}站数据的{said}是多少？"
    )
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
    draft.step(
        asked, names[index], "in_both", one=identifying(one, *rest), other=identifying(two, *rest)
    )
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
    draft.tool(
        "way",
        draft.says("Give the length of the shortest way.", "查询最短路线的长度。"),
        {"start": TEXT, "goal": TEXT},
        code,
    )
    start, goal = rng.sample(stops, 2)
    best = {start: 0}
    for _ in stops:
        for a, b, n in [*edges, *((b, a, n) for a, b, n in edges)]:
            if a in best:
                best[b] = min(best.get(b, 10**9), best[a] + n)
    rest = [s for s in stops if s not in (start, goal)]
    asked = draft.says(
        f"How long is the shortest way from {start} to {goal}?", f"从{start}到{goal}最短要走多远？"
    )
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
    principal, percent, months = (
        rng.randint(201, 990) * 100,
        rng.randint(21, 79) / 10,
        rng.randint(13, 96),
    )
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
