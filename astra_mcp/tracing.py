"""Traces: set up from the standard ``OTEL_*`` variables, and carried in MCP's ``_meta`` (W3C, SEP-414).

Off unless a variable names an exporter, and then it costs a look at one variable. Knows the names that MCP
and OpenTelemetry share; knows neither episodes nor servers, and never sees an argument or a result.
"""

import os
import sys
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from astra_mcp import __version__
from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonValue

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

__all__ = [
    "TRACE_KEYS",
    "client_span",
    "context_of",
    "current_trace_id",
    "inject",
    "is_capturing",
    "mark_error",
    "open_tracing",
    "request_span",
    "tracer",
    "tracing_to",
]

TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")
"""Members of ``_meta``, and headers, in which a trace travels."""
FLUSH_SECONDS = 3.0
"""So long the end of a process waits for its last spans to be taken."""

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PROPAGATOR = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])
_NOTHING: AbstractContextManager[None] = nullcontext()

_tracer: Tracer | None = None
_is_capturing = False


def tracer() -> Tracer | None:
    """Whoever makes spans asks here first; None where tracing is off."""
    return _tracer


def is_capturing() -> bool:
    """True where spans shall hold arguments and results, which they do only when asked to."""
    return _is_capturing


def context_of(meta: Mapping[str, JsonValue]) -> Context | None:
    """Read the context in which a request was sent; None where it names none that is valid."""
    carrier = {key: value for key in TRACE_KEYS if isinstance(value := meta.get(key), str)}
    if not carrier:
        return None
    found = _PROPAGATOR.extract(carrier, Context())
    return found if trace.get_current_span(found).get_span_context().is_valid else None


def inject(meta: MutableMapping[str, JsonValue]) -> None:
    """Write the current context, if there is one, into the ``_meta`` of a request about to be sent."""
    if not otel_context.get_current():
        return
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    meta.update(carrier)


def client_span(
    method: str, target: str, meta: MutableMapping[str, JsonValue]
) -> AbstractContextManager[None]:
    """Trace a request from here, and write its context into its ``_meta``.

    Where tracing is off, the caller's own current context is passed on.

    Args:
        method: Such as ``tools/call``.
        target: What it is about, such as the tool.
        meta: Of the request; ``traceparent`` and its like are added.
    """
    if _tracer is None:
        inject(meta)
        return _NOTHING
    attributes = {"mcp.method.name": method, "gen_ai.tool.name": target}
    return request_span(_tracer, f"{method} {target}", attributes, meta)


@contextmanager
def request_span(
    making: Tracer, name: str, attributes: Mapping[str, str], meta: MutableMapping[str, JsonValue]
) -> Generator[None]:
    """Make the span of a request that goes out from here, and write its context into its ``_meta``."""
    # The text of an error may hold what a tool answered, so only its kind is told.
    with making.start_as_current_span(
        name,
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        inject(meta)
        try:
            yield
        except BaseException as error:
            mark_error(span, type(error).__qualname__)
            raise


def mark_error(span: Span, kind: str) -> None:
    """Mark a span as failed.

    Args:
        span: Still open.
        kind: A word of few values, such as a boundary or the name of an exception.
    """
    span.set_attribute("error.type", kind)
    span.set_status(trace.StatusCode.ERROR, kind)


def current_trace_id() -> str | None:
    """Name the trace that is under way here, as 32 hex digits."""
    if _tracer is None:
        return None
    found = trace.get_current_span().get_span_context()
    return trace.format_trace_id(found.trace_id) if found.is_valid else None


@contextmanager
def tracing_to(provider: TracerProvider, *, capture: bool = False) -> Generator[None]:
    """Make spans with a provider while the context is open; for programs that bring their own SDK.

    Args:
        provider: Stays its owner's to flush and to shut down.
        capture: Let spans hold arguments and results.
    """
    global _tracer, _is_capturing  # one process, one tracer: the hot path must find it at once
    before = _tracer, _is_capturing
    _tracer, _is_capturing = provider.get_tracer("astra-mcp", __version__), capture
    try:
        yield
    finally:
        _tracer, _is_capturing = before


@contextmanager
def open_tracing(*, worker: int | None = None) -> Generator[bool]:
    """Trace this process while the context is open, where ``OTEL_*`` variables ask for it.

    ``OTEL_TRACES_EXPORTER`` is ``otlp``, ``console`` (standard error) or ``none``; unset, an OTLP endpoint
    alone switches it on. Sampling, batching, headers and the resource follow their standard variables.

    Args:
        worker: Index of this process among those that serve together.

    Yields:
        Whether it is on.

    Raises:
        ConfigError: A variable names what is not supported, or the SDK is not installed.
    """
    kind = _wanted_exporter()
    if kind is None:
        yield False
        return
    try:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra, imported in need
        from opentelemetry.sdk.trace import TracerProvider as SdkProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        exporter = _exporter(kind)
    except ImportError as error:
        raise ConfigError(
            f"OTEL_* variables ask for traces, but {error.name} is not installed: "
            "install astra-mcp with the extra 'otel', or set OTEL_TRACES_EXPORTER=none"
        ) from None
    named: dict[str, str | int] = {"service.version": __version__}
    if worker is not None:
        named["astra_mcp.worker"] = worker
    # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say holds.
    resource = Resource.create(named)
    if str(resource.attributes["service.name"]).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": "astra-mcp"}))
    provider = SdkProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    is_capturing = os.environ.get(_CAPTURE, "").casefold() == "true"
    try:
        with tracing_to(provider, capture=is_capturing):
            yield True
    finally:
        # A collector that is gone must not hold up the end of the process.
        flushing = Thread(target=provider.shutdown, name="last spans", daemon=True)
        flushing.start()
        flushing.join(FLUSH_SECONDS)


def _wanted_exporter() -> str | None:
    if os.environ.get("OTEL_SDK_DISABLED", "").casefold() == "true":
        return None
    named = os.environ.get("OTEL_TRACES_EXPORTER", "").strip()
    if not named:
        named = "otlp" if any(os.environ.get(name) for name in _ENDPOINTS) else "none"
    if named not in ("otlp", "console", "none"):
        msg = f"OTEL_TRACES_EXPORTER={named} is not supported: set otlp, console or none"
        raise ConfigError(msg)
    protocol = next((p for name in _PROTOCOLS if (p := os.environ.get(name))), "http/protobuf")
    if named == "otlp" and protocol != "http/protobuf":
        msg = f"the OTLP protocol {protocol!r} is not spoken: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
        raise ConfigError(msg)
    return None if named == "none" else named


def _exporter(kind: str) -> "SpanExporter":
    if kind == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter  # noqa: PLC0415

        return ConsoleSpanExporter(out=sys.stderr)  # standard output belongs to results and to MCP
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )

    return OTLPSpanExporter()
