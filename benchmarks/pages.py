"""What pages cost a gateway: processor time and bytes of each, and of a list of episodes that is followed.

    python -P benchmarks/pages.py [--records 100000] [--bundles 10000] [--calls 500] [--json FILE]

Makes its home itself: so many bundles by all families, so many rows in the index of episodes, each with a
file, and an episode of so many calls with its trajectory. The gateway is ``astra-mcp serve`` as a process of
its own, and its processor time is told, without sandboxes. A page is asked for once before it is measured.

Viewers follow the list while episodes are opened and closed at a rate; what they cost is the processor time
of a second with them, less that of one without, in turns. Exits with 0 whatever the figures are.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here may have the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
import httpx  # noqa: E402

from astra_mcp.call_record import EpisodeStatus  # noqa: E402
from astra_mcp.environments.creation import texts_of, write_bundle  # noqa: E402
from astra_mcp.synthesis.environments.families.catalog import find_families  # noqa: E402
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan  # noqa: E402
from astra_mcp.trajectory import (  # noqa: E402
    AgentInfo,
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    Seeds,
    StopReason,
    ToolCall,
    ToolMessage,
    Trajectory,
    TrajectoryWriter,
    UserMessage,
    Versions,
)
from gateway.api.client import EpisodeClient, GatewayClient  # noqa: E402
from gateway.api.wire import EpisodeRequest  # noqa: E402
from gateway.edge.keys import read_control_key  # noqa: E402
from registry.store.database import open_database  # noqa: E402
from registry.store.records import EpisodeDigest, store_digests  # noqa: E402

from circumstances import conditions  # noqa: E402
from measured_programs import Program, run_serve  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402

BUNDLED = "rental-move-in"
_BATCH = 1_000
_LINKS = 10_000
"""So many names one file is given: file systems bound them."""
_ASKED = 20


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        figures = anyio.run(_measure, Path(folder), options)
    for name, row in figures["pages"].items():
        print(f"{name:34} {row['cpu_ms']:8.1f} ms {row['bytes']:10,} B")
    print(f"live list: {figures['live']['share_of_a_core']:.1%} of a core")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--bundles", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--viewers", type=int, default=5)
    parser.add_argument("--rate", type=float, default=50, help="episodes a second")
    parser.add_argument("--seconds", type=float, default=8, help="of each of six turns of viewers")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


async def _measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    known = conditions(**{k: v for k, v in vars(options).items() if k != "json"})
    home = folder / "home"
    bundles = folder / "bundles"
    name = _make_bundles(bundles, options.bundles)
    with run_serve(home, "--environments", str(bundles)) as program:
        key = read_control_key(home)
        async with GatewayClient(program.url, key) as control:
            long = await _play(control, options.calls)
            other = await _play(control, options.calls)
            _write_trajectory(home, long, options.calls)
            await _fill_index(home, long, options.records)
            async with _browser(program, key) as browser:
                paths = _paths(name, long, other)
                pages = {what: await _cost(program, browser, path) for what, path in paths.items()}
                live = await _live(program, browser, control, options)
    return {"pages": pages, "live": live, "conditions": known.finished()}


def _paths(name: str, long: str, other: str) -> dict[str, str]:
    """What is asked for, and where it stands."""
    return {
        "start": "/",
        "environments": "/environments",
        "environments, the last ones": "/environments?page=100000",
        "environments, by words": "/environments?q=the&verified=yes",
        "one environment": f"/environments/{name}",
        "servers": "/servers",
        "servers, the last ones": "/servers?page=100000",
        "runs": "/runs",
        "registry": "/registry",
        "episodes": "/episodes",
        "episodes, by status": "/episodes?status=closed",
        "episodes, by status and source": "/episodes?status=closed&source=environment-7",
        "episodes, by what none has": "/episodes?status=failed&source=nothing",
        "episodes, by reward": "/episodes?min_reward=0.99",
        "an episode": f"/episodes/{long}",
        "its trajectory": f"/episodes/{long}/trajectory",
        "a trajectory of the record": f"/episodes/{other}/trajectory",
        "its neighbours": f"/episodes/{long}/beside",
        "beside another one": f"/episodes/{long}/beside?with={other}",
    }


def _make_bundles(folder: Path, count: int) -> str:
    """Write bundles; the name of one."""
    folder.mkdir()
    name = BUNDLED
    for planned in plan(Order(find_families(["all"]), count)):
        bundle = make_planned(planned)
        write_bundle(bundle.name, texts_of(bundle), folder)
        name = bundle.name
    return name


async def _play(control: GatewayClient, num_calls: int) -> str:
    """Play an episode of so many calls; its id."""
    asked = {"source": {"kind": "environment", "name": BUNDLED}, "limits": {"calls": num_calls + 1}}
    opened = await control.create_episode(EpisodeRequest.model_validate(asked))
    agent = EpisodeClient(opened.mcp_url, control.http)
    gold = await control.gold(BUNDLED)
    for place in range(num_calls):
        call = gold[place % len(gold)]
        await agent.call(call.tool, call.arguments, seq=place)
    await control.close_episode(opened.id)
    return opened.id


def _write_trajectory(home: Path, episode: str, num_calls: int) -> None:
    """Leave the file of a rollout, with a thought for each call and a result of some length."""
    messages: list[Message] = [UserMessage(content="What would I have to pay? " * 20)]
    notes: list[CallNote] = []
    for n in range(num_calls):
        asked = json.dumps({"building": "Tannery Row", "bedrooms": 2, "floor": n})
        call = ToolCall(id=f"call-{n}", function=FunctionCall(name="find_units", arguments=asked))
        thought = f"I look at floor {n}. " * 20
        messages.append(AssistantMessage(reasoning_content=thought, tool_calls=(call,)))
        messages.append(ToolMessage(tool_call_id=call.id, content='{"rent": "1,465 EUR"} ' * 40))
        notes.append(CallNote(tool_call_id=call.id, seq=n, is_error=False))
    trajectory = Trajectory(
        episode_id=episode,
        created_at=datetime.now(UTC),
        source={"kind": "environment", "name": BUNDLED},
        agent=AgentInfo(name="model", model="a-model"),
        seeds=Seeds(root=0, index=0, episode=0),
        versions=Versions(astra_mcp="0"),
        tools=(),
        tools_hash=None,
        messages=tuple(messages),
        calls=tuple(notes),
        status=EpisodeStatus.CLOSED,
        stop=StopReason.TURNS,
        reward=None,
    )
    with TrajectoryWriter(home / "trajectories" / "run.jsonl") as writer:
        writer.write(trajectory)


async def _fill_index(home: Path, episode: str, count: int) -> None:
    """Give the index so many rows, and each a file; those are names of copies of one record."""
    records = home / "records"
    first, *_ = (records / f"{episode}.jsonl").read_bytes().partition(b"\n")
    began = datetime.now(UTC) - timedelta(days=1)
    async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
        for start in range(0, count, _BATCH):
            ids = [f"{n:032x}" for n in range(start, min(count, start + _BATCH))]
            for place, id_ in enumerate(ids, start):
                original = records / f"{place // _LINKS * _LINKS:032x}.jsonl"
                if place % _LINKS == 0:
                    original.write_bytes(first + b"\n")
                else:
                    os.link(original, records / f"{id_}.jsonl")
            digests = {id_: _digest(int(id_, 16), began) for id_ in ids}
            sizes = dict.fromkeys(ids, len(first) + 1)
            await database.write(partial(store_digests, digests=digests, sizes=sizes))


def _digest(place: int, began: datetime) -> EpisodeDigest:
    return EpisodeDigest(
        opened_at=began + timedelta(milliseconds=place),
        source=f"environment-{place % 100}",
        endpoint=None,
        status=EpisodeStatus.CLOSED.value,
        calls=place % 40,
        reward=place % 101 / 100,
        failure=None,
    )


@asynccontextmanager
async def _browser(program: Program, key: str) -> AsyncGenerator[httpx.AsyncClient]:
    """A browser that is logged in."""
    async with httpx.AsyncClient(
        base_url=program.url, headers={"Accept": "text/html"}, timeout=120, trust_env=False
    ) as browser:
        link = await browser.post(
            "/v1/login-links", json={}, headers={"Authorization": f"Bearer {key}"}
        )
        (await browser.get(link.json()["url"])).raise_for_status()
        yield browser


async def _cost(program: Program, browser: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """Ask for a page again and again: processor time of one, and its length."""
    (await browser.get(path)).raise_for_status()
    costs: list[float] = []
    for _ in range(_ASKED):
        before = cpu_seconds(program.pid, with_children=False)
        answer = await browser.get(path)
        answer.raise_for_status()
        costs.append(cpu_seconds(program.pid, with_children=False) - before)
    return {"cpu_ms": round(median(costs) * 1e3, 2), "bytes": len(answer.content)}  # pyright: ignore[reportPossiblyUnboundVariable]


async def _live(
    program: Program,
    browser: httpx.AsyncClient,
    control: GatewayClient,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Open and close episodes with viewers and without them, in turns."""
    with_them: list[float] = []
    without: list[float] = []
    rate: list[float] = []
    for turn in range(6):
        costs, num_viewers = (with_them, options.viewers) if turn % 2 else (without, 0)
        async with anyio.create_task_group() as group:
            for _ in range(num_viewers):
                group.start_soon(_view, browser)
            await anyio.sleep(2)
            before, began = cpu_seconds(program.pid, with_children=False), time.monotonic()
            opened = await _open_at_rate(control, options.rate, options.seconds)
            seconds = time.monotonic() - began
            costs.append((cpu_seconds(program.pid, with_children=False) - before) / seconds)
            rate.append(opened / seconds)
            group.cancel_scope.cancel()
    share = median(with_them) - median(without)
    return {
        "share_of_a_core": round(share, 4),
        "with_viewers": [round(each, 3) for each in with_them],
        "without": [round(each, 3) for each in without],
        "episodes_per_second": [round(each, 1) for each in rate],
    }


async def _view(browser: httpx.AsyncClient) -> None:
    async with browser.stream("GET", "/live/episodes") as stream:
        stream.raise_for_status()
        async for _ in stream.aiter_bytes():
            pass


async def _open_at_rate(control: GatewayClient, rate: float, seconds: float) -> int:
    """Open and close episodes, each at its time; how many."""
    request = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": BUNDLED}})

    async def once() -> None:
        opened = await control.create_episode(request)
        await control.close_episode(opened.id)

    began, count = time.monotonic(), 0
    async with anyio.create_task_group() as group:
        while (due := began + count / rate) < began + seconds:
            await anyio.sleep(max(0.0, due - time.monotonic()))
            group.start_soon(once)
            count += 1
    return count


if __name__ == "__main__":
    main()
