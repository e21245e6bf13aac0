"""Questions of the family ``search``: how people ask for advertisements and those behind them."""

from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Layout
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["Questions"]


@dataclass(frozen=True, slots=True)
class Questions:
    """Words questions of one bundle."""

    draft: Draft
    site: str
    listing: str
    last: tuple[str, ...]
    """What is asked in the end."""

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    def asked(self, things: str) -> str:
        """The question about one or several things."""
        return (self._first_wording if self._layout.depth == 1 else self._wording)(things)

    def _first_wording(self, things: str) -> str:
        say, site, listing = self.draft.say, self.site, self.listing
        if self._layout.concludes:
            return say(
                f"I'm working out a budget. On {site}, what do {things} cost in total? || "
                f"I'm comparing prices. How much are {things} on {site} altogether?",
                f"我在做预算。在{site}上，{things}一共要花多少钱？ || 按{site}上的价格，{things}加起来一共多少钱？",
            )
        if self._layout.subjects > 1:
            return say(
                f"On {site}, what are the {listing} numbers of {things}? || "
                f"I'd like to save {things} on {site}. What are their {listing} numbers?",
                f"请帮我在{site}上查一下，{things}的编号分别是多少？ || 我在逛{site}，想收藏{things}，编号分别是多少？",
            )
        return say(
            f"What's the {listing} number of {things} on {site}? || "
            f"I'd like to show my sister {things} on {site}. What's its {listing} number?",
            f"帮我在{site}上查一下{things}，{listing}编号是多少？ || 我在逛{site}，想把{things}发给朋友看，{listing}编号是多少？",
        )

    def _wording(self, things: str) -> str:
        say, site, several = self.draft.say, self.site, self._layout.subjects > 1
        if self._layout.concludes:
            return say(
                f"On {site} I'm interested in {things}. Which can I ring about first, and from what time? || "
                f"I'd like to call about {things} on {site}. Which can I call about first, and from what time?",
                f"我在{site}上看中了{things}，哪个可以先打电话咨询，几点起？ || 我在逛{site}，想打电话咨询{things}，哪个能先打，从几点开始？",
            )
        number, time, each = (
            (" are the numbers", "times can I ring", "分别")
            if several
            else ("'s the number", "time can I ring", "")
        )
        if len(self.last) > 1:
            return say(
                f"I'd like to call about {things} on {site}. What{number}, and from what {time}? ||"
                f"On {site} I'm interested in {things}. What{number} to call, and from what {time}?",
                f"我在逛{site}，想打电话咨询{things}，电话{each}是多少，{each}几点以后可以打？ || "
                f"我在{site}上看中了{things}，联系电话{each}是多少，{each}几点起可以打？",
            )
        if "phone" in self.last:
            return say(
                f"I'd like to call about {things} on {site}. What{number}? || "
                f"On {site} I'm interested in {things}. What{number} to call?",
                f"我在{site}上看中了{things}，联系电话{each}是多少？ || 帮我在{site}上查一下{things}，联系电话{each}是多少？",
            )
        return say(
            f"From what {time} about {things} on {site}? || "
            f"On {site} I'm interested in {things}. From what {time} about {'them' if several else 'it'}?",
            f"我在逛{site}，想打电话咨询{things}，{each}最早几点可以打？ || 我在{site}上看中了{things}，{each}几点起可以打电话联系？",
        )
