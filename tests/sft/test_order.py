"""In which order examples are seen, and at which learning rate: functions of numbers alone."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError
from training.sft.mixture import MOST_SEEN, Mixture, Part
from training.sft.schedule import Schedule, batches_of
from training.sft.settings import ScheduleShape, TrainingSettings

parts = st.lists(
    st.builds(Part, st.integers(1, 30), st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])),
    min_size=1,
    max_size=3,
)


@given(parts, st.integers(0, 2**40), st.integers(1, 3))
def test_each_example_is_seen_as_often_as_its_weight_says(
    mixed: list[Part], seed: int, epochs: int
) -> None:
    seen = Counter(Mixture(mixed, seed).order(epochs))
    offset = 0
    for part in mixed:
        counts = [seen[offset + number] for number in range(part.size)]
        assert sum(counts) == round(epochs * part.weight * part.size)
        assert max(counts) - min(counts) <= 1
        offset += part.size
    assert sum(seen.values()) == sum(round(epochs * p.weight * p.size) for p in mixed)


@given(parts, st.integers(0, 2**40))
def test_an_order_follows_from_the_seed_and_longer_runs_begin_alike(
    mixed: list[Part], seed: int
) -> None:
    short, long = (Mixture(mixed, seed).order(epochs) for epochs in (1, 2))
    assert long[: len(short)] == short
    assert Mixture(mixed, seed).order(2) == long


@given(parts, st.integers(0, 2**40), st.integers(0, 200))
def test_an_order_that_is_laid_down_in_part_is_the_beginning_of_the_whole(
    mixed: list[Part], seed: int, most: int
) -> None:
    whole = Mixture(mixed, seed).order(3)
    assert Mixture(mixed, seed).order(3, most) == whole[:most]


def test_what_is_laid_down_is_bounded_and_a_short_run_of_it_is_not_refused() -> None:
    mixture = Mixture([Part(100, 100.0)], 3)
    with pytest.raises(ConfigError, match=r"15,000,000 examples .* within 1 epochs"):
        Mixture([Part(150_000, 100.0)], 3).order(10_000, MOST_SEEN * 3)
    assert len(mixture.order(10_000, 7)) == 7


def test_passes_and_seeds_differ_in_their_order() -> None:
    order = Mixture([Part(50, 1.0)], 3).order(2)
    assert order[:50] != order[50:]
    assert order != Mixture([Part(50, 1.0)], 4).order(2)


@given(st.lists(st.integers(), max_size=40), st.integers(1, 9))
def test_batches_leave_nothing_out(order: list[int], size: int) -> None:
    batches = batches_of(order, size, None)
    assert [each for batch in batches for each in batch] == order
    assert all(len(batch) == size for batch in batches[:-1])
    assert len(batches_of(order, size, 2)) <= 2


@pytest.mark.parametrize(
    ("shape", "last"), [("cosine", 0.000273), ("linear", 0.0105), ("constant", 1.0)]
)
def test_the_rate_rises_to_its_peak_and_falls_as_its_shape_says(shape: str, last: float) -> None:
    settings = TrainingSettings(learning_rate=1.0, schedule=ScheduleShape(shape))
    schedule = Schedule.of(settings, 100)
    rates = [schedule.rate(step) for step in range(100)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert max(rates) == 1.0
    assert min(rates) > 0
    assert rates[-1] == pytest.approx(last, rel=0.12)
    assert rates[5:] == sorted(rates[5:], reverse=True)
