"""Baskets: one is found, what lies in it is looked at, it is changed, and what is to be paid then is asked."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed, with_article
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
            return say("Who has the dearest of these?", "谁的最贵？"), most.who
        total = sum(one.total if depth == 1 else one.changed for one in self.asked)
        return say("What do they come to altogether?", "加起来是多少？"), self._amount(total)

    def _for(self, one: Basket) -> str:
        return self.draft.say(f"{one.who} (for {one.label})", f"{one.who}（{one.label}）")

    def _them(self) -> str:
        return listed([self._for(one) for one in self.asked], self.brief.language)

    def _baskets(self) -> str:
        """The baskets that are asked for."""
        if len(self.asked) > 1:
            return self.draft.say(
                f"the {self.basket}s of {self._them()}", f"{self._them()}的{self.basket}"
            )
        one = self.asked[0]
        return self.draft.say(
            f"{one.who}'s {self.basket} for {one.label}",
            f"{one.who}为{one.label}准备的{self.basket}",
        )

    def _first(self) -> str:
        say, house, baskets = self.draft.say, self.house, self._baskets()
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return say(
                f"I am paying for {baskets} at {house}. What do they come to altogether at the moment? || "
                f"How much is lying in {baskets} at {house} right now, added up?",
                f"{house}里{baskets}由我一起付，目前商品总共多少钱？ || {baskets}，里面的商品目前在{house}加起来一共多少钱？",
            )
        if self.by_total:
            return say(
                f"What do the goods in {'each of ' if several else ''}{baskets} at {house} come to at the moment? || "
                f"I keep an eye on our spending: how much is in {baskets} at {house} so far?",
                f"{house}里{baskets}，目前商品总额{'分别' if several else ''}是多少？ || 我在盯预算，{baskets}在{house}目前{'各' if several else ''}花了多少？",
            )
        number = f"number{'s' if several else ''}"
        return say(
            f"{house} asks me for the {number} of {baskets}. What {'are they' if several else 'is it'}? || "
            f"I want to ring {house} about {baskets}; which {number} do I have to give?",
            f"我要给{house}打电话说{baskets}的事，{'各是什么编号' if several else '编号是什么'}？ || {house}让我报一下{baskets}的编号，{'分别' if several else ''}是多少？",
        )

    def _second(self) -> str:
        say, house, baskets, them = self.draft.say, self.house, self._baskets(), self._them()
        each, apiece = ("each of ", "分别") if len(self.asked) > 1 else ("", "")
        if self.brief.layout.concludes:
            which = listed([self._for(one) for one in self.asked], self.brief.language, either=True)
            return say(
                f"{them} each have {with_article(self.basket)} at {house}. Who of them has put in the dearest single item, going by the price apiece? || "
                f"Going by the price of one piece, whose {self.basket} at {house} holds the most expensive item: {which}?",
                f"{them}在{house}各有一个{self.basket}，按单价算，谁选的东西最贵？ || 在{house}，{them}的{self.basket}里，谁的里面有单价最高的商品？",
            )
        if self.by_missing:
            return say(
                f"How much more would have to go into {each}{baskets} at {house} for delivery to be free? || "
                f"I would like free delivery from {house}. What is still missing for that in {each}{baskets}?",
                f"{baskets}在{house}{apiece}还差多少可以免运费？ || 想让{house}免运费，{baskets}{apiece}还要再买多少钱的东西？",
            )
        return say(
            f"What is the price apiece of the dearest item in {each}{baskets} at {house}? || "
            f"I think we pay too much at {house}. What does the most expensive item in {each}{baskets} cost apiece?",
            f"{house}里{baskets}，单价最高的商品{apiece}要多少钱一件？ || 总觉得{baskets}在{house}买贵了，里面最贵的商品单价{apiece}是多少？",
        )

    def _order(self) -> str:
        """The sentence by which baskets are to be changed."""
        say, house, baskets, several = (
            self.draft.say,
            self.house,
            self._baskets(),
            len(self.asked) > 1,
        )
        from_each, apiece = ("each of ", "各自") if several else ("", "")
        if self.removes:
            return say(
                f"We have to save. Please take the item with the highest price apiece out of {from_each}{baskets} at {house}. || "
                f"Please remove whatever costs most apiece from {from_each}{baskets} at {house}.",
                f"预算超了，请把{house}里{baskets}中{apiece}单价最高的商品去掉。 || {baskets}在{house}买得太贵，请{apiece}拿掉单价最高的那样。",
            )
        return say(
            f"Please change the item with the lowest price apiece in {from_each}{baskets} at {house} to {self.count} pieces. || "
            f"We need more after all: the item with the lowest price apiece in {from_each}{baskets} at {house} should be {self.count} pieces now.",
            f"{house}里{baskets}，请把{apiece}单价最低的商品改成{self.count}件。 || 原来的数量不够，{baskets}在{house}{apiece}单价最低的那样要改成{self.count}件。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return self._joined(
                "What do the goods in all of them come to together then? || And then add up what they hold: how much is it in all?",
                "改好后两边商品加起来多少钱？ || 之后合计是多少？",
            )
        each, apiece = (" in each", "分别") if several else ("", "")
        return self._joined(
            f"What do the goods{each} come to after that? || Then tell me the new total{' of each' if several else ''}.",
            f"改好后商品总额{apiece}是多少？ || 之后告诉我新的总额{apiece}是多少。",
        )

    def _fourth(self) -> str:
        say, several = self.draft.say, len(self.asked) > 1
        each, apiece = (" for each", "分别") if several else ("", "")
        pay = say(
            f"what is to be paid{each}, delivery included, with my voucher {self.voucher}",
            f"用上我的优惠券{self.voucher}之后，含运费{apiece}要付多少",
        )
        slot = say(
            f"when the next delivery window begins{each}", f"最近的送货时段{apiece}从什么时候开始"
        )
        wanted = [{"pay": pay, "slot": slot}[end] for end in self.ends]
        return self._joined(
            f"I would like to know {' and '.join(wanted)}. || Once that is done, tell me {' and '.join(wanted)}.",
            f"改好后告诉我{'，以及'.join(wanted)}。 || 然后我想知道{'，还有'.join(wanted)}。",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Basket) -> tuple[list[int], list[str]]:
        """The sub-tasks of one basket: their ids, and what the question asks for."""
        say, depth = self.draft.say, self.brief.layout.depth
        which = say(
            f"the {self.basket} of {one.who} for {one.label}",
            f"{one.who}为{one.label}准备的{self.basket}",
        )
        answer = self._amount(one.total) if self.by_total else one.basket
        names = [w for w, label in self.baskets if label == one.label] + [
            w for w, _ in self.baskets
        ]
        first = self.draft.solve(
            say(f"What do the goods in {which} come to?", f"{which}目前商品总额是多少？") if self.by_total
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
                "What is missing in it for free delivery?", "还差多少免运费？"
            ), self._amount(self.free_from - one.total)
        if self.removes or self.brief.layout.depth == 2:
            dearest = max(self.cents[i] for i in one.lines)
            return say(
                "What does the dearest item in it cost apiece?", "里面单价最高的商品单价是多少？"
            ), self._amount(dearest)
        return say(
            "What does the cheapest item in it cost apiece?", "里面单价最低的商品单价是多少？"
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
            else say(f"What is its total with {self.count} pieces of that?", f"改成{self.count}件之后总额是多少？"),
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
                    "When does the next delivery window for it begin?",
                    "最近的送货时段从什么时候开始？",
                ),
                self._window(one),
            )
            return self.draft.solve(asked, answer, "$slot", code, needs=[first, third]), answer
        asked, answer = (
            say("What is to be paid with the voucher and delivery?", "用券后含运费要付多少？"),
            self._amount(self._to_pay(one.changed)),
        )
        arguments = {**code, "$voucher": key(self.voucher, [*self.vouchers][1:])}
        return self.draft.solve(asked, answer, "$redeem", arguments, needs=[first, third]), answer


BASKETS = Family(
    "baskets", "Baskets that are found, changed, and paid for or delivered as they are then.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
