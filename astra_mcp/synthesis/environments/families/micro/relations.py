"""Relations: who is what to whom, over one hop or several."""

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.entities import closed_vocabulary
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.micro.vocabulary import RELATIONS, Relation
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["MICRO_RELATIONS"]

_NUM_ROWS = 8


class _Relations:
    """A world of few names, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.draw, self.language = brief, brief.draw("world"), brief.language
        self.draft = Draft(brief, Domain.GAMING)
        self.draft.title = self.draft.say("Who is what to whom", "谁是谁的谁")
        self.draft.description = self.draft.say("Relations between names.", "名字之间的关系。")
        relations = self.draw.some(RELATIONS, 3)
        names = self.draw.some(closed_vocabulary(self.language), _NUM_ROWS * 4)
        self.tables = {r: self._table(names, step) for step, r in enumerate(relations)}
        for relation, table in self.tables.items():
            self._tool(relation, table)
        subjects = self.draw.some(names[:_NUM_ROWS], brief.layout.subjects)
        asked = [self._follow(name, at) for at, name in enumerate(subjects)]
        used = brief.layout.depth if brief.layout.depth > 1 else brief.layout.subjects
        for relation in relations[used:]:
            for name in [*self.tables[relation]][:2]:
                self.draft.example(relation.tool, name=name)
        self._ask(asked)

    def _table(self, names: list[str], step: int) -> dict[str, str]:
        """Lead from one eighth of the names to the next, so that hops can follow each other."""
        begin = step * _NUM_ROWS
        onward = self.draw.shuffled(names[begin + _NUM_ROWS : begin + 2 * _NUM_ROWS])
        return dict(zip(names[begin : begin + _NUM_ROWS], onward, strict=True))

    def _tool(self, relation: Relation, table: dict[str, str]) -> None:
        constant, noun = relation.tool.upper(), relation.noun[self.language == "zh"]
        self.draft.data(constant, table)
        unknown = self.draft.say(f"has no {noun}; use another name.", f"没有{noun}，请换一个名字。")
        self.draft.tool(
            relation.tool,
            self.draft.say(f"Name of somebody's {noun}.", f"查询{noun}的名字。"),
            {"name": {"type": "string"}},
            f"""
            if name not in {constant}:
                raise ValueError(f"{{name}} {unknown}")
            return {{"is": {constant}[name]}}
            """,
        )

    def _follow(self, name: str, at: int) -> tuple[str, str]:
        """The sub-tasks of one name; gives what is asked of it, and the answer."""
        layout, relations = self.brief.layout, [*self.tables]
        first = at % 3 if layout.depth == 1 else 0
        if layout.depth == 1:
            name = [*self.tables[relations[first]]][at]
        asked, said, needs = name, name, tuple[int, ...]()
        for relation in relations[first : first + layout.depth]:
            table, noun = self.tables[relation], relation.noun[self.language == "zh"]
            question = self.draft.say(f"Who is the {noun} of {asked}?", f"{asked}的{noun}是谁？")
            arguments = {"name": key(asked, [n for n in table if n != asked])}
            asked, said = table[asked], self._of(noun, said)
            needs = (self.draft.solve(question, asked, relation.tool, arguments, needs=needs),)
        return said, asked

    def _of(self, noun: str, said: str) -> str:
        return f"{said}的{noun}" if self.language == "zh" else f"the {noun} of {said}"

    def _ask(self, asked: list[tuple[str, str]]) -> None:
        said = listed([s for s, _ in asked], self.language)
        each = "分别" if len(asked) > 1 else ""
        self.draft.question = self.draft.say(f"Who is {said}?", f"{said}{each}是谁？")
        self.draft.answer = listed([a for _, a in asked], self.language)


MICRO_RELATIONS = Family(
    "micro-relations",
    "Who is what to whom, over one hop or several.",
    lambda brief: _Relations(brief).draft,
    Bounds(subjects=3, depth=3, facets=1, concludes=False),
    is_micro=True,
)
