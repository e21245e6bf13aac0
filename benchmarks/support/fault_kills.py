"""Faults from outside: clients that vanish, an upstream and a gateway that are killed and come back.

Each scenario tells what it saw; that nothing was executed twice or lost is the bench's verdict.
"""

import json
import random
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from urllib.parse import urlsplit

import anyio
import orjson
from anyio.abc import SocketAttribute

from astra_mcp.mcp.request_context import Era
from gateway.api.client import GatewayClient, RefusedError
from gateway.api.wire import CALL_ID_KEY, EpisodeCreated

from fault_bench import SERVERS, Asked, FaultBench, Told
from fault_trials import Tally
from faulty_server import LONG
from mcp_wire import Kind, McpWire, modern_meta
from process_accounts import is_alive, tree_of

__all__ = ["kill_gateway", "kill_upstream", "vanish"]

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
            await _send_and_leave(bench, episode, asked, reset=bool(number % 2))
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


async def _send_and_leave(
    bench: FaultBench, episode: EpisodeCreated, asked: Asked, *, reset: bool
) -> None:
    """Send a call by hand, and close the connection once the server has the call."""
    address = urlsplit(episode.mcp_url)
    params = {
        "name": "count",
        "arguments": {"nonce": asked.nonce, "fault": asked.fault},
        "_meta": {CALL_ID_KEY: asked.call_id, **modern_meta()},
    }
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = (
        f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: count\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    stream = await anyio.connect_tcp(address.hostname or "", address.port or 0)
    async with stream:
        await stream.send(head.encode() + body)
        await _wait_until_executed(bench, [asked])
        if reset:
            raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no Django
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


async def _wait_until_executed(bench: FaultBench, calls: Sequence[Asked]) -> None:
    with anyio.fail_after(SEEN_SECONDS):
        # Another process writes the ledger, and says nothing else.
        while not all(asked.nonce in bench.executed() for asked in calls):  # noqa: ASYNC110
            await anyio.sleep(_POLL_SECONDS)


# --- the upstream is killed ---------------------------------------------------------------------


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


# --- the gateway is killed ----------------------------------------------------------------------


async def kill_gateway(
    bench: FaultBench, stack: ExitStack, tally: Tally, *, count: int, width: int
) -> None:
    """Kill the gateway between the beginning and the end of calls, and start it again over its records.

    Every call is then repeated with its id: one that was answered must answer the same, one that was
    under way must not be executed again. Processes of servers must end with their gateway.

    Args:
        bench: Its gateway is replaced by each new process, at the same port.
        stack: Owns the processes.
        tally: What is seen, kill by kill.
        count: How often.
        width: Episodes of each server, each with a call under way.
    """
    for number in range(count):
        era = Era.MODERN if number % 2 else Era.HANDSHAKE
        answered: list[tuple[str, Told]] = []
        under_way: list[tuple[str, Asked]] = []
        async with bench.control() as client:
            for server in SERVERS:
                for _ in range(width):
                    url = (await bench.episode(client, server)).mcp_url
                    answered.append((url, await bench.tell(bench.wire(url, era), bench.ask())))
                    under_way.append((url, bench.ask(LONG)))
        for _, told in answered:
            if not told.is_right:
                tally.unexpected.append(f"before the kill: {told.answer.text[:200]}")
        await _kill_in_the_middle(bench, era, under_way, stack)
        for url, told in answered:
            again = await bench.tell(bench.wire(url, era), told.asked)
            if again.answer.text != told.answer.text or not again.is_right:
                tally.unexpected.append(f"an answered call, repeated: {again.answer.text[:200]}")
        for url, asked in under_way:
            again = await bench.tell(bench.wire(url, era), asked)
            tally.answers[again.answer.kind.value] += 1
            # A right one was recorded just before the kill; the verdict holds that against the record.
            if again.answer.kind is Kind.NOTHING:
                tally.unexpected.append(f"a call under way, repeated: {again.answer.text[:200]}")
        await _see_new_episodes(bench, era, tally)
        tally.trials += len(under_way)
        said = f"kill {number + 1} of {count}: {json.dumps(tally.summary())}"
        print(said, file=sys.stderr)


async def _kill_in_the_middle(
    bench: FaultBench, era: Era, calls: Sequence[tuple[str, Asked]], stack: ExitStack
) -> None:
    assert bench.gateway is not None  # noqa: S101 - it runs
    old = bench.gateway
    children = tree_of(old.pid)[1:]

    async def call_in_vain(wire: McpWire, asked: Asked) -> None:
        await wire.call("count", {"nonce": asked.nonce, "fault": asked.fault}, asked.call_id)

    async with anyio.create_task_group() as group:
        for url, asked in calls:
            group.start_soon(call_in_vain, bench.wire(url, era), asked)
        await _wait_until_executed(bench, [asked for _, asked in calls])
        old.process.send_signal(signal.SIGKILL)
        old.process.wait()
    with anyio.fail_after(SEEN_SECONDS):
        while any(is_alive(child) for child in children):  # noqa: ASYNC110 - not our children
            await anyio.sleep(_POLL_SECONDS)
    stack.enter_context(bench.run_gateway(old.port))


async def _see_new_episodes(bench: FaultBench, era: Era, tally: Tally) -> None:
    async with bench.control() as client:
        for server in SERVERS:
            began = time.perf_counter()
            episode = await bench.episode(client, server)
            told = await bench.tell(bench.wire(episode.mcp_url, era), bench.ask())
            if not told.is_right:
                tally.unexpected.append(f"{server} after the kill: {told.answer.text[:200]}")
            tally.heal_ms.append((time.perf_counter() - began) * 1000)
            await client.close_episode(episode.id)
