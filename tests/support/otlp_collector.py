"""A real OTLP/HTTP socket that keeps what it is sent."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SECONDS = 20.0


@dataclass
class Collector:
    """What arrived."""

    url: str
    received: "Queue[ExportTraceServiceRequest]" = field(
        default_factory=Queue["ExportTraceServiceRequest"]
    )

    def resource(self) -> tuple[dict[str, Any], list[Any]]:
        """Wait for the next batch; answers the attributes of its one resource, and its spans."""
        (sent,) = self.received.get(timeout=SECONDS).resource_spans
        spans = [span for scope in sent.scope_spans for span in scope.spans]
        return attributes_of(sent.resource.attributes), spans


def attributes_of(rows: Any) -> dict[str, Any]:
    """Read the attributes of a span or a resource."""
    return {row.key: row.value.string_value or row.value.int_value for row in rows}


@contextmanager
def open_collector() -> Generator[Collector]:
    """Listen while the context is open."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                collector.received.put(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
