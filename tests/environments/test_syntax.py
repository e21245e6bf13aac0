"""Reading tool code as a tree."""

import gc
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from astra_mcp.environments.syntax import parse_code

NESTED = "ROWS = " + "[" * 40 + "{1: (1 + 2) * 3}, " * 200 + "]" * 40


def _give_way(_phase: str, _info: dict[str, int]) -> None:
    time.sleep(0)


@pytest.fixture
def _much_garbage() -> Generator[None]:
    """Garbage is looked for often, and another thread has its turn each time."""
    thresholds = gc.get_threshold()
    gc.callbacks.append(_give_way)
    gc.set_threshold(100, 2, 2)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(_give_way)


@pytest.mark.usefixtures("_much_garbage")
def test_threads_that_read_code_at_once_do_not_break_each_other() -> None:
    with ThreadPoolExecutor(8) as threads:
        read = [*threads.map(parse_code, [NESTED] * 64)]
    assert len(read) == 64
