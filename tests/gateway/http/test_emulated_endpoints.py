"""Emulated servers behind a gateway: each at its own endpoint in both eras, and marked there alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.mcp.made_up import EMULATOR_KEY
from astra_mcp.types import EmulatorKind, ServerKind
from gateway.api.wire import EpisodeCreated

from by_hand import modern_request
from fake_emulation import FakeDocuments, FakeEmulator, document, open_emulating_gateway
from in_memory_tools import spec
from metric_samples import samples_of
from relayed_servers import MODERN, Desk, RelayGateway, text_of, ways

BODIES = {
    "tools/list": dict[str, Any](),
    "tools/call": {"name": "remember", "arguments": {"word": "apple"}},
}


async def open_berry(gateway: RelayGateway) -> EpisodeCreated:
    """Open an episode in which nothing fails on purpose."""
    return await gateway.open_episode("berry", failures={"rate": 0})


async def post(url: str, method: str, *, is_plain: bool = True) -> Any:
    """Send a request of the modern era; a plain one takes the gateway's short way."""
    asked = modern_request(method, BODIES[method])
    headers = [*asked["headers"].items(), *([] if is_plain else [("x-repeated", "header")] * 2)]
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        answer = await http.post(url, json=asked["json"], headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def num_hot(gateway: RelayGateway) -> float:
    """How many requests took the short way so far."""
    return samples_of(await gateway.control.metrics())["astra_mcp_mcp_requests_total", "hot"]


def mark_of(meta: Mapping[str, Any] | None) -> Any:
    return (meta or {}).get(EMULATOR_KEY)


@ways
async def test_an_emulated_server_is_reached_at_its_own_endpoint_and_says_that_it_is_made_up(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(document("berry"), document("apple"))
    async with open_emulating_gateway(tmp_path, documents) as gateway:
        assert documents.loads == []
        async with gateway.client("/servers/berry/mcp", mode) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool("remember", {"word": w}) for w in ("a", "b")]
            refused = await client.call_tool("remember", {})
    assert [t.name for t in tools] == ["remember", "refuse"]
    assert [mark_of(t.meta) for t in tools] == ["offline", "offline"]
    assert [mark_of(r.meta) for r in (*results, refused)] == ["offline"] * 3
    assert '"words": ["a", "b"]' in text_of(results[1])
    assert refused.is_error
    assert documents.loads == ["berry"]


async def test_the_short_way_and_the_long_way_say_the_same(tmp_path: Path) -> None:
    documents = FakeDocuments(document("berry"))
    emulator = FakeEmulator(kind=EmulatorKind.MODEL)
    async with open_emulating_gateway(tmp_path, documents, emulator=emulator) as gateway:
        url = f"{gateway.url}/servers/berry/mcp"
        for method in BODIES:
            before = await num_hot(gateway)
            short = await post(f"{url}?caller=short", method)
            assert await num_hot(gateway) == before + 1
            long = await post(f"{url}?caller=long", method, is_plain=False)
            assert await num_hot(gateway) == before + 1
            assert short == long
            [marked] = short["tools"][:1] if method == "tools/list" else [short]
            assert marked["_meta"][EMULATOR_KEY] == "model"


@ways
async def test_an_episode_shows_no_mark(tmp_path: Path, mode: str) -> None:
    documents = FakeDocuments(document("berry"))
    async with open_emulating_gateway(tmp_path, documents) as gateway:
        created = await open_berry(gateway)
        async with gateway.client(created.mcp_url, mode) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("remember", {"word": "a"})
    assert [mark_of(t.meta) for t in tools] == [None, None]
    assert mark_of(result.meta) is None
    assert "offline" not in result.model_dump_json()


@ways
async def test_a_mark_joins_what_the_documents_say_of_a_tool(tmp_path: Path, mode: str) -> None:
    extra = {"title": "Remember", "_meta": {"dev.example/colour": "red"}}
    tool = spec("remember", {}, []).model_copy(update={"extra": extra})
    documents = FakeDocuments(document("berry", tool))
    async with (
        open_emulating_gateway(tmp_path, documents) as gateway,
        gateway.client("/servers/berry/mcp", mode) as client,
    ):
        [shown] = (await client.list_tools()).tools
    assert shown.title == "Remember"
    assert shown.meta == {"dev.example/colour": "red", EMULATOR_KEY: "offline"}


@ways
async def test_what_is_made_up_is_not_among_the_tools_of_all_servers(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(*(document(f"d{n}") for n in range(200)))
    async with (
        open_emulating_gateway(tmp_path, documents, Desk("apple")) as gateway,
        gateway.client("/mcp", mode) as client,
    ):
        tools = (await client.list_tools()).tools
        assert all(t.name.startswith("apple__") for t in tools)
        assert [mark_of(t.meta) for t in tools] == [None] * len(tools)
    assert documents.loads == []


async def test_emulated_servers_are_listed_with_who_answers_and_no_document_is_read(
    tmp_path: Path,
) -> None:
    documents = FakeDocuments(document("berry"), document("cherry", spec("only", {}, [])))
    async with open_emulating_gateway(tmp_path, documents, Desk("apple")) as gateway:
        listed = {s.name: s for s in await gateway.control.servers()}
        metrics = (await gateway.control.metrics()).decode()
    assert list(listed) == ["apple", "berry", "cherry"]
    berry = listed["berry"]
    assert (berry.kind, berry.emulator, berry.tools) == (ServerKind.EMULATOR, "offline", 2)
    assert berry.version == documents.held["berry"].version
    assert berry.mcp_url == f"{gateway.url}/servers/berry/mcp"
    assert (listed["cherry"].tools, listed["apple"].emulator) == (1, None)
    assert 'astra_mcp_upstream_up{server="apple"}' in metrics
    assert 'astra_mcp_upstream_up{server="berry"}' not in metrics
    assert documents.loads == []


@ways
async def test_a_removed_server_is_unknown_and_another_version_begins_anew(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(document("berry"))
    async with open_emulating_gateway(tmp_path, documents) as gateway:
        url = f"{gateway.url}/servers/berry/mcp"
        async with gateway.client("/servers/berry/mcp", mode) as client:
            await client.call_tool("remember", {"word": "before"})
            again = spec("remember", {"word": {"type": "string"}}, ["word"])
            documents.publish(document("berry", again, spec("added", {}, [])))
            assert [t.name for t in (await client.list_tools()).tools] == ["remember", "added"]
            result = await client.call_tool("remember", {"word": "after"})
            assert '"words": ["after"]' in text_of(result)
        documents.withdraw("berry")
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert answer.status_code == 404
    assert "no server is named 'berry'" in answer.text


async def test_an_episode_goes_on_with_the_documents_that_it_began_with(tmp_path: Path) -> None:
    documents = FakeDocuments(document("berry"))
    async with open_emulating_gateway(tmp_path, documents) as gateway:
        created = await open_berry(gateway)
        async with gateway.client(created.mcp_url, MODERN) as client:
            await client.call_tool("remember", {"word": "before"})
            documents.publish(document("berry", spec("other", {}, [])))
            result = await client.call_tool("remember", {"word": "after"})
            assert '"words": ["before", "after"]' in text_of(result)
        record = await gateway.control.record(created.id)
    assert [call.origin for call in record.calls] == ["tool", "tool"]


async def test_a_state_whose_emulator_is_another_by_now_begins_anew_and_is_marked_with_it(
    tmp_path: Path,
) -> None:
    documents = FakeDocuments(document("berry"))
    offline, model = FakeEmulator(), FakeEmulator(kind=EmulatorKind.MODEL)
    results: list[Any] = []
    for emulator, other in ((offline, model), (model, offline)):
        opening = open_emulating_gateway(tmp_path, documents, emulator=emulator, further=[other])
        async with opening as gateway:
            url = f"{gateway.url}/servers/berry/mcp?caller=ann"
            results.append(await post(url, "tools/call"))
    assert [result["_meta"][EMULATOR_KEY] for result in results] == ["offline", "model"]
    assert ['"words": ["apple"]' in result["content"][0]["text"] for result in results] == [
        True
    ] * 2
    assert [len(each.states) for each in (offline, model)] == [1, 1]


async def test_an_episode_keeps_the_emulator_that_it_began_with(tmp_path: Path) -> None:
    documents = FakeDocuments(document("berry"))
    offline, model = FakeEmulator(), FakeEmulator(kind=EmulatorKind.MODEL)
    async with open_emulating_gateway(
        tmp_path, documents, emulator=offline, further=[model]
    ) as gateway:
        created = await open_berry(gateway)
    async with open_emulating_gateway(
        tmp_path, documents, emulator=model, further=[offline]
    ) as gateway:
        path = created.mcp_url.removeprefix(f"http://{httpx.URL(created.mcp_url).netloc.decode()}")
        async with gateway.client(path, MODERN) as client:
            await client.call_tool("remember", {"word": "a"})
        record = await gateway.control.record(created.id)
    assert [call.emulator for call in record.calls] == [EmulatorKind.OFFLINE]
    assert model.states == []


async def test_a_model_that_fails_is_a_failure_of_the_server_and_of_its_episode(
    tmp_path: Path,
) -> None:
    emulator = FakeEmulator(fault=ModelError("the model is away", ModelFault.UNREACHABLE))
    documents = FakeDocuments(document("berry"))
    async with open_emulating_gateway(tmp_path, documents, emulator=emulator) as gateway:
        created = await open_berry(gateway)
        async with gateway.client(created.mcp_url, MODERN) as client:
            result = await client.call_tool("remember", {"word": "x"})
            assert result.is_error
            assert "model" not in text_of(result)
            assert "emulat" not in text_of(result)
        state = await gateway.control.episode(created.id)
    assert (state.status, state.reward) == ("failed", None)
    assert state.failure is not None
    assert state.failure.boundary == "upstream"
    assert "the emulator of berry failed: the model is away" in state.failure.message


async def test_callers_of_an_endpoint_share_nothing_however_many_there_are(tmp_path: Path) -> None:
    documents = FakeDocuments(document("berry"))
    texts: dict[str, str] = {}
    async with open_emulating_gateway(tmp_path, documents) as gateway:

        async def call(caller: str) -> None:
            url = f"{gateway.url}/servers/berry/mcp?caller={caller}"
            texts[caller] = (await post(url, "tools/call"))["content"][0]["text"]

        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(call, f"caller{n}")
    assert len(texts) == 20
    assert all('"words": ["apple"]' in text for text in texts.values())
    assert documents.loads == ["berry"]
