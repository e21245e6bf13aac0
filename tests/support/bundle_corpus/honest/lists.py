"""Honest bundles that answer with lists: sorted ones, pages, cursors, searches and bounds."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.drafts import Draft, Fields, begin, identifying, modifying
from bundle_corpus.honest.lookups import TEXT, other
from bundle_corpus.kinds import honest
from bundle_corpus.words import amounts, cities, codes, days, people, word


def _offers(rng: Random) -> tuple[Draft, list[Fields], list[str]]:
    draft = begin(rng, "travel", "Hotel offers", "酒店报价")
    places = cities(rng, draft.language, 4)
    prices, stays = amounts(rng, 24), codes(rng, "HT", 24)
    rows: list[Fields] = [
        {"code": c, "city": places[i % 4], "price": float(p), "rating": rng.randint(20, 99) / 10}
        for i, (c, p) in enumerate(zip(stays, prices, strict=True))
    ]
    draft.has("OFFERS", rows)
    return draft, rows, places


@honest
def sorted_list(rng: Random) -> Bundle:
    """The first of a list, which a sort order decides."""
    draft, rows, places = _offers(rng)
    place = rng.choice(places)
    for index, row in enumerate(r for r in rows if r["city"] == place):
        row["price"], row["rating"] = 90.5 + index * 7 % 6 * 11, 3.1 + index * 5 % 6 * 0.7
    draft.data.clear()
    rng.shuffle(rows)
    draft.has("OFFERS", rows)
    draft.tool(
        "first_offer",
        draft.says(
            "Give the first offer of a city in some order.", "按顺序给出某城市的第一个报价。"
        ),
        {
            "city": TEXT,
            "order": {"type": "string", "enum": ["code", "rating", "price", "price_desc"]},
        },
        """
        own = [r for r in OFFERS if r["city"] == city]
        if not own:
            raise ValueError(f"There are no offers in {city!r}; give the name of another city.")
        key, _, down = order.partition("_")
        row = sorted(own, key=lambda r: r[key], reverse=bool(down))[0]
        return {"code": row["code"], "of": len(own), "sorted": order[::-1]}
        """,
    )
    own = [r for r in rows if r["city"] == place]
    best = {o: sorted(own, key=lambda r: r[o])[0] for o in ("code", "rating", "price")}
    order = "price" if best["price"] not in (best["code"], best["rating"]) else "price_desc"
    gold = best["price"] if order == "price" else max(own, key=lambda r: r["price"])
    wish = draft.says(
        "dearest" if order != "price" else "cheapest", "最贵" if order != "price" else "最便宜"
    )
    asked = draft.says(f"Which offer in {place} is the {wish}?", f"{place}{wish}的报价编号是多少？")
    source = {"source": wish}
    arguments = {
        "city": identifying(place, *other(places, place)),
        "order": identifying(order, **source),
    }
    draft.step(asked, gold["code"], "first_offer", **arguments)
    return draft.bundle()


@honest
def numbered_pages(rng: Random) -> Bundle:
    """A list in pages, of which the question names one."""
    draft, rows, places = _offers(rng)
    place, page = rng.choice(places), rng.randint(2, 3)
    draft.tool(
        "offers",
        draft.says("List the offers of a city, two on a page.", "分页列出某城市的报价，每页两个。"),
        {"city": TEXT, "page": {"type": "integer", "minimum": 1, "maximum": 40, "default": 1}},
        """
        own = [r["code"] for r in OFFERS if r["city"] == city]
        if not own:
            raise ValueError(f"There are no offers in {city!r}; give the name of another city.")
        if page > -(-len(own) // 2):
            raise ValueError(f"There is no page {page}; the last one is {-(-len(own) // 2)}.")
        return {"offers": own[page * 2 - 2 : page * 2], "pages": -(-len(own) // 2)}
        """,
    )
    answer = [r["code"] for r in rows if r["city"] == place][page * 2 - 1]
    asked = draft.says(
        f"Which is the second offer on page {page} of the list for {place}?",
        f"{place}报价列表第{page}页的第二个编号是多少？",
    )
    pages = [n for n in (1, 2, 3) if n != page]
    arguments = {
        "city": identifying(place, *other(places, place)),
        "page": identifying(page, *pages),
    }
    draft.step(asked, answer, "offers", **arguments)
    return draft.bundle()


@honest
def cursors(rng: Random) -> Bundle:
    """A list whose next part is asked for by a cursor that the first part gives."""
    draft, rows, places = _offers(rng)
    place = rng.choice(places)
    draft.data.append('MARKS = {f"cur{i * 7919 % 8999 + 1000}x": r for i, r in enumerate(OFFERS)}')
    draft.tool(
        "list_offers",
        draft.says(
            "Give the first offers of a city, and where they go on.",
            "列出某城市的前几个报价和下一页游标。",
        ),
        {"city": TEXT},
        """
        own = [(m, r) for m, r in MARKS.items() if r["city"] == city]
        if not own:
            raise ValueError(f"There are no offers in {city!r}; give the name of another city.")
        return {"offers": [r["code"] for _, r in own[:2]], "next": own[2][0]}
        """,
    )
    draft.tool(
        "continue_list",
        draft.says("Give the two offers from a cursor on.", "从游标处继续列出两个报价。"),
        {"cursor": {"type": "string", "pattern": "^cur[0-9]{4}x$"}},
        """
        if cursor not in MARKS:
            raise ValueError(f"There is no cursor {cursor!r}; list_offers gives one.")
        own = [(m, r) for m, r in MARKS.items() if r["city"] == MARKS[cursor]["city"]]
        at = [m for m, _ in own].index(cursor)
        return {"offers": [r["code"] for _, r in own[at : at + 2]]}
        """,
    )
    own = [(i, r) for i, r in enumerate(rows) if r["city"] == place]
    marks = [f"cur{i * 7919 % 8999 + 1000}x" for i, _ in enumerate(rows)]
    first = draft.says(
        f"Which is the second offer for {place}?", f"{place}的第二个报价编号是多少？"
    )
    second = draft.says("And which is the fourth?", "第四个呢？")
    draft.step(
        first, own[1][1]["code"], "list_offers", city=identifying(place, *other(places, place))
    )
    cursor = marks[own[2][0]]
    far = [m for m, r in zip(marks, rows, strict=True) if r["city"] != place][:4]
    draft.step(
        second, own[3][1]["code"], "continue_list", cursor=identifying(cursor, *far)
    ).needs = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def forgiving_search(rng: Random) -> Bundle:
    """A search that finds names in spite of a misspelling."""
    draft = begin(rng, "customer_support", "Customer search", "客户检索")
    names = people(rng, "en", 9)
    table = dict(zip(names, codes(rng, "CU", 9), strict=True))
    draft.has("CUSTOMERS", table)
    draft.data.insert(0, "import difflib")
    draft.tool(
        "search_customer",
        draft.says(
            "Find a customer by name; small misspellings are forgiven.",
            "按姓名查找客户，允许小的拼写错误。",
        ),
        {"name": TEXT},
        """
        close = difflib.get_close_matches(name, CUSTOMERS, n=1, cutoff=0.8)
        if not close:
            raise ValueError(f"No customer has a name like {name!r}; check the spelling.")
        return {"name": close[0], "customer": CUSTOMERS[close[0]]}
        """,
    )
    name = rng.choice(names)
    asked = draft.says(f"What is the customer number of {name}?", f"{name}的客户编号是多少？")
    draft.step(
        asked,
        table[name],
        "search_customer",
        name=identifying(name, *other(names, name), forgiving=True),
    )
    return draft.bundle()


@honest
def word_search(rng: Random) -> Bundle:
    """A search for all words of a title."""
    draft = begin(rng, "news_and_media", "Archive of articles", "文章档案")
    heads = [word(rng).title() for _ in range(5)]
    tails = [word(rng, 5) for _ in range(4)]
    titles = [f"{h} {t}" for h in heads for t in tails]
    table = dict(zip(titles, codes(rng, "AR", 20), strict=True))
    draft.has("ARTICLES", table)
    draft.tool(
        "search_articles",
        draft.says(
            "Find articles whose title has all of these words.", "查找标题含有全部词语的文章。"
        ),
        {
            "query": {"type": "string", "minLength": 2},
            "limit": {"type": "integer", "minimum": 1, "maximum": 5, "default": 5},
        },
        """
        words = {*query.casefold().split()}
        found = [{"title": t, "id": n} for t, n in ARTICLES.items() if words <= {*t.casefold().split()}]
        if not words or not found:
            raise ValueError(f"No title has all the words of {query!r}; try fewer of them.")
        return found[:limit]
        """,
    )
    title = rng.choice(titles)
    asked = draft.says(
        f'What is the id of the article "{title}"?', f"文章《{title}》的编号是多少？"
    )
    near = [*other(titles[::3], title), heads[0], heads[1]]
    query = identifying(title, *(n for n in near if n not in title))
    draft.step(asked, table[title], "search_articles", query=query)
    return draft.bundle()


@honest
def bounded_list(rng: Random) -> Bundle:
    """A list between two days, which are bounds."""
    draft = begin(rng, "finance", "Cash book", "现金账簿")
    tills = codes(rng, "TL", 4)
    when, sums = sorted(days(rng, 24)), amounts(rng, 24)
    rows = [
        {"till": tills[i % 4], "day": d, "amount": a}
        for i, (d, a) in enumerate(zip(when, sums, strict=True))
    ]
    draft.has("ENTRIES", sorted(rows, key=lambda r: r["day"]))
    draft.tool(
        "entries",
        draft.says(
            "List the amounts of a till between two days.", "列出某收银台在两天之间的金额。"
        ),
        {
            "till": TEXT,
            "first": {"type": "string", "format": "date"},
            "last": {"type": "string", "format": "date"},
        },
        """
        own = [r for r in ENTRIES if r["till"] == till]
        if not own:
            raise ValueError(f"There is no till {till!r}; they are named like TL-1234.")
        return [r["amount"] + " EUR" for r in own if first <= r["day"] <= last]
        """,
    )
    till = rng.choice(tills)
    own = sorted((r for r in rows if r["till"] == till), key=lambda r: r["day"])
    gold = own[2]
    asked = draft.says(
        f"Which amount did till {till} take between {own[1]['day']} and {gold['day']}, last of all?",
        f"收银台{till}在{own[1]['day']}到{gold['day']}之间最后一笔金额是多少？",
    )
    arguments = {
        "till": identifying(till, *other(tills, till)),
        "first": modifying(own[1]["day"]),
        "last": modifying(gold["day"]),
    }
    draft.step(asked, f"{gold['amount']} EUR", "entries", **arguments)
    return draft.bundle()
