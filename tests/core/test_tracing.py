"""How traces are switched on, and how they travel in ``_meta``."""

import os
import subprocess
import sys
from collections.abc import Generator

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from astra_mcp.errors import ConfigError
from astra_mcp.tracing import (
    client_span,
    context_of,
    current_trace_id,
    inject,
    open_tracing,
    tracer,
    tracing_to,
)
from astra_mcp.types import JsonObject

from otlp_collector import Collector, open_collector

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def spans() -> Generator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with tracing_to(provider):
        yield exporter
    provider.shutdown()


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    ],
)
def test_tracing_is_off_where_no_variable_asks_for_it_and_where_one_switches_it_off(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with open_tracing() as is_on:
        assert (is_on, tracer(), current_trace_id()) == (False, None, None)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER=zipkin"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], named: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=named), open_tracing():
        pass


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(ConfigError, match="extra 'otel'"), open_tracing():
        pass


def test_importing_the_gateway_does_not_import_the_sdk() -> None:
    code = (
        "import sys, gateway.edge.tracing, gateway.api.client\n"
        "print([m for m in sys.modules if m.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_valid_parent_is_read_with_its_state_and_baggage() -> None:
    found = context_of(
        {"traceparent": PARENT, "tracestate": "a=b", "baggage": "who=me", "other": 1}
    )
    span = trace.get_current_span(found).get_span_context()
    assert trace.format_trace_id(span.trace_id) == TRACE
    assert span.trace_state.get("a") == "b"
    assert baggage.get_baggage("who", found) == "me"


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"traceparent": 5},
        {"traceparent": ["x"]},
        {"traceparent": None},
        {"traceparent": "00-zz-zz-01"},
        {"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"},
        {"traceparent": PARENT + "x" * 1000},
        {"baggage": "who=me"},
        {"tracestate": "a=b"},
    ],
)
def test_what_is_no_parent_is_none(meta: JsonObject) -> None:
    assert context_of(meta) is None


def test_the_callers_own_context_is_passed_on_where_tracing_is_off() -> None:
    meta: JsonObject = {}
    with client_span("tools/call", "add", meta):
        pass
    assert meta == {}
    token = context.attach(context_of({"traceparent": PARENT}) or context.Context())
    try:
        with client_span("tools/call", "add", meta):
            pass
    finally:
        context.detach(token)
    assert meta["traceparent"] == PARENT


def test_the_client_makes_a_span_and_names_it_in_the_request(spans: InMemorySpanExporter) -> None:
    meta: JsonObject = {"mine": 1}
    with client_span("tools/call", "add", meta):
        trace_id = current_trace_id()
    (span,) = spans.get_finished_spans()
    assert (span.name, span.kind) == ("tools/call add", trace.SpanKind.CLIENT)
    assert span.context is not None
    sent = str(meta["traceparent"]).split("-")
    assert sent[1:3] == [trace_id, trace.format_span_id(span.context.span_id)]
    assert meta["mine"] == 1


def test_an_error_marks_the_clients_span_with_its_kind_and_not_its_text(
    spans: InMemorySpanExporter,
) -> None:
    with pytest.raises(ValueError, match="secret"), client_span("tools/call", "add", {}):
        raise ValueError("secret")
    (span,) = spans.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert "secret" not in span.to_json()


def test_injecting_outside_of_any_trace_adds_nothing() -> None:
    meta: JsonObject = {}
    inject(meta)
    assert meta == {}


# --- a real collector ---------------------------------------------------------------------------


@pytest.fixture
def collector() -> Generator[Collector]:
    with open_collector() as opened:
        yield opened


def test_the_last_spans_reach_the_collector_before_the_end(
    monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    with open_tracing(worker=3) as is_on:
        assert is_on
        with client_span("tools/call", "add", {}):
            trace_id = current_trace_id()
    assert tracer() is None
    resource, (span,) = collector.resource()
    assert (resource["service.name"], resource["astra_mcp.worker"]) == ("astra-mcp", 3)
    assert (span.name, span.trace_id.hex()) == ("tools/call add", trace_id)


@pytest.mark.parametrize(
    "variable", ["OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=service.name=mine"]
)
def test_a_service_name_of_the_user_holds(
    monkeypatch: pytest.MonkeyPatch, collector: Collector, variable: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/v1/traces")
    monkeypatch.setenv(*variable.split("=", 1))
    with open_tracing(), client_span("tools/call", "add", {}):
        pass
    assert collector.resource()[0]["service.name"] == "mine"


def test_the_console_exporter_writes_to_standard_error_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    with open_tracing(), client_span("tools/call", "add", {}):
        pass
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "tools/call add" in printed.err
