"""Two gateways of one user: the tools of one attack, and both go on to start environments and to answer.

The attack goes by way of everything that processes of a user share: limits, memory, processors, the kernel's
pools. Its processes are told those of the other gateway, which they aim at.
"""

import json
import os
import runpy
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import httpx2
import pytest

from astra_mcp.environments.creation import create_bundle
from astra_mcp.errors import TransportError
from astra_mcp.sandbox.memory import usage_of
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.wire import EpisodeRequest

from command_line import ServedHome
from processes import below
from sandboxes import open_to_all

pytestmark = [pytest.mark.system, pytest.mark.volume, pytest.mark.timeout(400)]

HERE = Path(__file__).parent
REACHING: dict[str, Any] = runpy.run_path(str(HERE.parents[1] / "sandbox" / "reaching.py"))
ATTACKING: dict[str, Any] = runpy.run_path(str(HERE / "attacking_tools.py"))
ORDINARY_USER = 54321
NUM_STARTS = 12
"""Environments that each gateway starts for the first time while it is attacked."""
MOST_PROCESSES = 120
"""Of the user whose limit is reached."""
BUDGET = 600 << 20
SLACK = 1200 << 20
"""What is shared and here counted for each process, and what tools fill between two looks."""
LIMITS = {
    "ASTRA_MCP_SANDBOX__TOTAL_MEMORY_BYTES": str(BUDGET),
    "ASTRA_MCP_SANDBOX__SOFT_SECONDS": "1",
    "ASTRA_MCP_SANDBOX__HARD_SECONDS": "2",
}
LOADS_AND = {
    "forks-loading": "fork()\n",
    "holds-loading": "hold_memory()\nspin()\n",
    "spins-loading": "spin()\n",
    "crashes-loading": "crash()\n",
}
"""Ends of modules that attack while they load, which no call follows."""

StartServe = Callable[..., ServedHome]


@dataclass(frozen=True, kw_only=True)
class User:
    """As whom both gateways run."""

    uid: int | None
    """None where it is the one of the tests."""
    folder: Path
    """Which this user may enter and write in."""
    launcher: Sequence[str]
    """Runs a program as the user."""

    def owned(self, name: str) -> Path:
        """Make a folder of the user's own."""
        folder = self.folder / name
        folder.mkdir()
        if self.uid is not None:
            os.chown(folder, self.uid, self.uid)
        return folder


@pytest.fixture(params=["root", "ordinary"])
def user(request: pytest.FixtureRequest) -> Generator[User]:
    """Root, whose tools run as nobody, and a user as whom tools run too."""
    am_root = os.getuid() == 0
    if request.param == "root" and not am_root:
        pytest.skip("the tests were not started as root")
    uid = ORDINARY_USER if request.param == "ordinary" and am_root else None
    folder = Path(tempfile.mkdtemp(prefix="two-gateways-", dir="/tmp"))
    folder.chmod(0o755)
    runtime = open_to_all(folder)
    options = {"uid": uid, "python": runtime.python, "launcher": runtime.launcher}
    script = str(HERE / "attacked_serve.py")
    launcher = (sys.executable, "-P", script, json.dumps(options))
    yield User(uid=uid, folder=folder, launcher=launcher)
    shutil.rmtree(folder)


def honest_bundles(folder: Path, purse: Path, num: int) -> Path:
    """Write copies of the purse, each of a module of its own."""
    for n in range(num):
        shutil.copytree(purse, folder / f"purse-{n}")
        for file in (folder / f"purse-{n}").iterdir():
            text = file.read_text()
            file.write_text(
                text.replace('"purse"', f'"purse-{n}"').replace("/purse", f"/purse-{n}")
            )
        code = folder / f"purse-{n}" / "tools.py"
        code.write_text(f"{code.read_text()}\n\nNUMBER = {n}\n")
    return folder


def write_attacker(folder: Path, name: str, code: str) -> None:
    """Write a bundle whose only tool attacks in a way that it is told."""
    bundle = create_bundle(name, folder)
    file = bundle / "environment.json"
    way = {"type": "object", "properties": {"way": {"type": "string"}}, "required": ["way"]}
    tool = {"name": "assault", "description": "Attack.", "input_schema": way}
    document = json.loads(file.read_text()) | {
        "status": "unverified",
        "scenario_type": None,
        "gold": [],
        "sub_tasks": [{"id": 1, "answer": "never reached", "tool": "assault"}],
        "tools": [tool],
    }
    file.write_text(json.dumps(document))
    (bundle / "tools.py").write_text(code)


def asking(name: str) -> EpisodeRequest:
    source = {"kind": "environment", "name": name}
    return EpisodeRequest.model_validate({"source": source})


@dataclass
class Purse:
    """An episode of an honest environment, whose every answer is held against what it must be."""

    client: EpisodeClient
    total: int = 0
    seconds: list[float] = field(default_factory=list[float])

    @classmethod
    async def of(cls, control: GatewayClient, number: int) -> "Purse":
        created = await control.create_episode(asking(f"purse-{number}"))
        return cls(EpisodeClient(created.mcp_url, control.http))

    async def add(self, times: int) -> None:
        for _ in range(times):
            begun = time.perf_counter()
            answer = await self.client.call("add", {"amount": 1})
            self.seconds.append(time.perf_counter() - begun)
            self.total += 1
            assert answer.text == f'{{"total": {self.total}}}'


@dataclass
class Attack:
    """What came of the calls that attack."""

    answered: Counter[str] = field(default_factory=Counter[str])
    """Calls that came to their end, by their way."""
    ended: Counter[str] = field(default_factory=Counter[str])
    """Calls that were ended or refused."""
    won: dict[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Calls of the kernel that were not refused as they must be, by the way that made them."""
    tried: Counter[str] = field(default_factory=Counter[str])

    async def go_on(self, control: GatewayClient, way: str, over: anyio.Event) -> None:
        """Attack from one episode after the other."""
        while not over.is_set():
            try:
                created = await control.create_episode(asking("attacker"))
                client = EpisodeClient(created.mcp_url, control.http)
                for _ in range(4):
                    await self._call(client, way)
                await control.close_episode(created.id)
            except TransportError:
                self.ended[way] += 1

    async def _call(self, client: EpisodeClient, way: str, name: str | None = None) -> None:
        answer = await client.call("assault", {"way": way})
        if answer.is_error:
            self.ended[name or way] += 1
            return
        told = json.loads(answer.text)
        self.answered[way] += 1
        self.tried[way] += told["tried"]
        if told["won"]:
            self.won[way] = told["won"]

    async def load(self, control: GatewayClient, name: str, over: anyio.Event) -> None:
        """Have an environment loaded whose module attacks, again and again."""
        while not over.is_set():
            try:
                created = await control.create_episode(asking(name))
                client = EpisodeClient(created.mcp_url, control.http)
                await self._call(client, "spin", name)
            except TransportError:
                self.ended[name] += 1


def held_by(gateway: ServedHome) -> int:
    """Bytes of all processes below a gateway, what they share counted each time."""
    tools = [row.pid for row in below(gateway.process.pid)]
    return sum(usage_of(pid).resident for pid in tools) * os.sysconf("SC_PAGE_SIZE")


async def watch(gateway: ServedHome, most: list[int], over: anyio.Event) -> None:
    while not over.is_set():
        most.append(await anyio.to_thread.run_sync(held_by, gateway))
        await anyio.sleep(0.2)


async def start_new(control: GatewayClient, numbers: Sequence[int], bystander: Purse) -> None:
    """Start environments that were never started, each with an episode, beside one that goes on."""
    for number in numbers:
        purse = await Purse.of(control, number)
        await purse.add(3)
        await bystander.add(5)


async def test_one_attacks_and_both_start_what_is_new_and_answer(
    start_serve: StartServe, counter_bundle: Path, user: User
) -> None:
    homes = user.owned("a"), user.owned("b")
    bundles = [user.folder / f"bundles-{place}" for place in "ab"]
    for folder in bundles:
        honest_bundles(folder, counter_bundle, NUM_STARTS + 1)
    other = start_serve(
        homes[1] / "home", "--environments", str(bundles[1]), launcher=user.launcher
    )
    async with other.control() as honest:
        honest_bystander = await Purse.of(honest, 0)
        await honest_bystander.add(100)
        aims = [row.pid for row in below(other.process.pid)]
        code = ATTACKING["attacking"](
            REACHING["module"](host=other.process.pid, server=aims[0], sibling=aims[-1]),
            {name: reach.refused_with for name, reach in REACHING["TABLE"].items()},
            host=other.process.pid,
            home=str(homes[1] / "home"),
        )
        write_attacker(bundles[0], "attacker", code)
        for name, end in LOADS_AND.items():
            write_attacker(bundles[0], name, code + end)
        attacked = start_serve(
            homes[0] / "home", "--environments", str(bundles[0]), launcher=user.launcher, **LIMITS
        )
        quiet = median(honest_bystander.seconds)
        honest_bystander.seconds.clear()
        attack, most, over = Attack(), list[int](), anyio.Event()
        async with attacked.control() as control:
            bystander = await Purse.of(control, 0)
            async with anyio.create_task_group() as attackers:
                for way in ATTACKING["WAYS"]:
                    for _ in range(2):
                        attackers.start_soon(attack.go_on, control, way, over)
                for name in LOADS_AND:
                    attackers.start_soon(attack.load, control, name, over)
                attackers.start_soon(watch, attacked, most, over)
                async with anyio.create_task_group() as starters:
                    numbers = range(1, NUM_STARTS + 1)
                    starters.start_soon(start_new, control, numbers, bystander)
                    starters.start_soon(start_new, honest, numbers, honest_bystander)
                over.set()
        busy = median(honest_bystander.seconds)
        assert set(aims) <= {row.pid for row in below(other.process.pid)}
        assert await are_ready(attacked, other)
    sys.stdout.write(f"p50 of a call: {quiet * 1e3:.2f} ms, under attack {busy * 1e3:.2f} ms\n")
    sys.stdout.write(f"answered: {attack.answered}; ended: {attack.ended}; tried: {attack.tried}\n")
    assert other.log.read_text() == ""
    assert attack.won == {}
    assert {*ATTACKING["WAYS"], *LOADS_AND} <= {*attack.answered, *attack.ended}
    assert min(attack.tried[way] for way in ("reach_out", "make_files", "start_threads")) > 0
    assert 0 < max(most) < BUDGET + SLACK
    for folder in (Path("/dev/shm"), Path(tempfile.gettempdir()), homes[1] / "home"):  # noqa: S108
        assert not list(folder.glob("made-by-tools-*"))


async def are_ready(*gateways: ServedHome) -> bool:
    async with httpx2.AsyncClient(trust_env=False) as client:
        answers = [await client.get(f"{gateway.url}/readyz") for gateway in gateways]
    return all(answer.status_code == 200 for answer in answers)


@pytest.mark.parametrize("user", ["ordinary"], indirect=True)
async def test_one_takes_all_processes_of_the_user_and_nothing_ends_in_either(
    start_serve: StartServe, counter_bundle: Path, user: User
) -> None:
    if user.uid is None:
        pytest.skip("how many processes the user of the tests has is not known")
    folder = honest_bundles(user.folder / "bundles", counter_bundle, 2)
    launcher = ("prlimit", f"--nproc={MOST_PROCESSES}:{MOST_PROCESSES}", *user.launcher)
    greedy, other = (
        start_serve(user.owned(name) / "home", "--environments", str(folder), launcher=launcher)
        for name in "ab"
    )
    async with greedy.control() as greedy_control, other.control() as control:
        bystander = await Purse.of(control, 0)
        await bystander.add(1)
        purses = await take_all_processes(greedy_control)
        assert 0 < len(purses) < MOST_PROCESSES  # threads of both gateways count as well
        created = await control.create_episode(asking("purse-1"))
        client = EpisodeClient(created.mcp_url, control.http, reconnect_seconds=0.5)
        with pytest.raises(TransportError, match="no process can be started"):
            await client.call("add", {"amount": 1}, call_id="first")
        async with anyio.create_task_group() as group:
            for purse in (*purses.values(), bystander):
                group.start_soon(purse.add, 2)
        assert await are_ready(greedy, other)
        for episode in (await greedy_control.open_episodes())[:20]:
            await greedy_control.close_episode(episode.id)
        answer = await client.call("add", {"amount": 1}, call_id="first")
        assert answer.text == '{"total": 1}'
        assert (await control.episode(created.id)).calls == 1
        assert {e.status.value for e in await control.open_episodes()} == {"open"}
    assert (greedy.process.poll(), other.process.poll()) == (None, None)


async def take_all_processes(control: GatewayClient) -> dict[str, Purse]:
    """Open episodes until the next one finds no process; gives those that have one."""
    purses: dict[str, Purse] = {}
    while len(purses) < MOST_PROCESSES:
        created = await control.create_episode(asking("purse-0"))
        purse = Purse(EpisodeClient(created.mcp_url, control.http, reconnect_seconds=0.5))
        try:
            await purse.add(1)
        except TransportError:
            await control.close_episode(created.id)
            break
        purses[created.id] = purse
    return purses
