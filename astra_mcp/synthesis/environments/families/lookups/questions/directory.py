"""Questions of the family ``directory``: how people ask for offices and the people on duty there."""

from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Layout
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.lookups.themes.directory import Theme
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["Questions"]


@dataclass(frozen=True, slots=True)
class Questions:
    """Words questions of one bundle."""

    draft: Draft
    house: str
    theme: Theme
    when: str

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    @property
    def _unit(self) -> str:
        return self.theme.unit[self.draft.brief.language == "zh"]

    def for_one(self, told: str) -> str:
        """The question about one matter."""
        say, depth, unit, house, goal = (
            self.draft.say,
            self._layout.depth,
            self._unit,
            self.house,
            self.when,
        )
        if depth == 1:
            return say(
                f"{told}. Which {unit} at {house} deals with that? || "
                f"{told}. I keep getting passed around at {house}. Which {unit} do I need? || "
                f"{told}. Which {unit} at {house} should I write to?",
                f"{told}，该找{house}的哪个{unit}？ || {told}，给{house}打电话总被转来转去，到底归哪个{unit}管？",
            )
        if depth == 2:
            return say(
                f"{told}. Who do I ask for if I contact {house} about it {goal}? || "
                f"{told}. Who at {house} will be on duty for that {goal}?",
                f"{told}。我{goal}联系{house}，该找哪位值班人员？ || {told}，{goal}{house}那边由谁值班处理这件事？",
            )
        room = self._layout.facets > 1
        return say(
            f"{told}. Someone at {house} will be on duty for that {goal}. What's their extension{', and which room will they be in' * room}? || "
            f"{told}. I want to speak to whoever is on duty for that at {house} {goal}. What extension do I dial{', and which room will they be in that day' * room}?",
            f"{told}。{goal}我想联系{house}负责这事的值班人员，分机号是多少{'，当天在哪个房间' * room}？ || "
            f"{told}。{goal}{house}那边值班处理这事的人，分机号是多少{'，当天在哪个房间' * room}？",
        )

    def for_several(self, told: list[str]) -> str:
        """The question about several of them: two of the asker, or those of people who left messages."""
        is_own = self.theme.is_own and len(told) == 2
        if is_own and self.draft.brief.draw("own", self.draft.brief.turn).chance(2, 3):
            return self._of_my_own(*told)
        zh = self.draft.brief.language == "zh"
        if zh:
            count = "两三四"[len(told) - 2]
            quoted = listed([f"“{t}”" for t in told], "zh")
            start = self.draft.say(
                "",
                f"{self.house}收到{count}条留言：{quoted}。 || {count}个人给{self.house}留了言：{quoted}。",
            )
        else:
            count = ("Two", "Three", "Four")[len(told) - 2]
            quoted = listed([f'"{t}"' for t in told], "en")
            start = self.draft.say(
                f"{count} people have left messages for {self.house}: {quoted}. ||"
                f"{self.house} has had {count.lower()} messages today: {quoted}.",
                "",
            )
        return start + ("" if zh else " ") + self._asked("messages", "条留言", "转给")

    def _of_my_own(self, first: str, second: str) -> str:
        """The question about two matters of one person."""
        if self.draft.brief.language == "zh":
            start = f"{first}，另外{second}。"
        else:
            start = f"{first}, and {_begun_small(second)}. "
        return start + self._asked("matters", "件事", "找")

    def _asked(self, things: str, thing: str, hand: str) -> str:
        """What is asked about several matters or messages.

        Args:
            things: What they are, in English.
            thing: One of them, in Chinese.
            hand: What is to be done to who is in charge, in Chinese.
        """
        say, layout, unit, house, goal = (
            self.draft.say,
            self._layout,
            self._unit,
            self.house,
            self.when,
        )
        is_mine = things == "matters"
        if layout.concludes:
            return self._asked_first(thing, is_mine=is_mine)
        at = f" at {house}" if is_mine else ""
        zh_at = house if is_mine else ""
        if layout.depth == 1:
            return say(
                f"Which {unit}s{at} deal with these? || Which {unit}s{at} should I {'write to' if is_mine else 'pass them on to'}?",
                f"该分别{hand}{f'{house}的' * is_mine}哪个{unit}？ || 分别归{f'{house}的' * is_mine}哪个{unit}管？",
            )
        if layout.depth == 2:
            return say(
                f"Who{at} will be on duty for these {goal}? || "
                + (
                    f"I'll contact {house} {goal}. Who will be on duty for them?"
                    if is_mine
                    else f"Who will be on duty {goal} to deal with them?"
                ),
                f"{goal}{zh_at}分别由谁值班处理？ || {goal}分别该{hand}{zh_at}哪位值班人员？",
            )
        room = layout.facets > 1
        return say(
            f"I want to speak to whoever is on duty for each of these{at} {goal}. What are their extensions{', and which rooms will they be in' * room}? || "
            f"What are the extensions of those who deal with these{at} {goal}{', and which rooms will they be in' * room}?",
            f"{goal}我要联系{zh_at}负责的值班人员，分机号分别是多少{'，当天分别在哪个房间' * room}？ || "
            f"{goal}{zh_at}值班处理这些事的人，分机号分别是多少{'，当天各在哪个房间' * room}？",
        )

    def _asked_first(self, thing: str, *, is_mine: bool) -> str:
        say, depth, unit, house, goal = (
            self.draft.say,
            self._layout.depth,
            self._unit,
            self.house,
            self.when,
        )
        at, zh_at = (f" at {house}", house) if is_mine else ("", "")
        soonest = "更早" if self._layout.subjects == 2 else "最早"
        if depth == 1:
            return say(
                f"I'd like to phone the {unit}s in charge{at}. Which can I call about first, and from what time? || "
                f"For which of these does the {unit} in charge{at} take calls first, and from what time?",
                f"{zh_at}负责哪{thing}的{unit}{soonest}开始接电话，是几点？",
            )
        if depth == 2:
            return say(
                f"For which of these will someone be on duty first{at} {goal}, and from what time? || "
                f"Which of these has someone on duty first{at} {goal}, and from what time?",
                f"{goal}哪{thing}{f'在{house}' * is_mine}{soonest}有人值班，几点开始？",
            )
        return say(
            f"I want to phone whoever is on duty for each of these{at} {goal}. Which can I call about first, and from what time?",
            f"{goal}{zh_at}的值班人员里，负责哪{thing}的那位{soonest}开始接电话，是几点？",
        )


def _begun_small(sentence: str) -> str:
    """A sentence as it goes on after ``and``."""
    first = sentence.split(" ", 1)[0]
    return sentence if first.partition("'")[0] == "I" else sentence[0].lower() + sentence[1:]
