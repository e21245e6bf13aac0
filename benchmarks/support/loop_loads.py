"""Kinds of load that could make a step of a gateway's event loop long; each is a round of requests.

A round makes no more requests at once than a few, so that what is long is one step and not many short ones.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import orjson
from loop_bench import BATCH, ENVIRONMENT, MANY_TOOLS, STDIO, LoopBench, request_of

from gateway.api.client import RefusedError
from gateway.api.wire import EpisodeCreated

__all__ = ["LOADS", "Load", "Workers", "open_workers"]

Load = Callable[[LoopBench], Awaitable[None]]

_SOURCE = {"kind": "environment", "name": ENVIRONMENT}
_MIB = 1 << 20
_UNITS = (
    "a+",
    "2025年1月",
    "-7kg ",
    "1e9",
    "14 Mar. ",
    "Rolf ",
    "\uff17\uff13",
    "K\u0301\u0301",
    "plain words ",
)
"""Texts that are costly to look for an answer in, and plain ones, repeated."""
WORK_SECONDS = 0.1
"""Between two calls of an episode at work."""


async def _opened(bench: LoopBench, source: Mapping[str, object] = _SOURCE) -> EpisodeCreated:
    return await bench.control.create_episode(request_of(source))


async def _closed(bench: LoopBench, *episodes: EpisodeCreated) -> None:
    for episode in episodes:
        await bench.control.close_episode(episode.id)


async def hostile_texts(bench: LoopBench) -> None:
    """Arguments and results within their bounds that are made to be costly."""
    episode = await _opened(bench)
    agent = bench.agent(episode)
    for unit in _UNITS:
        size = len(orjson.dumps(unit)) - 2
        await agent.call("echo", {"text": unit * (120_000 // size)})
        await agent.call("fill", {"unit": unit, "times": (_MIB - 4096) // size // 2})
    await agent.call("rows", {"number": 9_000})
    await _closed(bench, episode)


async def bodies(bench: LoopBench) -> None:
    """Bodies as large, and of as many parts, as the gate lets through."""
    episode = await _opened(bench)
    places = (bench.path_of(episode), f"/servers/{ENVIRONMENT}/mcp")
    arguments: tuple[Mapping[str, Any], ...] = (
        {"text": "x" * 4_000_000},
        {"text": '\\"[' * 600_000},
        {"text": "x", **{f"key {n} {'k' * 800}": n for n in range(4_800)}},
        {"text": "x", "more": [[] for _ in range(9_900)]},
        {"text": "x", "more": {f"k{n}": f"v{n}" for n in range(4_900)}},
        {"text": [{"a": [1.5, None, "x" * 90]} for _ in range(1_600)]},
    )
    for place in places:
        for given in arguments:
            params = {"name": "echo", "arguments": given}
            await bench.post_mcp(place, "tools/call", params, expected=(200, 400))
        meta = {f"k{n}": n for n in range(4_900)}
        params = {"name": "echo", "arguments": {"text": "x"}, "_meta": meta}
        await bench.post_mcp(place, "tools/call", params, expected=(200, 400))
    many = {f"k{n}": {"n": n} for n in range(2_400)}
    for wrong in (
        {"source": _SOURCE, "labels": {f"k{n}": "x" for n in range(4_900)}},
        {"source": _SOURCE, **many},
        {"source": {"kind": "servers", "names": [f"s{n}" for n in range(9_000)]}},
        {"source": _SOURCE, "labels": {"a": "x" * 4_000_000}},
    ):
        body = orjson.dumps(wrong)
        await bench.send("POST", "/v1/episodes", body, expected=(404, 422))
    await _closed(bench, episode)


async def batches(bench: LoopBench) -> None:
    """The largest batch, opened and closed; and batches that are refused."""
    labels = {f"label {n}": "a word or two" for n in range(12)}
    made = await bench.control.create_episodes([request_of(_SOURCE, labels=labels)] * BATCH)
    await bench.control.close_episodes([episode.id for episode in made])
    wrong = orjson.dumps([{"source": _SOURCE, **{f"k{n}": n for n in range(30)}}] * BATCH)
    await bench.send("POST", "/v1/episodes:batch", wrong, expected=(422,))
    unknown = [*[request_of(_SOURCE)] * (BATCH - 1), request_of({**_SOURCE, "name": "no-such"})]
    try:
        await bench.control.create_episodes(unknown)
    except RefusedError:
        return
    bench.count_fault("a batch of which one names nothing was opened")


async def restores(bench: LoopBench) -> None:
    """An episode of 1,000 calls that is read back, rebuilt by its next call, and closed."""
    id = await anyio.to_thread.run_sync(bench.write_record, 1_000)
    await bench.send("GET", f"/v1/episodes/{id}")
    params = {"name": "echo", "arguments": {"text": "again"}}
    await bench.post_mcp(f"/episodes/{id}/mcp", "tools/call", params)
    await bench.send("DELETE", f"/v1/episodes/{id}")


async def long_records(bench: LoopBench) -> None:
    """The record of very many calls, read whole."""
    await bench.send("GET", f"/v1/episodes/{bench.long_episode}/record")


async def lists(bench: LoopBench) -> None:
    """Lists of thousands of episodes, and pages of environments and servers."""
    await bench.send("GET", "/v1/episodes")
    await bench.send("GET", "/v1/environments?limit=1000")
    await bench.send("GET", "/v1/servers")
    await bench.send("GET", "/v1/workers")
    await bench.send("GET", "/v0.1/servers?limit=100")
    await bench.send("GET", "/v0.1/servers?limit=100&search=costly")
    await bench.send("GET", "/metrics")
    await bench.send("GET", "/openapi.json")
    await bench.send("GET", "/readyz")


async def garbage(bench: LoopBench) -> None:
    """Sessions of the handshake era that nobody ends, and requests that leave exceptions."""
    episode = await _opened(bench)
    place = bench.path_of(episode)
    accept = {"Accept": "application/json, text/event-stream"}
    client = {"name": "bench", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    for _ in range(40):
        answer = await bench.send("POST", place, body, accept)
        session = answer.headers.get("mcp-session-id", "")
        fields = {**accept, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        note = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await bench.send("POST", place, note, fields, expected=(202,))
        await bench.send("POST", place, b"{", fields, expected=(400,))
    await _closed(bench, episode)


async def deployed(bench: LoopBench) -> None:
    """Large results and arguments of a server over stdio, and the start of its process."""
    episode = await _opened(bench, {"kind": "servers", "names": [STDIO]})
    agent = bench.agent(episode)
    for unit in _UNITS:
        size = len(orjson.dumps(unit)) - 2
        await agent.call("echo", {"text": unit * (120_000 // size)})
    await _closed(bench, episode)
    params = {"name": "echo", "arguments": {"text": "x" * 900_000}}
    await bench.post_mcp(f"/servers/{STDIO}/mcp", "tools/call", params)


async def tools(bench: LoopBench) -> None:
    """Lists of thousands of tools, and searches in them."""
    await bench.post_mcp(f"/servers/{MANY_TOOLS}/mcp", "tools/list", {})
    await bench.post_mcp("/mcp", "tools/list", {})
    for query in ("echo", "the text of " * 80, "说" * 900):
        found = {"name": "search_tools", "arguments": {"query": query, "limit": 50}}
        await bench.post_mcp("/mcp", "tools/call", found)
    episode = await _opened(bench, {"kind": "servers", "names": [MANY_TOOLS]})
    await bench.agent(episode).list_tools()
    await bench.send("GET", f"/v1/episodes/{episode.id}/record")
    await _closed(bench, episode)


class Workers:
    """Episodes at work: small calls, with a short pause after each."""

    def __init__(self, episodes: Sequence[EpisodeCreated]) -> None:
        self.calls = 0
        self._episodes = episodes

    async def run(self, bench: LoopBench) -> None:
        """Call until cancelled."""
        async with anyio.create_task_group() as group:
            for episode in self._episodes:
                group.start_soon(self._work, bench, episode)
                await anyio.sleep(WORK_SECONDS / len(self._episodes))

    async def _work(self, bench: LoopBench, episode: EpisodeCreated) -> None:
        agent = bench.agent(episode)
        for number in itertools.count():
            answer = await agent.call("echo", {"text": f"call {number}"})
            if answer.text != f"call {number}":
                bench.count_fault("a call of an episode at work was answered wrongly")
            self.calls += 1
            await anyio.sleep(WORK_SECONDS)


async def open_workers(bench: LoopBench, number: int) -> Workers:
    """Open episodes for work."""
    return Workers(await bench.control.create_episodes([request_of(_SOURCE)] * number))


LOADS: Mapping[str, Load] = {
    "hostile texts": hostile_texts,
    "large bodies": bodies,
    "batches of 1,024": batches,
    "restores of 1,000 calls": restores,
    "long records": long_records,
    "lists": lists,
    "garbage": garbage,
    "deployed over stdio": deployed,
    "thousands of tools": tools,
}
