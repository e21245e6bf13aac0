"""``serve --workers 2`` as real processes: whose an episode is, what the first worker answers for all."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx
import psutil
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.types import ToolResult
from gateway.api.client import EpisodeClient, GatewayClient, RefusedError
from gateway.api.wire import EpisodeRequest, WorkerInfo
from gateway.edge.discovery import find_gateway
from gateway.edge.placement import owner_of

from command_line import Cli
from metric_samples import samples_of

NUM_WORKERS = 2
WAIT_SECONDS = 60.0


def request(name: str = "purse", **fields: Any) -> EpisodeRequest:
    return EpisodeRequest.model_validate(
        {"source": {"kind": "environment", "name": name}, **fields}
    )


def total(result: ToolResult) -> int:
    """Read the purse's answer."""
    assert not result.is_error, result.text
    return json.loads(result.text)["total"]


@pytest.fixture(scope="module")
def fleet(start_serve: Any, counter_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway of two workers; tests leave it running."""
    home = tmp_path_factory.mktemp("fleet") / "home"
    return start_serve(home, "--workers", str(NUM_WORKERS), "--environments", str(counter_bundle))


async def workers_of(fleet: Any) -> list[WorkerInfo]:
    async with GatewayClient(fleet.url, fleet.key) as control:
        return await control.workers()


async def test_the_first_worker_lists_all_of_them(fleet: Any) -> None:
    workers = await workers_of(fleet)
    assert [w.index for w in workers] == [0, 1]
    assert workers[0].url == fleet.url
    assert len({w.pid for w in workers}) == NUM_WORKERS
    assert all(w.missing == () for w in workers)
    found = find_gateway(fleet.home)
    assert found is not None
    assert found.workers == tuple(w.url for w in workers)
    async with GatewayClient(workers[1].url, fleet.key) as second:
        assert [w.index for w in await second.workers()] == [1]


async def test_creations_are_spread_and_answer_the_address_of_their_worker(fleet: Any) -> None:
    urls = [w.url for w in await workers_of(fleet)]
    async with GatewayClient(fleet.url, fleet.key) as control:
        created = [await control.create_episode(request()) for _ in range(4)]
        for one in created:
            base = urls[owner_of(one.id, NUM_WORKERS)]
            assert one.mcp_url == f"{base}/episodes/{one.id}/mcp"
            assert one.control_url == f"{base}/v1/episodes/{one.id}"
            agent = EpisodeClient(one.mcp_url, control.http)
            assert total(await agent.call("add", {"amount": 2})) == 2
            assert (await control.close_episode(one.id)).calls == 1
        assert Counter(owner_of(c.id, NUM_WORKERS) for c in created) == {0: 2, 1: 2}


async def test_a_batch_keeps_its_order_over_the_workers(fleet: Any) -> None:
    async with GatewayClient(fleet.url, fleet.key) as control:
        created = await control.create_episodes([request(seed=n) for n in range(7)])
        assert [c.seed for c in created] == list(range(7))
        assert {owner_of(c.id, NUM_WORKERS) for c in created} == {0, 1}
        listed = {s.id for s in await control.open_episodes()}
        assert {c.id for c in created} <= listed
        for one in created:
            await control.close_episode(one.id)


async def test_a_batch_that_one_worker_refuses_opens_nothing_at_any(fleet: Any) -> None:
    async with GatewayClient(fleet.url, fleet.key) as control:
        before = {s.id for s in await control.open_episodes()}
        for place in range(4):
            batch = [request("nowhere" if n == place else "purse") for n in range(4)]
            with pytest.raises(RefusedError, match=f"episode {place} of the batch") as refused:
                await control.create_episodes(batch)
            assert (refused.value.status, refused.value.code) == (404, "unknown_name")
        assert {s.id for s in await control.open_episodes()} == before


async def test_episodes_of_all_workers_are_closed_at_once_whoever_is_asked(fleet: Any) -> None:
    urls = [w.url for w in await workers_of(fleet)]
    for url in urls:
        async with (
            GatewayClient(fleet.url, fleet.key) as control,
            GatewayClient(url, fleet.key) as asked,
        ):
            created = await control.create_episodes([request()] * 4)
            assert {owner_of(c.id, NUM_WORKERS) for c in created} == {0, 1}
            states = await asked.close_episodes([c.id for c in created])
            assert [s.id for s in states] == [c.id for c in created]
            assert {s.status for s in states} == {EpisodeStatus.CLOSED}
            assert not {s.id for s in await control.open_episodes()} & {c.id for c in created}


async def test_the_wrong_worker_sends_requests_on_and_our_clients_follow(fleet: Any) -> None:
    urls = [w.url for w in await workers_of(fleet)]
    async with GatewayClient(fleet.url, fleet.key) as control:
        created = await control.create_episodes([request(), request()])
        for one in created:
            owner = owner_of(one.id, NUM_WORKERS)
            wrong = urls[1 - owner]
            answer = await control.http.send("POST", f"{wrong}/episodes/{one.id}/mcp", {}, b"{}")
            assert answer.status == 307
            assert answer.headers["location"] == one.mcp_url
            agent = EpisodeClient(f"{wrong}/episodes/{one.id}/mcp", control.http)
            assert total(await agent.call("add", {"amount": 3})) == 3
            assert total(await agent.call("add", {"amount": 3})) == 6
        async with GatewayClient(urls[1], fleet.key) as second:
            for one in created:
                assert (await second.record(one.id)).state.calls == 2
                assert (await second.close_episode(one.id)).calls == 2


async def test_a_key_is_asked_for_before_a_request_is_sent_on(fleet: Any) -> None:
    urls = [w.url for w in await workers_of(fleet)]
    async with GatewayClient(fleet.url, fleet.key) as control:
        created = await control.create_episodes([request(), request()])
        async with httpx.AsyncClient(trust_env=False) as stranger:
            for one in created:
                for url in urls:
                    answer = await stranger.get(f"{url}/v1/episodes/{one.id}")
                    assert answer.status_code == 401
        for one in created:
            await control.close_episode(one.id)


async def test_interactive_endpoints_are_the_first_worker_s(fleet: Any, sdk: Any, era: str) -> None:
    urls = [w.url for w in await workers_of(fleet)]
    async with httpx.AsyncClient(trust_env=False) as http:
        for path in ("/mcp?caller=a", "/servers/purse/mcp"):
            answer = await http.post(urls[1] + path, content=b"{}")
            assert answer.status_code == 307
            assert answer.headers["location"] == urls[0] + path
    async with GatewayClient(urls[1], fleet.key) as second:
        listed = {s.name: s.mcp_url for s in await second.servers()}
        assert listed["purse"] == f"{urls[0]}/servers/purse/mcp"
    async with sdk(f"{fleet.url}/servers/purse/mcp?caller=here-{era}", era) as client:
        assert '"total": 3' in (await client.call_tool("add", {"amount": 3})).content[0].text


async def test_the_first_worker_tells_the_numbers_of_all(fleet: Any) -> None:
    async with GatewayClient(fleet.url, fleet.key) as control:

        async def numbers(name: str) -> Counter[str]:
            found: Counter[str] = Counter()
            for (sample, *_, worker), value in samples_of(await control.metrics()).items():
                found[worker] += int(value) if sample == name else 0
            return +found

        before = await numbers("astra_mcp_calls_total")
        for created in await control.create_episodes([request()] * 4):
            await EpisodeClient(created.mcp_url, control.http).call("add", {"amount": 1})
            await control.close_episode(created.id)
        assert await numbers("astra_mcp_worker_up") == {"0": 1, "1": 1}
        assert await numbers("astra_mcp_calls_total") - before == {"0": 2, "1": 2}


@pytest.mark.system
async def test_a_killed_worker_comes_back_at_its_port_with_its_episodes(fleet: Any) -> None:
    before = await workers_of(fleet)
    async with GatewayClient(fleet.url, fleet.key) as control:
        created = await control.create_episodes([request(), request()])
        agents = [EpisodeClient(c.mcp_url, control.http, reconnect_seconds=60) for c in created]
        for agent in agents:
            assert total(await agent.call("add", {"amount": 5})) == 5
        pid = before[1].pid
        assert pid is not None
        psutil.Process(pid).kill()
        for agent in agents:
            assert total(await agent.call("add", {"amount": 5}, call_id="again")) == 10
            assert total(await agent.call("add", {"amount": 5}, call_id="again")) == 10
        after = await control.workers()
        assert [w.url for w in after] == [w.url for w in before]
        assert after[0].pid == before[0].pid
        assert after[1].pid not in (None, pid)
        for one in created:
            assert (await control.close_episode(one.id)).calls == 2


@pytest.mark.system
async def test_readiness_names_the_worker_that_is_not_ready(
    start_serve: Any, counter_bundle: Path, tmp_path: Path
) -> None:
    running = start_serve(
        tmp_path / "home", "--workers", "2", "--environments", str(counter_bundle)
    )
    second = (await workers_of(running))[1]
    assert second.pid is not None
    stopped = psutil.Process(second.pid)
    async with GatewayClient(running.url, running.key) as control:
        stopped.suspend()
        try:
            health: Any = await control.health()
            assert health["status"] == "not ready"
            assert [fault for fault in health["missing"] if fault.startswith("worker 1: ")]
            created = [await control.create_episode(request()) for _ in range(3)]
            assert {owner_of(c.id, NUM_WORKERS) for c in created} == {0}
        finally:
            stopped.resume()
        with anyio.fail_after(WAIT_SECONDS):
            while (await control.health())["status"] != "ok":  # noqa: ASYNC110 - of another process
                await anyio.sleep(0.05)
    assert running.stop() == 0


@pytest.mark.system
async def test_the_workers_end_with_their_supervisor_and_the_home_is_free_again(
    start_serve: Any, counter_bundle: Path, tmp_path: Path
) -> None:
    options = ("--workers", "2", "--environments", str(counter_bundle))
    running = start_serve(tmp_path / "home", *options)
    async with GatewayClient(running.url, running.key) as control:
        created = await control.create_episodes([request(), request()])
        for one in created:
            agent = EpisodeClient(one.mcp_url, control.http)
            assert total(await agent.call("add", {"amount": 1})) == 1
    below = psutil.Process(running.process.pid).children(recursive=True)
    running.stop(signal.SIGKILL)
    _, alive = psutil.wait_procs(below, timeout=WAIT_SECONDS)
    assert alive == []
    # The second worker finds its port again, so the addresses of its episodes still hold.
    again = start_serve(tmp_path / "home", *options)
    owners = {owner_of(c.id, NUM_WORKERS): c for c in created}
    async with GatewayClient(again.url, again.key) as control:
        agent = EpisodeClient(owners[1].mcp_url, control.http)
        assert total(await agent.call("add", {"amount": 1})) == 2
        assert (await control.close_episode(owners[0].id)).calls == 1
    assert again.stop() == 0
    assert not (tmp_path / "home" / "gateway.json").exists()


@pytest.mark.system
def test_a_worker_that_cannot_start_ends_the_start_with_its_words(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    options = ("--port", "0", "--workers", "2", "--environments", str(tmp_path / "empty"))
    done = Cli(tmp_path / "home").run_program("serve", *options)  # workers share its standard error
    assert done.returncode == 2
    assert "holds no bundle" in done.stderr
    assert "worker 0 did not start" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_gateway_of_several_workers_is_refused(fleet: Any, run_serve: Any) -> None:
    done = run_serve("--port", "0", "--workers", "2", home=fleet.home)
    assert done.returncode == 1
    assert f"already serves {fleet.home} at {fleet.url}" in done.stderr
