"""What a gateway calls itself: behind a reverse proxy, and as one of several workers."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.settings import public_base, public_url_fault
from gateway.api.wire import EpisodeRequest
from gateway.edge.discovery import find_gateway
from gateway.edge.workers import OwnWorkerInfo

from command_line import Cli

PURSE = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "purse"}})
PUBLIC = "https://tools.example.org/astra"
URLS = ("http://127.0.0.1:8420", "http://127.0.0.1:9001", "http://127.0.0.1:9002")


def scope(host: str, path: str = "/", scheme: str = "http") -> dict[str, Any]:
    return {"type": "http", "scheme": scheme, "path": path, "headers": [(b"host", host.encode())]}


@pytest.mark.parametrize(
    ("public_url", "expected"),
    [
        ("https://a.example/x/", ["https://a.example/x", "https://a.example/x/workers/1"]),
        ("https://a.example/w{worker}", ["https://a.example/w0", "https://a.example/w1"]),
        ("http://a.example:{port}", ["http://a.example:8420", "http://a.example:9001"]),
    ],
)
def test_every_worker_has_a_public_address(public_url: str, expected: list[str]) -> None:
    assert public_url_fault(public_url) is None
    assert [public_base(public_url, n, port) for n, port in enumerate((8420, 9001))] == expected


@pytest.mark.parametrize(
    ("public_url", "named"),
    [
        ("tools.example.org", "http://HOST"),
        ("ftp://tools.example.org", "http://HOST"),
        ("https://w{worker}.example.org", "port or the path"),
        ("https://example.org/{index}", "only {worker} and {port}"),
        ("https://me:secret@example.org", "user names"),
        ("https://example.org/?a=b", "'?'"),
        ("https://[::1", "no URL"),
        ("https://example.org:seven", "the port 'seven' is no number"),
        ("https://example.org:{worker}{port}", "{port} alone as the port"),
        ("https://example.org:84{worker}", "the port of worker 255 would be '84255'"),
        ("https://example.org:{prot}", "only {worker} and {port}"),
    ],
)
def test_a_public_url_that_cannot_be_right_says_what_to_do(public_url: str, named: str) -> None:
    assert named in (public_url_fault(public_url) or "")


def test_a_port_needs_to_be_right_for_the_workers_that_there_are() -> None:
    assert public_url_fault("https://example.org:84{worker}", 10) is None
    assert "'842255'" in (public_url_fault("https://example.org:842{worker}") or "")
    assert public_url_fault("https://example.org:842{worker}", 2) is None


def test_without_a_public_url_a_worker_is_named_as_its_caller_reached_it() -> None:
    worker_info = OwnWorkerInfo(index=0, inner_urls=URLS)
    assert worker_info.base_url(scope("gate.local:80")) == "http://gate.local:80"
    assert worker_info.base_url(scope("gate.local"), 1) == "http://gate.local:9001"
    assert worker_info.base_url(scope("[::1]:8420", scheme="https"), 2) == "https://[::1]:9002"
    assert OwnWorkerInfo().base_url(scope("localhost:1")) == "http://localhost:1"


@pytest.mark.parametrize("worker", [0, 1, 2])
def test_interactive_paths_are_the_first_worker_s_and_lists_are_everybody_s(worker: int) -> None:
    worker_info = OwnWorkerInfo(index=worker, inner_urls=URLS)
    for path in ("/mcp", "/servers/a/mcp"):
        assert worker_info.answering(path) == 0
    for path in ("/v1/episodes", "/v1/episodes:batch", "/v1/servers", "/healthz", "/metrics", "/"):
        assert worker_info.answering(path) == worker
    owners = {worker_info.answering(f"/episodes/{n:032x}/mcp") for n in range(64)}
    assert owners == {0, 1, 2}
    for n in range(64):
        owner = worker_info.answering(f"/episodes/{n:032x}/mcp")
        assert worker_info.answering(f"/v1/episodes/{n:032x}/record") == owner


@pytest.fixture(scope="module")
def proxied(
    start_serve: Any, counter_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """Two workers that a reverse proxy stands before."""
    home = tmp_path_factory.mktemp("proxied") / "home"
    options = ("--workers", "2", "--public-url", PUBLIC, "--environments", str(counter_bundle))
    return start_serve(home, *options)


@pytest.mark.system
async def test_every_address_that_is_answered_is_the_public_one(proxied: Any) -> None:
    bases = (PUBLIC, f"{PUBLIC}/workers/1")
    async with GatewayClient(proxied.url, proxied.key) as control:
        assert [w.url for w in await control.workers()] == list(bases)
        created = await control.create_episodes([PURSE, PURSE])
        assert {c.mcp_url.partition("/episodes/")[0] for c in created} == set(bases)
        assert {c.control_url.partition("/v1/")[0] for c in created} == set(bases)
        listed = await control.servers()
        assert {s.mcp_url for s in listed} == {f"{PUBLIC}/servers/{s.name}/mcp" for s in listed}
        document = json.loads(
            (await control.http.send("GET", f"{proxied.url}/openapi.json", {})).body
        )
        assert document["servers"] == [{"url": PUBLIC}]
    found = find_gateway(proxied.home)
    assert found is not None
    assert (found.url, found.public_url) == (proxied.url, PUBLIC)


@pytest.mark.system
async def test_the_public_host_is_accepted_and_others_are_not(proxied: Any) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        for host, status in (("tools.example.org", 200), ("other.example.org", 421)):
            answer = await http.get(f"{proxied.url}/healthz", headers={"Host": host})
            assert answer.status_code == status
        for origin, status in ((PUBLIC.rpartition("/")[0], 200), ("https://evil.example", 403)):
            answer = await http.get(f"{proxied.url}/healthz", headers={"Origin": origin})
            assert answer.status_code == status


@pytest.mark.system
async def test_a_proxied_client_is_sent_to_the_owner_s_public_address(proxied: Any) -> None:
    inner = find_gateway(proxied.home)
    assert inner is not None
    async with GatewayClient(proxied.url, proxied.key) as control:
        created = await control.create_episodes([PURSE, PURSE])
        [second] = [c for c in created if "/workers/1/" in c.mcp_url]
        path = f"/episodes/{second.id}/mcp"
        answer = await control.http.send("POST", proxied.url + path, {}, b"{}")
        assert (answer.status, answer.headers["location"]) == (307, second.mcp_url)
        agent = EpisodeClient(inner.workers[1] + path, control.http)
        assert [t.name for t in await agent.list_tools()] == ["add", "say"]


@pytest.mark.system
def test_connect_names_the_public_url_of_the_home_s_gateway(proxied: Any) -> None:
    cli = Cli(proxied.home)
    done = cli.run_program("connect", "claude-code", "--json", HOME="/nonexistent")
    assert f"{PUBLIC}/mcp?caller=" in json.dumps(done.told["config"])


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("--public-url", "https://w{worker}.example.org", "--public-url"),
        ("--public-url", "nowhere", "write http://HOST"),
    ],
)
def test_a_wrong_option_is_named(run_serve: Any, option: str, value: str, named: str) -> None:
    done = run_serve("--port", "0", option, value)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr
