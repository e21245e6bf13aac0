"""Tickets: a case is found, who could take it over is looked up, it is handed on, and what follows is asked."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed, with_article
from astra_mcp.synthesis.environments.families.stateful.desks import Case, Desk

__all__ = ["TICKETS"]


def _make(brief: Brief) -> Draft:
    return _Tickets(brief).written()


class _Tickets(Desk):
    """What is asked of such a world."""

    def _ask(self) -> None:
        layout = self.brief.layout
        self.by_due = layout.concludes or self.brief.draw("third").chance(1, 2)
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

    def _conclusion(self) -> tuple[str, str]:
        say = self.draft.say
        match self.brief.layout.depth:
            case 1:
                first = min(self.asked, key=lambda one: one.opened)
                return say("Who of them has waited longest?", "其中谁等得最久？"), first.who
            case 2:
                first = min(self.asked, key=lambda one: one.figure)
                asked = say("For whom could somebody else start first?", "谁的最快有人能接手？")
                return asked, first.who
            case _:
                first = min(self.asked, key=lambda one: one.due)
                return say("Whose new deadline is the earlier one?", "谁的新期限更早？"), first.who

    def _them(self, *, either: bool = False) -> str:
        """The people with what their cases are about."""
        rows = [
            f"{one.who}（{one.topic}）" if self.zh else f"{one.who} ({one.topic})"
            for one in self.asked
        ]
        return listed(rows, self.brief.language, either=either)

    def _cases(self) -> str:
        """The cases that are asked for."""
        if len(self.asked) > 1:
            return self.draft.say(
                f"the {self.case}s of {self._them()}", f"{self._them()}的{self.case}"
            )
        one = self.asked[0]
        return self.draft.say(
            f"{one.who}'s {self.case} about {one.topic}", f"{one.who}关于{one.topic}的{self.case}"
        )

    def _first(self) -> str:
        say, house, them, case = self.draft.say, self.house, self._them(), self.case
        if self.brief.layout.concludes:
            which = self._them(either=True)
            return say(
                f"{them} each have {with_article(case)} open with {house}. Who of them has been waiting longest? || "
                f"I would like to deal with the oldest one first. Whose {case} came in first at {house}: {which}?",
                f"{them}都在{house}有{case}，谁等得最久？ || 我想先处理最早的那个：{them}，哪一位的{case}在{house}登记得最早？",
            )
        if len(self.asked) > 1:
            return say(
                f"I need the numbers that {house} gave to the {case}s of {them}. || "
                f"For our meeting: which {case} numbers do {them} have at {house}?",
                f"请查一下{house}给{them}的{case}号。 || 开会要用：{them}在{house}的{case}号分别是多少？",
            )
        who, topic = self.asked[0].who, self.asked[0].topic
        return say(
            f"My name is {who}. I contacted {house} about {topic} and cannot find my {case} number any more. What is it? || "
            f"{who} is on the phone and asks about {topic}. Which {case} number does that have at {house}? || "
            f"Could you look up the number of {who}'s {case} at {house}? It was about {topic}.",
            f"我是{who}，之前因为{topic}联系过{house}，{case}号找不到了，能帮我查查吗？ || {who}打电话来问{topic}的事，{house}给的{case}号是多少？ || "
            f"麻烦查一下{who}在{house}的{case}号，是{topic}那件事。",
        )

    def _best(self) -> str:
        """By what somebody is chosen of those who could take a case."""
        if self.by_start:
            return self.draft.say("can start soonest today", "今天能最早开始处理的")
        return self.draft.say("has the fewest cases open", "在办数量最少的")

    def _second(self) -> str:
        say, house, them, case, one = self.draft.say, self.house, self._them(), self.case, self.one
        if self.brief.layout.concludes:
            which = self._them(either=True)
            return say(
                f"{house} has {with_article(case)} open for each of {them}. If all of these were handed on today, for whom could somebody else start first? || "
                f"Whose {case} at {house} could get a new {one} first today: {which}?",
                f"{them}在{house}各有一个{case}，如果今天都换人接手，谁的能最早有人开始处理？ || {house}要给{them}的{case}换{one}，今天谁的能最先有人接手？",
            )
        reason, cases, best = say(*self.theme.reason), self._cases(), self._best()
        each, apiece = (", for each", "分别") if len(self.asked) > 1 else ("", "")
        return say(
            f"{reason} Of those at {house} who could take over {cases}, who {best}{each}? || "
            f"I want to pass on {cases}. Which {one} at {house} could take over and {best}{each}?",
            f"{reason}{house}能接手{cases}的{one}里，{best}{apiece}是谁？ || {cases}想换人处理，{house}能接手的{one}中{best}{apiece}是哪位？",
        )

    def _order(self) -> str:
        """The sentence by which cases are to be handed on."""
        say, house, cases, one, best = (
            self.draft.say,
            self.house,
            self._cases(),
            self.one,
            self._best(),
        )
        each, apiece = (", each", "，各自") if len(self.asked) > 1 else ("", "，")
        reason = say(*self.theme.reason)
        return say(
            f"{reason} Please have {house} pass {cases} on{each} to whichever {one} could take over and {best}. || "
            f"Please get {house} to give {cases}{each} to another {one}: of those who could take over, whoever {best}.",
            f"{reason}请让{house}把{cases}转出去{apiece}转给能接手的{one}中{best}那位。 || "
            f"麻烦让{house}给{cases}换人{apiece}交给能接手的{one}里{best}那位。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return self._joined(
                "Whose new deadline is then the earlier one? || After that, whose is due first?",
                "转好之后，谁的办结期限更早？ || 之后谁的要先办结？",
            )
        if self.by_due:
            return self._joined(
                f"By when {'are they' if several else 'is it'} to be settled then? || Then tell me the new deadline{'s' if several else ''}.",
                f"转好后告诉我新的办结期限。 || 之后{'分别' if several else ''}最晚什么时候办结？",
            )
        number = f"number{'s' if several else ''} of the {self.follow}{'s' if several else ''}"
        return self._joined(
            f"I need the {number} that {'come' if several else 'comes'} of it. || Then give me the {number}.",
            f"转好后把{self.follow}编号给我。 || 之后生成的{self.follow}编号{'分别' if several else ''}是多少？",
        )

    def _fourth(self) -> str:
        say, several = self.draft.say, len(self.asked) > 1
        due = say(
            f"by when {'each is' if several else 'it is'} to be settled now",
            f"新的办结期限{'分别' if several else ''}是什么时候",
        )
        met = say(
            f"when the {self.follow} is{' for each' if several else ''}",
            f"{self.follow}{'分别' if several else ''}安排在什么时候",
        )
        wanted = [{"due": due, "met": met}[end] for end in self.ends]
        return self._joined(
            f"Then let me know {' and '.join(wanted)}. || I have to tell people {' and '.join(wanted)}; please find out.",
            f"转好后告诉我{'，以及'.join(wanted)}。 || 我要答复当事人：{'，'.join(wanted)}？",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Case) -> tuple[list[int], list[str]]:
        """The sub-tasks of one case: their ids, and what the question asks for."""
        say, layout = self.draft.say, self.brief.layout
        by_day = layout.depth == 1 and layout.concludes
        names = [w for w, t in self.cases if t == one.topic] + [w for w, _ in self.cases]
        own = [t for w, t in self.cases if w == one.who]
        first = self.draft.solve(
            say(f"When did the {self.case} of {one.who} about {one.topic} come in?", f"{one.who}关于{one.topic}的{self.case}是哪天受理的？") if by_day
            else say(f"What is the number of the {self.case} of {one.who} about {one.topic}?", f"{one.who}关于{one.topic}的{self.case}号是多少？"),
            one.opened if by_day else one.case, "$find",
            {"$who": key(one.who, names), "$topic": key(one.topic, own)},
        )  # fmt: skip
        if layout.depth == 1:
            return [first], [one.opened if by_day else one.case]
        start = f"{one.figure // 60:02d}:{one.figure % 60:02d}"
        by_time = layout.depth == 2 and layout.concludes
        asked = say(
            f"Of those who could take it over, who {self._best()}?",
            f"能接手的人里{self._best()}是谁？",
        )
        second = self.draft.solve(
            say("When today could somebody else start on it at the earliest?", "今天最早几点有人能接手？") if by_time else asked,
            start if by_time else one.new, "$able", {"$code": key(one.case, self._others_than(one))}, needs=[first],
        )  # fmt: skip
        if layout.depth == 2:
            return [second], [start if by_time else one.new]
        return self._hand(one, first, second)

    def _hand(self, one: Case, first: int, second: int) -> tuple[list[int], list[str]]:
        say, depth = self.draft.say, self.brief.layout.depth
        by_due = depth == 3 and self.by_due
        answer = one.due if by_due else one.follow
        third = self.draft.solve(
            say("By when is it to be settled once that person has it?", "转给此人后办结期限是什么时候？") if by_due
            else say(f"What is the number of the {self.follow} that comes of handing it on to that person?", f"转给此人后，{self.follow}编号是多少？"),
            answer, "$hand",
            {"$code": key(one.case, self._others_than(one)), "$person": key(one.new, [p for p in one.able if p != one.new])},
            needs=[first, second],
        )  # fmt: skip
        if depth == 3:
            return [third], [answer]
        made = [self._end(one, end, first, third) for end in self.ends]
        return [number for number, _ in made], [answer for _, answer in made]

    def _end(self, one: Case, end: str, first: int, third: int) -> tuple[int, str]:
        say = self.draft.say
        if end == "met":
            asked = say(f"When is that {self.follow}?", f"{self.follow}安排在什么时候？")
            arguments = {"$follow": key(one.follow)}
            return self.draft.solve(asked, one.met, "$meet", arguments, needs=[third]), one.met
        asked = say(
            f"By when is the {self.case} to be settled now?",
            f"现在{self.case}的办结期限是什么时候？",
        )
        arguments = {"$code": key(one.case, self._others_than(one))}
        return self.draft.solve(asked, one.due, "$show", arguments, needs=[first, third]), one.due


TICKETS = Family(
    "tickets", "Cases that are found, handed on to whom they suit best, and followed to what comes of it.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
