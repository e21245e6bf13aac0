"""Questions of the family ``catalogue``: how people ask for products, parts and dealers."""

from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Layout
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.phrases import with_article

__all__ = ["Questions"]


@dataclass(frozen=True, slots=True)
class Questions:
    """Words questions of one bundle."""

    draft: Draft
    town: str
    now: str
    """A sentence that says which day it is."""

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    def for_one(self, product: str, name: str) -> str:
        """The question about one product or its part."""
        say, layout = self.draft.say, self._layout
        thing = f"{with_article('spare ' + name)} for {product}"
        if layout.depth == 1:
            return say(
                f"I'd like to order {product}. What number do I put on the order form? || "
                f"We have settled on {product}. Could you look up its number in the catalogue? || "
                f"Which number does {product} have in the catalogue?",
                f"我想订{product}，订单上的产品编号该填什么？ || 我们选定了{product}，请帮忙查一下目录里的编号。 || "
                f"目录里{product}的编号是多少？",
            )
        if layout.depth == 2:
            return say(
                f"I need {thing}. Which part number is that? || What do I have to order to get {thing}? The part number is enough. || "
                f"I'm about to buy {product} and want a spare {name} with it. What is the part number?",
                f"我打算买{product}，顺便备一份{name}，备件编号是多少？ || 我们用的是{product}，{name}要换新的，备件编号是多少？",
            )
        if layout.depth == 3:
            return say(
                f"How cheaply can I get {thing}? || I need {thing}. What is the least I can pay for it? || "
                f"We use {product}, and the {name} has to be replaced. What would a new one cost where it is cheapest?",
                f"我们用的是{product}，{name}坏了要换，最便宜多少钱能买到？ || 想给{product}配一份备用{name}，各家商家里最低价是多少？",
            )
        fee = layout.facets > 1
        return self.now + say(
            f"If I order {thing} today from whoever has it cheapest, when will it be in {self.town}{', and what does sending it cost' * fee}? || "
            f"I live in {self.town} and need {thing}. If I ordered it today where it is cheapest, which day would it get here{', and how much is the postage' * fee}?",
            f"我们用的是{product}，要换{name}。今天在卖得最便宜的商家下单，寄到{self.town}，哪天能到{'，运费多少' * fee}？ || "
            f"我在{self.town}，想给{product}买一份{name}，就找最便宜的那家，今天下单哪天送到{'，要付多少运费' * fee}？",
        )

    def for_several(self, things: str) -> str:
        """The question about several of them."""
        return (self._sum_wording if self._layout.concludes else self._list_wording)(things)

    def _list_wording(self, things: str) -> str:
        say, depth = self.draft.say, self._layout.depth
        if depth == 1:
            return say(
                f"Our order form is missing a few catalogue numbers. Could you look them up? It is about {things}. || "
                f"We are going to order {things}. Which catalogue numbers are these?",
                f"订单上还缺几个产品编号，请帮忙查一下：{things}。 || 我们准备订这几样：{things}。目录里的编号分别是多少？",
            )
        if depth == 2:
            return say(
                f"I have to order {things}. Which part numbers are these? || Please find me the part numbers of {things}.",
                f"我要订几样备件：{things}。备件编号分别是多少？ || 请查一下这些备件的编号：{things}。",
            )
        if depth == 3:
            return say(
                f"We need {things}. What is the least we can pay for each? || How much are {things}, each at its cheapest dealer?",
                f"要买这几样备件：{things}。最便宜分别要多少钱？ || 帮我比一下价，下面几样备件各自的最低售价是多少：{things}？",
            )
        return self.now + say(
            f"We need {things} in {self.town}, each ordered today from whoever has it cheapest. When does each of them get here?",
            f"今天要下单买两样备件：{things}。每样都选最便宜的商家，寄到{self.town}，分别哪天能到？",
        )

    def _sum_wording(self, things: str) -> str:
        say, depth = self.draft.say, self._layout.depth
        if depth == 1:
            return say(
                f"What would we pay for all of this together: {things}? || We want to buy {things}. How much money is that in all?",
                f"下面几样各买一件，一共要多少钱：{things}？ || 我们打算买这几样：{things}。总共要花多少钱？",
            )
        if depth == 2:
            return say(
                f"We need {things}. What do they come to together at list price? || Going by list prices, how much would {things} cost in all?",
                f"要换这几样：{things}。按标价一共多少钱？ || 这几样备件按标价加起来是多少钱：{things}？",
            )
        return say(
            f"We need {things}. If we buy each where it is cheapest, what do we spend in all? || "
            f"What is the least that {things} cost together, each from its cheapest dealer?",
            f"要买这几样：{things}。每样都挑最便宜的商家，一共要花多少钱？ || 这几样备件都按各自的最低售价买，总共多少钱：{things}？",
        )
