"""Which environments a request stands for: families, languages, layouts, knobs, splits, all drawn from one seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from astra_mcp.environments.bundle import Bundle, ScenarioType
from astra_mcp.errors import ConfigError
from astra_mcp.seeds import derive_seed
from astra_mcp.synthesis.environments.families.brief import Brief, Knobs, Layout, layouts_of
from astra_mcp.synthesis.environments.families.draw import Draw
from astra_mcp.synthesis.environments.families.entities import Split
from astra_mcp.synthesis.environments.families.family import Family

__all__ = ["Order", "Planned", "SplitBy", "make_planned", "plan"]

Range = tuple[int, int]


class SplitBy(StrEnum):
    """What no two splits share."""

    WORLD = "world"
    """Data: each environment has its own anyway."""
    ENTITY = "entity"
    """Data, and every name and code in it."""
    FAMILY = "family"
    """Families: the tools and questions of a held-out split are of kinds that no other has."""
    QUESTION = "question"
    """Questions alone: the same worlds are in all splits, each with other questions."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for."""

    families: Sequence[Family]
    count: int
    seed: int = 0
    languages: Sequence[Literal["en", "zh"]] = ("en", "zh")
    types: Sequence[ScenarioType] = tuple(ScenarioType)
    sub_tasks: Range = (1, 8)
    hops: Range = (1, 8)
    records: Range = (20, 200)
    near_misses: Range = (0, 4)
    options: Range = (0, 2)
    questions: int = 1
    """How many each world is asked."""
    splits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Hundredths by name, 100 together; empty for no splits."""
    split_by: SplitBy = SplitBy.WORLD


@dataclass(frozen=True, slots=True)
class Planned:
    """One environment that will be made."""

    name: str
    family: Family
    split: str | None
    brief: Brief
    turns: range
    """Which of the questions of its world it has."""

    def again(self, attempt: int) -> "Planned":
        """The same with other draws, where the acceptance refuses the first."""
        seed = derive_seed(self.brief.seed, "again", attempt)
        return _planned(self.family, self.split, replace(self.brief, seed=seed), self.turns)


def plan(order: Order) -> Iterator[Planned]:
    """Plan each environment; the same order plans the same, and a greater count begins with those of a smaller one.

    Raises:
        ConfigError: No family makes what is asked for.
    """
    choices = {f.name: _layouts(f, order) for f in order.families}
    families = [f for f in order.families if choices[f.name]]
    if not families:
        raise ConfigError(
            "no family makes environments of these types, sub-tasks and hops: ask for wider ranges"
        )
    homes = _homes_of_families(order, families)
    _check_questions(order, families)
    for number in range(order.count):
        seed = derive_seed(order.seed, "environment", number)
        draw, family = Draw(seed), families[number % len(families)]
        split = homes[family.name] if homes else _split_of(draw, order)
        brief = Brief(
            family=family.name,
            language=draw.pick(order.languages),
            layout=_layout(draw, choices[family.name]),
            knobs=_knobs(draw, order),
            seed=derive_seed(seed, "world"),
            split=_part(order, split),
            questions=min(order.questions, family.bounds.questions),
        )
        if order.split_by is SplitBy.QUESTION:
            yield from _divided(family, brief, order.splits)
        else:
            yield _planned(family, split, brief, range(brief.questions))


def make_planned(planned: Planned) -> Bundle:
    """Make one environment.

    Raises:
        DrawError: These draws make no world in which the question has one answer.
    """
    drafts = planned.family.drafts(planned.brief)
    main, *further = (drafts[turn] for turn in planned.turns)
    return main.bundle(planned.name, further)


def _planned(family: Family, split: str | None, brief: Brief, turns: range) -> Planned:
    # Whatever else is asked for is another environment, which may be served beside this one.
    asked = f"{brief.language} {brief.layout} {brief.knobs} {brief.split} {brief.questions} {turns}"
    named = derive_seed(brief.seed, "name", asked)
    return Planned(f"{family.name}-{named:016x}"[:48], family, split, brief, turns)


def _divided(family: Family, brief: Brief, splits: Mapping[str, int]) -> Iterator[Planned]:
    """One world in each split, with questions that no other split has."""
    for split, turns in _cuts(brief.questions, splits):
        yield _planned(family, split, brief, turns)


def _cuts(count: int, splits: Mapping[str, int]) -> Iterator[tuple[str, range]]:
    """Divide so many things by hundredths, so that each split has one at least."""
    begin, total = 0, 0
    for number, (split, share) in enumerate(splits.items(), 1):
        total += share
        end = min(max(begin + 1, round(count * total / 100)), count - len(splits) + number)
        yield split, range(begin, end)
        begin = end


def _layouts(family: Family, order: Order) -> dict[ScenarioType, list[Layout]]:
    """The layouts of each type that a family makes within the order."""
    found: dict[ScenarioType, list[Layout]] = {}
    for layout in layouts_of(family.bounds):
        depth = layout.depth + layout.concludes
        fits = (
            order.sub_tasks[0] <= layout.total <= order.sub_tasks[1]
            and order.hops[0] <= depth <= order.hops[1]
        )
        if fits and layout.scenario in order.types:
            found.setdefault(layout.scenario, []).append(layout)
    return found


def _layout(draw: Draw, choices: Mapping[ScenarioType, Sequence[Layout]]) -> Layout:
    """Draw a type first, so that none is rare, then the number of sub-tasks, then the layout."""
    layouts = choices[draw.pick([*choices])]
    total = draw.pick(sorted({layout.total for layout in layouts}))
    return draw.pick([layout for layout in layouts if layout.total == total])


def _knobs(draw: Draw, order: Order) -> Knobs:
    return Knobs(
        records=draw.between(*order.records),
        near_misses=draw.between(*order.near_misses),
        options=draw.between(*order.options),
    )


def _split_of(draw: Draw, order: Order) -> str | None:
    place = draw.below(100)
    if order.split_by is SplitBy.QUESTION:
        return None
    for name, share in order.splits.items():
        if place < share:
            return name
        place -= share
    return None


def _part(order: Order, split: str | None) -> Split | None:
    """The names and codes that a split may use; None where it may use all."""
    if split is None or order.split_by is not SplitBy.ENTITY:
        return None
    begin = 0
    for name, share in order.splits.items():
        if name == split:
            return Split(name, begin, begin + share)
        begin += share
    return None


def _check_questions(order: Order, families: Sequence[Family]) -> None:
    """Refuse splits by question where a world has too few of them.

    Raises:
        ConfigError: There are fewer questions than splits.
    """
    if order.split_by is not SplitBy.QUESTION:
        return
    for family in families:
        count = min(order.questions, family.bounds.questions)
        if count < len(order.splits):
            raise ConfigError(
                f"{count} questions of a world of {family.name} cannot be divided into "
                f"{len(order.splits)} splits: ask for more, or name other families"
            )


def _homes_of_families(order: Order, families: Sequence[Family]) -> dict[str, str]:
    """The split of each family where they are divided by family; empty otherwise.

    Raises:
        ConfigError: There are fewer families than splits.
    """
    if order.split_by is not SplitBy.FAMILY or not order.splits:
        return {}
    if len(families) < len(order.splits):
        raise ConfigError(
            f"{len(families)} families cannot be divided into {len(order.splits)} splits: name more"
        )
    shuffled = Draw(derive_seed(order.seed, "families")).shuffled([f.name for f in families])
    cuts = _cuts(len(shuffled), order.splits)
    return {shuffled[place]: split for split, part in cuts for place in part}
