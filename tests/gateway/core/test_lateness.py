"""What one step of the event loop makes all others wait is measured, while anybody asks for anything."""

import time

import anyio
import anyio.lowlevel

from gateway.edge.lateness import BEAT_SECONDS, LatenessWatch
from gateway.edge.metrics import Metrics

from metric_samples import samples_of

STEP_SECONDS = 0.1


async def test_a_step_that_holds_the_loop_up_is_seen_in_its_length() -> None:
    seen: list[float] = []
    has_begun = anyio.Event()

    def observe(late: float) -> None:
        seen.append(late)
        has_begun.set()

    watch = LatenessWatch(observe)
    async with anyio.create_task_group() as group:
        group.start_soon(watch.watch)
        watch.stir()
        await has_begun.wait()
        seen.clear()
        time.sleep(STEP_SECONDS)  # noqa: ASYNC251 - what must not be done, and is measured
        while not seen:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert seen[0] >= STEP_SECONDS - BEAT_SECONDS


async def test_nothing_is_measured_where_nobody_asks() -> None:
    seen: list[float] = []
    async with anyio.create_task_group() as group:
        group.start_soon(LatenessWatch(seen.append).watch)
        await anyio.wait_all_tasks_blocked()
        await anyio.sleep(3 * BEAT_SECONDS)
        group.cancel_scope.cancel()
    assert seen == []


def test_lateness_is_told_as_a_histogram() -> None:
    metrics = Metrics()
    metrics.observe_lateness(0.003)
    metrics.observe_lateness(0.07)
    samples = samples_of(metrics.render())
    assert samples["astra_mcp_event_loop_late_seconds_bucket", "0.05"] == 1
    assert samples["astra_mcp_event_loop_late_seconds_count",] == 2
