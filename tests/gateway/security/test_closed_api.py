"""Commands, URLs and other ways to run or reach something, offered through the API (remote execution)."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

RUNS_OR_REACHES = {"args", "command", "cwd", "endpoint", "env", "headers", "host", "path", "url"}
"""What an mcpServers file says of a server; only its owner may say it."""
SMUGGLED: tuple[dict[str, Any], ...] = (
    {"kind": "stdio", "command": "id"},
    {"kind": "command", "command": "id"},
    {"kind": "url", "url": "http://127.0.0.1:1/"},
    {"kind": "http", "url": "http://169.254.169.254/"},
    {"kind": "servers", "names": ["coins"], "command": "id"},
    {"kind": "servers", "names": ["coins"], "url": "http://127.0.0.1:1/"},
    {"kind": "servers", "names": [{"command": "id"}]},
    {"kind": "servers", "names": ["coins"], "mcpServers": {"x": {"command": "id"}}},
    {"kind": "environment", "name": "coins", "path": "/etc"},
    {"kind": "environment", "name": {"command": "id"}},
    {"kind": "deployed", "command": "id"},
)
REGISTRATIONS = (
    ("POST", "/v1/servers"),
    ("PUT", "/v1/servers/new"),
    ("PATCH", "/v1/servers/coins"),
    ("DELETE", "/v1/servers/coins"),
    ("POST", "/v1/servers/coins/test"),
    ("POST", "/v1/servers:test"),
    ("POST", "/mcp-rest/test/tools/list"),
    ("POST", "/v1/environments"),
    ("PUT", "/v1/environments/coins"),
    ("POST", "/servers"),
    ("POST", "/servers/coins"),
)
COMMAND: dict[str, Any] = {"name": "new", "command": "id", "args": [], "url": "http://127.0.0.1:1/"}


@pytest.mark.parametrize("path", ["/v1/episodes", "/v1/episodes:batch"])
async def test_no_source_of_an_episode_names_a_command_or_a_url(guarded: Any, path: str) -> None:
    for source in SMUGGLED:
        wanted = {"source": source}
        body = [wanted] if path.endswith("batch") else wanted
        answer = await guarded.control("POST", path, json=body)
        assert answer.status_code in (404, 422), source
    assert guarded.opened == 0


async def test_an_unknown_key_is_refused_wherever_it_stands(guarded: Any) -> None:
    source = {"kind": "environment", "name": "coins"}
    for key in sorted(RUNS_OR_REACHES):
        for body in (
            {"source": source, key: "id"},
            {"source": {**source, key: "id"}},
            {"source": source, "limits": {key: "id"}},
            {"source": source, "failures": {"rate": 0, key: "id"}},
            {"source": source, "distractors": {"mode": "none", key: "id"}},
        ):
            answer = await guarded.control("POST", "/v1/episodes", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
            assert key in answer.json()["error"]["message"]
    assert guarded.opened == 0


async def test_nothing_registers_starts_or_tests_a_server(guarded: Any) -> None:
    before = sorted(guarded.catalog.servers)
    for method, path in REGISTRATIONS:
        answer = await guarded.control(method, path, json=COMMAND)
        assert answer.status_code in (404, 405), (method, path)
    shown = (await guarded.control("GET", "/v1/servers")).json()
    assert sorted(row["name"] for row in shown) == before


def properties(schema: Any, components: dict[str, Any], seen: set[str]) -> Iterator[str]:
    """Every property that a body may have, at any depth."""
    if isinstance(schema, list):
        for part in cast("list[Any]", schema):
            yield from properties(part, components, seen)
    if not isinstance(schema, dict):
        return
    members = cast("dict[str, Any]", schema)
    name = str(members.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        seen.add(name)
        yield from properties(components[name], components, seen)
    yield from members.get("properties", {})
    for part in members.values():
        yield from properties(part, components, seen)


async def test_no_request_of_the_api_has_a_field_that_runs_or_reaches_anything(
    guarded: Any,
) -> None:
    document = (await guarded.http.get("/openapi.json")).json()
    components = document["components"]["schemas"]
    bodies = [
        operation["requestBody"]
        for operations in document["paths"].values()
        for operation in operations.values()
        if "requestBody" in operation
    ]
    found = set(properties(bodies, components, set()))
    assert {"source", "seed", "names", "limits"} <= found
    assert found & RUNS_OR_REACHES == set()
    models = [components[name] for name in ("EpisodeRequest", "EpisodeLimits", "SourceServers")]
    assert [model["additionalProperties"] for model in models] == [False] * 3


async def test_a_name_is_looked_up_and_never_followed(guarded: Any) -> None:
    for name in (
        "http://127.0.0.1:1/",
        "../../etc/passwd",
        "/etc/passwd",
        "coins\r\nX-Injected: 1",
        "coins\x00",
        "$(id)",
        "`id`",
        "coins;id",
        "-c",
        "file:///etc/passwd",
    ):
        for source in ({"kind": "environment", "name": name}, {"kind": "servers", "names": [name]}):
            answer = await guarded.control("POST", "/v1/episodes", json={"source": source})
            assert answer.status_code == 404, name
            assert "x-injected" not in answer.headers
    assert guarded.opened == 0
