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
                f"I am making a budget with prices from {site}: {things}. What is that together? || Going by {site}, what would these cost me in all: {things}?",
                f"我按{site}上的价格做预算：{things}。加起来是多少钱？ || {site}上这几个都要，总共要花多少钱：{things}？",
            )
        if self._layout.subjects > 1:
            return say(
                f"Please note down for me which codes these have on {site}: {things}. || I want to save {things} on {site}. Which codes do they have?",
                f"请帮我记一下{site}上这几个的编号：{things}。 || 我想收藏{site}上的这几条：{things}。编号分别是多少？",
            )
        return say(
            f"Which code does {things} have on {site}? || I'd like to send my sister {things} from {site}. What is the code of that {listing}?",
            f"{site}上{things}，编号是多少？ || 我想把{site}上{things}发给朋友看，那条{listing}的编号是多少？",
        )

    def _wording(self, things: str) -> str:
        say, site, layout = self.draft.say, self.site, self._layout
        if layout.concludes:
            return say(
                f"I saw these on {site}: {things}. About which of them can I phone first in the day, and from what time? || "
                f"I have to ring several people from {site} about {things}. Who answers the phone earliest, and from when?",
                f"我在{site}上看中了：{things}。哪一个最早可以打电话联系，几点起？ || 我要打电话问{site}上的这几个：{things}。哪个最早有人接电话，从几点开始？",
            )
        if layout.subjects > 1:
            return self._wording_for_several(things)
        if len(self.last) > 1:
            return say(
                f"I saw {things} on {site}. What number do I call about it, and from what time is it answered? || "
                f"Could you find out for me how to phone about {things} on {site}? I need the number and the time from which somebody answers.",
                f"我在{site}上看到{things}，想打电话问问，号码是多少，几点以后打？ || 帮我查{site}上{things}的联系电话，还有几点起可以打。",
            )
        if "phone" in self.last:
            return say(
                f"I saw {things} on {site}. What number do I call about it? || Which phone number do I have to call for {things} on {site}?",
                f"我在{site}上看到{things}，联系电话是多少？ || 想问问{site}上{things}，该打哪个电话？",
            )
        return say(
            f"I want to ring about {things} on {site}. From what time on is the phone answered? || How early can I call about {things} from {site}?",
            f"我想打电话问{site}上{things}，最早几点可以打？ || {site}上{things}，几点起可以打电话联系？",
        )

    def _wording_for_several(self, things: str) -> str:
        say, site = self.draft.say, self.site
        if len(self.last) > 1:
            return say(
                f"I want to phone about {things}, all on {site}. Which numbers do I call, and from what time is each of them answered?",
                f"我想打电话问{site}上的这几个：{things}。电话分别是多少，各从几点起可以打？",
            )
        if "phone" in self.last:
            return say(
                f"I need the phone numbers for these on {site}: {things}. || I saw {things} on {site}. Which numbers do I call about them?",
                f"帮我查一下{site}上这几个的联系电话：{things}。 || 我在{site}上看中了：{things}。电话分别是多少？",
            )
        return say(
            f"I want to call about {things}, all on {site}. From what time on is the phone answered for each?",
            f"我想打电话问{site}上的这几个：{things}。分别几点起可以打？",
        )
