"""MCP at the three endpoints, in both eras, over real sockets."""

from typing import Any

import anyio
import anyio.abc
import pytest
from mcp import MCPError

from astra_mcp.errors import EpisodeEndedError
from gateway.api.client import CallRefusedError, EpisodeClient, open_http
from gateway.api.wire import CALL_ID_KEY, SEQ_KEY
from gateway.episodes.turns import CallOrder

from by_hand import modern_request
from relayed_servers import text_of

CALL_KEYS = {"name": "echo", "arguments": {"text": "x"}}


async def state_of(gateway: Any, created: Any) -> Any:
    """Read the state of an episode."""
    return (await gateway.control.get(f"/v1/episodes/{created['id']}")).json()


async def test_the_sdk_lists_and_calls_at_an_episode(gateway: Any, sdk: Any, era: str) -> None:
    created = await gateway.episode()
    async with sdk(created["mcp_url"], era) as client:
        listed = await client.list_tools()
        assert [t.name for t in listed.tools] == ["add", "echo", "wait"]
        assert [t.name for t in listed.tools] == [t["name"] for t in created["tools"]]
        assert text_of(await client.call_tool("add", {"amount": 2})) == "total 2"
        assert text_of(await client.call_tool("add", {"amount": 1})) == "total 3"
    state = await state_of(gateway, created)
    assert (state["calls"], state["solved"], state["reward"]["recall"]) == (2, [1], 1.0)


async def test_the_sdk_lists_and_calls_at_one_server(gateway: Any, sdk: Any, era: str) -> None:
    async with sdk(f"{gateway.url}/servers/notes/mcp", era) as client:
        assert [t.name for t in (await client.list_tools()).tools] == ["add", "echo", "wait"]
        assert text_of(await client.call_tool("add", {"amount": 4})) == "total 4"


async def test_the_sdk_lists_and_calls_at_all_servers(gateway: Any, sdk: Any, era: str) -> None:
    async with sdk(f"{gateway.url}/mcp", era) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        assert names == [f"{s}__{t}" for s in ("coins", "notes") for t in ("add", "echo", "wait")]
        assert text_of(await client.call_tool("coins__add", {"amount": 4})) == "total 4"
        assert text_of(await client.call_tool("notes__add", {})) == "total 1"


@pytest.mark.claim("P7")
async def test_episodes_share_no_state(gateway: Any, sdk: Any, era: str) -> None:
    first, second = await gateway.episode(), await gateway.episode()
    async with sdk(first["mcp_url"], era) as one, sdk(second["mcp_url"], era) as other:
        assert text_of(await one.call_tool("add", {"amount": 5})) == "total 5"
        assert text_of(await other.call_tool("add", {"amount": 1})) == "total 1"


async def test_sessions_of_the_2025_era_share_no_state_and_free_it_at_their_end(
    gateway: Any, sdk: Any
) -> None:
    url = f"{gateway.url}/mcp"
    async with sdk(url, "legacy") as one:
        async with sdk(url, "legacy") as other:
            assert text_of(await one.call_tool("coins__add", {"amount": 5})) == "total 5"
            assert text_of(await other.call_tool("coins__add", {})) == "total 1"
            assert gateway.episodes.count_open() == 2
        assert gateway.episodes.count_open() == 1
        assert text_of(await one.call_tool("coins__add", {})) == "total 6"
    assert gateway.episodes.count_open() == 0


async def test_callers_of_the_2026_era_share_no_state_and_the_nameless_share_one(
    gateway: Any, sdk: Any
) -> None:
    async def add(address: str, key: str | None = None) -> str:
        async with sdk(f"{gateway.url}{address}", "2026-07-28", key=key) as client:
            return text_of(await client.call_tool("add", {}))

    assert await add("/servers/coins/mcp?caller=a") == "total 1"
    assert await add("/servers/coins/mcp?caller=b") == "total 1"
    assert await add("/servers/coins/mcp?caller=a") == "total 2"
    assert await add("/servers/notes/mcp?caller=a") == "total 1"
    assert await add("/servers/coins/mcp?caller=a", "one key") == "total 1"
    assert await add("/servers/coins/mcp", "one key") == "total 1"
    assert await add("/servers/coins/mcp", "one key") == "total 2"
    assert await add("/servers/coins/mcp") == "total 1"
    assert await add("/servers/coins/mcp") == "total 2"


async def test_an_interactive_state_survives_the_gateway(open_gateway: Any, sdk: Any) -> None:
    for expected in ("total 1", "total 2"):
        async with (
            open_gateway() as gateway,
            sdk(f"{gateway.url}/servers/coins/mcp?caller=a", "2026-07-28") as client,
        ):
            assert text_of(await client.call_tool("add", {})) == expected


async def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(
    gateway: Any, sdk: Any, era: str
) -> None:
    created = await gateway.episode()
    async with sdk(created["mcp_url"], era) as client:
        with pytest.raises(MCPError, match="add, echo, wait") as raised:
            await client.call_tool("steal", {})
        assert raised.value.error.code == -32602
        assert text_of(await client.call_tool("add", {})) == "total 1"
    state = await state_of(gateway, created)
    assert state["calls"] == 2


async def test_an_unknown_server_is_404_with_the_closest_names(gateway: Any) -> None:
    answer = await gateway.stranger.post("/servers/coinz/mcp", **modern_request("tools/list", {}))
    assert answer.status_code == 404
    assert "coins" in answer.json()["error"]["message"]


async def test_an_ended_episode_is_410_and_says_what_to_do(gateway: Any) -> None:
    created = await gateway.episode()
    await gateway.control.delete(f"/v1/episodes/{created['id']}")
    for method, params in (("tools/list", {}), ("tools/call", CALL_KEYS), ("server/discover", {})):
        answer = await gateway.stranger.post(created["mcp_url"], **modern_request(method, params))
        assert answer.status_code == 410, method
        assert "create a new one" in answer.json()["error"]["message"]


async def test_a_call_that_waits_for_its_turn_is_410_when_its_episode_ends(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, answers = anyio.Event(), list[Any]()
    wait_for = CallOrder.wait_for

    async def told_wait_for(order: CallOrder, seq: int) -> None:
        waits.set()
        await wait_for(order, seq)

    async def call() -> None:
        asked = modern_request("tools/call", CALL_KEYS, **{SEQ_KEY: 1})
        answers.append(await gateway.stranger.post(created["mcp_url"], **asked))

    monkeypatch.setattr(CallOrder, "wait_for", told_wait_for)
    created = await gateway.episode()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await waits.wait()
            await gateway.control.delete(f"/v1/episodes/{created['id']}")
    assert [answer.status_code for answer in answers] == [410]
    assert "create a new one" in answers[0].json()["error"]["message"]


async def test_an_expired_episode_is_410_and_its_record_can_still_be_read(gateway: Any) -> None:
    created = await gateway.episode(limits={"life_seconds": 1e-6})
    for method, params in (("tools/list", {}), ("tools/call", CALL_KEYS)):
        answer = await gateway.stranger.post(created["mcp_url"], **modern_request(method, params))
        assert answer.status_code == 410, method
        assert "expired" in answer.json()["error"]["message"]
    state = await state_of(gateway, created)
    assert (state["status"], state["reward"]["reward"]) == ("expired", 0.0)


async def test_a_retried_call_id_answers_again_without_calling_again(gateway: Any) -> None:
    created = await gateway.episode()
    call = {"name": "add", "arguments": {"amount": 2}}
    once = modern_request("tools/call", call, **{CALL_ID_KEY: "one"})
    for _ in range(3):
        answer = await gateway.stranger.post(created["mcp_url"], **once)
        assert answer.json()["result"]["content"] == [{"type": "text", "text": "total 2"}]
    assert len(gateway.servers["coins"].calls) == 1
    await gateway.control.delete(f"/v1/episodes/{created['id']}")
    answer = await gateway.stranger.post(created["mcp_url"], **once)
    assert answer.status_code == 200


async def test_a_call_whose_client_has_gone_is_finished_and_its_retry_answers(
    gateway: Any,
) -> None:
    created = await gateway.episode()
    server = gateway.servers["coins"]
    async with open_http() as http:
        client = EpisodeClient(created["mcp_url"], http)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    await client.call("wait", {"text": "late"}, call_id="w")

                group.start_soon(call)
                await server.waiting.wait()
                group.cancel_scope.cancel()
            server.release.set()
            assert (await client.call("wait", {"text": "late"}, call_id="w")).text == "late"
    assert len(server.calls) == 1


async def is_listening(port: int) -> bool:
    try:
        await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
    except OSError:
        return False
    return True


async def test_a_call_under_way_is_answered_while_the_gateway_stops(open_gateway: Any) -> None:
    answers: list[str] = []
    async with (
        open_http() as http,
        anyio.create_task_group() as group,
        open_gateway() as gateway,
    ):
        server = gateway.servers["coins"]
        client = EpisodeClient((await gateway.episode())["mcp_url"], http)
        port = int(gateway.url.rpartition(":")[2])

        async def call() -> None:
            answers.append((await client.call("wait", {"text": "late"})).text)

        async def release_once_it_stops() -> None:
            with anyio.fail_after(20):
                while await is_listening(port):
                    pass
            server.release.set()

        group.start_soon(call)
        await server.waiting.wait()
        group.start_soon(release_once_it_stops)
    assert answers == ["late"]


@pytest.mark.parametrize(
    "meta",
    [
        {CALL_ID_KEY: 7},
        {CALL_ID_KEY: ""},
        {CALL_ID_KEY: "x" * 129},
        {SEQ_KEY: -1},
        {SEQ_KEY: True},
        {SEQ_KEY: "0"},
    ],
)
async def test_wrong_meta_is_refused_by_name_and_not_counted(
    gateway: Any, meta: dict[str, Any]
) -> None:
    created = await gateway.episode()
    answer = await gateway.stranger.post(
        created["mcp_url"], **modern_request("tools/call", CALL_KEYS, **meta)
    )
    assert next(iter(meta)) in answer.json()["error"]["message"]
    state = await state_of(gateway, created)
    assert state["calls"] == 0


async def test_the_thin_client_lists_calls_and_tells_its_errors_apart(gateway: Any) -> None:
    created = await gateway.episode()
    async with open_http() as http:
        client = EpisodeClient(created["mcp_url"], http)
        tools = await client.list_tools()
        assert [t.model_dump() for t in tools] == created["tools"]
        assert (await client.call("echo", {"text": "héllo 北京"})).text == "héllo 北京"
        with pytest.raises(CallRefusedError, match="add, echo, wait") as raised:
            await client.call("stéal 北京", {})
        assert raised.value.code == -32602
        await gateway.control.delete(f"/v1/episodes/{created['id']}")
        with pytest.raises(EpisodeEndedError, match="create a new one"):
            await client.call("add", {})


async def test_the_thin_client_retries_a_broken_connection_and_the_call_takes_effect_once(
    gateway: Any,
) -> None:
    created = await gateway.episode()
    port = int(gateway.url.rpartition(":")[2])
    connections = 0

    async def relay(agent: anyio.abc.SocketStream) -> None:
        """Pass one request and its answer on; of the first connection, lose the answer."""
        nonlocal connections
        connections += 1
        is_first = connections == 1
        async with agent, await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(await agent.receive())
            answer = await stream.receive()
            if not is_first:
                await agent.send(answer)

    results: list[str] = []
    with anyio.fail_after(20):
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as group,
            open_http() as http,
        ):
            group.start_soon(listener.serve, relay)
            relay_port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
            url = created["mcp_url"].replace(f":{port}/", f":{relay_port}/")
            results.append((await EpisodeClient(url, http).call("add", {"amount": 7})).text)
            group.cancel_scope.cancel()
    assert (connections, results) == (2, ["total 7"])
    assert len(gateway.servers["coins"].calls) == 1


async def test_an_episode_at_its_call_limit_answers_an_error_and_can_still_be_listed(
    gateway: Any,
) -> None:
    created = await gateway.episode(limits={"calls": 1})
    async with open_http() as http:
        client = EpisodeClient(created["mcp_url"], http)
        await client.call("add", {"amount": 3})
        for _ in range(2):
            result = await client.call("add", {})
            assert result.is_error
            assert "limit of 1" in result.text
        assert len(await client.list_tools()) == 3
    state = await state_of(gateway, created)
    assert (state["status"], state["calls"], state["reward"]["recall"]) == ("limit", 1, 1.0)


async def test_64_episodes_at_once_each_get_their_own_answers(gateway: Any) -> None:
    created = [await gateway.episode() for _ in range(64)]
    wrong: list[str] = []
    async with open_http() as http:

        async def play(number: int, url: str) -> None:
            client = EpisodeClient(url, http)
            for step in range(5):
                nonce = f"{number}/{step}"
                if (await client.call("echo", {"text": nonce})).text != nonce:
                    wrong.append(nonce)
            total = (await client.call("add", {"amount": number})).text
            if total != f"total {number}":
                wrong.append(total)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number, episode in enumerate(created):
                    group.start_soon(play, number, episode["mcp_url"])
    assert wrong == []
    states = (await gateway.control.get("/v1/episodes")).json()
    assert sorted(s["calls"] for s in states) == [6] * 64
