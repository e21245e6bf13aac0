"""``/v0.1/servers`` of a real gateway process: its servers, its registry, and what it keeps to itself."""

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest

from astra_mcp.types import JsonObject
from registry.published.names import read_names
from registry.published.server_json import parse_server

from command_line import Cli
from deployed_workshop import write_config

PATIENCE_SECONDS = 30
EVERYTHING = {"limit": 100}


async def listed(url: str, **query: Any) -> dict[str, JsonObject]:
    """Read the whole list, by name."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        answer = await http.get("/v0.1/servers", params={**EVERYTHING, **query})
    assert answer.status_code == 200, answer.text
    return {entry["server"]["name"]: entry["server"] for entry in answer.json()["servers"]}


def import_into(home: Path, source: str) -> dict[str, Any]:
    """Import in another process; returns what it tells."""
    done = Cli(home).run_program("registry", "import", "--json", source)
    assert done.returncode == 0, done.stderr
    return done.told


async def test_an_environment_is_listed_with_its_tools_and_an_address_that_speaks_mcp(
    served: Any, sdk: Any, era: str
) -> None:
    found = (await listed(served.url))["example.org/purse"]
    assert [tool.name for tool in parse_server(found).tools] == ["add", "say"]
    remotes: Any = found["remotes"]
    [remote] = remotes
    async with sdk(remote["url"], era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "say"]


async def test_a_deployed_server_is_listed_without_how_it_is_started_or_reached(
    start_serve: Any, tmp_path: Path
) -> None:
    notes = {"command": "keeper-of-notes", "args": ["--hush"], "env": {"TOKEN": "open-sesame"}}
    far = {"url": "https://far.example/mcp", "headers": {"Authorization": "Bearer hidden"}}
    config = write_config(tmp_path, notes=notes, far=far)
    gateway = start_serve(tmp_path / "home", "--mcp-config", str(config))
    found = await listed(gateway.url, search="deployed")
    names = read_names(gateway.home)
    assert names.deployed == ("far", "notes")
    assert "loan-overpayment" in names.environments
    assert set(found) == {"dev.astra-mcp.deployed/far", "dev.astra-mcp.deployed/notes"}
    remotes: Any = found["dev.astra-mcp.deployed/notes"]["remotes"]
    assert remotes == [{"type": "streamable-http", "url": f"{gateway.url}/servers/notes/mcp"}]
    shown = json.dumps(found)
    for secret in ("keeper-of-notes", "hush", "TOKEN", "open-sesame", "far.example", "hidden"):
        assert secret not in shown


@pytest.mark.system
async def test_what_another_process_imports_is_listed_and_served_without_a_restart(
    start_serve: Any, sdk: Any, tmp_path: Path
) -> None:
    gateway = start_serve(tmp_path / "home")
    tools: list[dict[str, Any]] = [
        {"name": f"harbour_{what}", "description": f"Tell the {what}", "parameters": {}}
        for what in ("depth", "width", "level")
    ]
    file = tmp_path / "functions.json"
    file.write_text(json.dumps(tools))
    assert await listed(gateway.url, search="harbour") == {}
    await anyio.to_thread.run_sync(import_into, gateway.home, str(file))
    document: JsonObject = {}
    with anyio.fail_after(PATIENCE_SECONDS):
        while "remotes" not in document:
            found = await listed(gateway.url, search="harbour")
            document = found.get("dev.astra-mcp/harbour", {})
            await anyio.sleep(0.05)
    assert len(parse_server(document).tools) == len(tools)
    remotes: Any = document["remotes"]
    assert remotes == [{"type": "streamable-http", "url": f"{gateway.url}/servers/harbour/mcp"}]
    async with sdk(remotes[0]["url"], "2026-07-28") as client:
        assert len((await client.list_tools()).tools) == len(tools)


@pytest.mark.system
async def test_another_home_imports_the_whole_list(served: Any, tmp_path: Path) -> None:
    told = await anyio.to_thread.run_sync(
        import_into, tmp_path / "other", f"{served.url}/v0.1/servers"
    )
    assert told["errors"] == []
    assert told["servers"]["imported"] == len(await listed(served.url))
    assert set(told["servers"]["rejected"]) == {"too_few_tools"}, "the purse has two"
