"""What is counted, what of it lasts, and how the numbers of several workers are joined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeId
from astra_mcp.types import ServerKind, ServerStatus
from gateway.edge.metrics import Metrics, merge
from gateway.edge.security import Plane

from metric_samples import samples_of

ONE, OTHER = EpisodeId("a" * 32), EpisodeId("b" * 32)


@dataclass
class Clock:
    """Says what time it is."""

    time: float = 0.0

    def __call__(self) -> float:
        return self.time


@dataclass
class DeployedServer:
    """A server that counts what it uses."""

    name: str
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    status: tuple[ServerStatus, str] = (ServerStatus.READY, "")
    kind: ServerKind = ServerKind.DEPLOYED


@dataclass
class Servers:
    """A catalog, as far as metrics ask it."""

    servers: list[DeployedServer]

    def upstreams(self) -> list[Any]:
        return list(self.servers)

    def together(self) -> list[Any]:
        return list(self.servers)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> Metrics:
    return Metrics(now=clock)


def start(metrics: Metrics, n: int, server: str | None = "files", episode: EpisodeId = ONE) -> None:
    metrics.write(episode, {"event": "call_started", "n": n, "server": server})


def finish(
    metrics: Metrics,
    n: int,
    episode: EpisodeId = ONE,
    origin: str = "tool",
    ms: float = 1.0,
    *,
    is_error: bool = False,
    **more: str,
) -> None:
    result = {"is_error": is_error}
    event = {"event": "call_finished", "n": n, "origin": origin, "latency_ms": ms, "result": result}
    metrics.write(episode, {**event, **more})


def test_calls_and_times_are_counted_by_server_and_origin(metrics: Metrics) -> None:
    for n, (server, origin, ms) in enumerate(
        [("files", "tool", 1.0), ("files", "tool", 70_000.0), ("files", "upstream", 2.0)]
    ):
        start(metrics, n, server)
        finish(metrics, n, origin=origin, ms=ms)
    found = samples_of(metrics.render())
    assert found["astra_mcp_calls_total", "tool", "files"] == 2
    assert found["astra_mcp_calls_total", "upstream", "files"] == 1
    assert found["astra_mcp_call_seconds_bucket", "0.0005", "tool", "files"] == 0
    assert found["astra_mcp_call_seconds_bucket", "0.001", "tool", "files"] == 1
    assert found["astra_mcp_call_seconds_bucket", "60.0", "tool", "files"] == 1
    assert found["astra_mcp_call_seconds_bucket", "+Inf", "tool", "files"] == 2
    assert found["astra_mcp_call_seconds_sum", "tool", "files"] == pytest.approx(70.001)


def test_what_became_of_a_servers_calls_is_told_by_the_author_of_the_result(
    metrics: Metrics,
) -> None:
    for n, (server, origin, ms, is_error) in enumerate(
        [
            *(("files", "tool", 1.0, False), ("files", "tool", 3.0, True)),
            *(("files", "upstream", 70_000.0, True), ("mail", "tool", 1.0, True)),
        ]
    ):
        start(metrics, n, server)
        finish(metrics, n, origin=origin, ms=ms, is_error=is_error)
    tool, upstream = metrics.calls_of("files")
    assert (tool.origin, sum(tool.counts), tool.errors) == ("tool", 2, 1)
    assert tool.counts[tool.bounds.index(0.001)] == tool.counts[tool.bounds.index(0.005)] == 1
    assert (upstream.origin, upstream.counts[-1], upstream.errors) == ("upstream", 1, 1)
    assert metrics.calls_of("none") == []
    found = samples_of(metrics.render())
    assert found["astra_mcp_call_errors_total", "tool", "files"] == 1
    assert found["astra_mcp_call_errors_total", "tool", "mail"] == 1


def test_the_numbers_of_some_servers_are_read_without_those_of_the_others(
    metrics: Metrics,
) -> None:
    servers = [DeployedServer(name, {"opened": 1}) for name in ("files", "mail")]
    metrics.watch_servers(Servers(servers))  # pyright: ignore[reportArgumentType] - as far as they ask it
    for n, server in enumerate(("files", "mail")):
        start(metrics, n, server)
        finish(metrics, n)
    every, some = samples_of(metrics.render()), samples_of(metrics.render(["files"]))
    without = {key: value for key, value in every.items() if "mail" not in key}
    assert {key for key in every if "files" in key} <= some.keys()
    assert some.keys() == without.keys()


def test_a_call_waits_for_the_earlier_ones_of_its_episode_at_its_server_alone(
    metrics: Metrics, clock: Clock
) -> None:
    start(metrics, 0)
    start(metrics, 1)
    start(metrics, 0, episode=OTHER)
    start(metrics, 2, "mail")
    clock.time = 2.0
    for n, episode in ((0, ONE), (0, OTHER), (2, ONE)):
        finish(metrics, n, episode)
    assert samples_of(metrics.render())["astra_mcp_calls_running",] == 1
    clock.time = 3.0
    finish(metrics, 1)
    found = samples_of(metrics.render())
    assert found["astra_mcp_call_wait_seconds_count", "files"] == 3
    assert found["astra_mcp_call_wait_seconds_sum", "files"] == 2.0
    assert found["astra_mcp_call_wait_seconds_sum", "mail"] == 0.0
    clock.time = 9.0
    start(metrics, 3)
    finish(metrics, 3)
    assert samples_of(metrics.render())["astra_mcp_call_wait_seconds_sum", "files"] == 2.0


def test_calls_without_a_known_server_share_a_name(metrics: Metrics) -> None:
    start(metrics, 0, None)
    finish(metrics, 0)
    finish(metrics, 7)
    found = samples_of(metrics.render())
    assert found["astra_mcp_calls_total", "tool", "(unlisted)"] == 1
    assert found["astra_mcp_calls_total", "tool", "(restored)"] == 1


def test_calls_whose_end_is_never_recorded_do_not_fill_the_memory(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.edge.metrics._MAX_RUNNING", 10)
    for n in range(100):
        start(metrics, n)
    assert samples_of(metrics.render())["astra_mcp_calls_running",] == 10


def test_the_series_of_a_removed_server_go(metrics: Metrics) -> None:
    catalog = Servers([DeployedServer("files"), DeployedServer("mail", {"opened": 1})])
    metrics.watch_servers(catalog)  # pyright: ignore[reportArgumentType] - as far as they ask it
    for n, server in enumerate(("files", "mail", None)):
        start(metrics, n, server)
        finish(metrics, n)
    assert b'server="mail"' in metrics.render()
    del catalog.servers[1]
    text = metrics.render()
    assert b'server="mail"' not in text
    assert b'server="files"' in text
    assert b'server="(unlisted)"' in text


def test_deployed_servers_tell_what_they_use(metrics: Metrics) -> None:
    usage = {"opened": 5, "closed": 1, "failed": 2, "lost": 1, "open": 3, "processes": 3}
    broken = (ServerStatus.FAILED, "exit status 1")
    metrics.watch_servers(
        Servers([DeployedServer("files", usage), DeployedServer("mail", {}, broken)])  # pyright: ignore[reportArgumentType]
    )
    found = samples_of(metrics.render())
    assert found["astra_mcp_upstream_sessions_total", "opened", "files"] == 5
    assert found["astra_mcp_upstream_sessions_total", "lost", "files"] == 1
    assert found["astra_mcp_upstream_sessions_open", "files"] == 3
    assert found["astra_mcp_upstream_processes", "files"] == 3
    assert found["astra_mcp_upstream_up", "files"] == 1
    assert found["astra_mcp_upstream_up", "mail"] == 0


def test_the_running_version_is_told(metrics: Metrics) -> None:
    assert b"astra_mcp_build_info{" in metrics.render()


def test_the_numbers_of_all_workers_stand_side_by_side() -> None:
    first, second = Metrics(), Metrics()
    for metrics, count in ((first, 1), (second, 2)):
        for n in range(count):
            start(metrics, n)
            finish(metrics, n)
        metrics.observe_request(Plane.EPISODE, 200)
    joined = merge({0: first.render(), 1: second.render(), 2: None})
    found = samples_of(joined)
    assert found["astra_mcp_calls_total", "tool", "files", "0"] == 1
    assert found["astra_mcp_calls_total", "tool", "files", "1"] == 2
    assert found["astra_mcp_calls_running", "1"] == 0
    assert [found["astra_mcp_worker_up", w] for w in "012"] == [1, 1, 0]
    families = [line for line in joined.decode().splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    assert len(found) == 2 * len(samples_of(first.render())) + 3


def test_a_label_value_may_hold_anything() -> None:
    metrics = Metrics()
    start(metrics, 0, 'a{b} "c" \\ d')
    finish(metrics, 0)
    alone, joined = samples_of(metrics.render()), samples_of(merge({0: metrics.render()}))
    del joined["astra_mcp_worker_up", "0"]
    process = [key for key in alone if key[0].startswith("process_")]
    for key in process:  # they change from reading to reading
        del alone[key], joined[*key, "0"]
    assert joined == {(*key, "0"): value for key, value in alone.items()}


def test_failures_on_purpose_are_counted_by_kind(metrics: Metrics) -> None:
    for n, kind in enumerate(("timeout", "timeout", "server_error")):
        start(metrics, n)
        finish(metrics, n, origin="injected", is_error=True, injected=kind)
    counted = samples_of(metrics.render())
    assert counted["astra_mcp_injected_failures_total", "timeout"] == 2
    assert counted["astra_mcp_injected_failures_total", "server_error"] == 1
    assert counted["astra_mcp_calls_total", "injected", "files"] == 3
