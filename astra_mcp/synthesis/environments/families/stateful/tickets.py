"""Tickets: a case is found, who could take it over is looked up, it is handed on, and what follows is asked."""

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed, tagged, with_article
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
                return say("Who has been waiting longest?", "其中谁等得最久？"), first.who
            case 2:
                first = min(self.asked, key=lambda one: one.figure)
                asked = say("Whose could be started on first?", "谁的最早能有人接手？")
                return asked, first.who
            case _:
                first = min(self.asked, key=lambda one: one.due)
                return say(
                    f"Whose new deadline is {self._sooner}?", f"谁的新期限{self._sooner}？"
                ), first.who

    @property
    def _several(self) -> bool:
        return len(self.asked) > 1

    @property
    def _sooner(self) -> str:
        if len(self.asked) == 2:
            return self.draft.say("earlier", "更早")
        return self.draft.say("the earliest", "最早")

    def _them(self) -> str:
        """The people with what their cases are about."""
        names, topics = zip(*((one.who, one.topic) for one in self.asked), strict=True)
        return tagged(names, topics, self.brief.language, about="about ")

    def _cases(self) -> str:
        """The cases that are asked for."""
        if self._several:
            return self.draft.say(
                f"the {self.case}s of {self._them()}", f"{self._them()}的{self.case}"
            )
        one = self.asked[0]
        about = "for" if self.case == "claim" else "about"
        return self.draft.say(
            f"{one.who}'s {self.case} {about} {one.topic}", f"{one.who}关于{one.topic}的{self.case}"
        )

    def _first(self) -> str:
        say, house, them, case = self.draft.say, self.house, self._them(), self.case
        if self.brief.layout.concludes:
            return say(
                f"{them} each have {with_article(case)} open with {house}. Who has been waiting longest? || "
                f"I'd like to deal with the oldest one first. Of the {case}s that {them} have open with {house}, whose came in first?",
                f"{them}在{house}都有{case}在办，谁等得最久？ || 我想先处理最早的。{them}在{house}的{case}，谁的受理得最早？",
            )
        if self._several:
            return say(
                f"Could you look up the {case} numbers that {house} gave {them}? || "
                f"I'm preparing a meeting with {house} and need the {case} numbers of {them}. What are they?",
                f"请查一下{them}在{house}的{case}号。 || 开会要用，{them}在{house}的{case}号分别是多少？",
            )
        who, topic = self.asked[0].who, self.asked[0].topic
        return say(
            f"My name is {who}. I contacted {house} about {topic} and can't find my {case} number any more. What is it? || "
            f"I have {who} on the phone, asking about {topic}. What's the number of that {case} with {house}? || "
            f"Could you look up the number of {who}'s {case} with {house}? It's about {topic}.",
            f"我是{who}，之前因为{topic}联系过{house}，{case}号找不到了，能帮我查查吗？ || {who}打电话来问{topic}的事，在{house}的{case}号是多少？ || "
            f"麻烦查一下{who}在{house}的{case}号，是{topic}那件事。",
        )

    def _best(self) -> str:
        """By what somebody is chosen of those who could take a case."""
        if self.by_start:
            return self.draft.say("can start soonest today", "今天能最早开始处理的")
        return self.draft.say(f"has the fewest open {self.case}s", "手头在办件最少的")

    def _second(self) -> str:
        say, house, them, case, one = self.draft.say, self.house, self._them(), self.case, self.one
        if self.brief.layout.concludes:
            return say(
                f"{them} each have {with_article(case)} open with {house}. If a new {one} took over each of them today, whose could be started on first? || "
                f"{house} is reassigning the {case}s of {them}. Whose could a new {one} start on first today?",
                f"{them}在{house}的{case}都要换{one}，今天谁的能最先有人接手？ || {house}要给{them}的{case}换{one}，今天谁的能最先有人接手？",
            )
        reason, cases, best = say(*self.theme.reason), self._cases(), self._best()
        each, apiece = ("For each of them, which", "分别") if self._several else ("Which", "")
        return say(
            f"{reason} {house} has to reassign {cases}. {each} available {one} {best}? || "
            f"I'd like {house} to reassign {cases}. {each} available {one} {best}?",
            f"{reason}{house}能接手{cases}的{one}里，{best}{apiece}是谁？ || 我想给{cases}换人，{house}能接手的{one}里，{best}{apiece}是哪位？",
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
        each, it, apiece = (", each", "Each", "分别") if self._several else ("", "It", "")
        reason = say(*self.theme.reason)
        return say(
            f"{reason} Please have {house} reassign {cases}{each} to whichever available {one} {best}. || "
            f"Could you get {house} to reassign {cases}? {it} should go to the available {one} who {best}.",
            f"{reason}请把{cases}{apiece}转给{house}能接手的{one}里{best}那位。 || "
            f"想给{cases}换个{one}，麻烦{apiece}转给{house}能接手的人里{best}那位。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        each, s, apiece = (" for each", "s", "分别") if self._several else ("", "", "")
        if self.brief.layout.concludes:
            return self._joined(
                f"Whose deadline is {self._sooner} after that? || Whose new deadline is {self._sooner}?",
                f"转好后，谁的办结期限{self._sooner}？ || 换人之后，谁的办结期限{self._sooner}？",
            )
        if self.by_due:
            return self._joined(
                f"What's the new deadline{each}? || Then tell me the new deadline{each}.",
                f"转好后，新的办结期限{apiece}是什么时候？ || 转好后请告诉我新的办结期限{apiece}是什么时候。",
            )
        return self._joined(
            f"What {'are' if s else 'is'} the number{s} of the new {self.follow}{s}? || "
            f"Then give me the number{s} of the new {self.follow}{s}.",
            f"转好后，{self.follow}的编号{apiece}是多少？ || 转好后请把{self.follow}的编号{apiece}告诉我。",
        )

    def _fourth(self) -> str:
        say = self.draft.say
        each, apiece = (" for each", "分别") if self._several else ("", "")
        due = say("the new deadline", f"新的办结期限{apiece}是什么时候")
        met = say(f"the date and time of the {self.follow}", f"{self.follow}{apiece}安排在什么时候")
        wanted = [{"due": due, "met": met}[end] for end in self.ends]
        return self._joined(
            f"Then let me know {' and '.join(wanted)}{each}. || I also need to know {' and '.join(wanted)}{each}.",
            f"转好后，{'，'.join(wanted)}？ || 转好后请告诉我{'，以及'.join(wanted)}。",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: Case) -> tuple[list[int], list[str]]:
        """The sub-tasks of one case: their ids, and what the question asks for."""
        say, layout = self.draft.say, self.brief.layout
        by_day = layout.depth == 1 and layout.concludes
        names = [w for w, t in self.cases if t == one.topic] + [w for w, _ in self.cases]
        own = [t for w, t in self.cases if w == one.who]
        first = self.draft.solve(
            say(f"When did {one.who}'s {self.case} ({one.topic}) come in?", f"{one.who}关于{one.topic}的{self.case}是哪天受理的？") if by_day
            else say(f"What is the number of {one.who}'s {self.case} ({one.topic})?", f"{one.who}关于{one.topic}的{self.case}号是多少？"),
            one.opened if by_day else one.case, "$find",
            {"$who": key(one.who, names), "$topic": key(one.topic, own)},
        )  # fmt: skip
        if layout.depth == 1:
            return [first], [one.opened if by_day else one.case]
        start = f"{one.figure // 60:02d}:{one.figure % 60:02d}"
        by_time = layout.depth == 2 and layout.concludes
        asked = say(
            f"Which available {self.one} {self._best()}?",
            f"能接手的人里{self._best()}是谁？",
        )
        second = self.draft.solve(
            say("When today could somebody else start on it?", "今天最早几点有人能接手？") if by_time else asked,
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
            say("What is its deadline once that person has it?", "转给此人后办结期限是什么时候？") if by_due
            else say(f"What is the number of the {self.follow} set up when that person takes over?", f"转给此人后，{self.follow}编号是多少？"),
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
            f"What is the deadline of the {self.case} now?",
            f"现在{self.case}的办结期限是什么时候？",
        )
        arguments = {"$code": key(one.case, self._others_than(one))}
        return self.draft.solve(asked, one.due, "$show", arguments, needs=[first, third]), one.due


TICKETS = Family(
    "tickets", "Cases that are found, handed on to whom they suit best, and followed to what comes of it.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
