"""Distractors are drawn uniformly from the bands' unions, and the same seed draws the same."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.distractors.choosing import Selection, choose_banded, choose_random
from astra_mcp.distractors.pool import Pool
from astra_mcp.distractors.similarity import BITS, Band, Membership
from astra_mcp.domains import Domain

from vector_pools import pool_of, pool_tool

NAMES = [f"tool{number:02}" for number in range(24)]
DOMAINS = [None, Domain.WEATHER, Domain.SPORTS, Domain.FINANCE]
LABELS = st.fixed_dictionaries({name: st.sampled_from(DOMAINS) for name in NAMES})
ROW = st.fixed_dictionaries({name: st.sampled_from([None, *Band]) for name in NAMES})
SCOPE = st.lists(st.tuples(st.sampled_from(DOMAINS), ROW), min_size=1, max_size=4)
SEEDS = st.integers(0, 2**63 - 1)
KS = st.integers(1, 9)
TAKEN = st.sets(st.sampled_from(NAMES), max_size=6)

Row = Mapping[str, Band | None]
Labels = Mapping[str, Domain | None]
Scope = Sequence[tuple[Domain | None, Row]]


def membership(pool: Pool, row: Row) -> Membership:
    bands = [row[tool.name] for tool in pool.tools]
    return np.array([BITS[band] if band else 0 for band in bands], dtype=np.uint8)


def choose(
    pool: Pool, scope: Scope, *, k: int, seed: int = 0, taken: Iterable[str] = ()
) -> Selection:
    rows = [(domain, membership(pool, row)) for domain, row in scope]
    return choose_banded(pool, rows, eligible=pool.eligible(taken), k=k, seed=seed)


def candidates(labels: Labels, scope: Scope, taken: set[str]) -> dict[Band, set[str]]:
    """P^b of eq. (28), in the words of the paper."""
    found: dict[Band, set[str]] = {band: set() for band in Band}
    for domain, row in scope:
        for name, band in row.items():
            label = labels[name]
            if band and label is not None and label != domain and name not in taken:
                found[band].add(name)
    return found


@pytest.mark.claim("P27")
@given(LABELS, SCOPE, KS, SEEDS, TAKEN)
def test_up_to_k_of_each_bands_union_are_chosen_and_what_lacks_is_told(
    labels: Labels, scope: Scope, k: int, seed: int, taken: set[str]
) -> None:
    found = choose(pool_of(labels), scope, k=k, seed=seed, taken=taken)
    left = candidates(labels, scope, taken)
    for band in Band:
        names = {chosen.tool.name for chosen in found.chosen if chosen.band == band}
        assert names <= left[band]
        assert len(names) == min(k, len(left[band]))
        assert found.shortfall.get(band, 0) == k - len(names)
        left = {other: tools - names for other, tools in left.items()}
    chosen = [c.tool.name for c in found.chosen]
    assert len(chosen) == len(set(chosen))
    places = [list(Band).index(Band(c.band or "")) for c in found.chosen]
    assert places == sorted(places)


@pytest.mark.claim("P25")
@given(LABELS, SCOPE, SEEDS)
def test_a_tool_of_the_only_in_scope_domain_is_never_chosen(
    labels: Labels, scope: Scope, seed: int
) -> None:
    found = choose(pool_of(labels), [(Domain.SPORTS, row) for _, row in scope], k=24, seed=seed)
    assert Domain.SPORTS not in {chosen.tool.domain for chosen in found.chosen}
    assert None not in {chosen.tool.domain for chosen in found.chosen}


def test_a_tool_of_one_in_scope_domain_may_come_from_the_bands_of_another() -> None:
    pool = pool_of({"a": Domain.SPORTS})
    scope = [(Domain.SPORTS, {"a": Band.HIGH}), (Domain.WEATHER, {"a": Band.LOW})]
    [chosen] = choose(pool, scope, k=1).chosen
    assert (chosen.tool.name, chosen.band) == ("a", Band.LOW)


def test_a_tool_in_several_bands_is_chosen_for_the_highest_and_once() -> None:
    pool = pool_of({"a": Domain.SPORTS})
    found = choose(pool, [(None, {"a": band}) for band in reversed(Band)], k=1)
    assert [(c.tool.name, c.band) for c in found.chosen] == [("a", Band.HIGH)]
    assert found.shortfall == {"medium": 1, "low": 1}


def test_a_document_that_two_servers_share_keeps_its_bands() -> None:
    pool = pool_of({"a": Domain.SPORTS})
    row = membership(pool, {"a": Band.HIGH})
    for _ in range(2):
        scope = [(Domain.SPORTS, row)]
        assert not choose_banded(pool, scope, eligible=pool.eligible([]), k=1, seed=0).chosen
    assert row.tolist() == [BITS[Band.HIGH]]


@given(LABELS, SCOPE, KS, SEEDS)
def test_the_same_seed_chooses_the_same_whatever_the_order_of_the_pool_and_of_the_scope(
    labels: Labels, scope: Scope, k: int, seed: int
) -> None:
    backwards = Pool([pool_tool(name, labels[name]) for name in reversed(NAMES)])
    found = choose(pool_of(labels), scope, k=k, seed=seed)
    assert choose(backwards, scope[::-1], k=k, seed=seed) == found


@given(LABELS, SCOPE, KS, SEEDS)
def test_a_further_tool_changes_nothing_in_the_bands_that_it_is_not_in(
    labels: Labels, scope: Scope, k: int, seed: int
) -> None:
    found = choose(pool_of(labels), scope, k=k, seed=seed)
    more = {**labels, "another": Domain.ENERGY}
    low = [(domain, {**row, "another": Band.LOW}) for domain, row in scope]
    again = choose(pool_of(more), low, k=k, seed=seed)
    for band in (Band.HIGH, Band.MEDIUM):
        of_both = [[c for c in f.chosen if c.band == band] for f in (again, found)]
        assert of_both[0] == of_both[1]
    unlabelled = choose(pool_of({**labels, "another": None}), low, k=k, seed=seed)
    assert unlabelled == found


def test_every_candidate_is_drawn_equally_often() -> None:
    pool = pool_of(dict.fromkeys(NAMES, Domain.SPORTS))
    row: Row = dict.fromkeys(NAMES, Band.MEDIUM)
    drawn = Counter(
        chosen.tool.name
        for seed in range(2000)
        for chosen in choose(pool, [(None, row)], k=3, seed=seed).chosen
    )
    # 250 are expected of each, with a standard deviation of 15.
    assert set(drawn) == set(NAMES)
    assert all(175 < number < 325 for number in drawn.values())


@pytest.mark.claim("P27")
@given(st.sets(st.sampled_from(DOMAINS)), SEEDS, TAKEN)
def test_at_random_5_to_9_tools_of_other_domains_are_chosen(
    domains: set[Domain | None], seed: int, taken: set[str]
) -> None:
    labels = {name: DOMAINS[place % len(DOMAINS)] for place, name in enumerate(NAMES)}
    pool = pool_of(labels)
    found = choose_random(pool, domains, eligible=pool.eligible(taken), seed=seed)
    names = {chosen.tool.name for chosen in found.chosen}
    left = {n for n in NAMES if labels[n] is not None and labels[n] not in domains} - taken
    assert names <= left
    assert 5 <= len(names) + found.shortfall.get("random", 0) <= 9
    if found.shortfall:
        assert names == left
    assert {chosen.band for chosen in found.chosen} <= {None}
    assert choose_random(pool, domains, eligible=pool.eligible(taken), seed=seed) == found


def test_at_random_every_number_from_5_to_9_comes() -> None:
    pool = pool_of(dict.fromkeys(NAMES, Domain.SPORTS))
    eligible = pool.eligible([])
    numbers = {
        len(choose_random(pool, [], eligible=eligible, seed=seed).chosen) for seed in range(60)
    }
    assert numbers == {5, 6, 7, 8, 9}


def test_an_empty_pool_has_nothing_and_says_how_much_lacks() -> None:
    pool = Pool([])
    assert choose(pool, [(None, {})], k=2) == ((), {"high": 2, "medium": 2, "low": 2})
    found = choose_random(pool, [], eligible=pool.eligible([]), seed=1)
    assert found.chosen == ()
    assert 5 <= found.shortfall["random"] <= 9
