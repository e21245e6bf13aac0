"""What one environment of a family should be: its language, its shape and how hard it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.seeds import derive_seed
from astra_mcp.synthesis.environments.families.draw import Draw
from astra_mcp.synthesis.environments.families.entities import Entities, Split

__all__ = ["Bounds", "Brief", "Knobs", "Layout", "layouts_of"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the sub-tasks of a question lie: each subject is followed over hops, and at the last of them asked for facets."""

    subjects: int = 1
    """How many people, orders, places ... the question is about; they do not depend on each other."""
    depth: int = 1
    """Hop levels that each subject takes."""
    facets: int = 1
    """Answers that are asked for each subject on its last level."""
    concludes: bool = False
    """One more sub-task without a tool needs all others: to compare, to add up."""

    @property
    def total(self) -> int:
        """The number of sub-tasks."""
        return self.subjects * (self.depth - 1 + self.facets) + self.concludes

    @property
    def scenario(self) -> ScenarioType:
        """The scenario type that follows from it."""
        levels, wide = self.depth + self.concludes, self.subjects > 1 or self.facets > 1
        if levels == 1:
            return ScenarioType.PARALLEL_SINGLE_HOP if wide else ScenarioType.SINGLE_HOP
        return ScenarioType.PARALLEL_MULTI_HOP if wide else ScenarioType.MULTI_HOP


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest layouts that a family makes."""

    subjects: int = 4
    depth: int = 4
    facets: int = 2
    facets_from: int = 1
    """The depth from which there are several facets."""
    concludes: bool = True
    concludes_from: int = 1
    """The depth from which answers can be compared or added up."""
    questions: int = 200
    """How many questions one world bears at most."""


def layouts_of(bounds: Bounds) -> Iterator[Layout]:
    """All layouts within bounds that have at most 8 sub-tasks, smallest first."""
    found = [
        Layout(subjects, depth, facets, concludes)
        for subjects in range(1, bounds.subjects + 1)
        for depth in range(1, bounds.depth + 1)
        for facets in range(1, (bounds.facets if depth >= bounds.facets_from else 1) + 1)
        for concludes in (
            (False, True)
            if bounds.concludes and depth >= bounds.concludes_from and subjects > 1 and facets == 1
            else (False,)
        )
    ]
    yield from sorted((f for f in found if f.total <= 8), key=lambda f: f.total)


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard an environment is, beside its layout."""

    records: int = 40
    """Rows of the largest table."""
    near_misses: int = 2
    """Records that agree with the one that is asked for in all but one of its marks."""
    options: int = 1
    """Optional parameters beyond those that the question needs."""


@dataclass(frozen=True, slots=True)
class Brief:
    """One question of one environment, before it is made.

    Briefs that differ in ``turn`` alone ask different questions of the same world.
    """

    family: str
    language: Literal["en", "zh"]
    layout: Layout
    knobs: Knobs
    seed: int
    split: Split | None = None
    """Whose names and codes it may use; None for all of them."""
    questions: int = 1
    """How many questions the world is drawn for."""
    turn: int = 0
    """Which of them is asked, from 0."""
    attempt: int = 0
    """Which of the worlds that the seed stands for."""

    @property
    def subjects(self) -> int:
        """How many people, orders, places ... are asked about in all questions of the world together."""
        return self.layout.subjects * self.questions

    def asked(self, subjects: Sequence[T]) -> list[T]:
        """Those of all subjects that this question is about."""
        begin = self.layout.subjects * self.turn
        return [*subjects[begin : begin + self.layout.subjects]]

    def draw(self, *names: str | int) -> Draw:
        """The draws of one purpose, independent of all others."""
        return Draw(derive_seed(self.seed, *names))

    def entities(self) -> Entities:
        """Names and codes that are new with each call."""
        return Entities(self.draw("entities"), self.language, self.split)
