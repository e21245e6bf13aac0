"""Accounts: one is found, what belongs to it is looked up, some is moved there, and what is left or arrives is asked."""

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
            return say("Whose holds the least of these?", "其中谁的最少？"), least.who
        total = sum(one.balance if self.brief.layout.depth == 1 else one.left for one in self.asked)
        return say("How much is that altogether?", "加起来一共是多少？"), self._said(total)

    def _opening(self) -> str:
        if not self.is_mine:
            return ""
        who = self.asked[0].who
        return self.draft.say(
            f"My name is {who}. || {who} here. || This is {who}.", f"我是{who}。 || 我叫{who}。"
        ) + " " * (not self.zh)

    def _accounts(self) -> str:
        """The accounts that are asked for."""
        if len(self.asked) > 1:
            rows = [
                f"{o.who}（{o.label}）" if self.zh else f"{o.who} ({o.label})" for o in self.asked
            ]
            them = listed(rows, self.brief.language)
            return self.draft.say(
                f"the {self.account}s of {them} at {self.house}",
                f"{them}在{self.house}的{self.account}",
            )
        one = self.asked[0]
        whose = (
            self.draft.say("my", "我") if self.is_mine else self.draft.say(f"{one.who}'s", one.who)
        )
        return self.draft.say(
            f"{whose} {one.label} {self.account} at {self.house}",
            f"{whose}在{self.house}的{one.label}{self.account}",
        )

    def _first(self) -> str:
        say, accounts, several = self.draft.say, self._accounts(), len(self.asked) > 1
        if self.brief.layout.concludes:
            return say(
                f"How much is there altogether on {accounts}? || If we put {accounts} together, how much would that be right now?",
                f"{accounts}，现在加起来一共有多少{self._word()}？ || 把{accounts}合在一起，目前总共有多少{self._word()}？",
            )
        if self.by_amount:
            return say(
                f"How much is there on {accounts} right now{', each' if several else ''}? || What do {accounts} hold at the moment? || How much is left on {accounts}?"
                if several else f"How much is there on {accounts} right now? || What does {accounts} hold at the moment? || How much is left on {accounts}?",
                f"{accounts}现在{'分别' if several else ''}还有多少{self._word()}？ || 帮我看看{accounts}，目前{'各' if several else ''}剩多少{self._word()}？",
            )  # fmt: skip
        number = f"number{'s' if several else ''}"
        return say(
            f"I need the {number} of {accounts} for a form. What {'are they' if several else 'is it'}? || Could you look up the {number} of {accounts}?",
            f"填表要用{accounts}的编号，{'分别' if several else ''}是多少？ || 麻烦查一下{accounts}，编号{'各' if several else ''}是多少？",
        )

    def _word(self) -> str:
        """What accounts hold, in words of a question."""
        return "钱" if self.scale == 100 else {"MB": "流量", "度": "电"}.get(self.unit, self.unit)

    def _which(self) -> str:
        """The pot that is meant."""
        if self.by_goal:
            return self.draft.say(
                f"the {self.pot} that is furthest below its goal", f"离目标差得最多的{self.pot}"
            )
        return self.draft.say(f"the {self.pot} with the least in it", f"现有量最少的{self.pot}")

    def _second(self) -> str:
        say, accounts, which, several = (
            self.draft.say,
            self._accounts(),
            self._which(),
            len(self.asked) > 1,
        )
        if self.brief.layout.concludes:
            return say(
                f"Look at {which} on each of {accounts}. Whose holds the least? || "
                f"Take {which} on each of {accounts}: who of them has the least in that one?",
                f"{accounts}，各取{which}来比，谁的里面最少？ || 比较一下{accounts}名下{which}，谁的那个现有量最低？",
            )
        each, apiece = ("each of ", "分别") if several else ("", "")
        have = "each have" if several else "has"
        return say(
            f"How much is in {which} on {each}{accounts}? || "
            f"{accounts[0].upper()}{accounts[1:]} {have} several {self.pot}s. How much is in {which}? || "
            f"I wonder about {each}{accounts}: how much does {which} hold?",
            f"{accounts}名下，{which}里{apiece}有多少{self._word()}？ || 想知道{accounts}名下{which}，里面{apiece}还有多少{self._word()}。",
        )

    def _order(self) -> str:
        """The sentence by which some is to be moved."""
        say, accounts, which = self.draft.say, self._accounts(), self._which()
        if len(self.asked) > 1:
            amounts = listed([self._whole(one.amount) for one in self.asked], self.brief.language)
            return say(
                f"Please move {amounts}, in this order, from {accounts}, each time to {which}.",
                f"请从{accounts}依次划转{amounts}到各自{which}。",
            )
        amount = self._whole(self.asked[0].amount)
        return say(
            f"Please move {amount} from {accounts} to {which}. || I want {amount} to go from {accounts} into {which}.",
            f"请从{accounts}划转{amount}到{which}。 || 麻烦把{accounts}里的{amount}转进{which}。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return self._joined(
                f"How much is then left on both {self.account}s, added up? || What remains on both {self.account}s together?",
                f"转完之后两边一共还剩多少{self._word()}？ || 划转后两边加起来还剩多少？",
            )
        if self.by_amount:
            return self._joined(
                f"What is left on {'each of them' if several else 'it'} after that? || How much remains there{' each time' if several else ''}, after the fee?",
                f"转完后{'分别' if several else ''}还剩多少{self._word()}？ || 扣掉手续费，转完{'各' if several else ''}剩多少？",
            )
        return self._joined(
            f"I need the confirmation code{'s' if several else ''}. || Tell me the code{'s' if several else ''} by which {'they are' if several else 'it is'} confirmed.",
            f"转好后把确认编号{'分别' if several else ''}告诉我。 || 划转的确认编号{'分别' if several else ''}是多少？",
        )

    def _fourth(self) -> str:
        say, several = self.draft.say, len(self.asked) > 1
        each, apiece = (" each time", "分别") if several else ("", "")
        wanted = {
            "left": say(f"what is left on the {self.account} after that{each}", f"转完后{self.account}里{apiece}还剩多少{self._word()}"),
            "allowed": say(f"how much I may still move from there this month{each}" if self.is_mine else f"how much may still be moved from there this month{each}", f"这个月{apiece}还可以再划转多少"),
            "arrives": say(f"when it arrives{each}", f"{apiece}什么时候到账"),
        }  # fmt: skip
        asked = [wanted[end] for end in self.ends]
        return self._joined(
            f"Then tell me {' and '.join(asked)}. || I would like to know {' and '.join(asked)}.",
            f"办好后告诉我{'，以及'.join(asked)}。 || 然后我想知道{'，还有'.join(asked)}。",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Account) -> tuple[list[int], list[str]]:
        """The sub-tasks of one account: their ids, and what the question asks for."""
        say, depth = self.draft.say, self.brief.layout.depth
        by_amount = depth == 1 and self.by_amount
        whose = say(
            f"the {one.label} {self.account} of {one.who}", f"{one.who}的{one.label}{self.account}"
        )
        answer = self._said(one.balance) if by_amount else one.account
        names = [w for w, label in self.accounts if label == one.label] + [
            w for w, _ in self.accounts
        ]
        own = [label for w, label in self.accounts if w == one.who]
        first = self.draft.solve(
            say(f"How much is on {whose}?", f"{whose}有多少{self._word()}？") if by_amount
            else say(f"What is the number of {whose}?", f"{whose}的编号是多少？"),
            answer, "$find", {"$who": key(one.who, names), "$label": key(one.label, own)},
        )  # fmt: skip
        if depth == 1:
            return [first], [answer]
        holds, which = self._said(one.holds), self._which()
        code = key(one.account, [c for c in self.accounts.values() if c != one.account])
        second = self.draft.solve(
            say(f"How much is in {which}?", f"{which}里有多少？"), holds, "$pots", {"$code": code}, needs=[first]
        )  # fmt: skip
        if depth == 2:
            return [second], [holds]
        left = depth == 3 and self.by_amount
        answer = self._said(one.left) if left else one.code
        amount = self._whole(one.amount)
        amounts = [one.amount + 5, one.amount - 15, one.amount + 80, 20]
        third = self.draft.solve(
            say(f"What is left once {amount} are moved there?", f"转入{amount}之后还剩多少？") if left
            else say(f"What is the confirmation code once {amount} are moved there?", f"转入{amount}的确认编号是多少？"),
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
                say(f"What is left on the {self.account} then?", f"之后{self.account}里还剩多少？"),
            )
            return self.draft.solve(asked, answer, "$balance", code, needs=[first, third]), answer
        answer, asked = (
            self._said(one.allowed),
            say("How much may still be moved this month?", "这个月还可以划转多少？"),
        )
        return self.draft.solve(asked, answer, "$allowance", code, needs=[first, third]), answer


ACCOUNTS = Family(
    "accounts", "Accounts that are found, from which some is moved, and what is left or arrives then.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
