"""One connection for many: whose a message of the server is, and how it heals."""

import json
import os
import signal
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import Exchange
from astra_mcp.types import JsonObject
from servers.deployed import DeployedServers
from servers.deployed import session as sessions
from servers.deployed.errors import NotSentError
from servers.deployed.peer import ignore
from servers.deployed.transports import duplex, pending

from deployed_workshop import (
    MemoryChannel,
    Noted,
    deployed,
    found,
    noting,
    raw_entry,
    raw_processes,
    session,
    text_of,
    until,
    until_left,
)
from processes import wait_until_gone


@pytest.fixture
async def noted(tmp_path: Path) -> AsyncGenerator[Noted]:
    """A raw server that is shared, and the calls that it has written down."""
    async with noting(tmp_path, isolation="shared") as opened:
        yield opened


async def _call(
    servers: DeployedServers,
    key: str,
    tool: str,
    channel: MemoryChannel | None = None,
    **arguments: Any,
) -> str:
    exchange = Exchange(channel=channel or MemoryChannel())
    return await text_of(session(servers, key=key), tool, exchange, **arguments)


async def test_a_shared_servers_request_that_could_be_anyones_is_refused(noted: Noted) -> None:
    servers, calls = noted
    channels = [MemoryChannel(answers=[{}]), MemoryChannel(answers=[{}])]
    texts: list[str] = []

    async def ask() -> None:
        texts.append(await _call(servers, "1", "sample", channels[0], behind=1))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await until(lambda: calls() == ["sample"])
            # The server asks once it has this call too.
            assert await _call(servers, "2", "count", channels[1]) == "1"
    assert [c.asked for c in channels] == [[], []]
    assert json.loads(texts[0])["error"]["code"] == -32601


async def _give_up(
    servers: DeployedServers, calls: Callable[[], list[str]], **arguments: Any
) -> None:
    """Cancel a call of one caller, of which the server knows, with nothing else under way."""
    assert await _call(servers, "1", "count") == "1"
    # The tools are asked for when the connection opens.
    await until(lambda: bool(found(servers).tools))
    async with until_left(lambda: _call(servers, "1", "give_up", **arguments)):
        await until(lambda: "give_up" in calls())
    await until(lambda: "given up" in calls())


async def test_an_answered_request_keeps_no_question_from_the_one_that_still_runs() -> None:
    requests = pending.PendingRequests(is_shared=True)
    call, _ = requests.begin("tools/call", {}, MemoryChannel())
    ping, _ = requests.begin("ping", {}, None)
    assert requests.only() is None
    ping.answer = {}
    assert requests.only() is call


@pytest.mark.parametrize("answers", [True, False])
async def test_a_question_is_nobodys_while_an_abandoned_call_may_still_run(
    noted: Noted, answers: bool
) -> None:
    servers, _ = noted
    await _give_up(*noted, answers=answers)
    other = MemoryChannel(answers=[{"role": "assistant"}])
    said = json.loads(await _call(servers, "2", "sample", other))
    assert len(other.asked) == (1 if answers else 0)
    assert ("result" in said) is answers


async def test_an_abandoned_call_counts_for_a_bounded_time(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "ABANDONED_SECONDS", 0.0)
    servers, _ = noted
    await _give_up(*noted)
    other = MemoryChannel(answers=[{"role": "assistant"}])
    with anyio.fail_after(20):
        # The gateway's own question for the tools may be under way when the first one comes.
        while "result" not in json.loads(await _call(servers, "2", "sample", other)):
            await anyio.lowlevel.checkpoint()


async def test_a_log_message_that_could_be_about_anyones_call_reaches_nobody(noted: Noted) -> None:
    channels = [MemoryChannel(), MemoryChannel()]
    heard: list[str] = []
    servers, calls = noted
    session(servers, key="3").watch(lambda method, _: heard.append(method))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(_call, servers, "1", "chat", channels[0])
            await until(lambda: calls() == ["chat"])
            await _call(servers, "2", "count", channels[1])
    assert [c.told for c in channels] == [[], []]
    assert heard == []
    await _call(servers, "1", "grow", channels[0])
    assert heard == ["notifications/resources/updated"]


def test_no_pause_between_attempts_is_longer_than_half_a_second() -> None:
    assert sessions.FIRST_PAUSE <= sessions.LONGEST_PAUSE <= 0.5
    assert 3 <= sessions.RETRIES * sessions.LONGEST_PAUSE <= 6


async def test_a_shared_process_that_answers_nothing_any_more_is_replaced(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplex, "CHECK_SECONDS", 0.3)
    servers, calls = noted
    async with until_left(lambda: _call(servers, "1", "sleep", seconds=3600)):
        await until(lambda: calls() == ["sleep"])
    with anyio.fail_after(20):
        with pytest.raises(UpstreamError, match="upstream raw did not answer a ping"):
            await _call(servers, "2", "count")
        assert await _call(servers, "3", "count") == "1"


async def test_a_shared_server_that_still_answers_is_kept_after_a_call_was_given_up(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplex, "CHECK_SECONDS", 5.0)
    servers, calls = noted
    assert await _call(servers, "1", "count") == "1"
    async with until_left(lambda: _call(servers, "1", "sleep", seconds=0.3)):
        await until(lambda: "sleep" in calls())
    with anyio.fail_after(20):
        assert await _call(servers, "2", "count") == "2"


async def test_the_last_one_to_leave_a_connection_ends_a_subscription(tmp_path: Path) -> None:
    wanted: JsonObject = {"uri": "note://1"}
    async with noting(tmp_path, "handshake", isolation="shared") as (servers, calls):
        one, two, gone = (session(servers, key=key) for key in "123")
        for each in (one, two, gone):
            await each.request("resources/subscribe", wanted, Exchange())
        await gone.aclose()
        await one.request("resources/unsubscribe", wanted, Exchange())
        assert calls() == ["resources/subscribe note://1"] * 3
        await two.request("resources/unsubscribe", wanted, Exchange())
        assert calls()[3:] == ["resources/unsubscribe note://1"]


@pytest.mark.parametrize("isolation", ["episode", "shared"])
async def test_a_server_that_is_started_again_is_told_what_its_clients_want_news_of(
    tmp_path: Path, isolation: str
) -> None:
    async with noting(tmp_path, "handshake", isolation=isolation) as (servers, calls):
        one = session(servers)
        for uri in ("note://1", "note://2"):
            await one.request("resources/subscribe", {"uri": uri}, Exchange())
        await one.request("resources/unsubscribe", {"uri": "note://2"}, Exchange())
        connection = one.connection
        assert connection is not None
        [pid] = raw_processes()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: connection.peer.fault is not None)

        assert await text_of(one) == "1"

        assert calls()[3:] == ["resources/subscribe note://1", "count"]


# --- an output that is closed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "anyio_backend", [("asyncio", {"use_uvloop": uv}) for uv in (False, True)], ids=str
)
async def test_a_shared_server_that_closes_its_output_and_lives_on_is_ended_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplex, "CHECK_SECONDS", 1000)
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        assert await text_of(one) == "1"
        [pid] = raw_processes()
        handle = os.pidfd_open(pid)
        with anyio.fail_after(20):
            with pytest.raises(UpstreamError, match=r"^upstream raw closed its output; delivery"):
                await two.call("close_output", {})
            assert await text_of(one) == "1"
            assert await to_thread.run_sync(wait_until_gone, [handle], 20) == 0
        assert len(raw_processes()) == 1


class _EndedWire:
    """Has ended; why, it says once it is asked to."""

    nonsense = ""

    def __init__(self) -> None:
        self.is_asked = anyio.Event()
        self.may_tell = anyio.Event()
        self.sent: list[JsonObject] = []

    async def send(self, message: JsonObject) -> None:
        self.sent.append(message)

    async def receive(self) -> JsonObject | None:
        return None

    async def describe_end(self) -> str:
        self.is_asked.set()
        await self.may_tell.wait()
        return "closed its output"

    async def aclose(self) -> None:
        pass


async def test_a_request_behind_the_end_of_a_wire_is_not_sent_and_told_why() -> None:
    wire = _EndedWire()
    async with anyio.create_task_group() as tasks:
        peer = duplex.DuplexPeer(wire, tasks, name="raw", hear=ignore, is_shared=True)
        await wire.is_asked.wait()
        tasks.start_soon(_set_once_all_wait, wire.may_tell)
        with anyio.fail_after(20), pytest.raises(NotSentError, match="raw closed its output"):
            await peer.request("tools/call", {})
    assert wire.sent == []


async def _set_once_all_wait(event: anyio.Event) -> None:
    await anyio.wait_all_tasks_blocked()
    event.set()
