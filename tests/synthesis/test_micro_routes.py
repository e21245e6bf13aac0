"""Routes: no call saves another, the order of ways matters, and a way that is missing is refused by name."""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, permutations, product
from typing import Any

import pytest

from astra_mcp.environments.bundle import Bundle
from astra_mcp.synthesis.environments.families.brief import Brief, Knobs, Layout, layouts_of
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan

(ROUTES,) = find_families(["micro-routes"])
Ways = Mapping[str, Callable[[str], Mapping[str, str]]]


def _tools_of(bundle: Bundle) -> Ways:
    module: dict[str, Any] = {}
    exec(bundle.code, module)  # noqa: S102 - what the family itself has written
    return {tool.name: module[tool.name] for tool in bundle.document.tools}


def _arrives(ways: Ways, place: str, taken: tuple[str, ...]) -> str | None:
    """Where the ways lead one after the other; None where one of them is missing."""
    try:
        for way in taken:
            place = ways[way](place)["at"]
    except ValueError:
        return None
    return place


def _travels(bundle: Bundle) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Start, ways and end of each traveller in each question."""
    for asked in bundle.asked:
        calls = {solved: call for call in asked.document.gold for solved in call.solves}
        taken: tuple[str, ...] = ()
        start = ""
        for task in asked.document.sub_tasks:
            if not task.dependencies:
                start, taken = str(calls[task.id].values["name"]), ()
            taken += (calls[task.id].tool,)
            if not any(task.id in other.dependencies for other in asked.document.sub_tasks):
                yield start, taken, task.answer


@pytest.fixture(scope="module")
def worlds() -> list[Bundle]:
    """Some of each language and layout, with all questions that they bear."""
    return [make_planned(planned) for planned in plan(Order([ROUTES], 24, 17, questions=8))]


def test_the_ways_of_a_question_lead_to_its_answer_and_to_another_one_for_each_traveller(
    worlds: list[Bundle],
) -> None:
    for world in worlds:
        ways = _tools_of(world)
        assert 3 <= len(ways) <= 4
        for start, taken, end in _travels(world):
            assert _arrives(ways, start, taken) == end
        for asked in world.asked:
            ends = [task.answer for task in asked.document.sub_tasks]
            assert len({*ends}) == len(ends), asked.document.question


def test_no_fewer_calls_and_no_other_order_lead_to_the_answer(worlds: list[Bundle]) -> None:
    seen = 0
    for world in worlds:
        ways = _tools_of(world)
        for start, taken, end in _travels(world):
            fewer = (some for n in range(1, len(taken)) for some in product(ways, repeat=n))
            others = (order for order in permutations(taken) if order != taken)
            for other in (*fewer, *others):
                assert _arrives(ways, start, other) != end, (start, taken, other)
                seen += 1
    assert seen > 500


def test_no_two_ways_commute_and_none_lead_to_the_same_place(worlds: list[Bundle]) -> None:
    compared = 0
    for world in worlds:
        ways = _tools_of(world)
        places = {start for start, _, _ in _travels(world)}
        places |= {task.answer for asked in world.asked for task in asked.document.sub_tasks}
        for place in places:
            for a, b in combinations(ways, 2):
                for one, other in (((a,), (b,)), ((a, b), (b, a))):
                    end = _arrives(ways, place, one)
                    assert end is None or end != _arrives(ways, place, other)
                    compared += end is not None
    assert compared > 500


def test_a_place_that_lacks_a_way_says_so_by_name(worlds: list[Bundle]) -> None:
    refused = 0
    for world in worlds:
        for name, way in _tools_of(world).items():
            noun = name.removeprefix("take_").replace("_", " ")
            said = f"No {noun} goes from " if world.document.language == "en" else "出发没有"
            for place in {start for start, _, _ in _travels(world)}:
                if _arrives({name: way}, place, (name,)) is None:
                    refused += 1
                    with pytest.raises(ValueError, match=said) as caught:
                        way(place)
                    assert place in str(caught.value)
    assert refused > 50


def test_each_question_draws_ways_of_its_own() -> None:
    brief = Brief(ROUTES.name, "en", Layout(1, 2), Knobs(), 3, questions=8)
    (first, *further) = ROUTES.drafts(brief)
    taken = {ways for _, ways, _ in _travels(first.bundle("made", further))}
    assert len(taken) >= 3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_layout_is_worded_in_two_ways(language: Any) -> None:
    for layout in layouts_of(ROUTES.bounds):
        worded: set[str] = set()
        for seed in range(12):
            draft = ROUTES.make(Brief(ROUTES.name, language, layout, Knobs(), seed))
            start = "Where" if language == "en" else "我"
            worded.add(str(draft.question.startswith(start)))
        assert len(worded) == 2, layout
