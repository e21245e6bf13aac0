"""Relations: who is what to whom, over one hop or several."""

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.entities import Entities
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.micro.tables import Table, follow
from astra_mcp.synthesis.environments.families.micro.vocabulary import (
    NUM_ROWS,
    RELATIONS,
    asked_of,
)
from astra_mcp.synthesis.environments.families.phrases import listed, with_article

__all__ = ["MICRO_RELATIONS"]


class _Relations:
    """A world of few names, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.draw, self.zh = brief, brief.draw("world"), brief.language == "zh"
        self.draft = Draft(brief, Domain.GAMING)
        self.draft.title = self.draft.say("Who is what to whom", "谁是谁的谁")
        self.draft.description = self.draft.say("Relations between names.", "名字之间的关系。")
        self.relations = self.draw.some(RELATIONS, 3)
        names = Entities(self.draw, brief.language, brief.split).micro(NUM_ROWS * 6)
        self.tables = [self._table(names, step) for step in range(len(self.relations))]
        subjects = asked_of(range(NUM_ROWS), brief)
        self.draft.answer = listed(
            [self._follow(row, at) for at, row in enumerate(subjects)], brief.language
        )
        self._ask(subjects)
        used = brief.layout.depth if brief.layout.depth > 1 else brief.layout.subjects
        for table in self.tables[used:]:
            table.show(self.draft)

    def _table(self, names: list[str], step: int) -> Table:
        """Lead from some names to the next, which hops can follow, or to others where one hop answers all of it."""
        begin = step * NUM_ROWS * (2 if self.brief.layout.depth == 1 else 1)
        onward = self.draw.shuffled(names[begin + NUM_ROWS : begin + 2 * NUM_ROWS])
        rows = dict(zip(names[begin : begin + NUM_ROWS], onward, strict=True))
        say, noun = self.draft.say, self.relations[step].noun[self.zh]
        table = Table(
            self.relations[step].tool,
            rows,
            lambda name: say(f"Who is {name}'s {noun}?", f"{name}的{noun}是谁？"),
        )
        table.add_to(
            self.draft,
            say(f"Name of somebody's {noun}.", f"查询{noun}的名字。"),
            "is",
            "{name} " + say(f"has no {noun}; use another name.", f"没有{noun}，请换一个名字。"),
        )
        return table

    def _begun(self, row: int, at: int) -> tuple[str, int]:
        """The name that a subject begins with, and the table: over one hop each subject has its own."""
        first = at if self.brief.layout.depth == 1 else 0
        return [*self.tables[first].rows][row], first

    def _follow(self, row: int, at: int) -> str:
        """The sub-tasks of one subject; gives the answer."""
        name, first = self._begun(row, at)
        return follow(self.draft, name, self.tables[first : first + self.brief.layout.depth])

    def _ask(self, subjects: list[int]) -> None:
        names = [self._begun(row, at)[0] for at, row in enumerate(subjects)]
        nouns = [relation.noun[self.zh] for relation in self.relations]
        wording = (self._first, self._second, self._third)[self.brief.layout.depth - 1]
        self.draft.question = wording(names, nouns)

    def _first(self, names: list[str], nouns: list[str]) -> str:
        say, of = self.draft.say, "的" if self.zh else "'s "
        rows = [f"{name}{of}{noun}" for name, noun in zip(names, nouns, strict=False)]
        them = listed(rows, self.brief.language)
        if len(rows) == 1:
            return say(f"Who is {them}?", f"{them}是谁？")
        *first, last = (f"who is {row}" for row in rows)
        apart = f"{', '.join(first)}, and {last}"
        return say(f"W{apart[1:]}? || Who are {them}?", f"{them}分别是谁？")

    def _second(self, names: list[str], nouns: list[str]) -> str:
        say, them, (one, other, *_) = self.draft.say, listed(names, self.brief.language), nouns
        if len(names) == 1:
            return say(
                f"Who is the {other} of {them}'s {one}? || {them} has {with_article(one)}. Who is that {one}'s {other}?",
                f"{them}有个{one}，这个{one}的{other}是谁？ || {them}的{one}有个{other}，这个{other}叫什么名字？",
            )
        twice = ", and ".join(f"who is the {other} of {name}'s {one}" for name in names)
        each = f"{them} each have {with_article(one)}. Who is each {one}'s {other}?"
        number = "零一两三"[len(names)]
        return say(
            f"W{twice[1:]}? || {each}" if len(names) == 2 else each,
            f"{them}各有一个{one}，这{number}个{one}的{other}分别是谁？",
        )

    def _third(self, names: list[str], nouns: list[str]) -> str:
        say, (one, other, last), first = self.draft.say, nouns, names[0]
        if len(names) == 1:
            return say(
                f"{first}'s {one} has {with_article(other)}. Who is that {other}'s {last}? || "
                f"{first} has {with_article(one)}, and that {one} has {with_article(other)}. Who is the {other}'s {last}?",
                f"{first}的{one}有个{other}，这个{other}的{last}是谁？ || {first}有个{one}，这个{one}有个{other}。那么这个{other}的{last}是谁？",
            )
        second = names[1]
        return say(
            f"{first}'s {one} has {with_article(other)}, and so does {second}'s {one}. Who is each {other}'s {last}? || "
            f"{first}'s {one} and {second}'s {one} each have {with_article(other)}. Who is the {last} of each {other}?",
            f"{first}的{one}和{second}的{one}各有一个{other}，这两个{other}的{last}分别是谁？",
        )


MICRO_RELATIONS = Family(
    "micro-relations",
    "Who is what to whom, over one hop or several.",
    lambda brief: _Relations(brief).draft,
    Bounds(subjects=3, depth=3, facets=1, concludes=False, questions=NUM_ROWS),
    is_micro=True,
)
