"""``astra-mcp serve`` as a real process: what it publishes, how it refuses, how it stops."""

import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters

from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.wire import EpisodeRequest
from gateway.edge.discovery import find_gateway

from relayed_servers import LEGACY, MODERN
from tiers import AT_THE_GATE

MANY_EPISODES = 64


def request(name: str, **fields: Any) -> EpisodeRequest:
    return EpisodeRequest.model_validate(
        {"source": {"kind": "environment", "name": name}, **fields}
    )


async def test_the_sdk_solves_every_kind_of_endpoint_of_the_real_process(
    served: Any, sdk: Any, era: str
) -> None:
    async with sdk(f"{served.url}/mcp", era) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        assert "purse__add" in names
        added = await client.call_tool("purse__add", {"amount": 2})
        assert '"total": ' in added.content[0].text
    async with sdk(f"{served.url}/servers/purse/mcp?caller={era}", era) as client:
        assert [t.name for t in (await client.list_tools()).tools] == ["add", "say"]
        assert '"total": 3' in (await client.call_tool("add", {"amount": 3})).content[0].text
    async with GatewayClient(served.url, served.key) as control:
        created = await control.create_episode(request("purse"))
        async with sdk(created.mcp_url, era) as client:
            assert '"total": 4' in (await client.call_tool("add", {"amount": 4})).content[0].text
        assert (await control.close_episode(created.id)).calls == 1


async def test_gold_solves_every_verified_environment_in_64_episodes_at_once(served: Any) -> None:
    async with GatewayClient(served.url, served.key) as control:
        names = [e.name for e in await control.environments() if e.status == "verified"]
        gold = {name: await control.gold(name) for name in names}
        played = [names[n % len(names)] for n in range(MANY_EPISODES)]
        created = await control.create_episodes([request(name) for name in played])
        unsolved: list[str] = []

        async def play(name: str, episode: Any) -> None:
            agent = EpisodeClient(episode.mcp_url, control.http)
            for seq, step in enumerate(gold[name]):
                await agent.call(step.tool, step.arguments, seq=seq)
            state = await control.close_episode(episode.id)
            if state.reward is None or state.reward.reward < 0.999:
                unsolved.append(f"{name}: {state.reward} {state.failure}")

        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                for name, episode in zip(played, created, strict=True):
                    group.start_soon(play, name, episode)
        assert names
        assert unsolved == []


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="stop"),
        pytest.param(signal.SIGHUP, id="hang-up", marks=pytest.mark.system),
    ],
)
async def test_the_process_says_where_it_is_and_forgets_it_when_it_is_stopped(
    start_serve: Any, tmp_path: Path, counter_bundle: Path, number: signal.Signals
) -> None:
    home = tmp_path / "home"
    running = start_serve(home, "--environments", str(counter_bundle))
    found = find_gateway(home)
    assert found is not None
    assert (found.url, found.pid) == (running.url, running.process.pid)
    assert (home / "records").stat().st_mode & 0o777 == 0o700
    assert running.stop(number) == 0
    assert find_gateway(home) is None
    assert not (home / "gateway.json").exists()


async def test_the_request_log_of_what_ctrl_c_stops_holds_no_key_no_query_and_no_whole_episode_id(
    start_serve: Any, tmp_path: Path, counter_bundle: Path
) -> None:
    running = start_serve(tmp_path / "home", "--verbose", "--environments", str(counter_bundle))
    async with GatewayClient(running.url, running.key) as control:
        created = await control.create_episode(request("purse"))
        await EpisodeClient(created.mcp_url, control.http).call("add", {"amount": 1})
        interactive = EpisodeClient(f"{running.url}/mcp?caller=hidden-token", control.http)
        await interactive.call("purse__add", {"amount": 1})
        await control.close_episode(created.id)
        key = running.key
    assert running.stop(signal.SIGINT) == 130
    log = running.log.read_text()
    assert f"POST /episodes/{created.id[:6]}…/mcp 200" in log
    assert f"DELETE /v1/episodes/{created.id[:6]}… 200" in log
    assert "POST /mcp 200" in log
    for secret in (created.id, key, "hidden-token"):
        assert secret not in log


def test_a_port_in_use_is_refused_with_the_remedy(run_serve: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run_serve("--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "is in use" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_gateway_of_one_home_is_refused_and_names_the_first(
    served: Any, run_serve: Any
) -> None:
    done = run_serve("--port", "0", home=served.home)
    assert done.returncode == 1
    assert served.url in done.stderr


def test_a_reachable_address_without_a_key_is_refused(run_serve: Any) -> None:
    done = run_serve("--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "serve.api_keys" in done.stderr


async def test_a_reachable_address_with_a_key_asks_for_it(start_serve: Any, tmp_path: Path) -> None:
    key = "a long enough key for the test"
    variables = {"ASTRA_MCP_SERVE__API_KEYS": json.dumps([key])}
    running = start_serve(tmp_path / "home", "--host", "0.0.0.0", **variables)
    async with httpx.AsyncClient(base_url=running.url, trust_env=False) as http:
        assert (await http.get("/metrics")).status_code == 401
        allowed = await http.get("/metrics", headers={"Authorization": f"Bearer {key}"})
        assert allowed.status_code == 200
        foreign = await http.get("/healthz", headers={"Host": "0.0.0.0"})
        assert foreign.status_code == 421


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--port", "0", "--environments", "nowhere"), "nowhere"),
        (("--port", "0", "--environments", "."), "holds no bundle"),
        (("--server", "purse"), "--stdio"),
        (("--stdio", "--port", "1"), "--port"),
    ],
)
def test_wrong_options_are_refused_by_name(
    run_serve: Any, options: tuple[str, ...], named: str
) -> None:
    done = run_serve(*options)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_bundle_is_refused_with_file_and_field(
    run_serve: Any, counter_bundle: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(counter_bundle, tmp_path / "broken")
    text = (folder / "environment.json").read_text()
    (folder / "environment.json").write_text(text.replace('"education"', '"alchemy"'))
    done = run_serve("--port", "0", "--environments", str(folder))
    assert done.returncode == 1
    assert "environment.json" in done.stderr
    assert "domain" in done.stderr


def test_a_control_key_that_others_can_read_stops_the_start(run_serve: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "control.key").write_text("k" * 43)
    (home / "control.key").chmod(0o644)
    done = run_serve("--port", "0", home=home)
    assert done.returncode == 2
    assert "mode 644" in done.stderr
    assert "k" * 43 not in done.stderr


def test_an_unknown_server_over_stdio_is_refused(run_serve: Any) -> None:
    done = run_serve("--stdio", "--server", "purze")
    assert done.returncode == 1
    assert "purze" in done.stderr
    assert done.stdout == ""


def test_a_server_that_is_not_shown_is_refused_over_stdio_too(run_serve: Any) -> None:
    done = run_serve("--stdio", "--server", "tour-rebooking", "--interactive", "none")
    assert done.returncode == 1
    assert "open to episodes alone" in done.stderr


@pytest.mark.parametrize(
    ("era", "server", "tool"),
    [
        pytest.param(LEGACY, None, "purse__add", id="2025-all"),
        pytest.param(MODERN, None, "purse__add", id="2026-all", marks=AT_THE_GATE),
        pytest.param(LEGACY, "purse", "add", id="2025-one", marks=pytest.mark.system),
        pytest.param(MODERN, "purse", "add", id="2026-one", marks=pytest.mark.system),
    ],
)
async def test_the_sdk_calls_over_stdio(
    *, era: str, server: str | None, tool: str, counter_bundle: Path, tmp_path: Path
) -> None:
    options = ["--environments", str(counter_bundle)]
    options += ["--server", server] if server else []
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "astra_mcp", "serve", "--stdio", *options],
        env={**os.environ, "ASTRA_MCP_HOME": str(tmp_path / "home")},
    )
    with anyio.fail_after(60):
        client = Client(parameters, mode=era, cache=None)  # pyright: ignore[reportArgumentType]
        async with client:
            assert tool in [t.name for t in (await client.list_tools()).tools]
            for expected in ("3", "6"):
                result = await client.call_tool(tool, {"amount": 3})
                assert f'"total": {expected}' in str(result.content)
    records = list((tmp_path / "home" / "records").iterdir())
    assert len(records) == 1
    assert records[0].read_text().count('"call_finished"') == 2
