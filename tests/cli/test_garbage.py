"""When a process that serves looks for garbage, and at what."""

import gc
import weakref
from collections.abc import Generator

import pytest

from astra_mcp.cli.garbage import MANY, collecting_seldom

FEW = 1000


class Knot:
    """Refers to itself, so that the garbage collector alone can free it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _only_the_tests_look() -> Generator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def many_more() -> list[list[int]]:
    """Make objects that outlive a look."""
    return [[n] for n in range(FEW + 1)]


def test_the_usual_ways_return_with_the_end() -> None:
    before, callbacks = gc.get_threshold(), list(gc.callbacks)

    with collecting_seldom():
        assert gc.get_threshold() != before
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == before
    assert gc.callbacks == callbacks
    assert gc.get_freeze_count() < MANY


def test_few_objects_are_looked_at_each_time() -> None:
    with collecting_seldom(many=MANY):
        gc.collect()
        before = gc.get_freeze_count()
        knot = weakref.ref(Knot())
        gc.collect()
        assert knot() is None
        assert gc.get_freeze_count() <= before


def test_many_objects_that_outlive_a_look_are_not_looked_at_again() -> None:
    with collecting_seldom(many=FEW):
        before = gc.get_freeze_count()
        alive = many_more()
        gc.collect()
        assert gc.get_freeze_count() >= before + len(alive)
        gc.collect()
        assert len(gc.get_objects(2)) < FEW


def test_what_is_set_aside_is_freed_all_the_same_once_nothing_refers_to_it() -> None:
    with collecting_seldom(many=FEW):
        alive = many_more()
        alive_too = [Knot() for _ in range(3)]
        plain = weakref.ref(alive_too[0])
        gc.collect()
        alive_too[0].itself = None  # type: ignore[assignment]
        del alive_too[:]
        assert plain() is None
        assert alive


def test_garbage_among_what_is_set_aside_is_found_once_that_has_doubled() -> None:
    with collecting_seldom(many=FEW):
        proved = max(gc.get_freeze_count(), 2 * FEW)
        first = many_more()
        knot = Knot()
        found = weakref.ref(knot)
        gc.collect()
        del knot
        gc.collect()
        assert found() is not None, "it is set aside"

        second: list[list[int]] = [[] for _ in range(2 * proved)]
        gc.collect()
        assert gc.get_freeze_count() < len(second), "all are to be looked at"
        gc.collect()
        assert found() is None
        assert gc.get_freeze_count() >= len(first) + len(second)
