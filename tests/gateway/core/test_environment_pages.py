"""Choosing environments from a long list, and reading it page by page while it changes."""

from dataclasses import dataclass, replace

import pytest

from gateway.api.environments import EnvironmentFilter, page_of

ALL = EnvironmentFilter()


@dataclass(frozen=True)
class Summary:
    """What environments are chosen by."""

    name: str
    title: str = "A race"
    status: str = "verified"
    domain: str = "sports"
    language: str = "en"
    scenario_type: str | None = "Multi-Hop"
    hops: int | None = 3
    family: str | None = "races"
    num_questions: int = 1
    num_tools: int = 2
    content_hash: str = "0" * 64


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        ({"domain": "sports"}, {"domain": "travel"}),
        ({"language": "en"}, {"language": "zh"}),
        ({"type": "multi-hop"}, {"scenario_type": "Parallel Multi-Hop"}),
        ({"type": "Multi Hop"}, {"scenario_type": None}),
        ({"hops": 3}, {"hops": None}),
        ({"family": "races"}, {"family": None}),
        ({"verified": True}, {"status": "unverified"}),
    ],
)
def test_an_environment_fits_where_it_is_all_that_is_asked_for(
    asked: dict[str, object], other: dict[str, object]
) -> None:
    wanted, sought = EnvironmentFilter.model_validate(asked), Summary("a")
    assert ALL.fits(sought)
    assert wanted.fits(sought)
    assert not wanted.fits(replace(sought, **other))  # pyright: ignore[reportArgumentType]


def test_pages_lose_and_repeat_nothing_that_stays_while_others_come_and_go() -> None:
    every = [Summary(f"e{n}") for n in range(5)]
    first = page_of(every, ALL, "", 2)
    assert (first.names, first.total, first.cursor) == (("e0", "e1"), 5, "e1")
    changed = [Summary("e00"), *every[2:]]  # one came before, and the two of the first page went
    second = page_of(changed, ALL, first.cursor or "", 2)
    assert (second.names, second.cursor) == (("e2", "e3"), "e3")
    last = page_of(changed, ALL, second.cursor or "", 2)
    assert (last.names, last.cursor) == (("e4",), None)
