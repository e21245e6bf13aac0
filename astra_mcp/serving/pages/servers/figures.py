"""What became of the calls of servers, in figures: counted by each worker since it began, joined here.

Its own come from this process's metrics; the others are asked for theirs as Prometheus would ask them.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, Protocol

import anyio.to_thread
from prometheus_client.parser import text_string_to_metric_families

from gateway.api.seams import MeteredUpstream, Upstream
from gateway.edge.metrics import CallTimes, Metrics

__all__ = ["Bar", "GatheredFigures", "ServerFigures", "Since", "WorkerFigures"]

_BUCKET, _ERRORS = "astra_mcp_call_seconds_bucket", "astra_mcp_call_errors_total"
_ENDS, _UP = "astra_mcp_upstream_sessions_total", "astra_mcp_upstream_up"
_NOW: Final = {
    "astra_mcp_upstream_sessions_open": "open",
    "astra_mcp_upstream_processes": "processes",
}
_BEGAN = "process_start_time_seconds"


class Bar(NamedTuple):
    """One row of a histogram."""

    words: str
    """Such as ``up to 5 ms``."""
    calls: int
    share: float
    """Of the longest row, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFigures:
    """What became of the calls of one server."""

    times: Sequence[CallTimes] = ()
    """One for each author of results."""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of a server that counts its connections: opened, failed, lost, closed; and what is open now."""
    failed_at: Sequence[int] = ()
    """Other workers whose last use of it failed."""

    @property
    def calls(self) -> int:
        """All that have ended."""
        return sum(sum(each.counts) for each in self.times)

    @property
    def errors(self) -> int:
        """Those whose result is an error."""
        return sum(each.errors for each in self.times)

    @property
    def half_within(self) -> str:
        """In which time half of the calls had ended, as closely as they are counted."""
        return half_within(self.times)

    @property
    def bars(self) -> Sequence[Bar]:
        """How many took how long; rows without a call are left out at both ends."""
        if not self.calls:
            return ()
        counts = [sum(n) for n in zip(*(each.counts for each in self.times), strict=True)]
        bounds = self.times[0].bounds
        used = [place for place, count in enumerate(counts) if count]
        places = range(used[0], used[-1] + 1)
        return [Bar(bound_words(bounds, p), counts[p], counts[p] / max(counts)) for p in places]


def half_within(times: Sequence[CallTimes]) -> str:
    """Say in which time half of the calls had ended, as closely as they are counted."""
    counts = [sum(n) for n in zip(*(each.counts for each in times), strict=True)]
    reached = next(
        (p for p, n in enumerate(accumulate(counts)) if n and 2 * n >= sum(counts)), None
    )
    return "" if reached is None else bound_words(times[0].bounds, reached)


def bound_words(bounds: Sequence[float], place: int) -> str:
    """Say what a row of a histogram counts."""
    bound = bounds[place]
    if bound == float("inf"):
        return f"over {_seconds(bounds[place - 1])}"
    return f"up to {_seconds(bound)}"


def _seconds(bound: float) -> str:
    return f"{bound * 1000:g} ms" if bound < 1 else f"{bound:g} s"


class Since(NamedTuple):
    """What figures count."""

    at: datetime
    """When the worker that was started last began."""
    workers: int
    """So many are joined."""
    silent: Sequence[int]
    """Those that did not answer, whose calls are not counted."""


class GatheredFigures(NamedTuple):
    """Figures of servers, of all workers."""

    servers: Mapping[str, ServerFigures]
    """By name; of all that were asked for."""
    since: Since


class OtherWorkers(Protocol):
    """The other workers, as far as they are asked; the gateway's ``Fleet`` satisfies it."""

    async def metrics_of_others(self, servers: Collection[str] = ()) -> Mapping[int, bytes | None]:
        """Read every other worker's metrics of some servers; None where one does not answer."""
        ...


class WorkerFigures:
    """Gathers them; in the first worker, which alone may ask the others."""

    def __init__(self, metrics: Metrics, others: OtherWorkers) -> None:
        """Begin with this process.

        Args:
            metrics: Of this process, from its beginning.
            others: Are asked at each look.
        """
        self._metrics = metrics
        self._others = others
        self._began = datetime.fromtimestamp(time.time(), UTC)

    async def of(self, servers: Sequence[Upstream]) -> GatheredFigures:
        """Join what all workers say of some servers."""
        texts: Mapping[int, bytes | None] = {}
        if servers:
            texts = await self._others.metrics_of_others([server.name for server in servers])
        told = {
            worker: await anyio.to_thread.run_sync(_read, text.decode())
            for worker, text in texts.items()
            if text is not None
        }
        began = [self._began, *(each.began for each in told.values() if each.began is not None)]
        silent = sorted(texts.keys() - told.keys())
        return GatheredFigures(
            servers={server.name: self._joined(server, told) for server in servers},
            since=Since(max(began), 1 + len(told), silent),
        )

    def _joined(self, server: Upstream, told: Mapping[int, "_Told"]) -> ServerFigures:
        usage = Counter[str](server.usage if isinstance(server, MeteredUpstream) else ())
        times = list(self._metrics.calls_of(server.name))
        for each in told.values():
            times += each.times.get(server.name, ())
            usage.update(each.usage.get(server.name, {}))
        failed_at = [worker for worker, each in told.items() if server.name in each.down]
        return ServerFigures(times=_by_origin(times), usage=dict(usage), failed_at=failed_at)


def _by_origin(times: Iterable[CallTimes]) -> Sequence[CallTimes]:
    found: dict[str, CallTimes] = {}
    for each in times:
        known = found.get(each.origin)
        if known is not None:
            counts = tuple(map(sum, zip(known.counts, each.counts, strict=True)))
            each = each._replace(counts=counts, errors=known.errors + each.errors)  # noqa: PLW2901 - the sum
        found[each.origin] = each
    return sorted(found.values(), key=lambda each: (-sum(each.counts), each.origin))


@dataclass(slots=True)
class _Told:
    """What another worker says of some servers."""

    times: dict[str, list[CallTimes]] = field(default_factory=dict[str, list[CallTimes]])
    usage: defaultdict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict[str, Counter[str]](Counter)
    )
    down: set[str] = field(default_factory=set[str])
    began: datetime | None = None


def _read(text: str) -> _Told:
    """Read what a worker says of the servers that it was asked for."""
    told = _Told()
    buckets: defaultdict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    errors = Counter[tuple[str, str]]()
    families = text_string_to_metric_families(text)
    for name, labels, number, *_ in (s for family in families for s in family.samples):
        server, origin = labels.get("server", ""), labels.get("origin", "")
        if name == _BUCKET:
            buckets[server, origin].append((float(labels["le"]), int(number)))
        elif name == _ERRORS:
            errors[server, origin] = int(number)
        elif name == _ENDS:
            told.usage[server][labels["event"]] += int(number)
        elif name in _NOW:
            told.usage[server][_NOW[name]] += int(number)
        elif name == _UP and not number:
            told.down.add(server)
        elif name == _BEGAN:
            told.began = datetime.fromtimestamp(number, UTC)
    for (server, origin), found in buckets.items():
        times = _times(origin, sorted(found), errors[server, origin])
        told.times.setdefault(server, []).append(times)
    return told


def _times(origin: str, buckets: Sequence[tuple[float, int]], errors: int) -> CallTimes:
    """Take apart the sums of a histogram as it is written down."""
    sums = [0, *(number for _, number in buckets)]
    counts = tuple(after - before for before, after in pairwise(sums))
    return CallTimes(origin, tuple(bound for bound, _ in buckets), counts, errors)
