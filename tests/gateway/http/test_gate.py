"""Who may speak to the gateway, and how much."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from astra_mcp.errors import ConfigError
from gateway.api.client import CallRefusedError, EpisodeClient, open_http
from gateway.edge.keys import control_key_path, ensure_control_key, is_known, read_control_key
from gateway.edge.security import access_rules, loggable_path

from metric_samples import samples_of

API_KEY = "an api key for the tests"


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1", "[::1]:{port}", "LOCALHOST"])
async def test_the_loopback_names_are_accepted(gateway: Any, host: str) -> None:
    port = gateway.url.rpartition(":")[2]
    answer = await gateway.stranger.get("/healthz", headers={"Host": host.format(port=port)})
    assert answer.status_code == 200


async def test_an_allowed_host_is_accepted_on_its_port_alone(open_gateway: Any) -> None:
    async with open_gateway(allowed_hosts=["Gate.example:8443"]) as gateway:
        statuses = [
            (await gateway.stranger.get("/healthz", headers={"Host": host})).status_code
            for host in ("gate.example:8443", "gate.example:80", "gate.example")
        ]
        assert statuses == [200, 421, 421]


async def test_the_gateways_own_origin_is_accepted(gateway: Any) -> None:
    answer = await gateway.stranger.get("/healthz", headers={"Origin": gateway.url})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("allowed", "origin", "status"),
    [
        ((), "http://127.0.0.1:{port}", 200),
        ((), "http://localhost:{port}", 403),
        ((), "http://127.0.0.1:3000", 403),
        ((), "http://127.0.0.1", 403),
        (("localhost:3000",), "http://localhost:3000", 200),
        (("localhost:3000",), "http://localhost:3001", 403),
        (("tools.example",), "https://tools.example", 200),
    ],
)
async def test_a_page_of_another_port_is_foreign_unless_its_host_is_allowed(
    open_gateway: Any, allowed: tuple[str, ...], origin: str, status: int
) -> None:
    async with open_gateway(allowed_hosts=allowed, own_hosts=["127.0.0.1"]) as gateway:
        port = gateway.url.rpartition(":")[2]
        headers = {"Origin": origin.format(port=port)}
        assert (await gateway.stranger.get("/healthz", headers=headers)).status_code == status


async def test_the_key_is_accepted_in_any_case_of_the_scheme(gateway: Any) -> None:
    headers = {"Authorization": f"bearer {gateway.key}"}
    assert (await gateway.stranger.get("/v1/servers", headers=headers)).status_code == 200


async def test_with_api_keys_everything_but_health_and_episodes_needs_one(
    open_gateway: Any,
) -> None:
    async with open_gateway(api_keys=[API_KEY]) as gateway:
        for path in ("/mcp", "/servers/coins/mcp", "/metrics", "/openapi.json", "/nothing"):
            assert (await gateway.stranger.get(path)).status_code == 401, path
            headers = {"Authorization": f"Bearer {API_KEY}"}
            assert (await gateway.stranger.get(path, headers=headers)).status_code != 401, path
        assert (await gateway.stranger.get("/healthz")).status_code == 200
        headers = {"Authorization": f"Bearer {API_KEY}"}
        assert (await gateway.stranger.get("/v1/servers", headers=headers)).status_code == 401
        created = await gateway.episode()
        assert (await gateway.stranger.get(created["mcp_url"])).status_code == 405


async def test_a_declared_body_that_is_too_large_is_refused(gateway: Any) -> None:
    for path in ("/v1/episodes", "/mcp"):
        answer = await gateway.control.post(path, content=b"x" * 65537)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


async def test_a_streamed_body_that_grows_too_large_is_refused(gateway: Any) -> None:
    async def chunks() -> Any:
        for _ in range(9):
            yield b"x" * 8192

    answer = await gateway.control.post("/v1/episodes", content=chunks())
    assert answer.status_code == 413


async def test_a_body_of_exactly_the_limit_reaches_the_plane(gateway: Any) -> None:
    answer = await gateway.control.post("/v1/episodes", content=b" " * 65536)
    assert answer.status_code == 422


async def test_too_many_or_too_large_headers_are_refused(gateway: Any) -> None:
    many = {f"X-{n}": "1" for n in range(101)}
    large = {"X-Large": "x" * 33_000}
    for headers in (many, large):
        answer = await gateway.stranger.get("/healthz", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (431, "headers_too_large")


async def test_a_body_that_holds_too_much_is_refused_unread_and_counted(open_gateway: Any) -> None:
    async with open_gateway(max_body_values=1024) as gateway:
        body = json.dumps({"source": 1, "labels": dict.fromkeys(map(str, range(1024)), "")})
        answer = await gateway.control.post("/v1/episodes", content=body)
        assert (answer.status_code, answer.json()["error"]) == (
            413,
            {
                "code": "body_too_complex",
                "message": "at most 1024 names and values are accepted in one body: send less at once",
            },
        )
        samples = samples_of((await gateway.stranger.get("/metrics")).text)
        assert samples["astra_mcp_http_requests_total", "control", "413"] == 1


async def test_a_batch_may_hold_what_its_requests_hold(open_gateway: Any) -> None:
    source = {"kind": "environment", "name": "coins"}
    batch = [{"source": source, "labels": dict.fromkeys(map(str, range(30)), "x")}] * 20
    async with open_gateway(max_body_values=1024) as gateway:
        answer = await gateway.control.post("/v1/episodes:batch?first=7", json=batch)
        assert answer.status_code == 201
        assert len(answer.json()) == 20


async def test_an_agent_is_told_in_its_own_protocol_which_bound_it_exceeds(
    gateway: Any, era: str, sdk: Any
) -> None:
    """Both eras: the SDK's client shows what the answer says."""
    created = await gateway.episode()
    async with sdk(created["mcp_url"], era) as client:
        with pytest.raises(MCPError, match="at most 10000 names and values") as refused:
            await client.call_tool("echo", {"text": [1] * 10_001})
        assert refused.value.error.code == -32600
        with pytest.raises(MCPError, match="at most 200 levels"):
            await client.call_tool("echo", {"text": json.loads("[" * 210 + "]" * 210)})
        said = await client.call_tool("echo", {"text": ",:[]{}" * 5000})
        assert not said.is_error
    state = (await gateway.control.get(f"/v1/episodes/{created['id']}")).json()
    assert state["calls"] == 1


async def test_our_client_tells_a_refused_call_from_a_gateway_that_fails(gateway: Any) -> None:
    created = await gateway.episode()
    many: Any = [1] * 10_001
    async with open_http() as http:
        client = EpisodeClient(created["mcp_url"], http)
        with pytest.raises(CallRefusedError, match="at most 10000 names and values"):
            await client.call("echo", {"text": many})


@asynccontextmanager
async def connected(gateway: Any, head: str) -> AsyncGenerator[anyio.abc.SocketStream]:
    """Send the beginning of a request by hand, with a line break for each line of the text."""
    port = int(gateway.url.rpartition(":")[2])
    with anyio.fail_after(20):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(head.replace("\n", "\r\n").encode())
            yield stream


async def send_without_end(stream: anyio.abc.SocketStream, piece: bytes = b"x" * 65536) -> None:
    for _ in range(10_000):
        await stream.send(piece)


async def test_a_head_that_never_ends_is_refused_before_it_fills_the_memory(gateway: Any) -> None:
    async with connected(gateway, "GET /healthz HTTP/1.1\nHost: 127.0.0.1\nX-Large: ") as stream:
        with pytest.raises(anyio.BrokenResourceError):
            await send_without_end(stream)
    assert (await gateway.stranger.get("/healthz")).status_code == 200


@pytest.mark.parametrize("path", ["/v1/episodes", "/healthz", "/mcp"])
async def test_a_refused_body_is_not_read_to_its_end(gateway: Any, path: str) -> None:
    head = f"POST {path} HTTP/1.1\nHost: 127.0.0.1\nTransfer-Encoding: chunked\n\n"
    async with connected(gateway, head) as stream:
        with pytest.raises(anyio.BrokenResourceError):
            await send_without_end(stream, b"10000\r\n%s\r\n" % (b"x" * 65536))


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
async def test_the_answer_to_a_refused_body_arrives_before_the_body_is_sent(
    gateway: Any, host: str
) -> None:
    body = b"x" * 1_000_000
    head = f"POST /healthz HTTP/1.1\nHost: {host}\nContent-Length: {len(body)}\n\n"
    async with connected(gateway, head) as stream:
        answer = await stream.receive()
        await stream.send(body)
        assert [chunk async for chunk in stream] == []  # closed in order, with all read
    assert answer.startswith(b"HTTP/1.1 413 " if host == "127.0.0.1" else b"HTTP/1.1 421 ")
    assert b"connection: close\r\n" in answer
    assert answer.endswith(b"}}")


async def test_a_refusal_without_a_body_keeps_the_connection(gateway: Any) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = await gateway.stranger.request(method, "/v1/servers")
        assert answer.status_code == 401
        assert "connection" not in answer.headers


async def test_two_host_headers_are_refused(gateway: Any) -> None:
    host = gateway.url.removeprefix("http://")
    head = f"GET /healthz HTTP/1.1\nHost: {host}\nHost: evil.example\n\n"
    async with connected(gateway, head) as stream:
        assert b" 421 " in await stream.receive()


async def test_a_request_that_is_cut_off_is_not_executed(gateway: Any) -> None:
    body = '{"source": {"kind": "environment", "name": "coins"}}'
    head = (
        f"POST /v1/episodes HTTP/1.1\nHost: 127.0.0.1\nContent-Length: {len(body) + 1}\n"
        f"Content-Type: application/json\nAuthorization: Bearer {gateway.key}\n\n"
    )
    async with connected(gateway, head + body):
        pass
    # The server handles connections in turn: its next answer comes after the cut-off request.
    assert (await gateway.control.get("/v1/episodes")).json() == []
    assert gateway.episodes.count_open() == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "gate.example"])
def test_a_reachable_address_without_api_keys_is_refused_with_the_remedy(host: str) -> None:
    with pytest.raises(ConfigError, match="ASTRA_MCP_SERVE__API_KEYS"):
        access_rules(host=host, control_key="k" * 32)
    rules = access_rules(host=host, control_key="k" * 32, api_keys=[API_KEY])
    assert ("0.0.0.0" in rules.hosts) is False


def test_the_bound_address_is_accepted_as_host() -> None:
    rules = access_rules(host="Gate.example", control_key="k" * 32, api_keys=[API_KEY])
    assert rules.hosts == {"localhost", "127.0.0.1", "::1", "gate.example"}


def test_a_short_api_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="16 characters"):
        access_rules(host="127.0.0.1", control_key="k" * 32, api_keys=["short"])


@given(st.text(), st.lists(st.text(), max_size=4))
def test_a_key_is_known_exactly_if_it_is_one_of_them(given: str, keys: list[str]) -> None:
    assert is_known(given, keys) is (given in keys)


@given(st.text("0123456789abcdef", min_size=7), st.sampled_from(["/mcp", "", "/x"]))
def test_no_log_line_holds_a_whole_episode_id(episode: str, rest: str) -> None:
    for prefix in ("/episodes/", "/v1/episodes/", "//episodes/"):
        shown = loggable_path(prefix + episode + rest)
        assert episode not in shown
        assert episode[:6] in shown


@given(
    st.lists(st.text("/.-_xyzé"), min_size=2, max_size=5),
    st.text("0123456789abcdefABCDEF", min_size=32, max_size=80),
)
def test_no_log_line_holds_an_episode_id_of_a_mistyped_path(around: list[str], run: str) -> None:
    shown = loggable_path(run.join(around))
    assert re.search("[0-9a-fA-F]{7}", shown) is None
    assert run[:6] in shown


@pytest.mark.parametrize(
    "path",
    [
        *(f"/{place}/{{}}/mcp" for place in ("episodes/", "Episodes", "episode", "servers")),
        "/episodes/x/../{}",
    ],
)
async def test_a_mistyped_address_leaves_no_episode_id_in_the_access_log(
    gateway: Any, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    episode = (await gateway.episode())["id"]
    with caplog.at_level("INFO", "astra_mcp.access"):
        head = f"GET {path.format(episode)} HTTP/1.1\nHost: 127.0.0.1\n\n"
        async with connected(gateway, head) as stream:
            await stream.receive()
    assert episode[:6] in caplog.text
    assert episode not in caplog.text


def test_control_characters_do_not_reach_the_log() -> None:
    assert loggable_path("/a\n2026 forged line") == "/a?2026 forged line"


def test_the_control_key_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    key = ensure_control_key(home)
    assert len(key) >= 43
    assert ensure_control_key(home) == key == read_control_key(home)
    assert control_key_path(home).stat().st_mode & 0o777 == 0o600
    assert [p.name for p in home.iterdir()] == ["control.key"]


def test_a_control_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ensure_control_key(tmp_path)
    control_key_path(tmp_path).chmod(0o640)
    with pytest.raises(ConfigError, match="mode 640"):
        ensure_control_key(tmp_path)


def test_an_empty_or_missing_control_key_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="astra-mcp serve"):
        read_control_key(tmp_path)
    control_key_path(tmp_path).touch(0o600)
    with pytest.raises(ConfigError, match="delete it"):
        ensure_control_key(tmp_path)


async def test_an_answer_of_the_gate_says_what_to_do(gateway: Any) -> None:
    answer: httpx.Response = await gateway.stranger.get("/v1/servers")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answer.json()["error"]["message"]
