"""Catalogues: a product by what is known of it, its spare part, who sells that cheapest, and when it arrives."""

import datetime as dt
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.lookups.questions.catalogue import Questions
from astra_mcp.synthesis.environments.families.lookups.themes.catalogue import THEMES, Mark, Theme
from astra_mcp.synthesis.environments.families.phrases import (
    amount,
    labelled,
    listed,
    with_article,
)

__all__ = ["CATALOGUE"]


def _offered(part: str, price: int, dealers: list[str]) -> dict[str, int]:
    start = issued(part, "dealers") % len(dealers)
    chosen = [dealers[(start + n) % len(dealers)] for n in range(3)]
    ranked = sorted(chosen, key=lambda d: issued(part, d))
    return {d: price * (81 + 6 * n + issued(d, part) % 5) // 100 for n, d in enumerate(ranked)}


def _days_under_way(part: str, dealer: str, town: str) -> int:
    return 2 + issued(part, dealer, town) % 26


def _fee(part: str, dealer: str, town: str) -> int:
    return 285 + issued(town, dealer, part) % 180 * 5


def _make(brief: Brief) -> Draft:
    return copy(_drawn(replace(brief, turn=0))).written(brief)


@lru_cache(maxsize=1)
def _drawn(brief: Brief) -> "_Catalogue":
    """The world that all turns share."""
    return _Catalogue(brief, brief.draw("theme").pick(THEMES))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject of the question."""

    maker: str
    kind: str
    mark: Mark
    limit: int | None
    article: str
    name: str
    """Of its part."""
    part: str


class _Catalogue:
    """One world of products, and what is asked of it."""

    def __init__(self, brief: Brief, theme: Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world", brief.attempt), brief.entities()
        self.calendar = Calendar.drawn(self.draw, brief.language)
        self.unit = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.kinds, self.names = theme.kinds[self.zh], theme.parts[self.zh]
        self._fill()

    def _is_clear(self) -> bool:
        """Whether no two subjects have an answer in common."""
        flat = [a for answers in self.answers for a in answers]
        offered = [p for a in self.asked for p in self._offered_prices(a)]
        return len(flat) == len({*flat}) and len(offered) == len({*offered})

    def written(self, brief: Brief) -> Draft:
        """The draft with its texts, tools and sub-tasks.

        Raises:
            DrawError: Two subjects of the question have an answer in common.
        """
        self.brief = brief
        self.asked = brief.asked(self.chosen)
        self.answers: list[list[str]] = [self._answers_of(asked) for asked in self.asked]
        if not self._is_clear():
            raise DrawError("two subjects of the question have an answer in common")
        self.draft = Draft(brief, self.theme.domain, clock=self.calendar.clock)
        self.draft.title = self.draft.say(*self.theme.about)
        self.draft.description = self.draft.say(
            "A trade catalogue: products, spare parts for them, and the dealers who sell those.",
            "产品目录：产品、备件以及销售备件的商家。",
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
        count, draw, wanted = self.brief.knobs.records, self.draw, self.brief.subjects
        makers = self.entities.firms(max(4, count // 12, wanted // 2), *self.theme.makers[self.zh])
        self.dealers = self.entities.firms(6, *self.theme.dealers[self.zh])
        self.towns = self.entities.places(7)
        self.town = draw.pick(self.towns)
        self.taken: set[int] = set()
        self.prices = cycle(draw.some(range(9000, 16000), min(count + 60 * wanted, 7000)))
        self.rows: list[list[str | int]] = []
        pairs = draw.shuffled([(m, k) for m in makers for k in self.kinds])
        asked = [(*pair, *self._offer(*pair)) for pair in pairs[:wanted]]
        for maker, kind in pairs[wanted:]:
            if len(self.rows) < count or kind == pairs[0][1]:
                self._add(maker, kind, 1 + draw.below(3))
        self._number(asked)

    def _add(self, maker: str, kind: str, count: int) -> None:
        for _ in range(count):
            marks = [self.draw.between(m.low, m.high) for m in self.theme.marks]
            self.rows.append([maker, kind, next(self.prices) * 5, *marks])

    def _offer(self, maker: str, kind: str) -> tuple[Mark, int | None, list[str | int]]:
        """Draw what a maker has of a kind: the one that is meant, dearer and cheap ones that are not."""
        place = self.draw.below(2)
        mark, near = self.theme.marks[place], self.brief.knobs.near_misses
        values = sorted(
            self.draw.some(range(mark.low, mark.high + 1), near + 2), reverse=not mark.is_low
        )
        others = [self.draw.between(m.low, m.high) for m in self.theme.marks]
        is_limited = near > 0 and self.brief.layout.depth == 1  # who needs a part owns the product
        better = (near + 1) // 2 if is_limited else 0
        limit = self.draw.between(12, 70) * 10 if is_limited else None
        meant: list[str | int] = []
        for rank, value in enumerate(values):
            within = self._price(limit, is_above=rank < better)
            row: list[str | int] = [maker, kind, within, *others]
            row[3 + place] = value
            self.rows.append(row)
            meant = row if rank == better else meant
        return mark, limit, meant

    def _price(self, limit: int | None, *, is_above: bool) -> int:
        """A price in cents on one side of a limit; prices of all others lie above 450.00, so some may be the same."""
        if limit is None:
            return next(self.prices) * 5
        low, high = (limit * 102, limit * 150) if is_above else (limit * 60, limit * 98)
        price = self.draw.between(low, high) // 10 * 10 + 9
        while price in self.taken:
            price += 10 if is_above else -10
        self.taken.add(price)
        return price

    def _number(self, wanted: list[tuple[str, str, Mark, int | None, list[str | int]]]) -> None:
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(4))
        rows = self.draw.shuffled(self.rows)
        codes = self.entities.codes(f"{letters[:2]}####@", len(rows))
        self.articles = dict(zip(codes, rows, strict=True))
        numbers = self.entities.codes(f"{letters[2:]}-#####", 3 * len(rows))
        self.parts: dict[str, list[str | int]] = {}
        prices = cycle(self.draw.some(range(700, 5600), min(len(numbers), 4900)))
        for place, article in enumerate(codes):
            for step in range(3):
                name = self.names[(place + step) % len(self.names)]
                self.parts[numbers[3 * place + step]] = [article, name, next(prices)]
        places = {id(row): place for place, row in enumerate(rows)}
        self.chosen: list[_Asked] = []
        for maker, kind, mark, limit, meant in wanted:
            place = places[id(meant)]
            article, part = codes[place], self.draw.pick(numbers[3 * place : 3 * place + 3])
            name = str(self.parts[part][1])
            self.chosen.append(_Asked(maker, kind, mark, limit, article, name, part))

    def _offered_prices(self, asked: _Asked) -> list[int]:
        price = int(self.parts[asked.part][2])
        return [*_offered(asked.part, price, self.dealers).values()]

    def _write_data(self) -> None:
        self.draft.data("PRODUCTS", self.articles)
        if self.brief.layout.depth > 1:
            self.draft.data("PARTS", self.parts)
        if self.brief.layout.depth > 2:
            self.draft.data("DEALERS", self.dealers)
            self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
            self.draft.code(source_of(_offered))
        if self.brief.layout.depth > 3:
            self.draft.data("TOWNS", self.towns)
            self.draft.data("TODAY", self.calendar.today.isoformat())
            self.draft.code(source_of(_days_under_way))
            self.draft.code(source_of(_fee))

    def _answers_of(self, asked: _Asked) -> list[str]:
        """What the sub-tasks of a subject find, in order."""
        layout, row = self.brief.layout, self.parts[asked.part]
        sums = layout.concludes
        if layout.depth == 1:
            price = int(self.articles[asked.article][2])
            return [amount(price, self.unit) if sums else asked.article]
        if layout.depth == 2:
            return [asked.article, amount(int(row[2]), self.unit) if sums else asked.part]
        offered = _offered(asked.part, int(row[2]), self.dealers)
        dealer = min(offered, key=lambda d: offered[d])
        found = [asked.article, asked.part, amount(offered[dealer], self.unit)]
        if layout.depth == 4:
            days = _days_under_way(asked.part, dealer, self.town)
            found.append((self.calendar.today + dt.timedelta(days=days)).isoformat())
            found += [amount(_fee(asked.part, dealer, self.town), self.unit)] * (layout.facets > 1)
        return found

    # --- tools --------------------------------------------------------------------------------------------------

    def _name(self) -> None:
        self.draft.name(
            article=self.theme.article, part=self.theme.part, kind=self.theme.kind, maker="maker|brand|manufacturer",
            price="price|list_price", dealer="dealer|seller|shop", town="town|destination|place",
            limit="max_price|price_up_to|at_most", order="sort|order_by|sorted_by",
            things=self.theme.things, spares=self.theme.spares,
            find="find_$things|search_$things|list_$things", parts="${spares}_list|list_$spares|get_$spares",
            offers="offers_for_$part|who_sells_$part|compare_${dealer}s",
            arrival="delivery_of_$part|arrival_date|delivery_date", fee="shipping_fee|delivery_cost|postage",
        )  # fmt: skip

    def _tools(self) -> None:
        depth, say = self.brief.layout.depth, self.draft.say
        self._find_tool()
        if depth > 1:
            self.list_parts = self.draft.tool(
                "$parts", say("List the spare parts of a product, with their list prices.", "列出某产品的备件及标价。"),
                {"$article": self._code([*self.articles])},
                f"""
                found = [{{"$part": n, "name": r[1], "$price": f"{{r[2] // 100}}.{{r[2] % 100:02d}} {self.unit}"}}
                         for n, r in PARTS.items() if r[0] == $article]
                if not found:
                    raise ValueError(f"{say("There is no product {$article!r}; $find gives the numbers.", "没有产品{$article}；编号可由 $find 查得。")}")
                return {{"$article": $article, "parts": found}}
                """,
            )  # fmt: skip
        if depth > 2:
            self.offers = self.draft.tool(
                "$offers", say("List the dealers who sell a part, with their prices.", "查询销售某备件的商家及售价。"),
                {"$part": self._code([*self.parts])},
                f"""
                {self._unknown_part()}
                offered = _offered($part, PARTS[$part][2], DEALERS)
                named = [d for d in DEALERS if d in offered]
                return {{"$part": $part, "offers": [{{"$dealer": d, "price": f"{{offered[d] // 100}}.{{offered[d] % 100:02d}} {self.unit}"}} for d in named]}}
                """,
            )  # fmt: skip
        if depth > 3:
            self._last_tools()

    def _find_tool(self) -> None:
        say, options = self.draft.say, self.brief.knobs.options
        first, second = self.theme.marks
        self.draft.name(mark=first.field, other=second.field)
        extra = {
            "$order": {"type": "string", "enum": ["price", "price_desc"], "description": say("Order of the result.", "结果排序。")},
            "$limit": {"type": "integer", "minimum": 1, "description": say(f"Highest price in {self.unit}.", f"最高价格（{self.unit}）。")},
        }  # fmt: skip
        used = dict([*extra.items()][:options])
        narrowed = "\nif $limit is not None:\n    found = [(a, r) for a, r in found if r[2] <= $limit * 100]"
        ordered = (
            "\nif $order:\n    found.sort(key=lambda f: f[1][2], reverse=$order.endswith('desc'))"
        )
        self.find = self.draft.tool(
            "$find", say("List a maker's products of one kind, with prices and data.", "按厂家和类别列出产品、价格和参数。"),
            {"$maker": {"type": "string", "minLength": 2, "description": say("Full name.", "厂家全称。")},
             "$kind": {"type": "string", "enum": [*self.kinds]}, **used},
            f"""
            wanted = $maker.strip().casefold()
            if all(r[0].casefold() != wanted for r in PRODUCTS.values()):
                raise ValueError(f"{say("No maker is called {$maker!r} here; give the full name.", "目录中没有厂家{$maker}；请提供全称。")}")
            found = [(a, r) for a, r in PRODUCTS.items() if r[0].casefold() == wanted and r[1] == $kind]
            """ + (narrowed + ordered if options > 1 else ordered if options else "").replace("\n", "\n            ") + f"""
            if not found:
                raise ValueError(f"{say("Nothing of this kind by {$maker}; try another kind or fewer conditions.", "{$maker}没有符合条件的产品；请换一个类别或放宽条件。")}")
            return {{"$maker": found[0][1][0], "products": [{{"$article": a, "$price": f"{{r[2] // 100}}.{{r[2] % 100:02d}} {self.unit}",
                "$mark": f"{{r[3]}} {first.unit}", "$other": f"{{r[4]}} {second.unit}"}} for a, r in found]}}
            """,
            optional=[*used],
        )  # fmt: skip
        self._show_options(options)

    def _show_options(self, options: int) -> None:
        """Calls in which each option changes the result."""
        asked = self.asked[0]
        prices = [
            int(r[2]) for r in self.articles.values() if [*r[:2]] == [asked.maker, asked.kind]
        ]
        order = "price_desc" if prices == sorted(prices) else "price"
        given = {"$maker": asked.maker, "$kind": asked.kind}
        if options:
            self.draft.example("$find", **given, **{"$order": order})
        if options > 1:
            self.draft.example("$find", **given, **{"$limit": (max(prices) - 1) // 100})

    def _code(self, codes: list[str]) -> dict[str, str]:
        head = codes[0][: 3 if "-" in codes[0] else 2]
        tail = "[0-9]{5}" if "-" in head else "[0-9]{4}[A-Z]"
        return {"type": "string", "pattern": f"^{head}{tail}$"}

    def _unknown_part(self) -> str:
        said = self.draft.say(
            "There is no part {$part!r}; $parts gives the numbers.",
            "没有备件{$part}；编号可由 $parts 查得。",
        )
        return f'if $part not in PARTS:\n                    raise ValueError(f"{said}")'

    def _last_tools(self) -> None:
        say = self.draft.say
        given = {
            "$part": self._code([*self.parts]), "$dealer": {"type": "string", "minLength": 2},
            "$town": {"type": "string", "minLength": 2},
        }  # fmt: skip
        checks = f"""
                {self._unknown_part()}
                if $dealer not in _offered($part, PARTS[$part][2], DEALERS):
                    raise ValueError(f"{say("{$dealer!r} does not sell this part; see $offers.", "{$dealer}不销售该备件；请见 $offers。")}")
                if $town not in TOWNS:
                    raise ValueError(f"{say("Nobody delivers to {$town!r}; towns are: {', '.join(TOWNS)}.", "不能寄往{$town}；可送达：{'、'.join(TOWNS)}。")}")
                """
        self.arrival = self.draft.tool(
            "$arrival", say("Tell when a part ordered today arrives.", "查询今天下单的备件哪天送到。"), given,
            checks + """
                arrives = datetime.date.fromisoformat(TODAY) + datetime.timedelta(days=_days_under_way($part, $dealer, $town))
                return {"$part": $part, "arrives": arrives.isoformat()}
            """,
        )  # fmt: skip
        if self.brief.layout.facets > 1:
            self.fee = self.draft.tool(
                "$fee", say("Tell what a dealer charges for delivering a part.", "查询商家寄送备件的运费。"), given,
                checks + f"""
                fee = _fee($part, $dealer, $town)
                return {{"$part": $part, "$fee": f"{{fee // 100}}.{{fee % 100:02d}} {self.unit}"}}
                """,
            )  # fmt: skip

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked, answers: list[str]) -> int:
        """The sub-tasks of one subject; gives the last."""
        say, sums, depth = self.draft.say, self.brief.layout.concludes, self.brief.layout.depth
        product = self._product(asked)
        rows = [*self.articles.values()]
        makers = [str(r[0]) for r in rows if r[1] == asked.kind] + [str(r[0]) for r in rows]
        last = self.draft.solve(
            say(f"How much is {product}?", f"{product}多少钱？") if sums and depth == 1
            else say(f"What is the catalogue number of {product}?", f"{product}的产品编号是多少？"),
            answers[0], self.find, {"$maker": key(asked.maker, makers), "$kind": key(asked.kind, self.kinds)},
        )  # fmt: skip
        if depth == 1:
            return last
        last = self.draft.solve(
            say(f"What is the list price of its {asked.name}?", f"它的{asked.name}标价多少？") if sums and depth == 2
            else say(f"What is the part number of its {asked.name}?", f"它的{asked.name}备件编号是多少？"),
            answers[1], self.list_parts, {"$article": key(asked.article, self.articles)}, needs=[last],
        )  # fmt: skip
        return last if depth == 2 else self._buy(asked, answers, last)

    def _buy(self, asked: _Asked, answers: list[str], second: int) -> int:
        say = self.draft.say
        part = {"$part": key(asked.part, [p for p in [*self.parts][::-1] if p != asked.part])}
        third = self.draft.solve(
            say(f"How much is this {asked.name} at the cheapest dealer?", f"这种{asked.name}最便宜卖多少钱？"),
            answers[2], self.offers, part, needs=[second],
        )  # fmt: skip
        if self.brief.layout.depth == 3:
            return third
        offered = _offered(asked.part, int(self.parts[asked.part][2]), self.dealers)
        dealer = min(offered, key=lambda d: offered[d])
        given = {
            **part,
            "$dealer": key(dealer, [*offered, *self.dealers]),
            "$town": key(self.town, self.towns),
        }
        self.draft.solve(
            say(f"When does it arrive in {self.town} if ordered there?", f"在那家买，哪天能送到{self.town}？"),
            answers[3], self.arrival, given, needs=[second, third],
        )  # fmt: skip
        if self.brief.layout.facets > 1:
            self.draft.solve(
                say(f"What does that dealer charge for delivery to {self.town}?", f"那家寄到{self.town}运费多少？"),
                answers[4], self.fee, given, needs=[second, third],
            )  # fmt: skip
        return third

    # --- question -----------------------------------------------------------------------------------------------

    def _product(self, asked: _Asked) -> str:
        money = {"EUR": "euros", "GBP": "pounds", "USD": "dollars", "元": "元"}[self.unit]
        best, limit = asked.mark.best[self.zh], asked.limit
        if self.zh:
            return (
                f"{asked.maker}{'' if limit is None else f'{limit}{money}以内'}{best}的{asked.kind}"
            )
        thing = f"{best} {asked.kind}" + ("" if limit is None else f" under {limit} {money}")
        if self.brief.layout.subjects == 1 and self.brief.draw("maker", self.brief.turn).chance(
            1, 2
        ):
            return f"the {thing} from {asked.maker}"
        return f"{asked.maker}'{'' if asked.maker.endswith('s') else 's'} {thing}"

    def _wish(self, asked: _Asked) -> str:
        """What is asked about, so that it can stand in a list."""
        product = self._product(asked)
        if self.brief.layout.depth == 1:
            return product
        return (
            f"{product}的{asked.name}" if self.zh else f"{with_article(asked.name)} for {product}"
        )

    def _label(self, asked: _Asked) -> str:
        product = f"{asked.maker}的{asked.kind}" if self.zh else f"{asked.kind} ({asked.maker})"
        if self.brief.layout.depth == 1:
            return product
        return f"{product}，{asked.name}" if self.zh else f"{asked.name}, {product}"

    def _ask(self, ids: list[int]) -> None:
        layout, first = self.brief.layout, self.asked[0]
        asks = Questions(self.draft, self.town)
        self.draft.question = (
            asks.for_one(self._product(first), first.name) if layout.subjects == 1
            else asks.for_several(listed([*map(self._wish, self.asked)], self.brief.language))
        )  # fmt: skip
        finals = [a[-layout.facets :] for a in self.answers]
        if layout.concludes:
            cents = sum(int(f[0].split()[0].replace(".", "")) for f in finals)
            total = amount(cents, self.unit)
            self.draft.conclude(
                self.draft.say("How much is that in total?", "一共多少钱？"), total, ids
            )
            self.draft.answer = total
            return
        self.draft.answer = labelled([*map(self._label, self.asked)], finals, self.brief.language)


CATALOGUE = Family(
    "catalogue", "Products that are found by what is known of them, their parts, and who sells those.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
