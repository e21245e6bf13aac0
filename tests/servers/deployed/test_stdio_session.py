"""Sessions with servers that are processes: state, errors, death, silence, and what a client is told."""

import json
import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from astra_mcp.errors import BusyError, RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Era, Exchange
from astra_mcp.types import CallOutcome, JsonObject, Origin, PastCall, ServerStatus
from servers.deployed import DeployedServers

from deployed_workshop import (
    MemoryChannel,
    deployed,
    found,
    noting,
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


@pytest.mark.parametrize("era", ERAS)
async def test_each_session_has_a_state_of_its_own(tmp_path: Path, era: Era) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        texts = [await text_of(s, "count", Exchange(era=era)) for s in (one, one, two, one)]
        assert texts == ["1", "2", "1", "3"]


@pytest.mark.parametrize("era", ERAS)
async def test_sessions_of_a_shared_server_share_its_state(tmp_path: Path, era: Era) -> None:
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        texts = [await text_of(s, "count", Exchange(era=era)) for s in (one, two, one)]
        await one.aclose()
        texts.append(await text_of(two, "count", Exchange(era=era)))
        assert texts == ["1", "2", "3", "4"]


async def test_nothing_starts_before_the_first_use(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        session(servers)
        assert found(servers).status == (ServerStatus.UNKNOWN, "")
        assert raw_processes() == []


async def test_the_servers_own_error_keeps_its_code_message_and_data(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        reply = await session(servers).call("refuse", {})
        refusal = {"code": -32601, "message": "no such method", "data": {"why": "raw"}}
        assert reply.result.refusal == refusal
        assert reply.result.is_error
        assert "no such method" in reply.result.text
        assert (reply.origin, reply.outcome) == (Origin.TOOL, CallOutcome.APPLIED)


async def test_meta_and_the_episode_key_arrive_as_they_are(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        meta: JsonObject = {"traceparent": "00-1-2-01", "com.example/x": [1, {"y": None}]}
        one = session(servers, key="abc")
        params = json.loads(await text_of(one, "show", Exchange(meta=meta), a=[1.5, None, "é"]))
        assert params["arguments"] == {"a": [1.5, None, "é"]}
        assert params["_meta"] == {**meta, "dev.astra-mcp/episode-key": "abc"}


async def test_a_shared_server_hears_with_each_request_whose_it_is(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as servers:
        texts = [await text_of(session(servers, key=key), "show") for key in ("a", "b")]
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
        seen = [
            structured(await one.call("show", {"variable": name}))["variable"]
            for name in ("TOKEN", "GATEWAY_SECRET", "TOKEN_OUTSIDE")
        ]
        assert seen == ["given-to-it", None, None]


async def test_each_process_has_a_session_folder_that_ends_with_it(tmp_path: Path) -> None:
    entry = raw_entry(env={"STATE": "${SESSION_DIR}"})
    async with deployed(tmp_path, raw=entry) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        folders = [
            Path(structured(await s.call("show", {"variable": "STATE"}))["variable"])
            for s in (one, two)
        ]
        assert folders[0] != folders[1]
        assert all(f.is_dir() and not list(f.iterdir()) for f in folders)
        (folders[0] / "state").write_text("x")
        await one.aclose()
        assert [f.exists() for f in folders] == [False, True]
    assert not folders[1].exists()


# --- death ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_a_process_that_dies_in_a_call_is_reported_with_its_last_words(
    tmp_path: Path, era: Era
) -> None:
    words = r"upstream raw closed \(exit status 3\): out of luck; delivery unknown"
    async with noting(tmp_path) as (servers, calls):
        one, other = session(servers, key="1"), session(servers, key="2")
        await other.call("count", {}, Exchange(era=era))
        with pytest.raises(UpstreamError, match=words):
            await one.call("die", {}, Exchange(era=era))
        assert calls().count("die") == 1
        assert await text_of(other, "count", Exchange(era=era)) == "2"


async def test_a_session_whose_state_died_says_so_and_does_not_go_on(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        one = session(servers)
        pid = structured(await one.call("show", {}))["pid"]
        handle = os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
        assert wait_until_gone([handle], 10) == 0
        for _ in range(2):
            with pytest.raises(UpstreamError, match=r"exit status -9.*(lost|delivery unknown)"):
                await one.call("count", {})


async def test_a_session_without_calls_takes_a_new_process_for_one_that_died(
    tmp_path: Path,
) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        one = session(servers)
        await one.request("logging/setLevel", {"level": "info"}, Exchange())
        connection = one.connection
        assert connection is not None
        [pid] = raw_processes()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: connection.peer.fault is not None)
        assert await text_of(one) == "1"


async def test_a_shared_server_that_dies_is_started_again_for_all(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        assert await text_of(one) == "1"
        with pytest.raises(UpstreamError, match="delivery unknown"):
            await two.call("die", {})
        assert await text_of(one) == "1"
        assert await text_of(two) == "2"


async def test_a_server_that_dies_at_its_start_says_why(tmp_path: Path) -> None:
    entry = raw_entry(env={"DIE_AT_START": "1"})
    async with deployed(tmp_path, raw=entry) as servers:
        server = found(servers)
        with pytest.raises(UpstreamError, match=r"closed \(exit status 4\): no licence") as told:
            await server.prepare()
        assert "delivery" not in str(told.value)
        assert server.status == (ServerStatus.FAILED, str(told.value))


async def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw={"command": "/nowhere/server"}) as servers:
        with pytest.raises(UpstreamError, match="cannot be started: /nowhere/server: No such file"):
            await session(servers).call("count", {})


async def test_a_secret_in_the_last_words_is_blacked_out(tmp_path: Path) -> None:
    args = ["-c", "import os,sys; sys.exit('bad key ' + os.environ['KEY'])"]
    entry = {"command": sys.executable, "args": args, "env": {"KEY": "s3cr3t-value"}}
    async with deployed(tmp_path, raw=entry) as servers:
        with pytest.raises(UpstreamError, match=r"bad key \*\*\*"):
            await found(servers).prepare()


async def test_state_of_before_a_restart_is_not_made_up(tmp_path: Path) -> None:
    past, rejected = (
        [PastCall(tool="count", arguments={}, outcome=outcome)]
        for outcome in (CallOutcome.APPLIED, CallOutcome.REJECTED)
    )
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        with pytest.raises(UpstreamError, match=r"restart.*lost"):
            await session(servers, past=past).call("count", {})
        assert await text_of(session(servers, past=rejected)) == "1"


async def test_a_shared_server_goes_on_after_a_restart(tmp_path: Path) -> None:
    past = [PastCall(tool="count", arguments={}, outcome=CallOutcome.APPLIED)]
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as servers:
        assert await text_of(session(servers, past=past)) == "1"


# --- bad servers ---------------------------------------------------------------------------------


async def test_some_lines_that_are_no_json_are_passed_over(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        assert await text_of(session(servers), "garbage", lines=20) == "clean"


async def test_a_server_that_writes_nothing_but_garbage_has_failed(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        words = "lines that are no JSON-RPC, such as 'this is no JSON"
        with pytest.raises(UpstreamError, match=words):
            await session(servers).call("garbage", {"lines": 200})


async def test_a_server_that_does_not_answer_the_handshake_is_given_up(tmp_path: Path) -> None:
    entry = {"command": "sleep", "args": ["300"], "timeout_seconds": 0.3}
    async with deployed(tmp_path, raw=entry) as servers:
        with pytest.raises(UpstreamError, match=r"did not answer the handshake within 0\.3 s"):
            await found(servers).prepare()


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path, era: Era) -> None:
    async with noting(tmp_path) as (servers, calls):
        one = session(servers)
        async with until_left(lambda: one.call("hang", {}, Exchange(era=era))):
            await until(lambda: "hang" in calls())
        await until(lambda: "cancelled" in calls())
        assert await text_of(one, "count", Exchange(era=era)) == "1"


# --- the queue -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [24, pytest.param(200, marks=pytest.mark.volume)])
async def test_many_sessions_wait_for_a_few_processes(tmp_path: Path, sessions: int) -> None:
    most = 0

    async def live(servers: DeployedServers, number: int) -> None:
        nonlocal most
        one = session(servers, key=str(number))
        assert await text_of(one) == "1"
        most = max(most, len(raw_processes()))
        await one.aclose()

    entry = raw_entry("modern", max_processes=8, queue_seconds=100)
    async with deployed(tmp_path, raw=entry) as servers, anyio.create_task_group() as group:
        for number in range(sessions):
            group.start_soon(live, servers, number)
    assert 1 <= most <= 8


async def test_a_session_that_finds_no_place_in_time_is_told_that_the_server_is_busy(
    tmp_path: Path,
) -> None:
    entry = raw_entry(max_processes=1, queue_seconds=0.2)
    async with deployed(tmp_path, raw=entry) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        await one.call("count", {})
        with pytest.raises(BusyError, match="upstream raw is busy: 1 processes run"):
            await two.call("count", {})
        await one.aclose()
        assert await text_of(two) == "1"


async def test_a_dead_process_gives_its_place_back_while_its_session_stays_open(
    tmp_path: Path,
) -> None:
    entry = raw_entry(max_processes=1, queue_seconds=20)
    async with deployed(tmp_path, raw=entry) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        with pytest.raises(UpstreamError):
            await one.call("die", {})
        assert await text_of(two) == "1"


# --- the way back --------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_progress_arrives_in_order_with_the_clients_own_token(
    tmp_path: Path, era: Era
) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        channel = MemoryChannel()
        exchange = Exchange(era=era, meta={"progressToken": "mine"}, channel=channel)
        await session(servers).call("progress", {}, exchange)
        steps = [p["progress"] for m, p in channel.told if m == "notifications/progress"]
        assert steps == [0, 1, 2]
        assert [p["progressToken"] for _, p in channel.told[:3]] == ["mine"] * 3
        assert channel.told[-1] == ("notifications/message", {"level": "info", "data": "half way"})


async def test_equal_tokens_of_two_clients_of_a_shared_server_are_kept_apart(
    tmp_path: Path,
) -> None:
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as servers:
        channels = [MemoryChannel(), MemoryChannel()]

        async def call(channel: MemoryChannel, key: str) -> None:
            exchange = Exchange(meta={"progressToken": 7}, channel=channel)
            await session(servers, key=key).call("progress", {}, exchange)

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


async def test_a_servers_request_goes_to_the_client_of_the_call(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        refusal = RelayedError(-1, "the user said no", [1])
        channel = MemoryChannel(answers=[{"role": "assistant"}, refusal])
        one, exchange = session(servers), Exchange(channel=channel)
        first = json.loads(await text_of(one, "sample", exchange, n=5))
        second = json.loads(await text_of(one, "sample", exchange))
        assert channel.asked[0] == ("sampling/createMessage", {"n": 5})
        assert first["result"] == {"role": "assistant"}
        assert second["error"] == {"code": -1, "message": "the user said no", "data": [1]}


async def test_a_servers_request_without_a_client_is_refused(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        told = json.loads(await text_of(session(servers), "sample"))
        assert told["error"]["code"] == -32601


async def test_input_for_a_modern_server_is_asked_of_a_handshake_client(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry("modern")) as servers:
        channel = MemoryChannel(answers=[{"action": "accept"}, {"action": "decline"}])
        told = await text_of(session(servers), "need", Exchange(channel=channel), rounds=2)
        assert [p["message"] for _, p in channel.asked] == ["round 0", "round 1"]
        assert json.loads(told) == {"who": {"action": "decline"}}


async def test_a_handshake_client_that_cannot_be_asked_reads_why(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry("modern")) as servers:
        one = session(servers)
        reply = await one.call("need", {})
        assert reply.result.is_error
        assert reply.result.text == "The tool need asks for input that this client cannot give."
        refusing = MemoryChannel(answers=[RelayedError(-1, "no thanks")])
        told = await text_of(one, "need", Exchange(channel=refusing))
        assert "elicitation/create, which it did not give: no thanks" in told


async def test_a_server_that_asks_without_end_is_stopped(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry("modern")) as servers:
        channel = MemoryChannel(answers=[{} for _ in range(50)])
        reply = await session(servers).call("need", {"rounds": 40}, Exchange(channel=channel))
        assert reply.result.is_error
        assert "asked for input 10 times" in reply.result.text
        assert len(channel.asked) == 10


async def test_a_modern_client_gets_the_input_request_itself(tmp_path: Path) -> None:
    async with deployed(tmp_path, raw=raw_entry("modern")) as servers:
        one = session(servers)
        reply = await one.call("need", {}, Exchange(era=Era.MODERN))
        assert reply.result.asks is not None
        assert reply.result.content == ()
        assert reply.result.asks["requestState"] == "1"
        params: JsonObject = {"requestState": "1", "inputResponses": {"who": {"action": "accept"}}}
        reply = await one.call("need", {}, Exchange(era=Era.MODERN, params=params))
        assert json.loads(reply.result.text) == {"who": {"action": "accept"}}


async def test_what_belongs_to_no_request_is_heard_by_the_session(tmp_path: Path) -> None:
    heard: list[str] = []
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        one = session(servers)
        one.watch(lambda method, _: heard.append(method))
        await one.call("grow", {})
    assert heard == ["notifications/resources/updated"]
