"""What one step of the event loop makes all others wait is measured, while anybody asks for anything."""

import time
from collections.abc import Callable

import anyio
import pytest

from gateway.edge.metrics import Metrics
from gateway.machine.lateness import BEAT_SECONDS, LatenessWatch

from metric_samples import samples_of

STEP_SECONDS = 0.1


async def _beat_of(step: Callable[[], None]) -> tuple[float, float]:
    """Tell what is measured at the beat that a step of the loop is part of."""
    seen: list[tuple[float, float]] = []
    has_come = anyio.Event()

    def observe(late: float, held: float) -> None:
        seen.append((late, held))
        has_come.set()

    watch = LatenessWatch(observe)
    watch.stir()
    await has_come.wait()
    has_come = anyio.Event()
    seen.clear()
    step()
    await has_come.wait()
    watch.close()
    return seen[0]


def _work() -> None:
    begin = time.process_time()
    while time.process_time() - begin < STEP_SECONDS:
        pass


async def test_a_step_that_holds_the_loop_up_is_seen_in_its_length() -> None:
    late, step = await _beat_of(_work)
    assert late >= STEP_SECONDS - BEAT_SECONDS
    assert STEP_SECONDS <= step <= late + 2 * BEAT_SECONDS


async def test_what_others_do_on_the_machine_is_no_step_of_the_loop() -> None:
    late, step = await _beat_of(lambda: time.sleep(STEP_SECONDS))
    assert late >= STEP_SECONDS - BEAT_SECONDS
    assert step < STEP_SECONDS / 2


async def test_steps_of_several_requests_are_no_long_one() -> None:
    seen: list[tuple[float, float]] = []
    has_come = anyio.Event()

    def observe(late: float, step: float) -> None:
        seen.append((late, step))
        has_come.set()

    watch = LatenessWatch(observe)
    for _ in range(4):
        watch.stir()
        _work()
    await has_come.wait()
    watch.close()
    late, step = seen[0]
    assert late >= 4 * STEP_SECONDS - BEAT_SECONDS
    assert STEP_SECONDS <= step < 2 * STEP_SECONDS


async def test_nothing_is_measured_where_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.machine.lateness._BEATS", 2)
    seen: list[tuple[float, float]] = []
    has_ended = anyio.Event()

    def observe(late: float, step: float) -> None:
        seen.append((late, step))
        if len(seen) == 2:
            has_ended.set()

    watch = LatenessWatch(observe)
    await anyio.sleep(2 * BEAT_SECONDS)
    assert seen == []
    watch.stir()
    await has_ended.wait()
    await anyio.sleep(3 * BEAT_SECONDS)
    assert len(seen) == 2


def test_lateness_is_told_as_a_histogram() -> None:
    metrics = Metrics()
    metrics.observe_lateness(0.003, 0.004)
    metrics.observe_lateness(0.07, 0.045)
    samples = samples_of(metrics.render())
    assert samples["astra_mcp_event_loop_late_seconds_bucket", "0.05"] == 1
    assert samples["astra_mcp_event_loop_late_seconds_count",] == 2
    assert samples["astra_mcp_event_loop_step_seconds_bucket", "0.005"] == 1
    assert samples["astra_mcp_event_loop_step_seconds_bucket", "0.045"] == 2
