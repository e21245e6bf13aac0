"""Questions of the family ``directory``: how people ask for offices and the people on duty there."""

from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.brief import Layout
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["Questions"]


@dataclass(frozen=True, slots=True)
class Questions:
    """Words questions of one bundle."""

    draft: Draft
    house: str
    unit: str
    when: str

    @property
    def _layout(self) -> Layout:
        return self.draft.brief.layout

    def _several(self, told: list[str]) -> str:
        """Messages of several people, one after the other."""
        if self.draft.brief.language == "zh":
            count = "两三四"[len(told) - 2]
            return self.draft.say("", f"今天收到{count}条留言：||有{count}件事要转告：") + "".join(
                f"“{t}。”" for t in told
            )
        count = ("Two", "Three", "Four")[len(told) - 2]
        quoted = listed([f'"{t}."' for t in told], "en")
        return (
            self.draft.say(f"{count} messages came in: || {count} people left a message:", "")
            + f" {quoted}"
        )

    def for_one(self, told: str) -> str:
        """The question about one matter."""
        say, depth, unit, house, goal = (
            self.draft.say,
            self._layout.depth,
            self.unit,
            self.house,
            self.when,
        )
        if depth == 1:
            return say(
                f"{told}. Which {unit} of {house} is in charge of that? || {told}. I keep being sent around at {house}; which {unit} do I have to turn to? || "
                f"{told}. To which {unit} of {house} do I address my letter?",
                f"{told}，该找{house}的哪个{unit}？ || {told}，给{house}打电话总被转来转去，到底归哪个{unit}管？",
            )
        if depth == 2:
            return say(
                f"{told}. I can drop by at {house} {goal}. Who will be on duty for that? || {told}. Whom do I ask for when I go to {house} about it {goal}?",
                f"{told}，我{goal}去{house}一趟，那天是谁值班管这事？ || {told}。{goal}去{house}办这件事，该找哪位值班人员？",
            )
        room = self._layout.facets > 1
        return say(
            f"{told}. I'd like to talk to whoever is on duty for such things at {house} {goal}. What extension does that person have{', and in which room are they that day' * room}? || "
            f"{told}. Somebody at {house} should be on duty for that {goal}. Which extension do I dial to get them{', and which room are they in that day' * room}?",
            f"{told}。{goal}我想联系{house}负责这事的值班人员，分机号是多少{'，当天在哪个房间' * room}？ || "
            f"{told}，{goal}{house}管这事的值班人员分机号是多少{'？那天人在哪个房间' * room}？",
        )  # fmt: skip

    def for_several(self, matters: list[str]) -> str:
        """The question about several of them."""
        told = self._several(matters)
        say, layout, unit, house, goal = (
            self.draft.say,
            self._layout,
            self.unit,
            self.house,
            self.when,
        )
        if layout.concludes:
            return self._wording_of_first(told)
        if layout.depth == 1:
            return say(
                f"{told} Which {unit} of {house} is in charge of each of these? || {told} To which {unit}s of {house} do I have to write?",
                f"{told}这几件事分别归{house}的哪个{unit}管？ || {told}该找{house}的哪些{unit}？请分别告诉我。",
            )
        if layout.depth == 2:
            return say(
                f"{told} I can drop by at {house} {goal}. Whom do I ask for about each of these? || {told} Who is on duty at {house} {goal} for each of these?",
                f"{told}我{goal}去{house}，这几件事分别是谁值班？ || {told}{goal}去{house}办这些事，分别该找哪位值班人员？",
            )
        room = layout.facets > 1
        return say(
            f"{told} I want to talk to whoever is on duty for these at {house} {goal}. Which extensions do they have{', and in which rooms are they that day' * room}?",
            f"{told}{goal}我要联系{house}负责这些事的值班人员，他们的分机号分别是多少{'，当天各在哪个房间' * room}？",
        )

    def _wording_of_first(self, told: str) -> str:
        say, depth, unit, house, goal = (
            self.draft.say,
            self._layout.depth,
            self.unit,
            self.house,
            self.when,
        )
        if depth == 1:
            return say(
                f"{told} I want to phone {house} about all of them. For which does the {unit} in charge take calls earliest, and from what time?",
                f"{told}我要为这些事给{house}打电话，哪件事负责的{unit}最早开始接电话，几点？",
            )
        if depth == 2:
            return say(
                f"{told} I will be at {house} {goal}. For which of these is the person on duty there earliest, and from what time?",
                f"{told}我{goal}去{house}，哪件事的值班人员到岗最早，几点到？",
            )
        return say(
            f"{told} I want to call the people at {house} who are on duty for these {goal}. With which of these can I begin, going by who answers the phone earliest, and from what time?",
            f"{told}{goal}我要给{house}负责这些事的值班人员打电话，哪件事的值班人员最早开始接电话，几点？",
        )
