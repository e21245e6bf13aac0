"""Searches: by words and town, sorted or page by page, then one hit, who is behind it, and how to reach them."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle
from typing import Any

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key, shaping
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.questions.search import Questions
from astra_mcp.synthesis.environments.families.lookups.themes.search import THEMES, Theme
from astra_mcp.synthesis.environments.families.phrases import labelled, listed, with_article

__all__ = ["SEARCH"]

_PAGE = 4


def _phone(code: str) -> str:
    number = issued(code, "phone")
    return f"{number // 1000}-{number % 1000:03d}"


def _calls_from(code: str) -> str:
    minutes = 420 + issued(code, "calls") % 131 * 5
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _cursor(kind: str, town: str, start: int) -> str:
    return f"next-{issued(kind, town, str(start))}"


def _make(brief: Brief) -> Draft:
    return copy(_drawn(replace(brief, turn=0))).written(brief)


@lru_cache(maxsize=1)
def _drawn(brief: Brief) -> "_Search":
    """The world that all turns share."""
    world = _Search(brief, brief.draw("theme").pick(THEMES))
    if not world.goes_on_clearly():
        raise DrawError("two lists go on at the same place")
    return world


@dataclass(frozen=True, slots=True)
class _Hit:
    """One advertisement."""

    kind: str
    town: str
    price: int
    poster: str
    posted: dt.date


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject of the question."""

    code: str
    hit: _Hit
    account: str


class _Search:
    """One site, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.site = self.entities.firms(1, *theme.site[self.zh])[0]
        self.unit = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        layout = brief.layout
        self.has_pages, self.has_accounts = layout.depth > 2, layout.depth > 3
        self.is_forgiving = brief.draw("forgiving").chance(1, 3)
        asks_time = layout.concludes or brief.draw("last").chance(1, 3)
        self.last = (
            ("phone", "calls") if layout.facets > 1 else ("calls",) if asks_time else ("phone",)
        )
        self._fill()

    def goes_on_clearly(self) -> bool:
        """Whether no two lists go on at the same place."""
        cursors = [_cursor(*cell, _PAGE * n) for cell, n in self._further_pages()]
        return len(cursors) == len({*cursors})

    def _further_pages(self) -> list[tuple[tuple[str, str], int]]:
        """The pages of all lists, from the second one."""
        sizes = Counter((h.kind, h.town) for h in self.hits.values())
        return [(cell, n) for cell, size in sizes.items() for n in (1, 2, 3) if size > _PAGE * n]

    def written(self, brief: Brief) -> Draft:
        """The draft with its texts, tools and sub-tasks.

        Raises:
            DrawError: Two subjects of the question have an answer in common.
        """
        self.brief = brief
        self.asked = brief.asked(self.chosen)
        self.answers = [self._answers_of(asked) for asked in self.asked]
        flat = [a for answers in self.answers for a in answers]
        if len(flat) > len({*flat}):
            raise DrawError("two subjects of the question have an answer in common")
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)
        say, listing = self.draft.say, self.theme.listing[self.zh]
        self.draft.title = self.site
        self.draft.description = say(
            f"The {listing}s on {self.site}, with a search, and how to reach whoever posted them.",
            f"{self.site}：检索、{listing}详情和联系方式。",
        )
        self._name()
        self._write_data()
        self._tools()
        ids = [
            self._follow(a, answers) for a, answers in zip(self.asked, self.answers, strict=True)
        ]
        self._ask(ids)
        return self.draft

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        draw, knobs, brief = self.draw, self.brief.knobs, self.brief
        self.kinds = self.theme.kinds[self.zh]
        self.towns = self.entities.places(
            max(6, knobs.records // 16, min(brief.subjects // 3, 200))
        )
        self.people = cycle(self.entities.people(min(knobs.records + 110 * brief.questions, 700)))
        cells: dict[tuple[str, str], None] = {}
        for _ in range(brief.questions):
            cells |= dict.fromkeys(self._asked_together({*cells}))
        rows: list[_Hit] = []
        meant: list[_Hit] = []
        for number, cell in enumerate(cells):
            if number % brief.layout.subjects == 0:
                prices = draw.some(
                    range(self.theme.low, 5 * self.theme.low), 9 * brief.layout.subjects
                )
                self.prices = iter(prices)
            meant.append(self._add_meant(rows, *cell))
        self._add_others(rows, [*cells])
        letter = draw.pick("BCDFGHKLMNPRSTVW")
        rows = draw.shuffled(rows)
        codes = self.entities.codes(f"{letter}#####", len(rows))
        self.hits = dict(zip(codes, rows, strict=True))
        posters = [*dict.fromkeys(hit.poster for hit in rows)]
        accounts = self.entities.codes(f"@@{letter}-###", len(posters))
        of_poster = dict(zip(posters, accounts, strict=True))
        self.accounts = {code: of_poster[hit.poster] for code, hit in self.hits.items()}
        of = {id(hit): code for code, hit in self.hits.items()}
        self.chosen = [_Asked(of[id(hit)], hit, self.accounts[of[id(hit)]]) for hit in meant]

    def _asked_together(self, taken: set[tuple[str, str]]) -> list[tuple[str, str]]:
        """What one question is about: other kinds each, in towns where nobody has asked about them yet."""
        return [
            (kind, self.draw.pick([t for t in self.towns if (kind, t) not in taken]))
            for kind in self.draw.some(self.kinds, self.brief.layout.subjects)
        ]

    def _add_others(self, rows: list[_Hit], cells: list[tuple[str, str]]) -> None:
        """Add lists that nobody asks about."""
        draw = self.draw
        for cell in self._others(cells):
            is_long = self.has_pages and draw.chance(1, 2)
            size = draw.between(5, 6) if is_long else draw.between(1, 3)
            if len(rows) < self.brief.knobs.records or self._is_near(cell, cells):
                rows += self._cell(*cell, size)

    def _others(self, cells: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """All other pairs of a kind and a town, those first that share one of them with what is asked for."""
        taken = {*cells}
        pairs = self.draw.shuffled(
            [(k, t) for k in self.kinds for t in self.towns if (k, t) not in taken]
        )
        return sorted(pairs, key=lambda p: not self._is_near(p, cells))

    def _is_near(self, cell: tuple[str, str], cells: list[tuple[str, str]]) -> bool:
        return (
            any((cell[0] == kind) != (cell[1] == town) for kind, town in cells)
            and self._rank(cell) < 4
        )

    def _rank(self, cell: tuple[str, str]) -> int:
        return (self.kinds.index(cell[0]) + self.towns.index(cell[1])) % 8

    def _cell(self, kind: str, town: str, size: int, prices: Sequence[int] = ()) -> list[_Hit]:
        """Advertisements of one kind in a town: no price and no day twice."""
        low = self.theme.low
        prices = prices or self.draw.some(range(low, 5 * low), size)
        days = self.draw.some(range(1, 60), size)
        return [
            _Hit(kind, town, price, next(self.people), self.calendar.today - dt.timedelta(days=day))
            for price, day in zip(prices, days, strict=True)
        ]

    def _add_meant(self, rows: list[_Hit], kind: str, town: str) -> _Hit:
        """Add a list that needs its second page, or its order by price, for what is meant; give that."""
        near = self.brief.knobs.near_misses
        size = self.draw.between(6, 7) + near // 2
        prices = [next(self.prices) for _ in range(size)]
        found = sorted(self._cell(kind, town, size, prices), key=lambda h: h.posted, reverse=True)
        if not self.has_pages:
            cheapest = min(found, key=lambda h: h.price)
            place = found.index(cheapest)
            later = found[self.draw.between(_PAGE, size - 1)]
            found[place] = self._with(cheapest, price=later.price)
            found[found.index(later)] = meant = self._with(later, price=cheapest.price)
        else:
            meant = found[self.draw.between(_PAGE, min(size, 2 * _PAGE) - 1)]
            others = [n for n, h in enumerate(found) if h is not meant]
            for place in self.draw.some(others, near - near // 2):
                found[place] = self._with(
                    found[place], poster=self.entities.relatives(meant.poster, 1)[0]
                )
        rows += found
        return meant

    @staticmethod
    def _with(hit: _Hit, *, price: int | None = None, poster: str = "") -> _Hit:
        return _Hit(
            hit.kind,
            hit.town,
            hit.price if price is None else price,
            poster or hit.poster,
            hit.posted,
        )

    def _write_data(self) -> None:
        rows = {
            c: [
                h.kind,
                h.town,
                h.price,
                h.poster,
                h.posted.isoformat(),
                *([self.accounts[c]] * self.has_accounts),
            ]
            for c, h in self.hits.items()
        }
        self.draft.data("HITS", rows)
        self.draft.data("KINDS", [*self.kinds])
        if self.is_forgiving:
            self.draft.code("import difflib")
        if self.brief.layout.depth > 1:
            self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        for name, function in (("phone", _phone), ("calls", _calls_from)):
            if name in self.last and self.brief.layout.depth > 1:
                self.draft.code(source_of(function))
        if self.has_pages:
            self.draft.code(source_of(_cursor))
            self.draft.code("""
                CURSORS = {_cursor(r[0], r[1], start): (r[0], r[1], start) for r in HITS.values() for start in (4, 8, 12)
                           if sum(o[:2] == r[:2] for o in HITS.values()) > start}
            """)
        self.draft.code(f"""
            def _listed(kind, town):
                own = [(c, r) for c, r in HITS.items() if r[0] == kind and r[1] == town]
                return sorted(own, key=lambda hit: hit[1][4], reverse=True)


            def _shown(code, row):
                return {{"$item": code, "title": row[0], "price": f"{{row[2]}} {self.unit}", "by": row[3], "posted": row[4]}}
        """)

    def _answers_of(self, asked: _Asked) -> list[str]:
        """What the sub-tasks of a subject find, in order."""
        layout = self.brief.layout
        if layout.depth == 1:
            return [f"{asked.hit.price} {self.unit}" if layout.concludes else asked.code]
        cursor = [_cursor(asked.hit.kind, asked.hit.town, _PAGE)] * self.has_pages
        found = [*cursor, asked.code, *([asked.account] * self.has_accounts)]
        return found + [
            _phone(found[-1]) if n == "phone" else _calls_from(found[-1]) for n in self.last
        ]

    # --- tools --------------------------------------------------------------------------------------------------

    def _name(self) -> None:
        self.draft.name(
            item=self.theme.item, poster=self.theme.poster, query=self.theme.query, town="town|place|location",
            order="sort|order_by|sort_by", limit="max_price|price_limit|up_to", photos="with_photos|show_photos|count_photos",
            cursor="cursor|continue_from|next_page", abroad="international|from_abroad|with_country_code",
            search="search|search_${item}s|find_${item}s", more="more_results|next_${item}s|continue_search",
            behind="${poster}_of_$item|show_$item|open_$item",
            phone="phone_number|contact_number|telephone", calls="calling_hours|reachable_from|when_to_call",
        )  # fmt: skip

    def _tools(self) -> None:
        say, listing = self.draft.say, self.theme.listing[self.zh]
        self._search_tool()
        if self.has_pages:
            self.more = self.draft.tool(
                "$more", say("Get the next page of search results.", "从上一页结束处继续列出结果。"),
                {"$cursor": {"type": "string", "pattern": "^next-[0-9]{6,7}$"}},
                f"""
                if $cursor not in CURSORS:
                    raise ValueError(f"{say("No results go on at {$cursor!r}; take the value that $search gives.", "没有从{$cursor}继续的列表；请使用 $search 返回的值。")}")
                kind, town, start = CURSORS[$cursor]
                own = _listed(kind, town)
                found = {{"hits": [_shown(*hit) for hit in own[start : start + {_PAGE}]]}}
                if len(own) > start + {_PAGE}:
                    found["$cursor"] = _cursor(kind, town, start + {_PAGE})
                return found
                """,
            )  # fmt: skip
        if self.has_accounts:
            self.behind = self.draft.tool(
                "$behind", say(f"Show which account posted {with_article(listing)}.", f"查询{listing}的发布账号。"), {"$item": self._code([*self.hits])},
                f"""
                {self._unknown("$item", "HITS")}
                return {{"$item": $item, "name": HITS[$item][3], "$poster": HITS[$item][5]}}
                """,
            )  # fmt: skip
        if self.brief.layout.depth > 1:
            self._last_tools()

    def _unknown(self, name: str, table: str) -> str:
        said = self.draft.say(
            f"Nothing has the code {{{name}!r}}; take one from an earlier result.",
            f"没有编号{{{name}}}；请使用前面查到的编号。",
        )
        return f'if {name} not in {table}:\n                    raise ValueError(f"{said}")'

    def _last_tools(self) -> None:
        say = self.draft.say
        name, codes = (
            ("$poster", [*self.accounts.values()]) if self.has_accounts else ("$item", [*self.hits])
        )
        if self.has_accounts:
            self.draft.code("ACCOUNTS = {r[5] for r in HITS.values()}")
        unknown = self._unknown(name, "ACCOUNTS" if self.has_accounts else "HITS")
        has_abroad = self.has_pages and self.brief.knobs.options > 1 and "phone" in self.last
        abroad: dict[str, Any] = {
            "$abroad": {
                "type": "boolean",
                "default": False,
                "description": say("With the country code.", "是否带国家代码。"),
            }
        }
        prefix = f'("{say("+44 ", "+86 ")}" if $abroad else "") + ' if has_abroad else ""
        self.last_of: dict[str, str] = {}
        if "phone" in self.last:
            self.last_of["phone"] = self.draft.tool(
                "$phone", say("Get the telephone number to call.", "查询联系电话。"),
                {name: self._code(codes), **(abroad if has_abroad else {})},
                f"""
                {unknown}
                return {{"{name}": {name}, "phone": {prefix}_phone({name})}}
                """,
            )  # fmt: skip
            if has_abroad:
                code = self.asked[0].account if self.has_accounts else self.asked[0].code
                self.draft.example("$phone", **{name: code, "$abroad": True})
        if "calls" in self.last:
            self.last_of["calls"] = self.draft.tool(
                "$calls", say("Get the time from which calls are answered.", "查询几点起可以打电话联系。"), {name: self._code(codes)},
                f"""
                {unknown}
                return {{"{name}": {name}, "from": _calls_from({name})}}
                """,
            )  # fmt: skip

    def _search_tool(self) -> None:
        say, options = self.draft.say, self.brief.knobs.options
        orders = {
            "$order": {
                "type": "string",
                "enum": ["newest", "price"],
                "default": "newest",
                "description": say("Order of the results.", "结果顺序。"),
            }
        }
        photos = {
            "$photos": {
                "type": "boolean",
                "default": False,
                "description": say("Also count the photos.", "同时返回照片数量。"),
            }
        }
        limit = {
            "$limit": {
                "type": "integer",
                "minimum": 1,
                "description": say(f"Highest price in {self.unit}.", f"最高价格（{self.unit}）。"),
            }
        }
        has_limit = options > 1 and not self.has_pages
        more = (
            f'found["$cursor"] = _cursor(kind, $town, {_PAGE})'
            if self.has_pages
            else f'found["not_shown"] = len(own) - {_PAGE}'
        )
        close = (
            "\n    near = near or difflib.get_close_matches(wanted, lowered, n=1, cutoff=0.8)"
            if self.is_forgiving
            else ""
        )
        about = (
            say("; small misspellings are forgiven.", "；容许个别错字。")
            if self.is_forgiving
            else say(".", "。")
        )
        vague = say(
            "{$query!r} is too vague or unknown; search for one of: {', '.join(fitting)}.",
            "{$query}太笼统或不存在；可以检索：{'、'.join(fitting)}。",
        )
        nothing = say(
            "Nothing fits in {$town!r}; try another town or fewer conditions.",
            "{$town}没有符合条件的结果；请换一个地点或放宽条件。",
        )
        lines = [
            "lowered = {k.casefold(): k for k in KINDS}",
            "wanted = $query.strip().casefold()",
            "if wanted not in lowered:",
            "    near = []" if self.is_forgiving else "",
            *close.strip("\n").split("\n"),
            "    if not near:" if self.is_forgiving else "",
            f'    {"    " * self.is_forgiving}fitting = [k for k in KINDS if wanted in k.casefold().split()] or KINDS',
            f'    {"    " * self.is_forgiving}raise ValueError(f"{vague}")',
            "    wanted = near[0]" if self.is_forgiving else "",
            "kind = lowered[wanted]",
            "own = _listed(kind, $town)",
            "if $limit is not None:\n    own = [hit for hit in own if hit[1][2] <= $limit]" if has_limit else "",
            "if not own:",
            f'    raise ValueError(f"{nothing}")',
            "" if self.has_pages else 'if $order == "price":\n    own.sort(key=lambda hit: hit[1][2])',
            f'found = {{"hits": [_shown(*hit) for hit in own[:{_PAGE}]]}}',
            'if $photos:\n    for hit in found["hits"]:\n        hit["photos"] = sum(map(ord, hit["$item"])) % 9 + 1' if options else "",
            f"if len(own) > {_PAGE}:\n    {more}",
            "return found",
        ]  # fmt: skip
        self.search = self.draft.tool(
            "$search", say(f"Search a town by keywords, {_PAGE} results at a time, newest first", f"按关键词和地点检索，每次{_PAGE}条，新的在前") + about,
            {"$query": {"type": "string", "minLength": 2}, "$town": {"type": "string", "minLength": 2},
             **({} if self.has_pages else orders), **(photos if options else {}), **(limit if has_limit else {})},
            "\n".join(line for line in lines if line), optional=["$limit"] if has_limit else [],
        )  # fmt: skip
        self._show_options(has_limit=has_limit)

    def _show_options(self, *, has_limit: bool) -> None:
        """Calls in which each option changes the result."""
        meant = self.asked[0].hit
        given: dict[str, Any] = {"$query": meant.kind, "$town": meant.town}
        if self.brief.knobs.options:
            self.draft.example("$search", **given, **{"$photos": True})
        if has_limit:
            prices = sorted(
                h.price for h in self.hits.values() if (h.kind, h.town) == (meant.kind, meant.town)
            )
            self.draft.example("$search", **given, **{"$limit": prices[1]})

    def _code(self, codes: list[str]) -> dict[str, str]:
        return {
            "type": "string",
            "pattern": "^[A-Z]{3}-[0-9]{3}$" if "-" in codes[0] else f"^{codes[0][0]}[0-9]{{5}}$",
        }

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked, answers: list[str]) -> int:
        """The sub-tasks of one subject; gives the last of those that answer the question first."""
        say, layout, hit = self.draft.say, self.brief.layout, asked.hit
        towns = [h.town for h in self.hits.values() if h.kind == hit.kind]
        kinds = [h.kind for h in self.hits.values() if h.town == hit.town]
        query = key(hit.kind, kinds, forgiving=True) if self.is_forgiving else key(hit.kind, kinds)
        given = {"$query": query, "$town": key(hit.town, towns)}
        meant, steps, listing = self._meant(asked), [*answers], self.theme.listing[0]
        if self.has_pages:
            last = self.draft.solve(
                say(f"Where do the results for {hit.kind} in {hit.town} go on after the first page?", f"{hit.town}的{hit.kind}，第一页之后从哪里继续？"),
                steps[0], self.search, given,
            )  # fmt: skip
            cursors = [_cursor(h.kind, h.town, _PAGE) for h in self._beginnings()]
            last = self.draft.solve(
                say(f"What is the {listing} number of {meant}?", f"{meant}的编号是多少？"), asked.code, self.more, {"$cursor": key(steps[0], cursors)}, needs=[last]
            )  # fmt: skip
        else:
            last = self.draft.solve(
                say(f"How much is {meant}?", f"{meant}要多少钱？") if layout.concludes and layout.depth == 1
                else say(f"What is the {listing} number of {meant}?", f"{meant}的编号是多少？"),
                steps[0], self.search, {**given, "$order": shaping("price")},
            )  # fmt: skip
        return last if layout.depth == 1 else self._reach(asked, answers, last)

    def _beginnings(self) -> list[_Hit]:
        """One hit of each list that has a second page."""
        cells: dict[tuple[str, str], list[_Hit]] = {}
        for hit in self.hits.values():
            cells.setdefault((hit.kind, hit.town), []).append(hit)
        return [hits[0] for hits in cells.values() if len(hits) > _PAGE]

    def _reach(self, asked: _Asked, answers: list[str], last: int) -> int:
        say, code, name, codes = self.draft.say, asked.code, "$item", [*self.hits]
        if self.has_accounts:
            last = self.draft.solve(
                say("Which account posted it?", "它是用哪个账号发布的？"), asked.account, self.behind, {"$item": key(code, codes)}, needs=[last]
            )  # fmt: skip
            code, name, codes = asked.account, "$poster", [*self.accounts.values()]
        questions = {
            "phone": say("What number does one call about it?", "联系电话是多少？"),
            "calls": say("From what time can one call?", "几点起可以打电话？"),
        }
        ends = [
            self.draft.solve(
                questions[n], answer, self.last_of[n], {name: key(code, codes)}, needs=[last]
            )
            for n, answer in zip(self.last, answers[-len(self.last) :], strict=True)
        ]
        return ends[0]

    # --- question -----------------------------------------------------------------------------------------------

    def _meant(self, asked: _Asked) -> str:
        hit, offers = asked.hit, self.theme.offers[self.zh]
        if self.has_pages:
            return self.draft.say(
                f"the {hit.kind} that {hit.poster} {offers} in {hit.town}",
                f"{hit.poster}在{hit.town}{offers}的{hit.kind}",
            )
        cheapest = self.theme.cheapest[self.zh]
        return self.draft.say(
            f"the {cheapest} {hit.kind} in {hit.town}", f"{hit.town}{cheapest}的{hit.kind}"
        )

    def _ask(self, ids: list[int]) -> None:
        layout, meant = self.brief.layout, [self._meant(a) for a in self.asked]
        asks = Questions(self.draft, self.site, self.theme.listing[self.zh], self.last)
        self.draft.question = asks.asked(listed(meant, self.brief.language))
        finals = [a[-layout.facets :] for a in self.answers]
        labels = [
            f"{a.hit.kind}（{a.hit.town}）" if self.zh else f"{a.hit.kind} ({a.hit.town})"
            for a in self.asked
        ]
        if layout.concludes:
            self._conclude(finals, labels, ids)
            return
        self.draft.answer = labelled(labels, finals, self.brief.language)

    def _conclude(self, finals: list[list[str]], labels: list[str], ids: list[int]) -> None:
        if self.brief.layout.depth == 1:
            self.draft.answer = f"{sum(int(final[0].split()[0]) for final in finals)} {self.unit}"
            self.draft.conclude(
                self.draft.say("How much is that in total?", "加起来一共多少钱？"),
                self.draft.answer,
                ids,
            )
            return
        first = min(range(len(finals)), key=lambda n: finals[n][0])
        self.draft.answer = f"{labels[first]}{'，' if self.zh else ', '}{finals[first][0]}"
        self.draft.conclude(
            self.draft.say("Which can one call about first?", "哪一个可以先打电话？"),
            self.draft.answer,
            ids,
        )


SEARCH = Family(
    "search", "Advertisements that are searched, sorted or read page by page, and how to reach who is behind them.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=2),
)  # fmt: skip
