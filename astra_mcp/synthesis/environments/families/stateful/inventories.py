"""Inventories: an article is found, where it lies is looked up, some of it is moved, and what is there then is asked."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed, with_article
from astra_mcp.synthesis.environments.families.stateful.stock import Article, Stock

__all__ = ["INVENTORIES"]


def _make(brief: Brief) -> Draft:
    return _Inventory(brief).written()


class _Inventory(Stock):
    """What is asked of such a world."""

    def _ask(self) -> None:
        layout = self.brief.layout
        depth, concludes = layout.depth, layout.concludes
        self.by_price = depth == 1 and (concludes or self.brief.draw("first").chance(1, 2))
        self.by_place = depth == 2 and (concludes or self.brief.draw("second").chance(1, 2))
        followed = [self._follow(one) for one in self.asked]
        last = [ids[-1] for ids, _ in followed]
        wording = (self._first, self._second, self._third, self._fourth)[depth - 1]
        errand = self.draft.say(*self.theme.errand)
        self.draft.question = errand + ("" if self.zh else " ") + wording()
        mark, end = ("：", "；") if self.zh else (": ", "; ")
        parts = [
            one.said + mark + listed(answers, self.brief.language)
            for one, (_, answers) in zip(self.asked, followed, strict=True)
        ]
        if concludes:
            asked, answer = self._conclusion()
            self.draft.conclude(asked, answer, last)
            parts = [answer]
        self.draft.answer = end.join(parts)

    def _conclusion(self) -> tuple[str, str]:
        say, depth = self.draft.say, self.brief.layout.depth
        if depth == 2:
            least = min(self.asked, key=lambda one: one.stock[self.here])
            return say("Of which of them is there the least?", "哪一种最少？"), least.said
        if depth == 1:
            cents = sum(self._price_of(one) * one.count for one in self.asked)
            asked = say("What do they cost altogether?", "一共多少钱？")
        else:
            cents = sum(self._fee_of(one) for one in self.asked)
            asked = say("What are the fees altogether?", "费用一共是多少？")
        return asked, f"{cents / 100:.2f}{self.money}"

    def _listed(self) -> str:
        return listed([one.said for one in self.asked], self.brief.language)

    def _amounts(self) -> str:
        amounts = [self.theme.amount[self.zh].format(n=one.count, x=one.said) for one in self.asked]
        return listed(amounts, self.brief.language)

    def _first(self) -> str:
        say, house, them = self.draft.say, self.house, self._listed()
        if self.brief.layout.concludes:
            amounts = self._amounts()
            return say(
                f"I would need {amounts}. What would that cost me at {house}? || "
                f"If I order {amounts} from {house}, how much is it in all? || "
                f"What does {house} want in total for {amounts}?",
                f"我要在{house}订{amounts}，一共多少钱？ || {amounts}，按{house}的价格总共要花多少？ || "
                f"帮我算一下：从{house}买{amounts}，合计多少钱？",
            )
        if self.by_price:
            a_piece = f"one {self.one} each" if len(self.asked) > 1 else with_article(self.one)
            return say(
                f"What does {house} charge per {self.one} for {them}? || "
                f"How much is {a_piece} of {them} at {house}? || "
                f"Could you check the price per {self.one} that {house} has for {them}?",
                f"{house}的{them}每{self.one}多少钱？ || 麻烦查一下{house}的{them}，单价是多少？ || {them}在{house}卖多少钱一{self.one}？",
            )
        several = len(self.asked) > 1
        which = "numbers" if several else "number"
        return say(
            f"Which catalogue {which} does {house} have for {them}? || "
            f"The order form of {house} wants the catalogue {which} of {them}; what {'are they' if several else 'is it'}? || "
            f"Under which catalogue {which} does {house} list {them}?",
            f"{house}的{them}{'分别' if several else ''}是什么编号？ || "
            f"{house}的订货单要填{them}的编号，{'各' if several else ''}是多少？ || 在{house}的目录里，{them}的编号是什么？",
        )

    def _second(self) -> str:
        say, house, them = self.draft.say, self.house, self._listed()
        if self.brief.layout.concludes:
            which = listed([one.said for one in self.asked], self.brief.language, either=True)
            return say(
                f"Of {them}, which does {house} have the least of at {self.here}? || "
                f"I am going to {self.here} and would first take what {house} has least of there. Which of these is that: {which}?",
                f"{them}，{house}的{self.here}里哪一种最少？ || 我去{self.here}取货。{them}里面，{house}在那里哪一种存货最少？",
            )
        if self.by_place:
            return say(
                f"How many {self.unit} of {them} does {house} still have free at {self.here}? || "
                f"I can collect at {self.here}: how many {self.unit} of {them} does {house} have there?",
                f"{house}在{self.here}还有多少{them}？ || 我打算去{self.here}取，那里{house}的{them}还剩多少{self.unit}？",
            )
        each, apiece = (" each time", "分别") if len(self.asked) > 1 else ("", "")
        return say(
            f"{house} keeps {them} in several {self.stores}. How many {self.unit} are free{each} in the one that has most? || "
            f"I would rather drive to one place only for each thing. How many {self.unit} of {them} does {house} have where it has most?",
            f"{house}好几个{self.stores}都有{them}，存货最多的那个{self.store}{apiece}有多少{self.unit}？ || "
            f"{them}，{house}存得最多的{self.store}里{apiece}还有多少{self.unit}？",
        )

    def _order(self) -> str:
        """The sentence by which goods are to be moved."""
        say, house, amounts = self.draft.say, self.house, self._amounts()
        each = " of each" if len(self.asked) > 1 else ""
        apiece = "各自" if len(self.asked) > 1 else ""
        if self.is_transfer:
            return say(
                f"Please get {house} to send {amounts} to {self.here}, from wherever there is most{each}. || "
                f"I need {amounts} at {self.here}; have {house} bring that over from the {self.store} with the most{each}.",
                f"请让{house}把{amounts}调到{self.here}，从{apiece}存货最多的{self.store}调。 || "
                f"{self.here}需要{amounts}，请{house}从{apiece}存得最多的{self.store}调过来。",
            )
        return say(
            f"Please have {house} put aside {amounts} in the {self.store} that has most{each}. || "
            f"Could you reserve {amounts} at {house}, wherever they have most{each}?",
            f"请在{house}{apiece}存货最多的{self.store}预留{amounts}。 || 麻烦在{house}订下{amounts}，从{apiece}存得最多的{self.store}里留。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return self._joined(
                "What do they charge for that in all? || What will both together cost me in fees?",
                "手续费一共多少？ || 两笔的费用加起来是多少？",
            )
        them = f"{self.slip}s" if several else self.slip
        return self._joined(
            f"I just need the {'numbers' if several else 'number'} of the {them}. || What {'are' if several else 'is'} the {self.slip} {'numbers' if several else 'number'}?",
            f"然后告诉我{self.slip}号。 || 办好后{self.slip}号{'分别' if several else ''}是多少？",
        )

    def _fourth(self) -> str:
        say, each = self.draft.say, " each time" if len(self.asked) > 1 else ""
        apiece = "分别" if len(self.asked) > 1 else ""
        if self.is_transfer:
            left = say(
                f"how many {self.unit} {self.here} has{' of each' if each else ''} once they are there",
                f"调完之后{self.here}{apiece}有多少{self.unit}",
            )
        else:
            left = say(
                f"how many {self.unit} are still free there after that{each}",
                f"留完之后那里{apiece}还剩多少{self.unit}可用",
            )
        bay = say(f"at which bay the goods stand ready{each}", f"货{apiece}在哪个交接区")
        wanted = [{"left": left, "bay": bay}[end] for end in self.ends]
        return self._joined(
            f"Then tell me {' and '.join(wanted)}. || Afterwards I want to know {' and '.join(wanted)}.",
            f"办好后告诉我{'，以及'.join(wanted)}。 || 然后我想知道{'，还有'.join(wanted)}。",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Article) -> tuple[list[int], list[str]]:
        """The sub-tasks of one article: their ids, and what the question asks for."""
        say, depth = self.draft.say, self.brief.layout.depth
        price = f"{self._price_of(one) / 100:.2f}{self.money}"
        answer = price if self.by_price else one.item
        asked = (
            say(
                f"What is the price of {one.said} per {self.one}?",
                f"{one.said}每{self.one}多少钱？",
            )
            if self.by_price
            else say(f"What is the catalogue number of {one.said}?", f"{one.said}的编号是什么？")
        )
        names = [p for p, v in self.items if v == one.variant] + [p for p, _ in self.items]
        first = self.draft.solve(
            asked, answer, "$find",
            {"$product": key(one.product, names), "$variant": key(one.variant, [v for p, v in self.items if p == one.product] + self.variants)},
        )  # fmt: skip
        if depth == 1:
            return [first], [answer]
        place = self.here if self.by_place else one.most
        most = f"{one.stock[place]}{self._gap}{self.unit}"
        second = self.draft.solve(
            say(f"How many of them are free at {self.here}?", f"{self.here}有多少？") if self.by_place
            else say("How many of them are free where there are most?", f"存货最多的{self.store}有多少？"),
            most, "$stock", {"$code": key(one.item, self._others(one))}, needs=[first],
        )  # fmt: skip
        if depth == 2:
            return [second], [most]
        return self._move(one, first, second)

    def _others(self, one: Article) -> list[str]:
        return [c for c in self.items.values() if c != one.item]

    def _move(self, one: Article, first: int, second: int) -> tuple[list[int], list[str]]:
        say, layout, slip = self.draft.say, self.brief.layout, self._slip(one)
        fee = f"{self._fee_of(one) / 100:.2f}{self.money}"
        answer = fee if layout.concludes else slip
        moved = self.theme.amount[self.zh].format(n=one.count, x=one.said)
        there = key(one.most, [p for p in self.places if p != one.most], source=second)
        places = (
            {"$source": there, "$target": key(self.here, self.places)} if self.is_transfer else {"$place": there}
        )  # fmt: skip
        asked = say(f"What is the fee for moving {moved}?", f"{moved}的手续费是多少？") if layout.concludes else say(
            f"What is the number of the {self.slip} for {moved}?", f"{moved}的{self.slip}号是多少？"
        )  # fmt: skip
        counts = [n for n in (one.count + 1, one.count + 2, one.count - 1, one.count + 7) if n > 0]
        third = self.draft.solve(
            asked, answer, "$move",
            {"$code": key(one.item, self._others(one)), **places, "$count": key(one.count, counts, any_value=True)},
            needs=[first, second],
        )  # fmt: skip
        if layout.depth == 3:
            return [third], [answer]
        made = [self._end(one, end, first, third) for end in self.ends]
        return [number for number, _ in made], [answer for _, answer in made]

    def _end(self, one: Article, end: str, first: int, third: int) -> tuple[int, str]:
        say, slip = self.draft.say, self._slip(one)
        if end == "bay":
            bay = self._bay_of(one)
            asked = say("At which bay do the goods stand ready?", "货在哪个交接区？")
            return self.draft.solve(
                asked, bay, "$dispatch", {"$slip": key(slip)}, needs=[third]
            ), bay
        left = f"{self._after(one)}{self._gap}{self.unit}"
        place = (
            self.here if self.is_transfer else say("the place that it was taken from", "取货的地方")
        )
        asked = say(f"How many {self.unit} are at {place} then?", f"之后{place}有多少{self.unit}？")
        arguments = {"$code": key(one.item, self._others(one))}
        return self.draft.solve(asked, left, "$stock", arguments, needs=[first, third]), left


INVENTORIES = Family(
    "inventories", "Stock in several places that is found, moved, and counted again.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
