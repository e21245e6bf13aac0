"""Baskets: one is found, what lies in it is looked at, it is changed, and what is to be paid then is asked."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed, tagged, with_article
from astra_mcp.synthesis.environments.families.stateful.shops import Basket, Shop

__all__ = ["BASKETS"]


def _make(brief: Brief) -> Draft:
    return _Baskets(brief).written()


class _Baskets(Shop):
    """What is asked of such a world."""

    def _ask(self) -> None:
        layout = self.brief.layout
        self.by_total = layout.depth == 1 and (
            layout.concludes or self.brief.draw("first").chance(1, 2)
        )
        self.by_missing = (
            layout.depth == 2 and not layout.concludes and self.brief.draw("second").chance(1, 2)
        )
        followed = [self._follow(one) for one in self.asked]
        last = [ids[-1] for ids, _ in followed]
        wording = (self._first, self._second, self._third, self._fourth)[layout.depth - 1]
        self.draft.question = wording()
        mark, end = ("：", "；") if self.zh else (": ", "; ")
        answers = [
            one.who + mark + listed(found, self.brief.language)
            for one, (_, found) in zip(self.asked, followed, strict=True)
        ]
        if layout.concludes:
            asked, answer = self._conclusion()
            self.draft.conclude(asked, answer, last)
            answers = [answer]
        self.draft.answer = end.join(answers)

    def _amount(self, cents: int) -> str:
        return f"{cents / 100:.2f}{self.money}"

    def _conclusion(self) -> tuple[str, str]:
        say, depth = self.draft.say, self.brief.layout.depth
        if depth == 2:
            most = max(self.asked, key=lambda one: max(self.cents[i] for i in one.lines))
            return say(
                "Who has the item with the highest unit price?", "单价最高的商品是谁的？"
            ), most.who
        total = sum(one.total if depth == 1 else one.changed for one in self.asked)
        return say("What is the combined total?", "加起来一共多少钱？"), self._amount(total)

    @property
    def _several(self) -> bool:
        return len(self.asked) > 1

    def _baskets(self) -> str:
        """The baskets that are asked for: in English a sentence of their own, in Chinese a phrase."""
        if self._several:
            tags = [one.label if self.zh else f"for {one.label}" for one in self.asked]
            them = tagged([one.who for one in self.asked], tags, self.brief.language)
            return self.draft.say(
                f"{them} each have {with_article(self.basket)} open at {self.house}.",
                f"{them}在{self.house}的{self.basket}",
            )
        one = self.asked[0]
        return self.draft.say(
            f"{one.who} has {with_article(self.basket)} for {one.label} open at {self.house}.",
            f"{one.who}在{self.house}给{one.label}准备的{self.basket}",
        )

    def _first(self) -> str:
        say, baskets = self.draft.say, self._baskets()
        s, each, apiece = ("s", " of each", "各") if self._several else ("", "", "一共")
        if self.brief.layout.concludes:
            return say(
                f"{baskets} What's the combined total so far? || "
                f"I'm paying for everybody. {baskets} How much do they come to altogether at the moment?",
                f"{baskets}由我来付，现在加起来一共多少钱？ || 帮我算一下，{baskets}现在加起来一共多少钱？",
            )
        if self.by_total:
            return say(
                f"{baskets} What's the total{each} so far? || "
                f"I'm keeping an eye on our spending. {baskets} What's the current total{each}?",
                f"{baskets}，现在{apiece}是多少钱？ || 我在盯预算，想知道{baskets}目前{apiece}是多少钱。",
            )
        are, apiece = ("are", "分别") if self._several else ("is", "")
        return say(
            f"{baskets} What {are} the {self.basket} number{s}? || "
            f"{baskets} I have to give the {self.basket} number{s} on the phone. What {are} {'they' if self._several else 'it'}?",
            f"{baskets}，编号{apiece}是多少？ || 我要打个电话，麻烦查一下{baskets}，编号{apiece}是多少？",
        )

    def _second(self) -> str:
        say, baskets = self.draft.say, self._baskets()
        it, apiece = ("each", "分别") if self._several else ("it", "")
        one_each = "各" if self._several else ""
        if self.brief.layout.concludes:
            return say(
                f"{baskets} Who picked the item with the highest unit price? || "
                f"{baskets} Whose {self.basket} contains the item with the highest unit price?",
                f"{baskets}里，单价最高的商品是谁选的？ || 看一下{baskets}，单价最高的商品在谁的{self.basket}里？",
            )
        if self.by_missing:
            return say(
                f"{baskets} How much more does {it} need for free delivery? || "
                f"{baskets} We'd like free delivery. How much is {it} still short?",
                f"{baskets}{one_each}还差多少钱免运费？ || 想凑够免运费，{baskets}{one_each}还要再买多少钱的东西？",
            )
        return say(
            f"{baskets} What's the highest unit price in {it}? || "
            f"I think we're overspending. {baskets} What's the unit price of the most expensive item in {it}?",
            f"{baskets}里，最贵的商品单价{apiece}是多少？ || 总觉得花多了，{baskets}里单价最高的商品{one_each}多少钱一件？",
        )

    def _order(self) -> str:
        """The sentences by which baskets are to be changed."""
        say, baskets, count = self.draft.say, self._baskets(), self.count
        from_it, in_it, apiece = (" from each", " in each", "都") if self._several else ("", "", "")
        if self.removes:
            return say(
                f"{baskets} We're over budget, so please remove the item with the highest unit price{from_it}. || "
                f"We have to save money. {baskets} Please take the item with the highest unit price out{' of each' if self._several else ''}.",
                f"{baskets}{apiece}超预算了，请{'分别' if self._several else ''}把里面单价最高的商品去掉。 || "
                f"得省点钱，请把{baskets}里单价最高的商品{apiece}去掉。",
            )
        return say(
            f"{baskets} Please set the quantity of the item with the lowest unit price{in_it} to {count}. || "
            f"{baskets} We need more after all, so please change the quantity of the item with the lowest unit price{in_it} to {count}.",
            f"请把{baskets}里单价最低的商品数量{apiece}改成{count}件。 || 原来的数量不够，请把{baskets}里单价最低的商品数量{apiece}改成{count}件。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        if self.brief.layout.concludes:
            return self._joined(
                "What's the combined total after that? || How much do they come to altogether then?",
                "改好后加起来一共多少钱？ || 这样加起来一共是多少钱？",
            )
        each, apiece = (" of each", "各") if self._several else ("", "一共")
        return self._joined(
            f"What's the new total{each}? || Then tell me the new total{each}.",
            f"改好后{apiece}是多少钱？ || 改完之后{apiece}要多少钱？",
        )

    def _fourth(self) -> str:
        each, to, apiece, both = (
            (" for each", " to each", "分别", "都") if self._several else ("", "", "一共", "")
        )
        pay = self.draft.say(
            f"how much is there to pay{each}, including delivery", f"含运费{apiece}要付多少钱"
        )
        slot = self.draft.say(
            f"when does the next delivery window{each} start",
            f"最近的送货时段{apiece if self._several else ''}从什么时候开始",
        )
        asked = [{"pay": pay, "slot": slot}[end] for end in self.ends]
        if "pay" not in self.ends:
            return self._joined(
                f"After that, {slot}? || Once that's done, {slot}?",
                f"改好后，{slot}？ || 改完之后，{slot}？",
            )
        wanted = ", and ".join(asked)
        return self._joined(
            f"Then apply voucher {self.voucher}{to}. {wanted[0].upper()}{wanted[1:]}?",
            f"改好后{both}用上优惠券{self.voucher}，{'，'.join(asked)}？ || 再{both}用上优惠券{self.voucher}，{'，'.join(asked)}？",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Basket) -> tuple[list[int], list[str]]:
        """The sub-tasks of one basket: their ids, and what the question asks for."""
        say, depth = self.draft.say, self.brief.layout.depth
        which = say(
            f"{one.who}'s {self.basket} for {one.label}",
            f"{one.who}给{one.label}准备的{self.basket}",
        )
        answer = self._amount(one.total) if self.by_total else one.basket
        names = [w for w, label in self.baskets if label == one.label] + [
            w for w, _ in self.baskets
        ]
        first = self.draft.solve(
            say(f"What is the total of {which}?", f"{which}目前商品总额是多少？") if self.by_total
            else say(f"What is the number of {which}?", f"{which}的编号是多少？"),
            answer, "$find",
            {"$who": key(one.who, names), "$label": key(one.label, [label for w, label in self.baskets if w == one.who])},
        )  # fmt: skip
        if depth == 1:
            return [first], [answer]
        asked, answer = self._looked_up(one)
        second = self.draft.solve(
            asked,
            answer,
            "$show",
            {"$code": key(one.basket, self._others_than(one))},
            needs=[first],
        )
        if depth == 2:
            return [second], [answer]
        return self._change(one, first, second)

    def _looked_up(self, one: Basket) -> tuple[str, str]:
        say = self.draft.say
        if self.by_missing:
            return say(
                "How much more does it need for free delivery?", "还差多少免运费？"
            ), self._amount(self.free_from - one.total)
        if self.removes or self.brief.layout.depth == 2:
            dearest = max(self.cents[i] for i in one.lines)
            return say(
                "What is the highest unit price in it?", "里面单价最高的商品单价是多少？"
            ), self._amount(dearest)
        return say(
            "What is the lowest unit price in it?", "里面单价最低的商品单价是多少？"
        ), self._amount(self.cents[one.line])

    def _change(self, one: Basket, first: int, second: int) -> tuple[list[int], list[str]]:
        say, total = self.draft.say, self._amount(one.changed)
        count = (
            {}
            if self.removes
            else {
                "$count": key(
                    self.count, [self.count + 1, self.count - 1, self.count + 5, 3], any_value=True
                )
            }
        )
        third = self.draft.solve(
            say("What is its total without that item?", "去掉它之后总额是多少？") if self.removes
            else say(f"What is its total with {self.count} of that?", f"改成{self.count}件之后总额是多少？"),
            total, "$change",
            {"$code": key(one.basket, self._others_than(one)), "$item_id": key(one.line, [i for i in one.lines if i != one.line]), **count},
            needs=[first, second],
        )  # fmt: skip
        if self.brief.layout.depth == 3:
            return [third], [total]
        made = [self._end(one, end, first, third) for end in self.ends]
        return [number for number, _ in made], [answer for _, answer in made]

    def _end(self, one: Basket, end: str, first: int, third: int) -> tuple[int, str]:
        say, code = self.draft.say, {"$code": key(one.basket, self._others_than(one))}
        if end == "slot":
            asked, answer = (
                say(
                    "When does the next delivery window for it start?",
                    "最近的送货时段从什么时候开始？",
                ),
                self._window(one),
            )
            return self.draft.solve(asked, answer, "$slot", code, needs=[first, third]), answer
        asked, answer = (
            say(
                "How much is there to pay with the voucher, including delivery?",
                "用券后含运费要付多少？",
            ),
            self._amount(self._to_pay(one.changed)),
        )
        arguments = {**code, "$voucher": key(self.voucher, [*self.vouchers][1:])}
        return self.draft.solve(asked, answer, "$redeem", arguments, needs=[first, third]), answer


BASKETS = Family(
    "baskets", "Baskets that are found, changed, and paid for or delivered as they are then.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
