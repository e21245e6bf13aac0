"""The servers: a list to choose from, one of them with what became of its calls, and calls by hand."""

import re
from collections.abc import AsyncGenerator, Collection, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import UpstreamError
from astra_mcp.pipeline import ItemStatus, Outcome, StoredItem
from astra_mcp.serving.pages.graph import MAX_ARROWS, MAX_NODES, draw_tools
from astra_mcp.serving.pages.servers import transitions
from astra_mcp.serving.pages.servers.figures import WorkerFigures
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, FoundChain, ToolRef
from astra_mcp.synthesis.trajectories.chains.graph import transition_graph
from astra_mcp.synthesis.trajectories.chains.offline import OfflineChains
from astra_mcp.synthesis.trajectories.chains.proposing import Proposal, ProposalGate, Proposing
from astra_mcp.synthesis.trajectories.chains.walking import Walking
from astra_mcp.testing import InMemoryCatalog, InMemoryServer
from astra_mcp.types import JsonObject, ServerKind, ServerStatus, ToolSpec
from gateway.edge.metrics import Metrics
from registry.store.items import DatabaseItemStore

from shown_gateway import SCRIPT, ShownGateway, curse, open_shown_gateway, shout, weigh, words_of

WIDE = "w" * 10_000_000 + SCRIPT
KEY = {"Authorization": "Bearer the control key of a test"}


class UnseenServer(InMemoryServer):
    """Tells its tools when it is asked for the first time, or says why it cannot."""

    def __init__(self, name: str, *, fault: str = "") -> None:
        super().__init__(name, weigh)
        self._tools, self.tools = self.tools, ()
        self._fault = fault
        self.status = (ServerStatus.UNKNOWN, "")
        self.looks = 0

    async def prepare(self) -> None:
        self.looks += 1
        if self._fault:
            self.status = (ServerStatus.FAILED, self._fault)
            raise UpstreamError(self._fault)
        self.tools, self.status = self._tools, (ServerStatus.READY, "")


def wide_server() -> InMemoryServer:
    """A server whose one tool is ten million characters wide, in every place."""
    server = InMemoryServer("wide", weigh)
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"] = {f"a{n}": {"description": SCRIPT * 100} for n in range(2000)}
    schema["properties"]["b"] = {"description": WIDE}
    server.tools = (ToolSpec(name="北京" * 60, description=WIDE, input_schema=schema),)
    return server


@pytest.fixture(scope="module")
async def harbour(
    anyio_backend: str, tmp_path_factory: pytest.TempPathFactory, migrated: Path
) -> AsyncGenerator[ShownGateway]:
    """A gateway with servers of every kind."""
    catalog = InMemoryCatalog(
        InMemoryServer("harbour", weigh, shout),
        InMemoryServer("mcp", weigh),
        InMemoryServer("awful", curse),
        wide_server(),
        UnseenServer("unseen"),
        UnseenServer("broken", fault=f"no program {SCRIPT}"),
        InMemoryServer("played", weigh, kind=ServerKind.ENVIRONMENT),
    )
    home = tmp_path_factory.mktemp("harbour")
    async with open_shown_gateway(catalog, home, migrated) as opened:
        yield opened


def names_in(page: str) -> list[str]:
    """The servers that a list shows."""
    return re.findall(r'<a href="/servers/([^"/?]+)"><code>', page)


async def called(shown: ShownGateway, server: str, *calls: Mapping[str, str]) -> None:
    """Call ``weigh`` of a server in an episode of its own."""
    source = {"kind": "servers", "names": [server]}
    made = await shown.stranger.post("/v1/episodes", json={"source": source}, headers=KEY)
    episode = await shown.episodes.get(made.json()["id"])
    for arguments in calls:
        await episode.call("weigh", dict(arguments))


async def test_a_list_takes_filters_and_tells_what_became_of_calls(harbour: ShownGateway) -> None:
    await called(harbour, "harbour", {"ship": "Alma"}, {}, {"ship": "Bo"})
    page = await harbour.page("/servers")
    assert names_in(page) == ["awful", "broken", "harbour", "mcp", "played", "unseen", "wide"]
    row = words_of(page[page.index(">harbour<") : page.index(">mcp<")]).split()
    assert row[1:4] == ["deployed", "ready", "2"]
    assert row[4:8] == ["3", "1", "(33.3", "%)"]
    assert names_in(await harbour.page("/servers?kind=environment")) == ["played"]
    assert names_in(await harbour.page("/servers?q=HARB&status=ready&page=9")) == ["harbour"]
    assert names_in(await harbour.page("/servers?q=none")) == []
    hostile = await harbour.page("/servers?kind=%22%3E%3Cscript%3E")
    assert 'role="alert"' in hostile
    assert "<script>" not in hostile


async def test_a_server_shows_its_tools_and_its_calls_as_bars_with_numbers(
    harbour: ShownGateway,
) -> None:
    await called(harbour, "harbour", {"ship": "Alma"}, {})
    page = await harbour.page("/servers/harbour")
    assert "Say how heavy a ship is." in page
    assert "<code>loud</code>" in page
    bars = re.findall(r'<th scope="row">(up to [^<]+)</th><td class="number">([\d,]+)</td>', page)
    strip = re.search(r"<dt>calls</dt><dd>([\d,]+)</dd>", page)
    assert strip is not None
    assert sum(int(count) for _, count in bars) == int(strip[1]) >= 2
    assert re.search(r'<th scope="row">the tool</th><td class="number">\d', page)
    assert "since the gateway started" in words_of(page)
    assert (await harbour.browser.get("/servers/harbor")).status_code == 404
    assert "harbour" in await harbour.page("/servers/harbor", code=404)


async def test_the_page_of_a_server_of_any_name_is_none_of_the_agents_addresses(
    harbour: ShownGateway,
) -> None:
    assert "<h1><code>mcp</code></h1>" in await harbour.page("/servers/mcp")
    for path in ("/servers/mcp/mcp", "/servers/harbour/mcp", "/servers/mcp/mcp/"):
        scope = {"type": "http", "path": path, "headers": [(b"accept", b"text/html")]}
        assert harbour.app.owns(scope) is path.endswith("/")
    ping: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
    accepts = {"Accept": "application/json, text/event-stream"}
    answer = await harbour.stranger.post("/servers/mcp/mcp", json=ping, headers=accepts)
    assert answer.json()["jsonrpc"] == "2.0"


async def test_a_look_at_a_page_starts_no_server_and_a_form_does(harbour: ShownGateway) -> None:
    page = await harbour.page("/servers/unseen")
    assert "Nobody has asked this server for its tools yet" in page
    assert 'name="tool"' not in page
    assert (await harbour.send("/servers/unseen/look")).headers["location"] == "/servers/unseen"
    assert 'name="tool"' in await harbour.page("/servers/unseen")
    refused = await harbour.send("/servers/broken/look")
    assert refused.status_code == 502
    assert SCRIPT in words_of(refused.text)
    assert SCRIPT in words_of(await harbour.page("/servers/broken"))
    assert "<script>" not in await harbour.page("/servers/broken")


async def test_a_tool_of_a_real_server_is_called_by_hand_after_a_word_that_it_acts(
    harbour: ShownGateway,
) -> None:
    page = await harbour.page("/servers/harbour")
    assert "This server is real" in page
    assert 'name="acts" value="yes" required' in page
    before = harbour.episodes.count_open()
    refused = await harbour.send("/servers/harbour/play", tool="weigh")
    assert refused.status_code == 422
    assert "real server" in refused.text
    assert harbour.episodes.count_open() == before
    opened = await harbour.send("/servers/harbour/play", tool="weigh", acts="yes")
    path, _, query = opened.headers["location"].partition("/play?")
    assert query == "tool=weigh"
    shown = await harbour.page(f"{path}/play?{query}")
    assert '<details class="tool" open><summary><code>weigh</code>' in shown
    assert "This server is real" in shown
    assert "<dt>reward</dt>" not in shown
    form = {"tool": "weigh", "argument:ship": "Alma"}
    assert (await harbour.send(f"{path}/calls", **form)).status_code == 303
    assert "The Alma weighs 300 tons." in await harbour.page(f"{path}/play")
    state = await harbour.episodes.state(EpisodeId(path.removeprefix("/episodes/")))
    assert state.labels == {"played": "by hand"}
    assert (await harbour.send(f"{path}/close")).status_code == 303


async def test_a_server_that_acts_on_nothing_is_called_without_that_word(
    harbour: ShownGateway,
) -> None:
    page = await harbour.page("/servers/played")
    assert "This server is real" not in page
    opened = await harbour.send("/servers/played/play", tool="weigh", seed="7")
    assert opened.status_code == 303
    wrong = await harbour.send("/servers/played/play", tool="weigh", seed="x")
    assert wrong.status_code == 422
    assert (await harbour.send("/servers/none/play")).status_code == 404


async def test_an_episode_of_several_servers_that_was_opened_to_be_played_has_its_page(
    harbour: ShownGateway,
) -> None:
    asked = {
        "source": {"kind": "servers", "names": ["harbour", "mcp"]},
        "labels": {"played": "by hand"},
    }
    made = await harbour.stranger.post("/v1/episodes", json=asked, headers=KEY)
    page = await harbour.page(f"/episodes/{made.json()['id']}/play")
    assert "Call tools of harbour, mcp" in page


async def test_what_others_wrote_breaks_no_page_of_a_server(harbour: ShownGateway) -> None:
    for name in ("awful", "wide"):
        page = await harbour.page(f"/servers/{name}")
        assert len(page) < 100_000
        assert "<script>" not in page
        assert "<img" not in page
        assert not set(page) & {"\x1b", "\u202e", "\u2066"}
    whole = await harbour.browser.get("/servers/wide/tools/0")
    assert whole.headers["content-type"] == "application/json"
    assert whole.json()["description"] == WIDE
    assert (await harbour.browser.get("/servers/wide/tools/1")).status_code == 404


# --- figures of several workers ----------------------------------------------------------------------


class FakeOtherWorkers:
    """Two workers: one tells its metrics, one does not answer."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def metrics_of_others(self, servers: Collection[str] = ()) -> Mapping[int, bytes | None]:
        return {1: self._metrics.render(servers), 2: None}


def count(metrics: Metrics, *calls: tuple[str, float, bool]) -> None:
    """Count calls of the server ``harbour``: their origins, their milliseconds, whether they are errors."""
    for n, (origin, ms, is_error) in enumerate(calls):
        metrics.write(EpisodeId("a" * 32), {"event": "call_started", "n": n, "server": "harbour"})
        told = {"origin": origin, "latency_ms": ms, "result": {"is_error": is_error}}
        metrics.write(EpisodeId("a" * 32), {"event": "call_finished", "n": n, **told})


async def test_figures_are_joined_of_all_workers_that_answer() -> None:
    own, other = Metrics(), Metrics()
    count(own, ("tool", 1.0, False), ("tool", 4.0, True))
    count(other, ("tool", 4.0, False), ("upstream", 70_000.0, True), ("tool", 4.5, True))
    figures = WorkerFigures(own, FakeOtherWorkers(other))
    servers = [InMemoryServer(name, weigh) for name in ("harbour", "quiet")]
    found, since = await figures.of(servers)
    harbour, quiet = found["harbour"], found["quiet"]
    assert (harbour.calls, harbour.errors, harbour.half_within) == (5, 3, "up to 5 ms")
    assert [(each.origin, sum(each.counts), each.errors) for each in harbour.times] == [
        *(("tool", 4, 2), ("upstream", 1, 1)),
    ]
    assert [(bar.words, bar.calls) for bar in harbour.bars if bar.calls] == [
        *(("up to 1 ms", 1), ("up to 5 ms", 3), ("over 60 s", 1)),
    ]
    assert (quiet.calls, quiet.bars, quiet.half_within) == (0, (), "")
    assert (since.workers, since.silent) == (2, [2])
    assert since.at <= datetime.now(UTC)


# --- the graph -----------------------------------------------------------------------------------------


def test_stages_are_named_as_synthesis_names_them() -> None:
    named = (transitions.PROPOSE, transitions.PROPOSAL, transitions.WALK, transitions.OFFLINE)
    assert named == (Proposing.name, ProposalGate.name, Walking.name, OfflineChains.name)


def proposal(n: int, *tools: str, version: str = "v1") -> StoredItem:
    value = Proposal(
        server="harbour", version=version, task="t", tools=tools, is_possible=True, reason=""
    )
    return StoredItem(id=f"harbour/{n}", value=value.model_dump(mode="json"))


def chain(*tools: str, weight: float = 0.5) -> StoredItem:
    steps = tuple(ToolRef(server="harbour", tool=tool) for tool in tools)
    found = FoundChain(
        chain=Chain(steps=steps, origin=ChainOrigin.GRAPH, weight=weight),
        versions={"harbour": "v1"},
    )
    return StoredItem(id="harbour/c", value=found.model_dump(mode="json"))


async def settled(shown: ShownGateway, run: str, stage: str, item: str, *made: StoredItem) -> None:
    done = Outcome(item=item, input_hash="h", status=ItemStatus.FINISHED, outputs=made)
    await DatabaseItemStore(shown.database).save(run, stage, done)


async def test_a_graph_is_that_of_synthesis_with_its_weights_and_chains(
    harbour: ShownGateway,
) -> None:
    assert "astra-mcp synth tasks --server mcp" in words_of(await harbour.page("/servers/mcp"))
    chains = [("weigh", "shout"), ("weigh", "shout", "weigh"), ("shout", "shout")]
    proposals = [proposal(n, *tools) for n, tools in enumerate(chains)]
    await settled(harbour, "tasks", "propose", "harbour", *proposals, proposal(9, "weigh", "none"))
    for each in proposals:  # the last one was refused
        await settled(harbour, "tasks", "proposal", each.id, each)
    await settled(harbour, "tasks", "walk", "harbour", chain("weigh", "shout", weight=0.25))
    await settled(harbour, "by types", "offline_chains", "harbour", chain("shout", "weigh"))
    found = await transitions.read_graph(harbour.database, "harbour", ["weigh", "shout", "x"], None)
    assert found is not None
    graph = transition_graph(["weigh", "shout"], chains)
    wanted = {(begin, end, data["weight"]) for begin, end, data in graph.edges(data=True)}
    assert set(found.graph.transitions) == wanted
    assert (found.run, found.runs, found.is_proposed) == ("tasks", ["by types", "tasks"], True)
    assert found.graph.alone == ["x"]
    page = await harbour.page("/servers/harbour")
    assert page.count('class="node') == 2
    assert page.count("marker-end") == len(wanted)
    assert "The documents have changed since." in page
    assert re.search(r"<li><code>weigh</code>.*<code>shout</code> <span[^>]*>0\.250</span>", page)
    by_types = await harbour.page("/servers/harbour?run=by+types")
    assert "made of types alone" in by_types
    assert by_types.count("marker-end") == 1


async def test_what_is_damaged_in_the_registry_is_said_and_the_rest_is_shown(
    harbour: ShownGateway,
) -> None:
    await settled(harbour, "torn", "offline_chains", "awful", StoredItem(id="x", value={"a": 1}))
    page = await harbour.page("/servers/awful")
    assert "is damaged" in page
    assert "<code>curse</code>" in page


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 90), st.integers(0, 90)).map(lambda p: (f"t{p[0]}", f"t{p[1]}")),
        st.integers(1, 50),
        max_size=400,
    )
)
def test_a_drawing_of_tools_is_bounded_and_loses_none(weights: dict[tuple[str, str], int]) -> None:
    tools = [f"t{n}" for n in range(80)]
    graph = draw_tools(tools, weights)
    nodes = () if graph.drawing is None else graph.drawing.nodes
    drawn = [str(node.key) for node in nodes]
    assert len(drawn) <= MAX_NODES
    assert len(graph.transitions) <= MAX_ARROWS
    every = {*tools, *(tool for pair in weights for tool in pair)}
    assert sorted([*drawn, *graph.left_out, *graph.alone]) == sorted(every)
    assert all(weights[begin, end] == weight for begin, end, weight in graph.transitions)
    assert all(one >= other for (_, _, one), (_, _, other) in pairwise(graph.transitions))
    if graph.drawing is not None:
        places = {(node.x, node.y) for node in nodes}
        assert len(places) == len(nodes)
        assert all(x + graph.drawing.node_width <= graph.drawing.width for x, _ in places)
        assert all(y + graph.drawing.node_height <= graph.drawing.height for _, y in places)
        assert {arrow.heaviness for arrow in graph.drawing.arrows} <= {1, 2, 3, 4}
