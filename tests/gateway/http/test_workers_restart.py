"""Nothing is lost when workers are restarted, or when a gateway stops: calls are answered exactly once."""

import json
import signal
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import psutil
import pytest

from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import TransportError
from astra_mcp.serving.http.server import Listener, bind, listen, url_of
from astra_mcp.types import ToolResult
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.connections import Connections, open_http
from gateway.api.wire import EpisodeCreated, EpisodeRequest
from gateway.edge.placement import owner_of
from gateway.episodes.record import record_path

from command_line import ServedHome

NUM_EPISODES = 24
CALLS_AFTERWARDS = 3
ROLL_SECONDS = 90.0
PATIENT = {"ASTRA_MCP_SANDBOX__HARD_SECONDS": "60"}
"""So long a process may stand still before its call counts as one that hangs."""
PURSE = EpisodeRequest.model_validate(
    {"source": {"kind": "environment", "name": "purse"}, "limits": {"calls": None}}
)


def total(result: ToolResult) -> int:
    """Read the purse's answer."""
    assert not result.is_error, result.text
    return json.loads(result.text)["total"]


@dataclass
class Played:
    """What one agent saw of its purse."""

    created: EpisodeCreated
    totals: list[int] = field(default_factory=list[int])

    async def play(self, http: Connections, is_over: anyio.Event) -> None:
        """Add 1, again and again, until the restart is over; then a few times more."""
        agent = EpisodeClient(self.created.mcp_url, http)
        left = CALLS_AFTERWARDS
        while left:
            left -= is_over.is_set()
            result = await agent.call("add", {"amount": 1}, call_id=f"call-{len(self.totals)}")
            self.totals.append(total(result))


@pytest.mark.system
async def test_a_rolling_restart_under_load_answers_every_call_exactly_once(
    start_serve: Any, counter_bundle: Path, tmp_path: Path
) -> None:
    running = start_serve(
        tmp_path / "home", "--workers", "2", "--environments", str(counter_bundle)
    )
    async with GatewayClient(running.url, running.key) as control:
        before = await control.workers()
        played = [Played(c) for c in await control.create_episodes([PURSE] * NUM_EPISODES)]
        is_over = anyio.Event()

        async def restart() -> None:
            running.process.send_signal(signal.SIGUSR2)
            async with GatewayClient(running.url, running.key) as watching:
                while True:
                    now = await watching.workers()
                    changed = [a.pid != b.pid for a, b in zip(now, before, strict=True)]
                    if all(changed) and all(w.pid is not None and not w.missing for w in now):
                        break
                    await anyio.sleep(0.1)
            is_over.set()

        with anyio.fail_after(ROLL_SECONDS):
            async with anyio.create_task_group() as group:
                group.start_soon(restart)
                for one in played:
                    group.start_soon(one.play, control.http, is_over)
        for one in played:
            assert one.totals == list(range(1, len(one.totals) + 1))
            record = await control.record(one.created.id)
            assert len(record.calls) == len(one.totals)
            assert all(call.result is not None for call in record.calls)
            assert record.state.failure is None
    assert running.stop() == 0


async def started(home: Path, episode: str, call_id: str) -> None:
    """Wait until a call stands in the record as begun."""
    path = anyio.Path(record_path(home / "records", EpisodeId(episode)))
    while call_id not in await path.read_text():  # noqa: ASYNC110 - another process writes it
        await anyio.sleep(0.01)


async def refused(url: str) -> None:
    """Wait until the gateway says that it is stopping; MCP is refused from then on."""
    async with httpx.AsyncClient(
        base_url=url, trust_env=False, headers={"Connection": "close"}
    ) as probe:
        while True:
            answer = await probe.get("/readyz")
            if answer.status_code == 503 and "it is stopping" in answer.json()["missing"]:
                break
            await anyio.sleep(0.01)
        answer = await probe.post("/mcp", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "stopping")


async def stop_with_a_call_held(
    running: ServedHome, created: EpisodeCreated, owner: int, urls: Sequence[str], *, insist: bool
) -> None:
    """Stop a gateway while a call of an episode stands still; go on with the call, or insist on the stop.

    Args:
        running: The gateway.
        created: The episode.
        owner: The process below which its tools run.
        urls: Where requests are refused meanwhile.
        insist: Ask for the stop a second time, so that the call is never answered.
    """
    answers: list[int] = []
    async with open_http() as http:
        agent = EpisodeClient(created.mcp_url, http, reconnect_seconds=0)
        assert total(await agent.call("add", {"amount": 1}, call_id="first")) == 1
        below = psutil.Process(owner).children(recursive=True)
        held = max(below, key=lambda process: (process.create_time(), process.pid))
        held.suspend()

        async def call() -> None:
            try:
                answers.append(total(await agent.call("add", {"amount": 1}, call_id="held")))
            except TransportError:
                assert insist

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await started(running.home, created.id, "held")
                running.process.send_signal(signal.SIGTERM)
                for url in urls:
                    await refused(url)
                if insist:
                    running.process.send_signal(signal.SIGTERM)
                else:
                    held.resume()
            assert await anyio.to_thread.run_sync(running.process.wait) == 0
    assert answers == ([] if insist else [2])
    assert "ERROR" not in running.log.read_text()


@pytest.mark.system
@pytest.mark.parametrize("insist", [False, True], ids=["once", "twice"])
async def test_a_stop_waits_for_the_calls_under_way_unless_it_is_asked_twice(
    start_serve: Any, counter_bundle: Path, tmp_path: Path, insist: bool
) -> None:
    options = ("--environments", str(counter_bundle))
    running = start_serve(tmp_path / "home", *options, **PATIENT)
    async with GatewayClient(running.url, running.key) as control:
        created = await control.create_episode(PURSE)
    await stop_with_a_call_held(running, created, running.process.pid, [running.url], insist=insist)
    logged = running.log.read_text()
    assert ("stopped with calls under way, as asked again" in logged) is insist
    again = start_serve(tmp_path / "home", *options)
    async with GatewayClient(again.url, again.key) as control:
        agent = EpisodeClient(f"{again.url}/episodes/{created.id}/mcp", control.http)
        assert total(await agent.call("add", {"amount": 1}, call_id="held")) == 2
        assert total(await agent.call("add", {"amount": 1})) == 3
        state = await control.close_episode(created.id)
        assert (state.status, state.calls, state.failure) == ("closed", 3, None)


@pytest.mark.system
@pytest.mark.parametrize("insist", [False, True], ids=["once", "twice"])
async def test_workers_that_stop_refuse_requests_until_the_last_of_them_has_finished(
    start_serve: Any, counter_bundle: Path, tmp_path: Path, insist: bool
) -> None:
    options = ("--workers", "2", "--environments", str(counter_bundle))
    running = start_serve(tmp_path / "home", *options, **PATIENT)
    async with GatewayClient(running.url, running.key) as control:
        workers = await control.workers()
        created = await control.create_episodes([PURSE, PURSE])
    one = next(c for c in created if owner_of(c.id, 2) == 1)  # the first worker has no call
    urls = [worker.url for worker in workers]
    await stop_with_a_call_held(running, one, workers[1].pid or 0, urls, insist=insist)
    logged = running.log.read_text()
    assert ("worker 1 stopped with calls under way, as asked again" in logged) is insist


class Slow:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.may_answer = anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            self.begun.set()
            await self.may_answer.wait()
        if scope["method"] == "GET" and scope["path"] == "/mcp":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            self.begun.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


@asynccontextmanager
async def slow_server() -> AsyncGenerator[tuple[Slow, Listener, str, httpx.AsyncClient]]:
    app = Slow()
    with bind("127.0.0.1", 0) as listener:
        url = url_of(listener)
        async with (
            listen(app, listener) as listening,
            httpx.AsyncClient(trust_env=False, timeout=30) as http,
        ):
            yield app, listening, url, http


@pytest.mark.parametrize("keep_accepting", [True, False])
async def test_what_is_under_way_is_answered_before_a_drained_gateway_stops(
    keep_accepting: bool,
) -> None:
    async with slow_server() as (app, listening, url, http):
        answers: list[str] = []
        drained: list[bool] = []

        async def ask() -> None:
            answers.append((await http.post(f"{url}/slow")).text)

        async def drain() -> None:
            drained.append(await listening.drain(60, keep_accepting=keep_accepting))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await app.begun.wait()
                group.start_soon(drain)
                await listening.draining.wait()
                assert drained == []
                app.may_answer.set()
        assert answers == ["done"]
        assert drained == [True]


async def test_a_gateway_that_drains_refuses_new_requests_and_still_tells_its_health() -> None:
    async with slow_server() as (app, listening, url, http), anyio.create_task_group() as group:
        group.start_soon(http.post, f"{url}/slow")
        await app.begun.wait()
        group.start_soon(lambda: listening.drain(60, keep_accepting=True))
        await listening.draining.wait()
        refused = await http.post(f"{url}/mcp")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "stopping")
        assert refused.headers["retry-after"] == "1"
        assert (await http.get(f"{url}/readyz")).text == "done"
        app.may_answer.set()


async def test_idle_connections_and_streams_are_closed_at_once() -> None:
    async with slow_server() as (app, listening, url, http):
        host, port = url.removeprefix("http://").split(":")
        idle = socket.create_connection((host, int(port)))
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        await anyio.wait_readable(idle)
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        async with http.stream("GET", f"{url}/mcp") as stream:
            parts = stream.aiter_raw()
            assert await anext(parts) == b"first"
            with anyio.fail_after(30):
                assert await listening.drain(60, keep_accepting=False)
                with pytest.raises(httpx.RemoteProtocolError):
                    await anext(parts)
        await anyio.wait_readable(idle)
        assert idle.recv(1) == b""
        idle.close()
        assert app.begun.is_set()


async def test_calls_that_outlast_the_time_are_broken_off() -> None:
    async with slow_server() as (app, listening, url, http):
        failures: list[httpx.HTTPError] = []

        async def ask() -> None:
            try:
                await http.post(f"{url}/slow")
            except httpx.HTTPError as error:
                failures.append(error)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await app.begun.wait()
                assert await listening.drain(0, keep_accepting=False) is False
                listening.abort()
        assert len(failures) == 1
        app.may_answer.set()
