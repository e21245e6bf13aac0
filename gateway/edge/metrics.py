"""Prometheus metrics of one gateway process, fed by its record events, its gate and what others tell it.

Each gateway has its own metrics: two in one process do not mix. No label holds an episode; those that name
a server end with it. What happens at every call is counted in plain numbers, which are put into words when
somebody reads them.
"""

import platform
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeId
from astra_mcp.types import Origin
from gateway.api.seams import Catalog, MeteredUpstream
from gateway.edge.security import Plane

__all__ = ["METRICS_CONTENT_TYPE", "CallTimes", "Metrics", "merge"]

METRICS_CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0),
    float("inf"),
)
_LOOP_BOUNDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.06, 0.075),
    *(0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0, float("inf")),
)
"""Close to each other where steps of the event loop become long."""
_UNLISTED = "(unlisted)"
"""Server of a call to a tool that its episode does not list."""
_RESTORED = "(restored)"
"""Server of a call that an earlier life of the gateway started."""
_ENDS = ("opened", "failed", "lost", "closed")
"""What becomes of a session with a deployed server."""
_MAX_RUNNING = 100_000
"""Calls whose start is remembered; of those whose end is never recorded, the oldest are forgotten."""

Labels = tuple[str, ...]
Read = Callable[[], Mapping[Labels, float]]
"""Answers the present value for each combination of labels; cheap, and does not raise."""
_Numbers = CounterMetricFamily | GaugeMetricFamily


class CallTimes(NamedTuple):
    """How long the calls of a server took whose results are of one author, and how many were errors."""

    origin: str
    """The author."""
    bounds: Sequence[float]
    """In seconds, ascending; each is the longest of its calls."""
    counts: Sequence[int]
    """Calls up to each bound and above the one before."""
    errors: int


class _Times:
    """How often something took how long."""

    __slots__ = ("bounds", "counts", "errors", "seconds")

    def __init__(self, bounds: Sequence[float] = _BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * len(bounds)
        self.seconds = 0.0
        self.errors = 0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class _Queue:
    """The calls of one episode to one server, which run one at a time."""

    pending: int = 0
    freed_at: float = 0.0
    """When the last one ended; the next began then, if it waited."""


class Metrics(Collector):
    """Counts what the gateway does; a ``RecordSink``."""

    def __init__(self, *, now: Callable[[], float] = time.perf_counter) -> None:
        """Count from nothing.

        Args:
            now: Seconds since any moment.
        """
        self._now = now
        self._calls: defaultdict[Labels, _Times] = defaultdict(_Times)
        self._waits: defaultdict[Labels, _Times] = defaultdict(_Times)
        self._created: defaultdict[Labels, int] = defaultdict(int)
        self._ended: defaultdict[Labels, int] = defaultdict(int)
        self._failures: defaultdict[Labels, int] = defaultdict(int)
        self._injected: defaultdict[Labels, int] = defaultdict(int)
        self._late = _Times(_LOOP_BOUNDS)
        self._steps = _Times(_LOOP_BOUNDS)
        self._requests: defaultdict[tuple[Plane, int], int] = defaultdict(int)
        self._running: dict[tuple[str, int], tuple[str, float, _Queue]] = {}
        self._queues: dict[tuple[str, str], _Queue] = {}
        self._servers: Callable[[], Iterable[str]] | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        self._readings: list[Callable[[], Metric]] = []
        self._read_own()

    def observe_request(self, plane: Plane, status: int) -> None:
        """Count one answered HTTP request."""
        self._requests[plane, status] += 1

    def observe_lateness(self, late: float, step: float) -> None:
        """Count one beat of the watch, by how late it came and by its longest step at most."""
        self._late.observe(late)
        self._steps.observe(step)

    def write(self, episode: EpisodeId, event: Mapping[str, Any]) -> None:
        """Take one record event."""
        match event["event"]:
            case "call_started":
                self._start(episode, event["n"], event["server"] or _UNLISTED)
            case "call_finished":
                server = self._finish(episode, event["n"])
                times = self._calls[server, event["origin"]]
                times.observe(event["latency_ms"] / 1000)
                times.errors += event["result"]["is_error"]
                if "injected" in event:
                    self._injected[event["injected"],] += 1
            case "episode_opened":
                kind = "interactive" if event["endpoint"] else event["source"]["kind"]
                self._created[kind,] += 1
            case "episode_ended":
                self._ended[event["status"],] += 1
                if event["failure"]:
                    self._failures[event["failure"]["boundary"],] += 1
            case _:
                pass

    def _start(self, episode: EpisodeId, n: int, server: str) -> None:
        if len(self._running) >= _MAX_RUNNING:
            forgotten, number = next(iter(self._running))
            self._finish(forgotten, number)
        queue = self._queues.get((episode, server))
        if queue is None:
            queue = self._queues[episode, server] = _Queue()
        queue.pending += 1
        self._running[episode, n] = server, self._now(), queue

    def _finish(self, episode: str, n: int) -> str:
        started = self._running.pop((episode, n), None)
        if started is None:
            return _RESTORED
        server, began, queue = started
        # The server was busy with another call of this episode until then.
        self._waits[server,].observe(max(0.0, queue.freed_at - began))
        queue.pending -= 1
        if queue.pending:
            queue.freed_at = self._now()
        else:
            del self._queues[episode, server]
        return server

    def _read_from(
        self, kind: type[_Numbers], name: str, text: str, labels: Labels, read: Read
    ) -> None:
        """Ask for numbers at each reading; a counter's name gets ``_total``."""

        def family() -> Metric:
            found = kind(name, text, labels=labels)
            for values, number in sorted(read().items()):
                found.add_metric(values, number)
            return found

        self._readings.append(family)

    def watch_open(self, count: Callable[[], int]) -> None:
        """Ask ``count`` for the number of open episodes at each reading."""
        text = "Episodes in memory that take calls now."
        self._read_from(
            GaugeMetricFamily, "astra_mcp_episodes_open", text, (), lambda: {(): count()}
        )

    def watch_plane(
        self, *, ways: Callable[[], tuple[int, int]], sessions: Callable[[], int]
    ) -> None:
        """Count what the agent plane does.

        Args:
            ways: How many requests were answered by the hot path, and by the SDK's server.
            sessions: How many sessions of the handshake era are open.
        """
        self._read_from(
            CounterMetricFamily,
            "astra_mcp_mcp_requests",
            "Requests of agents, by the path that they took through the gateway.",
            ("way",),
            lambda: dict(zip((("hot",), ("sdk",)), ways(), strict=True)),
        )
        text = "Open sessions of clients of the handshake era."
        self._read_from(
            GaugeMetricFamily, "astra_mcp_mcp_sessions_open", text, (), lambda: {(): sessions()}
        )

    def watch_servers(self, catalog: Catalog) -> None:
        """Count what the servers of a catalog use; what names another server is dropped from now on."""
        self._servers = lambda: (u.name for u in catalog.upstreams())

        def usage() -> Iterator[tuple[str, Mapping[str, int]]]:
            for upstream in catalog.together():
                if isinstance(upstream, MeteredUpstream):
                    yield upstream.name, upstream.usage

        def sessions() -> Mapping[Labels, float]:
            return {(n, what): used[what] for n, used in usage() for what in _ENDS if what in used}

        def now(what: str) -> Read:
            return lambda: {(n,): used[what] for n, used in usage() if what in used}

        self._read_from(
            CounterMetricFamily,
            "astra_mcp_upstream_sessions",
            "Sessions with deployed servers, by what became of them.",
            ("server", "event"),
            sessions,
        )
        for name, what, text in (
            ("astra_mcp_upstream_sessions_open", "open", "Open sessions with deployed servers."),
            ("astra_mcp_upstream_processes", "processes", "Running processes of deployed servers."),
        ):
            self._read_from(GaugeMetricFamily, name, text, ("server",), now(what))
        self._read_from(
            GaugeMetricFamily,
            "astra_mcp_upstream_up",
            "1 where a server's last use was well or it was never used, 0 where it failed.",
            ("server",),
            lambda: {
                (u.name,): float(u.status[0] != "failed")
                for u in catalog.together()  # the others cannot fail to be there
            },
        )

    def calls_of(self, server: str) -> Sequence[CallTimes]:
        """Tell what became of the calls of one server, by the authors of the results."""
        found = [(o, self._calls.get((server, o))) for o in Origin]
        return [CallTimes(o, t.bounds, tuple(t.counts), t.errors) for o, t in found if t]

    def render(self, servers: Collection[str] = ()) -> bytes:
        """Write the metrics in Prometheus' text format.

        Args:
            servers: What is counted by server is written of these alone; empty for all.
        """
        if not servers:
            return generate_latest(self._registry)
        chosen = CollectorRegistry()
        chosen.register(_OfServers(self, frozenset(servers)))
        ProcessCollector(registry=chosen)
        return generate_latest(chosen)

    def describe(self) -> Iterable[Metric]:
        """Nothing is known beforehand, so registering asks for no values."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Put all numbers into words."""
        self._drop_gone()
        yield from _of_calls(self._calls, self._waits)
        yield from self._of_process()

    def collect_of(self, servers: Collection[str]) -> Iterator[Metric]:
        """Put all numbers into words, but of these servers alone."""
        self._drop_gone()
        calls, waits = (
            {labels: times for labels, times in series.items() if labels[0] in servers}
            for series in (self._calls, self._waits)
        )
        yield from _of_calls(calls, waits)
        for family in self._of_process():
            family.samples = [
                s for s in family.samples if s.labels.get("server") in {None, *servers}
            ]
            yield family

    def _of_process(self) -> Iterator[Metric]:
        yield _histogram(
            "astra_mcp_event_loop_late_seconds",
            "How late the event loop came to what was due, 100 times a second while requests come.",
            (),
            {(): self._late},
        )
        yield _histogram(
            "astra_mcp_event_loop_step_seconds",
            "At most so much of the processor took the longest step of the event loop between two beats.",
            (),
            {(): self._steps},
        )
        for reading in self._readings:
            yield reading()

    def _drop_gone(self) -> None:
        if self._servers is None:
            return
        kept = {_UNLISTED, _RESTORED, *self._servers()}
        for series in (self._calls, self._waits):
            for labels in [labels for labels in series if labels[0] not in kept]:
                del series[labels]

    def _read_own(self) -> None:
        """Ask for what is counted here."""
        self._read_from(
            GaugeMetricFamily,
            "astra_mcp_build_info",
            "1, for the versions that run.",
            ("version", "python"),
            lambda: {(__version__, platform.python_version()): 1},
        )
        self._read_from(
            GaugeMetricFamily,
            "astra_mcp_calls_running",
            "Calls under way, those that wait for their turn included.",
            (),
            lambda: {(): len(self._running)},
        )
        for name, label, counts, text in (
            (
                *("episodes_created", "source", self._created),
                "Episodes opened, interactive states included, by the kind of their source.",
            ),
            ("episodes_ended", "status", self._ended, "Episodes that ended, by status."),
            (
                *("episode_failures", "boundary", self._failures),
                "Episodes that failed, by the boundary that the failure crossed.",
            ),
            (
                *("injected_failures", "kind", self._injected),
                "Calls that failed on purpose, by the kind of the failure.",
            ),
        ):
            self._read_from(CounterMetricFamily, f"astra_mcp_{name}", text, (label,), counts.copy)
        self._read_from(
            CounterMetricFamily,
            "astra_mcp_http_requests",
            "HTTP requests by plane and status.",
            ("plane", "status"),
            lambda: {(p.value, str(status)): n for (p, status), n in self._requests.items()},
        )


class _OfServers(Collector):
    """The metrics of a process, of some servers alone."""

    def __init__(self, metrics: Metrics, servers: Collection[str]) -> None:
        self._metrics = metrics
        self._servers = servers

    def describe(self) -> Iterable[Metric]:
        """Nothing is known beforehand."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Put their numbers into words."""
        return self._metrics.collect_of(self._servers)


def _of_calls(calls: Mapping[Labels, _Times], waits: Mapping[Labels, _Times]) -> Iterator[Metric]:
    yield _histogram(
        "astra_mcp_call_seconds",
        "Time from the start of a call to its result, by server and by the author of the result.",
        ("server", "origin"),
        calls,
    )
    yield _histogram(
        "astra_mcp_call_wait_seconds",
        "Time that a call waited for the earlier ones of its episode to its server.",
        ("server",),
        waits,
    )
    finished = CounterMetricFamily(
        "astra_mcp_calls",
        "Finished tool calls by server and by the author of the result.",
        labels=("server", "origin"),
    )
    errors = CounterMetricFamily(
        "astra_mcp_call_errors",
        "Those of them whose result is an error, by server and by the author of the result.",
        labels=("server", "origin"),
    )
    for labels, times in sorted(calls.items()):
        finished.add_metric(labels, sum(times.counts))
        errors.add_metric(labels, times.errors)
    yield from (finished, errors)


def _histogram(
    name: str, text: str, labels: Sequence[str], series: Mapping[Labels, _Times]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, times in sorted(series.items()):
        names = (*map(str, times.bounds[:-1]), "+Inf")
        buckets = list(zip(names, accumulate(times.counts), strict=True))
        family.add_metric(values, buckets, times.seconds)
    return family


def merge(texts: Mapping[int, bytes | None]) -> bytes:
    """Join the metrics of several workers into one text, each sample labelled with its worker.

    Args:
        texts: What each worker's :meth:`Metrics.render` wrote, by the worker's index; None where it
            could not be asked, which ``astra_mcp_worker_up`` tells.
    """
    families: dict[str, tuple[list[str], list[str]]] = {}
    ups = {worker: int(text is not None) for worker, text in sorted(texts.items())}
    families["astra_mcp_worker_up"] = (
        [
            "# HELP astra_mcp_worker_up 1 where a worker told its metrics, 0 where it did not answer.",
            "# TYPE astra_mcp_worker_up gauge",
        ],
        [f'astra_mcp_worker_up{{worker="{worker}"}} {up}' for worker, up in ups.items()],
    )
    for worker, text in sorted((w, t) for w, t in texts.items() if t is not None):
        samples: list[str] = []
        for line in text.decode().splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                head, samples = families.setdefault(name, ([], []))
                if not samples:
                    head.append(line)
            elif line.startswith("#"):
                head = families[line.split(" ", 3)[2]][0]
                if not samples and line not in head:
                    head.append(line)
            elif line:
                samples.append(_with_worker(line, worker))
    rows = [row for head, samples in families.values() for row in (*head, *samples)]
    return "".join(f"{row}\n" for row in rows).encode()


def _with_worker(sample: str, worker: int) -> str:
    """Put the label first; a name holds neither brace nor space, so the first one ends it."""
    name, brace, rest = sample.partition("{")
    if brace and " " not in name:
        return f'{name}{{worker="{worker}",{rest}'
    name, _, rest = sample.partition(" ")
    return f'{name}{{worker="{worker}"}} {rest}'
