"""The spans of a tool call: one for the gateway's own part, and below it one for its server's.

Follows OpenTelemetry's conventions for MCP and for generative AI. A span holds no argument and no result
unless that was switched on, and of an episode's id only the beginning. Where tracing is off, each function
here looks at one variable and makes nothing.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from astra_mcp.mcp.request_context import Exchange
from astra_mcp.tracing import TRACE_KEYS, context_of, is_capturing, mark_error, request_span, tracer
from astra_mcp.types import JsonObject, JsonValue, Origin, ToolResult, canonical_json, is_failure

ID_CHARACTERS = 6
"""So much of an episode's id may stand in a span."""
_NOTHING: Final[AbstractContextManager[None]] = nullcontext()


def call_span(
    episode: str, shown: str, arguments: Mapping[str, JsonValue], exchange: Exchange
) -> AbstractContextManager[None]:
    """Trace one tool call, from its start to its result; the span is current within.

    The span holds the beginning of the episode's id, and stands below one that the ``_meta`` names.
    """
    making = tracer()
    return _NOTHING if making is None else _call_span(making, episode, shown, arguments, exchange)


@contextmanager
def _call_span(
    making: Tracer,
    episode: str,
    shown: str,
    arguments: Mapping[str, JsonValue],
    exchange: Exchange,
) -> Generator[None]:
    attributes = {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": shown,
        "astra_mcp.episode": episode[:ID_CHARACTERS],
    }
    if is_capturing():
        attributes["gen_ai.tool.call.arguments"] = canonical_json(dict(arguments)).decode()
    found = context_of(exchange.meta)
    # The whole context is made current, not the parent alone: baggage goes on to the server.
    token = None if found is None else otel_context.attach(found)
    try:
        with making.start_as_current_span(
            f"tools/call {shown}",
            kind=SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ):
            yield
    finally:
        if token is not None:
            otel_context.detach(token)


def note_result(server: str | None, origin: Origin, result: ToolResult) -> None:
    """Write into the call's span what became of it; the server is None for a tool that is not listed."""
    if tracer() is None:
        return
    span = trace.get_current_span()
    span.set_attribute("astra_mcp.server", server or "")
    span.set_attribute("astra_mcp.origin", origin.value)
    span.set_attribute("astra_mcp.is_error", result.is_error)
    if is_failure(origin):
        mark_error(span, origin.value)
    elif result.is_error:
        span.set_attribute("error.type", "tool_error")
        span.set_status(StatusCode.ERROR)
    if is_capturing():
        span.set_attribute("gen_ai.tool.call.result", result.text)


def upstream_span(server: str, tool: str, exchange: Exchange) -> AbstractContextManager[Exchange]:
    """Trace the server's part of a call; yields the exchange that names this span to it."""
    making = tracer()
    return nullcontext(exchange) if making is None else _named(making, server, tool, exchange)


@contextmanager
def _named(making: Tracer, server: str, tool: str, exchange: Exchange) -> Generator[Exchange]:
    """Make the span of :func:`upstream_span`, where tracing is on."""
    attributes = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": tool,
        "astra_mcp.server": server,
    }
    # Members that the context does not set again, such as an empty tracestate, would be stale.
    meta: JsonObject = {k: v for k, v in exchange.meta.items() if k not in TRACE_KEYS}
    with request_span(making, f"tools/call {tool}", attributes, meta):
        yield replace(exchange, meta=meta)


def with_header(
    meta: Mapping[str, JsonValue], headers: Mapping[str, str]
) -> Mapping[str, JsonValue]:
    """Take the trace from a request's HTTP headers where its ``_meta`` names none."""
    if tracer() is None or "traceparent" in meta or "traceparent" not in headers:
        return meta
    return {**meta, **{key: headers[key] for key in TRACE_KEYS if key in headers}}
