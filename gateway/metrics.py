"""Prometheus metrics of one gateway, fed by its record events and its gate.

Each gateway has its own registry: two in one process do not mix. No label holds an episode.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from gateway.protocol import EpisodeId
from gateway.security import Plane

__all__ = ["METRICS_CONTENT_TYPE", "Metrics"]

METRICS_CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_LATENCY_BUCKETS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    60.0,
)
_UNLISTED = "(unlisted)"
"""Server of a call to a tool that its episode does not list."""


class Metrics:
    """Counts what the gateway does; a ``RecordSink``."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "astra_mcp_calls",
            "Finished tool calls by server and by the author of the result.",
            ("server", "origin"),
            registry=self._registry,
        )
        self._latency = Histogram(
            "astra_mcp_call_seconds",
            "Time from the start of a call to its result.",
            ("server",),
            registry=self._registry,
            buckets=_LATENCY_BUCKETS,
        )
        self._created = Counter(
            "astra_mcp_episodes_created",
            "Episodes opened, interactive states included, by the kind of their source.",
            ("source",),
            registry=self._registry,
        )
        self._ended = Counter(
            "astra_mcp_episodes_ended",
            "Episodes that ended, by their status.",
            ("status",),
            registry=self._registry,
        )
        self._failures = Counter(
            "astra_mcp_episode_failures",
            "Episodes that failed, by the boundary that the failure crossed.",
            ("boundary",),
            registry=self._registry,
        )
        self._open = Gauge(
            "astra_mcp_episodes_open",
            "Episodes in memory that take calls now.",
            registry=self._registry,
        )
        self._requests = Counter(
            "astra_mcp_http_requests",
            "HTTP requests by plane and status.",
            ("plane", "status"),
            registry=self._registry,
        )
        self._servers: dict[tuple[str, int], str] = {}

    def watch_open(self, count: Callable[[], int]) -> None:
        """Ask ``count`` for the number of open episodes at each reading."""
        self._open.set_function(count)

    def observe_request(self, plane: Plane, status: int) -> None:
        """Count one answered HTTP request."""
        self._requests.labels(plane.value, str(status)).inc()

    def write(self, episode: EpisodeId, event: Mapping[str, Any]) -> None:
        """Take one record event."""
        match event["event"]:
            case "episode_opened":
                kind = "interactive" if event["endpoint"] else event["source"]["kind"]
                self._created.labels(kind).inc()
            case "call_started":
                self._servers[episode, event["n"]] = event["server"] or _UNLISTED
            case "call_finished":
                # A call that an earlier life of the gateway started is counted without its server.
                server = self._servers.pop((episode, event["n"]), "(restored)")
                self._calls.labels(server, event["origin"]).inc()
                self._latency.labels(server).observe(event["latency_ms"] / 1000)
            case "episode_ended":
                self._ended.labels(event["status"]).inc()
                if event["failure"]:
                    self._failures.labels(event["failure"]["boundary"]).inc()
            case _:
                pass

    def render(self) -> bytes:
        """Write all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
