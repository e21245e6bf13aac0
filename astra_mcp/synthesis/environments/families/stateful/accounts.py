"""Accounts: one is found, what belongs to it is looked up, some is moved there, and what is left or arrives is asked."""

from collections.abc import Sequence

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed
from astra_mcp.synthesis.environments.families.stateful.banks import Account, Bank

__all__ = ["ACCOUNTS"]


def _make(brief: Brief) -> Draft:
    return _Accounts(brief).written()


class _Accounts(Bank):
    """What is asked of such a world."""

    def _ask(self) -> None:
        layout = self.brief.layout
        self.by_amount = layout.concludes or self.brief.draw("first").chance(1, 2)
        followed = [self._follow(one) for one in self.asked]
        last = [ids[-1] for ids, _ in followed]
        wording = (self._first, self._second, self._third, self._fourth)[layout.depth - 1]
        self.draft.question = self._opening() + wording()
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

    def _conclusion(self) -> tuple[str, str]:
        say = self.draft.say
        if self.brief.layout.depth == 2:
            least = min(self.asked, key=lambda one: one.holds)
            return say(f"Whose has {self._less} in it?", f"谁的里面{self._less}？"), least.who
        total = sum(one.balance if self.brief.layout.depth == 1 else one.left for one in self.asked)
        return say("How much is that altogether?", "加起来一共是多少？"), self._said(total)

    def _opening(self) -> str:
        if not self.is_mine:
            return ""
        who = self.asked[0].who
        return self.draft.say(
            f"My name is {who}. || I'm {who}. || This is {who}.", f"我是{who}。 || 我叫{who}。"
        ) + " " * (not self.zh)

    # --- words --------------------------------------------------------------------------------------------------

    def _accounts(self, amounts: Sequence[str] = ()) -> str:
        """The accounts that are asked for; in English with what is to be moved from each."""
        asked, at = self.asked, f"{self.theme.within[0]} {self.house}"
        if self.zh:
            if self.is_mine:
                return f"我在{self.house}的{asked[0].label}{self.account}"
            if len(asked) == 1:
                return f"{asked[0].who}在{self.house}的{asked[0].label}{self.account}"
            labels = {one.label for one in asked}
            if len(labels) == 1:
                return f"{listed([one.who for one in asked], 'zh')}在{self.house}的{labels.pop()}{self.account}"
            them = listed([f"{one.who}（{one.label}）" for one in asked], "zh")
            return f"{them}在{self.house}的{self.account}"
        rows = [
            f"{'my' if self.is_mine else one.who + chr(39) + 's'} {one.label} {self.account}"
            for one in asked
        ]
        if amounts:
            rows = [f"{much} from {row}" for much, row in zip(amounts, rows, strict=True)]
        return f"{listed(rows, 'en')} {at}"

    @property
    def _several(self) -> bool:
        return len(self.asked) > 1

    @property
    def _less(self) -> str:
        """How what one of them has compares with what the others have."""
        two = len(self.asked) == 2
        return self.draft.say("less" if two else "the least", "更少" if two else "最少")

    @property
    def _much(self) -> str:
        """How a question asks how much it is: in English with the verb, in Chinese the noun alone."""
        return self.theme.much[self.zh]

    def _best(self) -> str:
        """By what one of the pots is chosen."""
        if self.by_goal:
            return self.draft.say("that needs the most to reach its target", "离目标还差最多")
        stuff = {"钱": "余额", "电": "电量"}.get(self._much, self._much)
        return self.draft.say(f"with the least {self.theme.within[2]} it", f"{stuff}最少")

    def _first(self) -> str:
        say, accounts, much, (_, within, _) = self.draft.say, self._accounts(), self._much, self.theme.within  # fmt: skip
        if self.brief.layout.concludes:
            return say(
                f"H{much[1:]} there altogether {within} {accounts}? || If you add up the balances of {accounts}, what's the total?",
                f"{accounts}里现在一共有多少{much}？ || 把{accounts}里的{much}加起来，一共有多少？",
            )
        if self.by_amount and self._several:
            return say(
                f"What are the balances of {accounts} right now? || Could you check the current balances of {accounts}?",
                f"{accounts}里现在分别还有多少{much}？ || 帮我看一下{accounts}，里面各剩多少{much}？",
            )
        if self.by_amount:
            return say(
                f"H{much[1:]} left {within} {accounts}? || What's the current balance of {accounts}? || Could you check {much} left {within} {accounts}?",
                f"{accounts}里现在还有多少{much}？ || 帮我看一下{accounts}里还剩多少{much}。",
            )
        if self._several:
            return say(
                f"Customer service needs the numbers of {accounts}. What are they? || Could you look up the numbers of {accounts}?",
                f"客服要核对{accounts}的编号，分别是多少？ || 麻烦查一下{accounts}的编号分别是多少。",
            )
        return say(
            f"Customer service needs the number of {accounts}. What is it? || Could you look up the number of {accounts}?",
            f"客服要核对{accounts}的编号，是多少？ || 麻烦查一下{accounts}的编号。",
        )

    def _second(self) -> str:
        say, accounts, best, much = self.draft.say, self._accounts(), self._best(), self._much
        account, pot, (_, within, of_pot) = self.account, self.pot, self.theme.within
        started = accounts[0].upper() + accounts[1:]
        if self.brief.layout.concludes:
            return say(
                f"{started} each have several {pot}s. If you compare the {pot} {best} {within} each {account}, whose has {self._less} {of_pot} it?",
                f"{accounts}名下都有几个{pot}，如果比较各自{best}的那个，谁的{much}{self._less}？",
            )
        if self._several:
            return say(
                f"{started} each have several {pot}s. For each {account}, h{much[1:]} {of_pot} the one {best}? || "
                f"{started} each have several {pot}s. H{much[1:]} {of_pot} the one {best} {within} each {account}?",
                f"{accounts}名下都有几个{pot}，各自{best}的那个里分别有多少{much}？",
            )
        return say(
            f"{started} has several {pot}s. H{much[1:]} {of_pot} the one {best}? || "
            f"I'd like to top up one of the {pot}s that belong to {accounts}, the one {best}. H{much[1:]} {of_pot} it at the moment?",
            f"{accounts}名下有几个{pot}，其中{best}的那个里有多少{much}？ || 想往{accounts}名下{best}的{pot}里转一点，里面现在有多少{much}？",
        )

    def _order(self) -> str:
        """The sentence by which some is to be moved."""
        say, best, pot = self.draft.say, self._best(), self.pot
        amounts = [self._whole(one.amount) for one in self.asked]
        source, accounts = self._accounts(amounts), self._accounts()
        if self._several:
            return say(
                f"Please transfer {source}, each time to that {self.account}'s {pot} {best}. || "
                f"Could you move {source}, each time to the {pot} {best}?",
                f"请从{accounts}里分别转出{listed(amounts, 'zh')}，各自转到名下{best}的{pot}。",
            )
        return say(
            f"Please transfer {source} to its {pot} {best}. || Could you move {source} to its {pot} {best}?",
            f"请从{accounts}转{amounts[0]}到名下{best}的{pot}。 || 麻烦把{amounts[0]}从{accounts}转到名下{best}的{pot}。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        much, account, (_, within, _) = self._much, self.account, self.theme.within
        each, apiece = (f"each {account}", "分别") if self._several else (f"the {account}", "")
        if self.brief.layout.concludes:
            number = ("two", "three", "four")[len(self.asked) - 2]
            return self._joined(
                f"H{much[1:]} left {within} the {number} {account}s in total after that?",
                f"转完后{account}里加起来一共还剩多少{much}？ || 转完之后，这{'零一两三四'[len(self.asked)]}个{account}里一共还剩多少{much}？",
            )
        if self.by_amount:
            return self._joined(
                f"H{much[1:]} left {within} {each} after that? || Please tell me {self._clause(within, each)} after that.",
                f"转完后{account}里{apiece}还剩多少{much}？ || 扣掉手续费，转完后{account}里{apiece}还剩多少{much}？",
            )
        if self._several:
            return self._joined("What are the confirmation codes? || I need the confirmation codes.", "确认编号分别是多少？ || 转好后把确认编号都告诉我。")  # fmt: skip
        return self._joined("What's the confirmation code? || I need the confirmation code.", "确认编号是多少？ || 转好后把确认编号告诉我。")  # fmt: skip

    def _clause(self, within: str, whose: str) -> str:
        return f"{self._much} left {within} {whose}"

    def _fourth(self) -> str:
        say, account, (_, within, _) = self.draft.say, self.account, self.theme.within
        each, apiece = (f"each {account}", "分别") if self._several else (f"the {account}", "")
        more = "how much more I can move" if self.is_mine else "how much more can be moved"
        wanted = {
            "left": say(self._clause(within, each), f"{account}里{apiece}还剩多少{self._much}"),
            "allowed": say(f"{more} from {each} this month", f"这个月{apiece}还能再转多少"),
            "arrives": say("when each transfer arrives" if self._several else "when the transfer arrives", f"{apiece}什么时候到账"),
        }  # fmt: skip
        asked = [wanted[end] for end in self.ends]
        return self._joined(
            f"Then tell me {' and '.join(asked)}. || After that, let me know {' and '.join(asked)}.",
            f"办好后告诉我{'，以及'.join(asked)}。 || 转好以后，{'，'.join(asked)}？",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Account) -> tuple[list[int], list[str]]:
        """The sub-tasks of one account: their ids, and what the question asks for."""
        say, depth = self.draft.say, self.brief.layout.depth
        by_amount = depth == 1 and self.by_amount
        whose = say(
            f"{one.who}'s {one.label} {self.account}", f"{one.who}的{one.label}{self.account}"
        )
        answer = self._said(one.balance) if by_amount else one.account
        names = [w for w, label in self.accounts if label == one.label] + [
            w for w, _ in self.accounts
        ]
        own = [label for w, label in self.accounts if w == one.who]
        first = self.draft.solve(
            say(f"What is the balance of {whose}?", f"{whose}有多少{self._much}？") if by_amount
            else say(f"What is the number of {whose}?", f"{whose}的编号是多少？"),
            answer, "$find", {"$who": key(one.who, names), "$label": key(one.label, own)},
        )  # fmt: skip
        if depth == 1:
            return [first], [answer]
        holds, best = self._said(one.holds), self._best()
        code = key(one.account, [c for c in self.accounts.values() if c != one.account])
        second = self.draft.solve(
            say(f"How much is {self.theme.within[2]} the {self.pot} {best}?", f"{best}的{self.pot}里有多少{self._much}？"), holds, "$pots", {"$code": code}, needs=[first]
        )  # fmt: skip
        if depth == 2:
            return [second], [holds]
        left = depth == 3 and self.by_amount
        answer = self._said(one.left) if left else one.code
        amount = self._whole(one.amount)
        amounts = [one.amount + 5, one.amount - 15, one.amount + 80, 20]
        third = self.draft.solve(
            say(f"What is left after {amount} went there?", f"转入{amount}之后还剩多少？") if left
            else say(f"What is the confirmation code of moving {amount} there?", f"转入{amount}的确认编号是多少？"),
            answer, "$move",
            {"$code": code, "$pot_id": key(one.pot, [p for p in one.pots if p != one.pot]), "$amount": key(one.amount, amounts, any_value=True)},
            needs=[first, second],
        )  # fmt: skip
        if depth == 3:
            return [third], [answer]
        made = [self._end(one, end, first, third) for end in self.ends]
        return [number for number, _ in made], [answer for _, answer in made]

    def _end(self, one: Account, end: str, first: int, third: int) -> tuple[int, str]:
        say = self.draft.say
        if end == "arrives":
            answer, asked = (
                self._arrives(one),
                say("When does it arrive?", "什么时候到账？"),
            )
            return self.draft.solve(
                asked, answer, "$receipt", {"$confirmation": key(one.code)}, needs=[third]
            ), answer
        code = {"$code": key(one.account, [c for c in self.accounts.values() if c != one.account])}
        if end == "left":
            answer, asked = (
                self._said(one.left),
                say(
                    f"What is left {self.theme.within[1]} the {self.account} then?",
                    f"之后{self.account}里还剩多少？",
                ),
            )
            return self.draft.solve(asked, answer, "$balance", code, needs=[first, third]), answer
        answer, asked = (
            self._said(one.allowed),
            say("How much more can be moved this month?", "这个月还可以再转多少？"),
        )
        return self.draft.solve(asked, answer, "$allowance", code, needs=[first, third]), answer


ACCOUNTS = Family(
    "accounts", "Accounts that are found, from which some is moved, and what is left or arrives then.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
