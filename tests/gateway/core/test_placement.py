"""Which worker owns an episode."""

from collections import Counter

import pytest

from gateway.edge.placement import new_episode_id, owner_of


def test_an_episode_has_the_same_owner_in_every_process() -> None:
    assert [owner_of("0" * 32, n) for n in (1, 2, 3, 8)] == [0, 0, 2, 4]


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_a_worker_makes_only_ids_that_it_owns(workers: int) -> None:
    for worker in range(workers):
        ids = {new_episode_id(worker, workers) for _ in range(20)}
        assert len(ids) == 20
        assert {owner_of(i, workers) for i in ids} == {worker}


def test_episodes_are_spread_over_all_workers() -> None:
    counts = Counter(owner_of(f"{n:032x}", 4) for n in range(4000))
    assert all(800 < counts[worker] < 1200 for worker in range(4))


def test_any_text_has_an_owner() -> None:
    assert owner_of("\ud800", 2) in (0, 1)
