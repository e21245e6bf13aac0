"""Questions of the family ``archives``: how people ask for documents and where they are."""

from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Layout
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["Questions"]


@dataclass(frozen=True, slots=True)
class Questions:
    """Words questions of one bundle."""

    draft: Draft
    house: str
    last: tuple[str, ...]
    """What is asked in the end."""

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    def asked(self, things: str) -> str:
        """The question about one or several things."""
        return (self._first_wording if self._layout.depth == 1 else self._wording)(things)

    def _first_wording(self, things: str) -> str:
        say, house, plural = self.draft.say, self.house, self._layout.subjects > 1
        if self._layout.concludes:
            return say(
                f"I want to have these scanned at {house}: {things}. How many pages will that be in all? || "
                f"{house} charges by the page for copies. How many pages are {things} together?",
                f"我想请{house}扫描这几份：{things}。一共多少页？ || {house}复印按页收费，下面几份加起来有多少页：{things}？",
            )
        if plural:
            return say(
                f"For the order form of {house} I need the numbers of {things}. || Under which numbers does {house} keep {things}?",
                f"填{house}的调阅单要写编号，请查一下这几份：{things}。 || 这几份在{house}的编号分别是多少：{things}？",
            )
        return say(
            f"Under which number does {house} keep {things}? || I want to order {things} at {house}. What number do I write on the slip?",
            f"{house}里{things}，编号是多少？ || 我想在{house}调阅{things}，单子上的编号该填什么？",
        )

    def _wording(self, things: str) -> str:
        say, house, layout = self.draft.say, self.house, self._layout
        if layout.concludes:
            return say(
                f"I am waiting for several things that are out on loan from {house}: {things}. Which of them is due back first, and when? || "
                f"All of these are out at {house}: {things}. Which can I have first, and on which day is it due back?",
                f"我在等{house}的几份资料，都借出去了：{things}。哪一份最早还回来，哪天？ || 这几份在{house}都被借走了：{things}。哪份最先到期归还，是哪天？",
            )
        if layout.subjects > 1:
            return self._wording_for_several(things)
        if len(self.last) > 1:
            return say(
                f"I need {things}, but it is out on loan from {house}. When is it due back, and on which shelf will I find it then? || "
                f"I am after {things}. {house} has lent it to somebody: when is it due back, and on which shelf does it belong?",
                f"我要看{things}，{house}说借出去了。什么时候该还，还回来会放在哪个架位？ || 帮我问问{house}：{things}，哪天应还，架位是哪里？",
            )
        if "back" in self.last:
            return say(
                f"I need {things}, but somebody has borrowed it from {house}. When is it due back? || Until when is {things} out on loan from {house}?",
                f"我要看{things}，可是{house}说被人借走了，应该哪天还？ || 想借{things}，{house}那边显示已借出，最晚哪天归还？",
            )
        return say(
            f"On which shelf at {house} do I find {things}? || I am standing in {house} and looking for {things}. Which shelf do I have to go to?",
            f"我在{house}找{things}，在哪个架位？ || 到{house}看{things}，该去哪个架位找？",
        )

    def _wording_for_several(self, things: str) -> str:
        say, house = self.draft.say, self.house
        if len(self.last) > 1:
            return say(
                f"These are out on loan from {house}: {things}. When is each of them due back, and on which shelf will it be then?",
                f"这几份都从{house}借出去了：{things}。分别哪天该还，还回来放在哪个架位？",
            )
        if "back" in self.last:
            return say(
                f"I need {things}, all out on loan from {house}. When is each of them due back? || When will {house} have these back: {things}?",
                f"我要用这几份，{house}说都借走了：{things}。分别应该哪天还？ || {house}的这几份借出了：{things}。各自的应还日期是哪天？",
            )
        return say(
            f"On which shelves at {house} do I find {things}? || I am going to {house} to read {things}. Which shelf is each of them on?",
            f"我要去{house}看这几份：{things}。分别在哪个架位？ || 这几份在{house}各放在哪个架位：{things}？",
        )
