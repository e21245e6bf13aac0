"""Faults from outside: clients that vanish, and an upstream that is killed and comes back.

Each scenario tells what it saw; that nothing was executed twice or lost is the bench's verdict.
"""

import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import anyio

from astra_mcp.mcp.request_context import Era
from gateway.api.client import GatewayClient, RefusedError

from fault_bench import Asked, FaultBench, Told
from fault_trials import Tally
from mcp_wire import send_and_leave

__all__ = ["kill_upstream", "vanish"]

SEEN_SECONDS = 20.0
"""A call must have reached its server within this time."""
CALLERS = 4
"""Of each server, while the upstream is killed."""
GIVE_UP_SECONDS = 20.0
_POLL_SECONDS = 0.005


async def vanish(
    bench: FaultBench, client: GatewayClient, server: str, *, count: int, width: int
) -> Tally:
    """Let clients close their connection while their call runs; it must run to its end, once.

    The call is repeated with its id, on another connection, and must answer the recorded result.
    """
    tally = Tally()
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            episode = await bench.episode(client, server)
            asked = bench.ask("slow")
            await send_and_leave(
                episode.mcp_url,
                "count",
                asked.arguments,
                asked.call_id,
                stay=partial(_wait_until_executed, bench, [asked]),
                reset=bool(number % 2),
            )
            wire = bench.wire(episode.mcp_url, Era.MODERN)
            began = time.perf_counter()
            again = await bench.tell(wire, asked)
            tally.answers[again.answer.kind.value] += 1
            if again.is_right:
                tally.heal_ms.append((time.perf_counter() - began) * 1000)
            else:
                tally.unexpected.append(f"{server}: {again.answer.kind}: {again.answer.text[:200]}")
            await client.close_episode(episode.id)
            tally.trials += 1

    async with anyio.create_task_group() as group:
        for _ in range(width):
            group.start_soon(work)
    return tally


async def _wait_until_executed(bench: FaultBench, calls: Sequence[Asked]) -> None:
    with anyio.fail_after(SEEN_SECONDS):
        # Another process writes the ledger, and says nothing else.
        while not all(asked.nonce in bench.executed() for asked in calls):  # noqa: ASYNC110
            await anyio.sleep(_POLL_SECONDS)


async def kill_upstream(
    bench: FaultBench, client: GatewayClient, stack: ExitStack, *, count: int, seed: int
) -> Tally:
    """Kill the HTTP server under load, start it again, and see how soon every kind of use is well again.

    Args:
        bench: Its upstream is replaced by each new process, at the same port.
        client: Of its control plane.
        stack: Owns the processes.
        count: How often.
        seed: Of the moments.
    """
    tally = Tally()
    chance = random.Random(seed)  # noqa: S311 - moments, no secrets
    for _ in range(count):
        async with anyio.create_task_group() as group:
            for number in range(CALLERS):
                for server in ("http-episode", "http-shared"):
                    group.start_soon(_keep_calling, bench, client, server, number)
            await anyio.sleep(chance.uniform(0.02, 0.2))
            assert bench.upstream is not None  # noqa: S101 - it runs
            port = bench.upstream.port
            bench.upstream.process.kill()
            bench.upstream.process.wait()
            await anyio.sleep(chance.uniform(0.0, 0.6))
            await anyio.to_thread.run_sync(stack.enter_context, bench.run_upstream(port))
            await _await_health(bench, client, tally)
            group.cancel_scope.cancel()
        tally.trials += 1
    return tally


async def _keep_calling(bench: FaultBench, client: GatewayClient, server: str, number: int) -> None:
    """Use a server as agents do: a new episode where one has failed."""
    era = Era.MODERN if number % 2 else Era.HANDSHAKE
    while True:
        try:
            episode = await bench.episode(client, server, call_seconds=5)
        except RefusedError:  # the gateway says that it cannot reach the server
            await anyio.sleep(_POLL_SECONDS)
            continue
        wire = bench.wire(episode.mcp_url, era)
        while (await bench.tell(wire, bench.ask())).is_right:  # noqa: ASYNC110 - an agent thinks
            await anyio.sleep(_POLL_SECONDS)
        await client.close_episode(episode.id)


async def _await_health(bench: FaultBench, client: GatewayClient, tally: Tally) -> None:
    """Time from now, when the server listens again, to the first right answer of each kind of use."""
    began = time.perf_counter()

    async def probe(what: str, era: Era) -> None:
        while time.perf_counter() - began < GIVE_UP_SECONDS:
            told = await _probe_once(bench, client, what, era)
            if told is not None and told.is_right:
                tally.heal_ms.append((time.perf_counter() - began) * 1000)
                return
            await anyio.sleep(_POLL_SECONDS)
        tally.unexpected.append(f"{what} ({era}) was not well after {GIVE_UP_SECONDS:g} s")

    async with anyio.create_task_group() as group:
        for server in ("http-episode", "http-shared"):
            for what in (server, f"/servers/{server}/mcp?caller=probe"):
                for era in Era:
                    group.start_soon(probe, what, era)


async def _probe_once(bench: FaultBench, client: GatewayClient, what: str, era: Era) -> Told | None:
    if what.startswith("/"):
        return await bench.tell(bench.wire(f"{bench.url}{what}", era), bench.ask())
    try:
        episode = await bench.episode(client, what, call_seconds=5)
    except RefusedError:
        return None
    told = await bench.tell(bench.wire(episode.mcp_url, era), bench.ask())
    await client.close_episode(episode.id)
    return told
