"""Questions of the family ``dosages``: how people ask how much of a product they need."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.lookups.themes.dosages import DosageTheme

__all__ = ["DosageWording"]


@dataclass(frozen=True, slots=True)
class DosageWording:
    """Questions about what products it takes to treat something."""

    draft: Draft
    theme: DosageTheme
    products: Sequence[str]
    """The product that is asked for, and one that may be used instead."""

    @property
    def is_chinese(self) -> bool:
        """Whether questions are in Chinese."""
        return self.draft.brief.language == "zh"

    @property
    def one(self) -> str:
        """What one of several is called."""
        return self.theme.one[self.is_chinese]

    def compared(self) -> tuple[str, str]:
        """What compares two, or more than two: a word before a noun, and how an adjective ends."""
        if self.draft.brief.layout.subjects == 2:
            return ("更" if self.is_chinese else "more"), "er"
        return ("最" if self.is_chinese else "the most"), "est"

    def asked(self, it: str) -> str:
        """The question without a conclusion, of amounts of ``it``."""
        say, first = self.draft.say, self.products[0]
        task, one = say(*self.theme.task).format(it=it), self.draft.brief.layout.subjects == 1
        if self.draft.brief.layout.depth == 4:
            return self._wording_of_order(task, one=one)
        if self.draft.brief.layout.depth == 2 and self.draft.brief.layout.facets > 1:
            return self._wording_of_products(task, one=one)
        units = (
            (self.theme.dose, self.theme.dose)
            if self.draft.brief.layout.depth == 2
            else self.theme.measures
        )
        unit, other = (say(*u.said) for u in units)
        more, more_zh = "", ""
        if self.draft.brief.layout.facets > 1:
            more = f", and how many {other} is that{'' if one else ' in each case'}"
            more_zh = f"，换算成{other}{'' if one else '分别'}是多少"
        if one:
            return say(
                f"We're going to {task}. How many {unit} of {first} will that take{more}? || How many {unit} of {first} do I need to {task}{more}?",
                f"我准备{task}，要用多少{unit}{first}{more_zh}？ || {task}需要多少{unit}{first}{more_zh}？",
            )
        return say(
            f"We're going to {task}. How many {unit} of {first} will each {self.one} take{more}? || I'm buying {first} to {task}. How many {unit} does each {self.one} need{more}?",
            f"我准备{task}，每{self.one}要用多少{unit}{first}{more_zh}？ || {task}，每{self.one}需要多少{unit}{first}{more_zh}？",
        )

    def _wording_of_products(self, task: str, *, one: bool) -> str:
        """How is asked for the amounts of two products."""
        say, (first, second), unit = (
            self.draft.say,
            self.products,
            self.draft.say(*self.theme.dose.said),
        )
        if one:
            return say(
                f"How many {unit} of {first} do I need to {task}, and how many of {second} if I use that instead? || "
                f"We could use {first} or {second} to {task}. How many {unit} of each would we need?",
                f"{task}，用{first}要多少{unit}？换成{second}呢？ || 我准备{task}，用{first}或者用{second}分别需要多少{unit}？",
            )
        return say(
            f"We're going to {task}. How many {unit} of {first} will each {self.one} take, and how many of {second} if we use that instead? || "
            f"I have to {task}. How many {unit} of {first} does each {self.one} need, and how many would it be with {second}?",
            f"我准备{task}，用{first}每{self.one}要多少{unit}？换成{second}呢？ || {task}，每{self.one}需要多少{unit}{first}？如果改用{second}呢？",
        )

    def _wording_of_order(self, task: str, *, one: bool) -> str:
        say, product = self.draft.say, self.products[0]
        (usual, large), both = self.theme.packs, self.draft.brief.layout.facets > 1
        more = f" And what if it comes in {large[0]} instead?" if both else ""
        more_zh = f"如果买{large[1]}装的呢？" if both else ""
        each, each_zh = ("", "") if one else (f" for each {self.one}", f"每{self.one}")
        return say(
            f"I need {product} to {task}. How many {usual[0]} should I order{each}, and how much will be left over?{more} || "
            f"We're going to {task}. How many {usual[0]} of {product} do we have to buy{each}, and how much will be left over?{more}",
            f"{task}，{each_zh}要买多少{usual[1]}{product}，会剩下多少？{more_zh} || "
            f"我准备{task}，{each_zh}需要买几{usual[1]}{product}，用完还剩多少？{more_zh}",
        )

    def concluded(self, it: str, *, total: bool) -> str:
        """The question for the sum, or for the one that takes most."""
        say, product, (more, _) = self.draft.say, self.products[0], self.compared()
        task = say(*self.theme.task).format(it=it)
        unit = say(
            *(
                self.theme.dose if self.draft.brief.layout.depth == 2 else self.theme.measures[0]
            ).said
        )
        if total:
            return say(
                f"How many {unit} of {product} do we need in all to {task}? || We're going to {task}. How many {unit} of {product} will that take in total?",
                f"{task}，一共需要多少{unit}{product}？ || 我准备{task}，{product}总共要用多少{unit}？",
            )
        return say(
            f"We're going to {task}. Which {self.one} will take {more} {unit} of {product}? || "
            f"If we use {product} to {task}, which {self.one} will need {more} {unit}?",
            f"我准备用{product}{task}，按{unit}算，哪{self.one}用得{more}多？ || 如果用{product}{task}，哪{self.one}的用量{more}大（按{unit}算）？",
        )
