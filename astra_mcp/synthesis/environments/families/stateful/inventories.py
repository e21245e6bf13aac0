"""Inventories: an article is found, where it lies is looked up, some of it is moved, and what is there then is asked."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed
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
            return say(f"Which of them is there {self._less} of?", "哪一种最少？"), least.said
        if depth == 1:
            cents = sum(self._price_of(one) * one.count for one in self.asked)
            asked = say("How much do they cost in total?", "一共多少钱？")
        else:
            cents = sum(self._fee_of(one) for one in self.asked)
            asked = say("How much are the fees in total?", "手续费一共是多少？")
        return asked, f"{cents / 100:.2f}{self.money}"

    @property
    def _several(self) -> bool:
        return len(self.asked) > 1

    @property
    def _less(self) -> str:
        return "less" if len(self.asked) == 2 else "the least"

    @property
    def _least(self) -> str:
        return "更少" if len(self.asked) == 2 else "最少"

    def _listed(self) -> str:
        return listed([one.said for one in self.asked], self.brief.language)

    def _amounts(self) -> str:
        amounts = [self.theme.amount[self.zh].format(n=one.count, x=one.said) for one in self.asked]
        return listed(amounts, self.brief.language)

    @property
    def _how_many(self) -> str:
        """The English question for a number, with the boxes that are counted, if any."""
        unit = f" {self.unit}" if " of " in self.theme.amount[0] else ""
        if self._several:
            return f"how many{unit} of each"
        return f"how many{unit}"

    def _first(self) -> str:
        say, house, them = self.draft.say, self.house, self._listed()
        s, are, apiece = ("s", "are they", "分别") if self._several else ("", "is it", "")
        if self.brief.layout.concludes:
            amounts = self._amounts()
            return say(
                f"What would {amounts} cost in total from {house}? || "
                f"I'd like to order {amounts} from {house}. How much is that altogether?",
                f"我要在{house}订{amounts}，一共多少钱？ || 帮我算一下，从{house}买{amounts}一共多少钱？",
            )
        if self.by_price:
            return say(
                f"What does {house} charge per {self.one} for {them}? || "
                f"Could you check what {house} charges per {self.one} for {them}?",
                f"{house}的{them}{apiece}多少钱一{self.one}？ || 麻烦查一下，{house}的{them}{apiece}多少钱一{self.one}？",
            )
        return say(
            f"Could you look up the catalogue number{s} that {house} has for {them}? || "
            f"The order form of {house} asks for the catalogue number{s} of {them}. What {are}?",
            f"{house}的{them}，编号{apiece}是多少？ || 我在填{house}的订货单，{them}的编号{apiece}是多少？",
        )

    def _second(self) -> str:
        say, house, them, many = self.draft.say, self.house, self._listed(), self._how_many
        apiece = "各" if self._several else ""
        if self.brief.layout.concludes:
            return say(
                f"Of {them}, which does {house} have {self._less} stock of at {self.here}? || "
                f"I'm going to {self.here} to pick up {them}. Which of these does {house} have {self._less} stock of there?",
                f"{them}，{house}在{self.here}的库存哪一种{self._least}？ || 我要去{house}的{self.here}取{them}，那里哪一种库存{self._least}？",
            )
        if self.by_place:
            return say(
                f"I'm looking for {them}. {many[0].upper()}{many[1:]} does {house} have at {self.here}? || "
                f"I can pick up {them} at {self.here}. {many[0].upper()}{many[1:]} does {house} have there?",
                f"{them}在{house}的{self.here}{apiece}还有多少{self.unit}？ || 我打算去{self.here}取货，{house}在那里的{them}{apiece}还有多少{self.unit}？",
            )
        has = "has the most of it" if self._several else "has the most"
        own = "各自" if self._several else ""
        return say(
            f"{house} keeps {them} at several {self.stores}. {many[0].upper()}{many[1:]} are there at the {self.store} that {has}? || "
            f"I'm looking for {them}. {many[0].upper()}{many[1:]} does {house} have at the {self.store} that {has}?",
            f"{house}好几个{self.stores}都有{them}，{own}存货最多的{self.store}{apiece}有多少{self.unit}？ || "
            f"{them}在{house}{own}存货最多的{self.store}里有多少{self.unit}？",
        )

    def _order(self) -> str:
        """The sentence by which goods are to be moved."""
        say, house, amounts = self.draft.say, self.house, self._amounts()
        each, apiece = (", each", "分别") if self._several else ("", "")
        most = "that has the most of it" if each else "with the most in stock"
        own = "各自" if each else ""
        if self.is_transfer:
            return say(
                f"Please have {house} send {amounts} to {self.here}{each} from the {self.store} {most}. || "
                f"I need {amounts} at {self.here}. Please have {house} transfer them{each} from the {self.store} {most}.",
                f"请让{house}把{amounts}调到{self.here}，{apiece}从{own}存货最多的{self.store}调。 || "
                f"{self.here}需要{amounts}，请让{house}{apiece}从{own}存货最多的{self.store}调过去。",
            )
        return say(
            f"Please have {house} reserve {amounts}{each} at the {self.store} {most}. || "
            f"I'd like {house} to set aside {amounts}{each} at the {self.store} {most}.",
            f"请让{house}预留{amounts}，{apiece}留在{own}存货最多的{self.store}。 || 麻烦在{house}预留{amounts}，{apiece}从{own}存货最多的{self.store}里留。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        if self.brief.layout.concludes:
            return self._joined(
                "How much are the fees in total? || What do the fees come to altogether?",
                "手续费一共多少？ || 手续费加起来是多少？",
            )
        s, are, apiece = ("s", "are", "分别") if self._several else ("", "is", "")
        return self._joined(
            f"What {are} the {self.slip} number{s}? || Then give me the {self.slip} number{s}.",
            f"办好后请把{self.slip}号{apiece}告诉我。 || 办好后{self.slip}号{apiece}是多少？",
        )

    def _fourth(self) -> str:
        say, many = self.draft.say, self._how_many
        apiece, places = ("各", "分别") if self._several else ("", "")
        if self.is_transfer:
            left = say(
                f"{many} will be available at {self.here} after that",
                f"{self.here}{apiece}会有多少{self.unit}",
            )
        else:
            left = say(
                f"{many} will still be available there after that",
                f"那里{apiece}还剩多少{self.unit}可用",
            )
        ready = "each of them" if len(self.asked) > 2 else "each" if self._several else "the order"
        bay = say(f"at which bay {ready} will be ready", f"货{places}在哪个交接区")
        wanted = [{"left": left, "bay": bay}[end] for end in self.ends]
        return self._joined(
            f"Then tell me {' and '.join(wanted)}. || Please also let me know {' and '.join(wanted)}.",
            f"办好后告诉我{'，以及'.join(wanted)}。 || 然后请告诉我{'，还有'.join(wanted)}。",
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
            say(f"How many are there at {self.here}?", f"{self.here}有多少？") if self.by_place
            else say(f"How many are there at the {self.store} with the most?", f"存货最多的{self.store}有多少？"),
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
            f"What is the {self.slip} number for {moved}?", f"{moved}的{self.slip}号是多少？"
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
            asked = say("At which bay will the goods be ready?", "货在哪个交接区？")
            return self.draft.solve(
                asked, bay, "$dispatch", {"$slip": key(slip)}, needs=[third]
            ), bay
        left = f"{self._after(one)}{self._gap}{self.unit}"
        place = (
            self.here
            if self.is_transfer
            else say("the place that they were taken from", "取货的地方")
        )
        asked = say(f"How many {self.unit} are at {place} then?", f"之后{place}有多少{self.unit}？")
        arguments = {"$code": key(one.item, self._others(one))}
        return self.draft.solve(asked, left, "$stock", arguments, needs=[first, third]), left


INVENTORIES = Family(
    "inventories", "Stock in several places that is found, moved, and counted again.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
