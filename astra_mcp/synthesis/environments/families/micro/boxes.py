"""Boxes: one is opened, which gives a key, and with the key more is found: calls change what later ones return."""

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.entities import closed_vocabulary
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["MICRO_BOXES"]

_NUM_ROWS = 8


class _Boxes:
    """A world of boxes, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.draw, self.language = brief, brief.draw("world"), brief.language
        self.draft = Draft(brief, Domain.GAMING)
        self.draft.title = self.draft.say("Boxes and keys", "盒子与钥匙")
        self.draft.description = self.draft.say("Boxes that hold keys.", "装着钥匙的盒子。")
        names = self.draw.some(closed_vocabulary(self.language), _NUM_ROWS * 3)
        self.boxes, self.keys, self.gems = (
            names[:_NUM_ROWS],
            names[_NUM_ROWS : 2 * _NUM_ROWS],
            names[2 * _NUM_ROWS :],
        )
        self._tools()
        subjects = self.draw.some(range(_NUM_ROWS), brief.layout.subjects)
        self._ask(subjects, [self._follow(n) for n in subjects])

    def _tools(self) -> None:
        say, name = self.draft.say, {"name": {"type": "string"}}
        self.draft.data("KEYS", dict(zip(self.boxes, self.keys, strict=True)))
        self.draft.data("GEMS", dict(zip(self.keys, self.gems, strict=True)))
        self.draft.data("TAKEN", [])
        self.draft.tool(
            "open_box",
            say("Open a box and take its key.", "打开盒子，取出钥匙。"),
            name,
            f"""
            if name not in KEYS:
                raise ValueError(f"{{name}} {say("is no box here; use another name.", "不是这里的盒子，请换一个名字。")}")
            TAKEN.append(KEYS[name])
            return {{"key": KEYS[name]}}
            """,
            writes=True,
        )
        if self.brief.layout.depth == 1:
            return
        self.draft.tool(
            "use_key",
            say("Use a key that was taken.", "使用取出的钥匙。"),
            name,
            f"""
            if name not in TAKEN:
                raise ValueError(f"{{name}} {say("is no key that you have; open its box first.", "不是你手里的钥匙，请先打开它的盒子。")}")
            return {{"gem": GEMS[name]}}
            """,
        )

    def _follow(self, number: int) -> str:
        say, box, taken = self.draft.say, self.boxes[number], self.keys[number]
        arguments = {"name": key(box, [b for b in self.boxes if b != box])}
        first = self.draft.solve(
            say(f"Which key lies in box {box}?", f"盒子{box}里是哪把钥匙？"),
            taken,
            "open_box",
            arguments,
        )
        if self.brief.layout.depth == 1:
            return taken
        asked = say("Which gem does that key lead to?", "那把钥匙对应哪颗宝石？")
        self.draft.solve(asked, self.gems[number], "use_key", {"name": key(taken)}, needs=[first])
        return self.gems[number]

    def _ask(self, subjects: list[int], answers: list[str]) -> None:
        boxes, say = listed([self.boxes[n] for n in subjects], self.language), self.draft.say
        self.draft.answer = listed(answers, self.language)
        match self.brief.layout.depth, len(subjects) > 1:
            case 1, False:
                self.draft.question = say(
                    f"Which key is in box {boxes}?", f"盒子{boxes}里是哪把钥匙？"
                )
            case 1, True:
                self.draft.question = say(
                    f"Which keys are in boxes {boxes}?", f"盒子{boxes}里分别是哪把钥匙？"
                )
            case _, False:
                self.draft.question = say(
                    f"Which gem does the key in box {boxes} lead to?",
                    f"盒子{boxes}里的钥匙对应哪颗宝石？",
                )
            case _:
                self.draft.question = say(
                    f"Which gems do the keys in boxes {boxes} lead to?",
                    f"盒子{boxes}里的钥匙分别对应哪颗宝石？",
                )


MICRO_BOXES = Family(
    "micro-boxes",
    "Boxes that are opened for the keys in them.",
    lambda brief: _Boxes(brief).draft,
    Bounds(subjects=3, depth=2, facets=1, concludes=False),
    is_micro=True,
)
