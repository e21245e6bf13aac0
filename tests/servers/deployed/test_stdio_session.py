"""Sessions with servers that are processes: state, errors, death, silence, and what a client is told."""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.errors import BusyError, RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Era, Exchange
from astra_mcp.types import CallOutcome, JsonObject, Origin, PastCall, ServerStatus
from servers.deployed import DeployedServers, DeployedSession

from deployed_workshop import (
    MemoryChannel,
    Noted,
    calls_of,
    deployed,
    found,
    raw_entry,
    raw_processes,
    session,
    structured,
    text_of,
    until,
    until_left,
)
from processes import wait_until_gone

ERAS = list(Era)


async def variable(one: DeployedSession, name: str) -> Any:
    """What the environment of a process says."""
    return structured(await one.call("show", {"variable": name}))["variable"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("isolation", "counts"), [("episode", "1212"), ("shared", "1234")])
async def test_sessions_share_the_state_of_a_shared_server_alone(
    tmp_path: Path, era: Era, isolation: str, counts: str
) -> None:
    async with deployed(tmp_path, raw=raw_entry(isolation=isolation)) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        texts = [await text_of(s, "count", Exchange(era=era)) for s in (one, one, two)]
        await one.aclose()
        texts.append(await text_of(two, "count", Exchange(era=era)))
        assert texts == [*counts]


async def test_nothing_starts_before_the_first_use(servers: DeployedServers) -> None:
    session(servers)
    assert found(servers).status == (ServerStatus.UNKNOWN, "")
    assert raw_processes() == []


async def test_the_servers_own_error_keeps_its_code_message_and_data(one: DeployedSession) -> None:
    reply = await one.call("refuse", {})
    refusal = {"code": -32601, "message": "no such method", "data": {"why": "raw"}}
    assert reply.result.refusal == refusal
    assert reply.result.is_error
    assert "no such method" in reply.result.text
    assert (reply.origin, reply.outcome) == (Origin.TOOL, CallOutcome.APPLIED)


async def test_meta_and_the_episode_key_arrive_as_they_are(servers: DeployedServers) -> None:
    meta: JsonObject = {"traceparent": "00-1-2-01", "com.example/x": [1, {"y": None}]}
    one = session(servers, key="abc")
    params = json.loads(await text_of(one, "show", Exchange(meta=meta), a=[1.5, None, "é"]))
    assert params["arguments"] == {"a": [1.5, None, "é"]}
    assert params["_meta"] == {**meta, "dev.astra-mcp/episode-key": "abc"}


async def test_a_shared_server_hears_with_each_request_whose_it_is(shared: DeployedServers) -> None:
    texts = [await text_of(session(shared, key=key), "show") for key in ("a", "b")]
    metas = [json.loads(text)["_meta"] for text in texts]
    assert [meta["dev.astra-mcp/episode-key"] for meta in metas] == ["a", "b"]


async def test_a_process_sees_its_entrys_environment_and_not_the_gateways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_SECRET", "hidden")
    monkeypatch.setenv("TOKEN_OUTSIDE", "given-to-it")
    entry = raw_entry(env={"TOKEN": "${TOKEN_OUTSIDE}"})
    async with deployed(tmp_path, raw=entry) as servers:
        one = session(servers)
        names = ("TOKEN", "GATEWAY_SECRET", "TOKEN_OUTSIDE")
        assert [await variable(one, name) for name in names] == ["given-to-it", None, None]


async def test_each_process_has_a_session_folder_that_ends_with_it(tmp_path: Path) -> None:
    entry = raw_entry(env={"STATE": "${SESSION_DIR}"})
    async with deployed(tmp_path, raw=entry) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        folders = [Path(await variable(s, "STATE")) for s in (one, two)]
        assert folders[0] != folders[1]
        assert all(f.is_dir() and not list(f.iterdir()) for f in folders)
        (folders[0] / "state").write_text("x")
        await one.aclose()
        assert [f.exists() for f in folders] == [False, True]
    assert not folders[1].exists()


# --- death ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_a_process_that_dies_is_reported_with_its_last_words(noted: Noted, era: Era) -> None:
    words = r"upstream raw closed \(exit status 3\): out of luck; delivery unknown"
    servers, calls = noted
    one, other = session(servers, key="1"), session(servers, key="2")
    await other.call("count", {}, Exchange(era=era))
    with pytest.raises(UpstreamError, match=words):
        await one.call("die", {}, Exchange(era=era))
    assert calls().count("die") == 1
    assert await text_of(other, "count", Exchange(era=era)) == "2"


async def test_a_session_whose_state_died_says_so_and_does_not_go_on(one: DeployedSession) -> None:
    pid = structured(await one.call("show", {}))["pid"]
    handle = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert wait_until_gone([handle], 10) == 0
    for _ in range(2):
        with pytest.raises(UpstreamError, match=r"exit status -9.*(lost|delivery unknown)"):
            await one.call("count", {})


async def test_a_session_without_calls_takes_a_new_process_for_one_that_died(
    one: DeployedSession,
) -> None:
    await one.request("logging/setLevel", {"level": "info"}, Exchange())
    connection = one.connection
    assert connection is not None
    [pid] = raw_processes()
    os.kill(pid, signal.SIGKILL)
    await until(lambda: connection.peer.fault is not None)
    assert await text_of(one) == "1"


async def test_a_shared_server_that_dies_is_started_again_for_all(shared: DeployedServers) -> None:
    one, two = session(shared, key="1"), session(shared, key="2")
    assert await text_of(one) == "1"
    with pytest.raises(UpstreamError, match="delivery unknown"):
        await two.call("die", {})
    reason = "upstream raw closed (exit status 3): out of luck"
    assert found(shared).status == (ServerStatus.FAILED, reason)
    assert await text_of(one) == "1"
    assert found(shared).status == (ServerStatus.READY, "")
    assert await text_of(two) == "2"


READ_ONLY, IDEMPOTENT = {"readOnlyHint": True}, {"idempotentHint": True}


@asynccontextmanager
async def hinting(
    folder: Path, hints: Mapping[str, bool], **members: Any
) -> AsyncGenerator[tuple[DeployedSession, Callable[[], list[str]]]]:
    """A session with a server that says of its tool ``flicker`` what calling it twice does."""
    env = {"CALLS": str(folder / "calls"), "HINTS": json.dumps({"flicker": hints})}
    async with deployed(folder, raw=raw_entry(env=env, **members)) as servers:
        await found(servers).prepare()
        yield session(servers), lambda: calls_of(folder / "calls")


@pytest.mark.parametrize("isolation", ["episode", "shared"])
@pytest.mark.parametrize("hints", [READ_ONLY, IDEMPOTENT], ids=["read-only", "idempotent"])
async def test_a_call_that_may_be_made_twice_is_sent_again_after_its_process_died(
    tmp_path: Path, hints: Mapping[str, bool], isolation: str
) -> None:
    async with hinting(tmp_path, hints, isolation=isolation) as (one, calls):
        reply = await one.call("flicker", {"deaths": 2})
        assert (reply.result.text, reply.resent) == ("seen at the call 3", 2)
        assert calls().count("flicker") == 3
        assert await text_of(one) == "1"


@pytest.mark.parametrize("hints", [READ_ONLY, IDEMPOTENT], ids=["read-only", "idempotent"])
async def test_a_call_that_may_be_made_twice_is_sent_three_times_at_most(
    tmp_path: Path, hints: Mapping[str, bool]
) -> None:
    async with hinting(tmp_path, hints) as (one, calls):
        with pytest.raises(UpstreamError, match=r"exit status 3.*delivery unknown"):
            await one.call("flicker", {"deaths": 99})
        assert calls().count("flicker") == 3


@pytest.mark.parametrize("hints", [{}, {"readOnlyHint": "true"}, {"destructiveHint": False}])
async def test_a_call_is_sent_once_where_its_server_does_not_say_that_it_may_be_made_twice(
    tmp_path: Path, hints: Mapping[str, Any]
) -> None:
    async with hinting(tmp_path, hints) as (one, calls):
        with pytest.raises(UpstreamError, match="delivery unknown"):
            await one.call("flicker", {"deaths": 1})
        assert calls().count("flicker") == 1


async def test_a_call_is_not_sent_again_where_the_process_took_the_state_of_others_along(
    tmp_path: Path,
) -> None:
    async with hinting(tmp_path, READ_ONLY) as (one, calls):
        assert await text_of(one) == "1"
        with pytest.raises(UpstreamError, match="delivery unknown"):
            await one.call("flicker", {"deaths": 1})
        assert calls().count("flicker") == 1
        with pytest.raises(UpstreamError, match="lost"):
            await one.call("count", {})


SECRET_TELLER = {
    "command": sys.executable,
    "args": ["-c", "import os,sys; sys.exit('bad key ' + os.environ['KEY'])"],
    "env": {"KEY": "s3cr3t-value"},
}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (raw_entry(env={"DIE_AT_START": "1"}), r"closed \(exit status 4\): no licence"),
        ({"command": "/nowhere/server"}, "cannot be started: /nowhere/server: No such file"),
        (SECRET_TELLER, r"bad key \*\*\*"),
        (
            {"command": "sleep", "args": ["300"], "timeout_seconds": 0.3},
            r"did not answer the handshake within 0\.3 s",
        ),
    ],
    ids=["dies", "is no command", "tells a secret", "is silent"],
)
async def test_a_server_that_does_not_start_says_why(
    tmp_path: Path, entry: dict[str, Any], words: str
) -> None:
    async with deployed(tmp_path, raw=entry) as servers:
        with pytest.raises(UpstreamError, match=words) as told:
            await found(servers).prepare()
        assert "delivery" not in str(told.value)
        assert found(servers).status == (ServerStatus.FAILED, str(told.value))


async def test_state_of_before_a_restart_is_not_made_up(tmp_path: Path) -> None:
    past, rejected = (
        [PastCall(tool="count", arguments={}, outcome=outcome)]
        for outcome in (CallOutcome.APPLIED, CallOutcome.REJECTED)
    )
    shared = raw_entry(isolation="shared")
    async with deployed(tmp_path, raw=raw_entry(), shared=shared) as servers:
        with pytest.raises(UpstreamError, match=r"restart.*lost"):
            await session(servers, past=past).call("count", {})
        assert await text_of(session(servers, past=rejected)) == "1"
        assert await text_of(session(servers, "shared", past=past)) == "1"


# --- bad servers ---------------------------------------------------------------------------------


async def test_some_lines_that_are_no_json_are_passed_over_and_many_are_a_failure(
    one: DeployedSession,
) -> None:
    assert await text_of(one, "garbage", lines=20) == "clean"
    words = "lines that are no JSON-RPC, such as 'this is no JSON"
    with pytest.raises(UpstreamError, match=words):
        await one.call("garbage", {"lines": 200})


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_is_cancelled_at_the_server(noted: Noted, era: Era) -> None:
    servers, calls = noted
    one = session(servers)
    async with until_left(lambda: one.call("hang", {}, Exchange(era=era))):
        await until(lambda: "hang" in calls())
    await until(lambda: "cancelled" in calls())
    assert await text_of(one, "count", Exchange(era=era)) == "1"


# --- the queue -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [12, pytest.param(200, marks=pytest.mark.volume)])
async def test_many_sessions_wait_for_a_few_processes(tmp_path: Path, sessions: int) -> None:
    most = 0

    async def live(servers: DeployedServers, number: int) -> None:
        nonlocal most
        one = session(servers, key=str(number))
        assert await text_of(one) == "1"
        most = max(most, len(raw_processes()))
        await one.aclose()

    entry = raw_entry("modern", max_processes=4, queue_seconds=100)
    async with deployed(tmp_path, raw=entry) as servers, anyio.create_task_group() as group:
        for number in range(sessions):
            group.start_soon(live, servers, number)
    assert 1 <= most <= 4


async def test_a_session_that_finds_no_place_in_time_is_told_of_it(tmp_path: Path) -> None:
    entry = raw_entry(max_processes=1, queue_seconds=0.5)
    async with deployed(tmp_path, raw=entry) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        await one.call("count", {})
        with pytest.raises(BusyError, match="upstream raw is busy: 1 processes run"):
            await two.call("count", {})
        assert found(servers).status == (ServerStatus.READY, "")  # busy is not failed
        await one.aclose()
        assert await text_of(two) == "1"


async def test_a_dead_process_gives_its_place_back_though_its_session_stays(tmp_path: Path) -> None:
    entry = raw_entry(max_processes=1, queue_seconds=20)
    async with deployed(tmp_path, raw=entry) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        with pytest.raises(UpstreamError):
            await one.call("die", {})
        assert await text_of(two) == "1"


# --- the way back --------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_progress_comes_in_order_with_the_own_token(one: DeployedSession, era: Era) -> None:
    channel = MemoryChannel()
    exchange = Exchange(era=era, meta={"progressToken": "mine"}, channel=channel)
    await one.call("progress", {}, exchange)
    steps = [p["progress"] for m, p in channel.told if m == "notifications/progress"]
    assert steps == [0, 1, 2]
    assert [p["progressToken"] for _, p in channel.told[:3]] == ["mine"] * 3
    assert channel.told[-1] == ("notifications/message", {"level": "info", "data": "half way"})


async def test_equal_tokens_of_two_clients_are_kept_apart(shared: DeployedServers) -> None:
    channels = [MemoryChannel(), MemoryChannel()]

    async def call(channel: MemoryChannel, key: str) -> None:
        exchange = Exchange(meta={"progressToken": 7}, channel=channel)
        await session(shared, key=key).call("progress", {}, exchange)

    async with anyio.create_task_group() as group:
        for number, channel in enumerate(channels):
            group.start_soon(call, channel, str(number))
    for channel in channels:
        told = [p for m, p in channel.told if m == "notifications/progress"]
        assert [(p["progress"], p["progressToken"]) for p in told] == [(0, 7), (1, 7), (2, 7)]


async def test_the_capabilities_of_the_first_client_are_declared(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry("handshake")) as servers:
        channel = MemoryChannel(capabilities={"roots": {}, "sampling": {}})
        one = session(servers)
        await one.call("count", {}, Exchange(channel=channel))
        connection = one.connection
        assert connection is not None
        assert connection.facts.instructions == "the client can ['roots', 'sampling']"


async def test_a_servers_request_goes_to_the_client_of_the_call(one: DeployedSession) -> None:
    refusal = RelayedError(-1, "the user said no", [1])
    channel = MemoryChannel(answers=[{"role": "assistant"}, refusal])
    exchange = Exchange(channel=channel)
    first = json.loads(await text_of(one, "sample", exchange, n=5))
    second = json.loads(await text_of(one, "sample", exchange))
    assert channel.asked[0] == ("sampling/createMessage", {"n": 5})
    assert first["result"] == {"role": "assistant"}
    assert second["error"] == {"code": -1, "message": "the user said no", "data": [1]}
    without_client = json.loads(await text_of(one, "sample"))
    assert without_client["error"]["code"] == -32601


async def test_input_for_a_modern_server_is_asked_of_a_handshake_client(
    modern: DeployedServers,
) -> None:
    channel = MemoryChannel(answers=[{"action": "accept"}, {"action": "decline"}])
    told = await text_of(session(modern), "need", Exchange(channel=channel), rounds=2)
    assert [p["message"] for _, p in channel.asked] == ["round 0", "round 1"]
    assert json.loads(told) == {"who": {"action": "decline"}}


async def test_a_handshake_client_that_cannot_be_asked_reads_why(modern: DeployedServers) -> None:
    one = session(modern)
    reply = await one.call("need", {})
    assert reply.result.is_error
    assert reply.result.text == "The tool need asks for input that this client cannot give."
    refusing = MemoryChannel(answers=[RelayedError(-1, "no thanks")])
    told = await text_of(one, "need", Exchange(channel=refusing))
    assert "elicitation/create, which it did not give: no thanks" in told


async def test_a_server_that_asks_without_end_is_stopped(modern: DeployedServers) -> None:
    channel = MemoryChannel(answers=[{} for _ in range(50)])
    reply = await session(modern).call("need", {"rounds": 40}, Exchange(channel=channel))
    assert reply.result.is_error
    assert "asked for input 10 times" in reply.result.text
    assert len(channel.asked) == 10


async def test_a_modern_client_gets_the_input_request_itself(modern: DeployedServers) -> None:
    one = session(modern)
    reply = await one.call("need", {}, Exchange(era=Era.MODERN))
    assert reply.result.asks is not None
    assert reply.result.content == ()
    assert reply.result.asks["requestState"] == "1"
    params: JsonObject = {"requestState": "1", "inputResponses": {"who": {"action": "accept"}}}
    reply = await one.call("need", {}, Exchange(era=Era.MODERN, params=params))
    assert json.loads(reply.result.text) == {"who": {"action": "accept"}}


async def test_what_belongs_to_no_request_is_heard_by_the_session(one: DeployedSession) -> None:
    heard: list[str] = []
    one.watch(lambda method, _: heard.append(method))
    await one.call("grow", {})
    await until(lambda: heard == ["notifications/resources/updated"])
