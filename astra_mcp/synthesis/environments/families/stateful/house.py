"""A house that keeps something for people: the world, and the order of writing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from astra_mcp.domains import Domain
from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["House"]

A = TypeVar("A")
"""What is asked for, with all that becomes of it."""


class House(ABC, Generic[A]):
    """One world; what is kept there and what is asked of it are for those who derive from it."""

    chosen: list[tuple[str, str]]
    """By what the subjects of all questions are found: whose they are, and of which kind."""

    def __init__(self, brief: Brief, domain: Domain, names: Sequence[Sequence[str]]) -> None:
        """Draw what all of them have.

        Args:
            brief: What to make.
            domain: That it belongs to.
            names: What the name of the house ends in, in English and in Chinese.
        """
        self.brief, self.zh = brief, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.calendar = Calendar.drawn(brief.draw("day"), brief.language)
        self.house = self.entities.firms(1, *names[self.zh])[0]
        self.salt = str(brief.draw("salt", brief.attempt).between(1000, 9999))
        """Decides the figures that the code of tools works out."""
        self._domain = domain

    def _rows(self, kinds: Sequence[str], asked: Sequence[str]) -> list[tuple[str, str]]:
        """Draw people with something of a kind each, and choose those that are asked about.

        Args:
            kinds: All that there are.
            asked: The kind of each subject.
        """
        near_misses, subjects = self.brief.knobs.near_misses, len(asked)
        count = max(self.brief.knobs.records, 6 + subjects * (1 + near_misses))
        people = self.entities.people(count // 2 + subjects)
        self.chosen = [*zip(people, asked, strict=False)]
        rows = [*self.chosen]
        for who, kind in self.chosen:
            others = [other for other in kinds if other != kind]
            rows += [
                (who, others[n // 2]) if n % 2 == 0 else self._namesake(who, kind, others)
                for n in range(near_misses)
            ]
        free = people[subjects:]
        rows += [
            (free[i % len(free)], kinds[(i + i // len(free)) % len(kinds)])
            for i in range(count - len(rows))
        ]
        return self.draw.shuffled(rows)

    def _namesake(self, who: str, kind: str, others: Sequence[str]) -> tuple[str, str]:
        """The same kind with somebody else of the family, or where a split has none left another kind."""
        try:
            return self.entities.relatives(who, 1)[0], kind
        except DrawError:
            return who, others[-1]

    def written(self) -> Draft:
        """The question over this world.

        Raises:
            DrawError: It has several answers.
        """
        groups = self._groups()
        if self.brief.turn >= len(groups):
            raise DrawError("too few subjects have answers that differ")
        self.asked = groups[self.brief.turn]
        self.draft = Draft(self.brief, self._domain, clock=self.calendar.clock)
        self._tell()
        self._ask()
        return self.draft

    def _groups(self) -> list[list[A]]:
        """The subjects of each question: those that are clear together, so that few of them are left out."""
        size, groups = self.brief.layout.subjects, list[list[A]]()
        for one in [self._seen(*row) for row in self.chosen]:
            open_ones = [group for group in groups if len(group) < size]
            for group in [*open_ones, list[A]()]:
                self.asked = [*group, one]
                if self._is_clear():
                    group.append(one)
                    groups += [group] if len(group) == 1 else []
                    break
        return [group for group in groups if len(group) == size]

    @abstractmethod
    def _seen(self, whose: str, kind: str, /) -> A:
        """What is found by one of the chosen, and what becomes of it."""

    @abstractmethod
    def _is_clear(self) -> bool:
        """Whether what is asked of those in ``asked`` has one answer."""

    @abstractmethod
    def _tell(self) -> None:
        """Write the texts, the data and the tools."""

    @abstractmethod
    def _ask(self) -> None:
        """Write the sub-tasks, the question and its answer."""
