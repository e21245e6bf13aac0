"""Which servers hold the state of an interactive endpoint, while servers fail, recover and are replaced."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.types import JsonObject
from gateway.agents.endpoints import Endpoints
from gateway.agents.notifications import Notifications
from gateway.agents.targets import InteractiveTarget
from gateway.episodes.episode import Episode
from gateway.episodes.live import Episodes, open_episodes
from servers.deployed import DeployedServers, open_deployed
from servers.deployed.config import read_entries

from deployed_workshop import raw_entry
from relayed_servers import DeployedCatalog

ALL = InteractiveTarget(None)


@dataclass
class Shop:
    """Deployed servers of a file, and the states that people have at their endpoints."""

    servers: DeployedServers
    episodes: Episodes
    news: Notifications
    endpoints: Endpoints
    file: Path

    async def state(self, target: InteractiveTarget) -> Episode:
        """Find Ann's state as a request of hers does."""
        view = await self.endpoints.prepared(target)
        assert view.upstreams
        found = await self.news.state(self.endpoints.view(target), "ann")
        assert isinstance(found, Episode)
        return found

    def publish(self, entries: JsonObject) -> None:
        """Have these servers from now on."""
        self.file.write_text(json.dumps({"mcpServers": entries}))
        self.servers.publish(read_entries(self.file).values(), source=self.file)


@asynccontextmanager
async def _shop(folder: Path, entries: JsonObject) -> AsyncGenerator[Shop]:
    async with open_deployed(None, home=folder) as servers:
        catalog = DeployedCatalog(servers)
        async with open_episodes(catalog, folder, secret=b"s" * 32) as episodes:
            endpoints = Endpoints(catalog, episodes)
            async with Notifications.open(endpoints) as news:
                shop = Shop(servers, episodes, news, endpoints, folder / "servers.json")
                shop.publish(entries)
                yield shop


def _late(folder: Path) -> Any:
    """A server that starts only once a file is there."""
    [script, *rest] = [raw_entry()["args"][-1], *raw_entry()["args"][:-1]]
    line = f"test -e {folder / 'ready'} || exit 1; exec {raw_entry()['command']} {' '.join(rest)} {script}"
    return {"command": "sh", "args": ["-c", line]}


async def test_a_server_that_is_down_breaks_no_call_to_another_one(tmp_path: Path) -> None:
    async with _shop(tmp_path, {"dead": {"command": "false"}, "raw": raw_entry()}) as shop:
        state = await shop.state(ALL)
        assert (await state.call("raw__count", {})).text == "1"


async def test_a_server_that_comes_up_joins_the_state_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.episodes.warm_up.RETRY_SECONDS", 0.0)
    monkeypatch.setattr("servers.deployed.server.FIRST_PAUSE", 0.0)
    async with _shop(tmp_path, {"late": _late(tmp_path), "raw": raw_entry()}) as shop:
        state = await shop.state(ALL)
        assert (await state.call("raw__count", {})).text == "1"
        assert "late__count" not in [tool.name for tool in state.tools]
        (tmp_path / "ready").touch()
        late = shop.servers.find("late")
        assert late is not None
        while not late.tools:
            assert await shop.state(ALL) is state
        assert await shop.state(ALL) is state
        assert (await state.call("raw__count", {})).text == "2"
        assert (await state.call("late__count", {})).text == "1"


async def test_a_state_is_restored_although_a_server_of_it_is_down(tmp_path: Path) -> None:
    entries: JsonObject = {"dead": {"command": "false"}, "raw": raw_entry()}
    async with _shop(tmp_path, entries) as shop:
        state = (await shop.state(ALL)).id
    async with _shop(tmp_path, entries) as shop:
        assert (await shop.state(ALL)).id == state


@pytest.mark.parametrize("target", [ALL, InteractiveTarget("raw")], ids=["all", "one"])
async def test_an_entry_that_is_removed_and_put_back_begins_a_new_state(
    target: InteractiveTarget, tmp_path: Path
) -> None:
    prefix = "" if target.server else "raw__"
    entries: JsonObject = {"raw": raw_entry(), "twin": raw_entry()}
    async with _shop(tmp_path, entries) as shop:
        before = await shop.state(target)
        assert (await before.call(f"{prefix}count", {})).text == "1"
        shop.publish({"twin": raw_entry()})
        shop.publish(entries)
        after = await shop.state(target)
        assert after is not before
        answer = await after.call(f"{prefix}count", {})
        assert (answer.text, answer.is_error) == ("1", False)
