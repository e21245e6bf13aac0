"""Boxes: one is opened, which gives a key, and with the key more is found: calls change what later ones return."""

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.entities import Entities
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.micro.vocabulary import NUM_ROWS, asked_of
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["MICRO_BOXES"]


class _Boxes:
    """A world of boxes, and what is asked of it."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.draw, self.zh = brief, brief.draw("world"), brief.language == "zh"
        self.draft = Draft(brief, Domain.GAMING)
        self.draft.title = self.draft.say("Boxes and keys", "盒子与钥匙")
        self.draft.description = self.draft.say("Boxes that hold keys.", "装着钥匙的盒子。")
        names = Entities(self.draw, brief.language, brief.split).micro(NUM_ROWS * 3)
        self.boxes, self.keys, self.gems = (names[n::3] for n in range(3))
        self._tools()
        subjects = asked_of(range(NUM_ROWS), brief)
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
            say("Use a key that was taken to get its gem.", "用取出的钥匙换取宝石。"),
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
            say(f"Which key is in box {box}?", f"“{box}”盒子里是哪把钥匙？"),
            taken,
            "open_box",
            arguments,
        )
        if self.brief.layout.depth == 1:
            return taken
        asked = say("Which gem does one get with that key?", "用那把钥匙能拿到哪颗宝石？")
        self.draft.solve(asked, self.gems[number], "use_key", {"name": key(taken)}, needs=[first])
        return self.gems[number]

    def _ask(self, subjects: list[int], answers: list[str]) -> None:
        say, several = self.draft.say, len(subjects) > 1
        names = [f"“{self.boxes[n]}”" if self.zh else self.boxes[n] for n in subjects]
        boxes = listed(names, self.brief.language)
        self.draft.answer = listed(answers, self.brief.language)
        s, each, these = (
            ("es", "分别", f"这{'零一两三'[len(subjects)]}个") if several else ("", "", "")
        )
        if self.brief.layout.depth == 1:
            which = "keys are" if several else "key is"
            self.draft.question = say(
                f"Which {which} in box{s} {boxes}? || I want to open box{s} {boxes}. Which {which} inside?",
                f"{boxes}{these}盒子里{each}是哪把钥匙？ || 打开{boxes}{these}盒子，里面{each}是哪把钥匙？",
            )
            return
        gems, keys = ("gems", "keys") if several else ("gem", "key")
        self.draft.question = say(
            f"Which {gems} can I get with the {keys} from box{s} {boxes}? || "
            f"I'd like to use the {keys} in box{s} {boxes}. Which {gems} will I get?",
            f"用{boxes}{these}盒子里的钥匙{each}能拿到哪颗宝石？ || {boxes}{these}盒子里的钥匙{each}对应哪颗宝石？",
        )


MICRO_BOXES = Family(
    "micro-boxes",
    "Boxes that are opened for the keys in them.",
    lambda brief: _Boxes(brief).draft,
    Bounds(subjects=3, depth=2, facets=1, concludes=False, questions=NUM_ROWS),
    is_micro=True,
)
