"""One trace from a client through the gateway to a real server, and what the spans and metrics say."""

import json
import re
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from astra_mcp.tracing import tracing_to
from astra_mcp.types import JsonObject
from gateway.api.client import CallRefusedError, EpisodeClient, GatewayClient
from gateway.api.wire import EpisodeRequest

from by_hand import PREFIX, modern_request
from metric_samples import samples_of
from otlp_collector import attributes_of, open_collector
from watched_upstream import HarbourGateway, WatchedUpstream, open_harbour, write_servers

TRACE = "0af7651916cd43dd8448eb211c80319c"
DOCS = Path(__file__).parents[3] / "docs" / "observability.md"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
async def deployed(tmp_path: Path) -> AsyncIterator[HarbourGateway]:
    """A gateway over the upstream."""
    async with open_harbour(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def upstream(deployed: HarbourGateway) -> WatchedUpstream:
    """What the gateway calls ``harbour``."""
    return deployed.upstream


class Spans:
    """What was traced."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def of_call(self) -> tuple[ReadableSpan, ReadableSpan, ReadableSpan | None]:
        """The spans of the one call: the gateway's, its server's, and the client's."""
        found = self.exporter.get_finished_spans()
        [own] = [s for s in found if s.kind is trace.SpanKind.SERVER]
        below = [s for s in found if s.parent and s.parent.span_id == id_of(own)]
        above = [s for s in found if own.parent and id_of(s) == own.parent.span_id]
        assert len(found) == 1 + len(below) + len(above)
        return own, below[0], above[0] if above else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return trace.format_trace_id(span.context.trace_id)


@pytest.fixture
def spans() -> Generator[Spans]:
    made = Spans()
    with tracing_to(made.provider):
        yield made
    made.provider.shutdown()


async def post_call(
    gateway: HarbourGateway,
    url: str,
    *,
    asking: bool,
    meta: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    """Call ``look`` by hand: plainly, or as a client that can be asked and told on the way."""
    asked_too: JsonObject = {f"{PREFIX}clientCapabilities": {"sampling": {}}, "progressToken": 1}
    more: JsonObject = {**(asked_too if asking else {}), **(meta or {})}
    request = modern_request("tools/call", {"name": "look", "arguments": {}}, **more)
    request["headers"] |= headers or {}
    answer = await gateway.http.post(url, **request)
    assert answer.status_code == 200, answer.text
    return answer


async def test_one_trace_leads_from_the_client_through_the_gateway_to_the_server(
    deployed: HarbourGateway, upstream: WatchedUpstream, spans: Spans
) -> None:
    created = await deployed.open_episode("harbour")
    result = await deployed.agent(created).call("look", {})
    assert result.text == "a ship"
    own, below, client = spans.of_call()
    assert client is not None
    assert client.kind is below.kind is trace.SpanKind.CLIENT
    assert {trace_of(span) for span in (own, below, client)} == {trace_of(own)}
    assert client.parent is None
    arrived = upstream.calls[0].meta["traceparent"].split("-")
    assert arrived[1:3] == [trace_of(own), trace.format_span_id(id_of(below))]


@pytest.mark.parametrize("asking", [False, True], ids=["hot path", "sdk"])
async def test_a_trace_of_the_clients_own_is_taken_from_meta_before_headers(
    deployed: HarbourGateway, upstream: WatchedUpstream, spans: Spans, asking: bool
) -> None:
    created = await deployed.open_episode("harbour")
    meta = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "who=me"}
    await post_call(
        deployed, created.mcp_url, asking=asking, meta=meta, headers={"traceparent": OTHER}
    )
    own, below, _ = spans.of_call()
    assert own.parent is not None
    assert trace.format_span_id(own.parent.span_id) == PARENT.split("-")[2]
    assert trace_of(own) == trace_of(below) == TRACE
    arrived = upstream.calls[0].meta
    assert arrived["traceparent"].split("-")[1:3] == [TRACE, trace.format_span_id(id_of(below))]
    assert (arrived["tracestate"], arrived["baggage"]) == ("a=b", "who=me")


@pytest.mark.parametrize("asking", [False, True], ids=["hot path", "sdk"])
async def test_a_trace_is_taken_from_headers_where_meta_names_none(
    deployed: HarbourGateway, upstream: WatchedUpstream, spans: Spans, asking: bool
) -> None:
    created = await deployed.open_episode("harbour")
    await post_call(deployed, created.mcp_url, asking=asking, headers={"traceparent": PARENT})
    own, below, _ = spans.of_call()
    assert trace_of(own) == trace_of(below) == TRACE
    assert upstream.calls[0].meta["traceparent"].split("-")[1] == TRACE


@pytest.mark.parametrize("asking", [False, True], ids=["hot path", "sdk"])
async def test_without_tracing_the_clients_trace_still_reaches_the_server(
    deployed: HarbourGateway, upstream: WatchedUpstream, asking: bool
) -> None:
    created = await deployed.open_episode("harbour")
    meta = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "who=me"}
    await post_call(deployed, created.mcp_url, asking=asking, meta=meta)
    await post_call(deployed, created.mcp_url, asking=asking)
    with_trace, without = (heard.meta for heard in upstream.calls)
    assert {key: with_trace[key] for key in meta} == meta
    assert "traceparent" not in without


async def test_a_span_names_the_call_and_holds_neither_its_contents_nor_a_whole_id(
    deployed: HarbourGateway, upstream: WatchedUpstream, spans: Spans
) -> None:
    upstream.answer = "the hidden answer"
    created = await deployed.open_episode("harbour")
    agent = deployed.agent(created)
    await agent.call("look", {"where": "the hidden place"})
    own, below, client = spans.of_call()
    assert client is not None
    assert own.name == below.name == client.name == "tools/call look"
    assert dict(own.attributes or {}) == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "astra_mcp.episode": created.id[:6],
        "astra_mcp.server": "harbour",
        "astra_mcp.origin": "tool",
        "astra_mcp.is_error": False,
    }
    for span in (own, below, client):
        assert span.status.status_code is trace.StatusCode.UNSET
        assert "hidden" not in span.to_json()
        assert created.id not in span.to_json()


async def test_contents_are_traced_where_that_is_switched_on(
    deployed: HarbourGateway, upstream: WatchedUpstream
) -> None:
    made = Spans()
    with tracing_to(made.provider, capture=True):
        await (await deployed.agent_of("harbour")).call("look", {"where": "there"})
    attributes = made.of_call()[0].attributes or {}
    assert attributes["gen_ai.tool.call.arguments"] == '{"where":"there"}'
    assert attributes["gen_ai.tool.call.result"] == upstream.answer


async def test_an_error_of_a_tool_and_a_failure_of_its_server_are_told_apart(
    deployed: HarbourGateway, upstream: WatchedUpstream, spans: Spans
) -> None:
    upstream.is_error = True
    await (await deployed.agent_of("harbour")).call("look", {})
    own, below, _ = spans.of_call()
    attributes = own.attributes or {}
    assert (attributes["error.type"], attributes["astra_mcp.origin"]) == ("tool_error", "tool")
    assert own.status.status_code is trace.StatusCode.ERROR
    assert below.status.status_code is trace.StatusCode.UNSET


async def test_a_failure_names_its_boundary(deployed: HarbourGateway, spans: Spans) -> None:
    agent = await deployed.agent_of("harbour")
    await next(iter(deployed.deployed.upstreams())).aclose()
    result = await agent.call("look", {})
    assert result.is_error
    own, below, _ = spans.of_call()
    attributes = own.attributes or {}
    assert (attributes["error.type"], attributes["astra_mcp.origin"]) == ("upstream", "upstream")
    assert own.status.status_code is trace.StatusCode.ERROR
    assert below.status.status_code is trace.StatusCode.ERROR
    assert (below.attributes or {})["error.type"] == "UpstreamError"


async def test_a_call_of_a_tool_that_is_not_listed_is_traced_without_a_server(
    deployed: HarbourGateway, spans: Spans
) -> None:
    agent = await deployed.agent_of("harbour")
    with pytest.raises(CallRefusedError):
        await agent.call("leap", {})
    [own] = [s for s in spans.exporter.get_finished_spans() if s.kind is trace.SpanKind.SERVER]
    assert (own.attributes or {})["astra_mcp.server"] == ""
    assert own.status.status_code is trace.StatusCode.ERROR


async def test_calls_under_way_at_once_keep_their_traces_apart(
    deployed: HarbourGateway, upstream: WatchedUpstream, spans: Spans
) -> None:
    agents = [await deployed.agent_of("harbour") for _ in range(8)]

    async def look(agent: EpisodeClient) -> None:
        await agent.call("look", {})

    async with anyio.create_task_group() as group:
        for agent in agents:
            group.start_soon(look, agent)
    arrived = [heard.meta["traceparent"].split("-")[1] for heard in upstream.calls]
    assert len(set(arrived)) == 8
    traces: dict[str, int] = {}
    for span in spans.exporter.get_finished_spans():
        traces[trace_of(span)] = traces.get(trace_of(span), 0) + 1
    assert traces == dict.fromkeys(arrived, 3)


# --- metrics ------------------------------------------------------------------------------------


async def samples(gateway: HarbourGateway) -> dict[tuple[str, ...], float]:
    return samples_of(await gateway.control.metrics())


async def test_the_metrics_tell_what_a_deployed_server_uses(deployed: HarbourGateway) -> None:
    agent = await deployed.agent_of("harbour")
    await agent.call("look", {})
    found = await samples(deployed)
    assert found["astra_mcp_calls_total", "tool", "harbour"] == 1
    assert found["astra_mcp_upstream_sessions_open", "harbour"] >= 1
    opened = found["astra_mcp_upstream_sessions_total", "opened", "harbour"]
    closed = found["astra_mcp_upstream_sessions_total", "closed", "harbour"]
    assert opened - closed == found["astra_mcp_upstream_sessions_open", "harbour"]
    assert found["astra_mcp_upstream_up", "harbour"] == 1
    assert ("astra_mcp_upstream_processes", "harbour") not in found


async def test_the_metrics_tell_the_ways_of_requests_and_the_open_sessions(
    deployed: HarbourGateway,
) -> None:
    created = await deployed.open_episode("harbour")
    before = await samples(deployed)
    await post_call(deployed, created.mcp_url, asking=False)
    await post_call(deployed, created.mcp_url, asking=True)
    after = await samples(deployed)
    for way in ("hot", "sdk"):
        name = ("astra_mcp_mcp_requests_total", way)
        assert after[name] - before[name] == 1
    assert after["astra_mcp_mcp_sessions_open",] == 0


async def test_the_series_of_a_server_go_with_it(deployed: HarbourGateway) -> None:
    await (await deployed.agent_of("harbour")).call("look", {})
    assert b'server="harbour"' in await deployed.control.metrics()
    gone = anyio.Event()
    stop = deployed.deployed.watch(lambda _: gone.set())
    write_servers(deployed.file, {})
    with anyio.fail_after(30):
        await gone.wait()
    stop()
    assert b'server="harbour"' not in await deployed.control.metrics()


async def test_every_metric_is_documented_and_every_documented_one_exists(
    deployed: HarbourGateway,
) -> None:
    await (await deployed.agent_of("harbour")).call("look", {})
    families = text_string_to_metric_families((await deployed.control.metrics()).decode())
    found = {f"{f.name}_total" if f.type == "counter" else f.name for f in families}
    documented = set(re.findall(r"\bastra_mcp_[a-z_]+", DOCS.read_text()))
    documented = {name.removesuffix("_bucket") for name in documented} - {"astra_mcp_worker"}
    # One is written in short, one is told of several workers alone, and attributes of spans are none.
    short = {"astra_mcp_episodes_ended_total"}
    elsewhere = {"astra_mcp_worker_up"}
    attributes = {"astra_mcp_episode", "astra_mcp_server", "astra_mcp_origin", "astra_mcp_is_error"}
    ours = {name for name in found if name.startswith("astra_mcp_")}
    assert ours - short == documented - elsewhere - attributes


# --- the process --------------------------------------------------------------------------------


@pytest.mark.system
async def test_a_served_gateway_sends_its_spans_and_logs_json_lines(
    start_serve: Any, counter_bundle: Path, tmp_path: Path
) -> None:
    with open_collector() as collector:
        options = ("--environments", str(counter_bundle), "--log-format", "json", "--verbose")
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        running = start_serve(tmp_path / "home", *options, **variables)
        async with GatewayClient(running.url, running.key) as control:
            source = {"kind": "environment", "name": "purse"}
            created = await control.create_episode(
                EpisodeRequest.model_validate({"source": source})
            )
            agent = EpisodeClient(created.mcp_url, control.http)
            await agent.call("add", {"amount": 1})
        assert running.stop() == 0
        resource, sent = collector.resource()
    assert resource["service.name"] == "astra-mcp"
    own, below = sorted(sent, key=lambda span: span.kind)
    assert {own.name, below.name} == {"tools/call add"}
    assert own.trace_id == below.trace_id
    assert attributes_of(own.attributes)["astra_mcp.server"] == "purse"
    rows = [json.loads(line) for line in running.log.read_text().splitlines()]
    access = [row for row in rows if row["logger"] == "astra_mcp.access"]
    assert [row["episode"] for row in access if "/mcp" in row["message"]] == [created.id[:6]]
    assert created.id not in json.dumps(rows)


def test_a_served_gateway_refuses_an_exporter_that_it_does_not_have(run_serve: Any) -> None:
    done = run_serve("--port", "0", OTEL_TRACES_EXPORTER="jaeger")
    assert done.returncode == 2
    assert "OTEL_TRACES_EXPORTER=jaeger" in done.stderr
    assert "Traceback" not in done.stderr
