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

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    def for_one(self, product: str, name: str) -> str:
        """The question about one product or its part."""
        say, layout = self.draft.say, self._layout
        thing = f"{with_article(name)} for {product}"
        if layout.depth == 1:
            return say(
                f"I'd like to order {product}. What number do I put on the order form? || "
                f"We've settled on {product}. Could you look up its catalogue number? || "
                f"What's the catalogue number of {product}?",
                f"我想订{product}，订单上的产品编号填什么？ || 我们选定了{product}，请帮忙查一下产品编号。 || "
                f"帮我查一下{product}的产品编号。",
            )
        spare = f"I'm buying {product} and want a spare {name} for it."
        if layout.depth == 2:
            return say(
                f"I need {thing}. What's the part number? || {spare} What's the part number? || "
                f"I've got {product}, and the {name} needs replacing. What's the part number?",
                f"我打算买{product}，想再配个备用{name}，备件编号是多少？ || {product}要换{name}，请帮我查一下备件编号。",
            )
        if layout.depth == 3:
            return say(
                f"I need {thing}. How much is it at the cheapest dealer? || {spare} What's the lowest price I can get one for?",
                f"我打算买{product}，想再配个备用{name}，最便宜多少钱能买到？ || {product}要换{name}，最便宜的一家卖多少钱？",
            )
        fee = layout.facets > 1
        return say(
            f"I'm in {self.town} and need {thing}. If I order it today from the cheapest dealer, when will it arrive{', and how much is delivery' * fee}? || "
            f"{spare} If I order the {name} today where it's cheapest, when will it get to {self.town}{', and what does delivery cost' * fee}?",
            f"我在{self.town}，打算给{product}配个备用{name}。今天在最便宜的商家下单，哪天能到{'，运费多少' * fee}？ || "
            f"{product}要换{name}，今天在卖得最便宜的那家下单，寄到{self.town}哪天能到{'，运费是多少' * fee}？",
        )

    def for_several(self, things: str) -> str:
        """The question about several of them."""
        return (self._sum_wording if self._layout.concludes else self._list_wording)(things)

    def _list_wording(self, things: str) -> str:
        say, depth = self.draft.say, self._layout.depth
        if depth == 1:
            return say(
                f"We're going to order {things}. What are their catalogue numbers? || "
                f"Could you look up the catalogue numbers of {things} for our order form?",
                f"我们准备订{things}，产品编号分别是多少？ || 填订单要用，请帮我查一下{things}的产品编号。",
            )
        if depth == 2:
            return say(
                f"We need {things}. What are the part numbers? || I have to order {things}. Which part numbers do I need?",
                f"我要订{things}，备件编号分别是多少？ || {things}要换新的，请查一下备件编号。",
            )
        if depth == 3:
            return say(
                f"We need {things}. What's the lowest price for each? || We have to buy {things}. How much are they at their cheapest dealers?",
                f"我们要买{things}，最低价分别是多少？ || {things}都要换了，最便宜的商家分别卖多少钱？",
            )
        return say(
            f"We're in {self.town} and need {things}. If we order each today from its cheapest dealer, when will they arrive? || "
            f"We're in {self.town} and need {things}. When will they get here if we order each today where it's cheapest?",
            f"我们在{self.town}，要买{things}。今天都在各自最便宜的商家下单，分别哪天能到？ || "
            f"{things}都要换了，今天分别在卖得最便宜的商家下单，寄到{self.town}各是哪天到？",
        )

    def _sum_wording(self, things: str) -> str:
        say, depth = self.draft.say, self._layout.depth
        if depth == 1:
            return say(
                f"How much would {things} cost in total? || We want to buy {things}. How much is that in total?",
                f"我们打算买{things}，各买一件，一共多少钱？ || {things}各要一件，总共要花多少钱？",
            )
        if depth == 2:
            return say(
                f"We need {things}. What do they come to in total at list price? || Going by list prices, how much would {things} cost in total?",
                f"我们要买{things}，各一件，按标价一共多少钱？ || {things}按标价各买一件，总共多少钱？",
            )
        return say(
            f"We need {things}. If we buy each from its cheapest dealer, how much do we pay in total? || "
            f"How much would {things} cost in total if we bought each where it's cheapest?",
            f"我们要买{things}，各一件，都在最便宜的商家买，一共多少钱？ || {things}都要换，各买一件，都挑最便宜的商家，总共要花多少钱？",
        )
