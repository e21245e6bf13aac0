"""Thousands of bundles behind one gateway: how fast it starts, what it holds, what an episode costs.

    python -P benchmarks/catalog_scale.py [--count 10000] [--json FILE]

Makes its bundles itself, by all families. Looks are taken in this process, as every command takes them.
Starts, memory and episodes are those of ``astra-mcp serve --json`` as a process of its own; its memory is its
resident set, without the processes of the sandbox. Episodes are created and closed one after the other, over
as many environments as a folder of few holds, each used before; then over some that nobody has used. The
oracle plays some that are drawn; and one bundle is added, changed and removed while the gateway serves.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402

from astra_mcp.environments.creation import texts_of, write_bundle  # noqa: E402
from astra_mcp.synthesis.environments.families.catalog import find_families  # noqa: E402
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan  # noqa: E402
from astra_mcp.trajectory import read_trajectories  # noqa: E402
from gateway.api.client import EpisodeClient, GatewayClient, RefusedError  # noqa: E402
from gateway.api.wire import EpisodeRequest  # noqa: E402
from registry.bundles.folder import BundleFolder  # noqa: E402

from circumstances import conditions  # noqa: E402
from process_accounts import cpu_seconds, resident_bytes  # noqa: E402

FEW = 18
FRESH = 200
EPISODES = 1800
CALLED = 100
SOLVED = 200
MIB = 1 << 20
_LONG_AGO = 3600.0
_LOOK_SECONDS = 0.1


def make_bundles(folder: Path, count: int) -> list[str]:
    """Write bundles that were last changed an hour ago."""
    folder.mkdir()
    names: list[str] = []
    for planned in plan(Order(find_families(["all"]), count)):
        bundle = make_planned(planned)
        write_bundle(bundle.name, texts_of(bundle), folder)
        names.append(bundle.name)
        for file in (folder / bundle.name).iterdir():
            _age(file)
    return names


def _age(file: Path) -> None:
    then = time.time() - _LONG_AGO
    os.utime(file, (then, then))


def look(folder: Path, home: Path, changed: str) -> dict[str, Any]:
    """Time the looks of commands: the first one, one that finds nothing new, and one after a change."""
    figures: dict[str, Any] = {}
    for what in ("first", "later", "one_changed"):
        read: list[int] = []
        if what == "one_changed":
            (folder / changed / "tools.py").touch()
        began = time.monotonic()
        found = BundleFolder(folder, home).scan(lambda done, _, told=read: told.append(done))
        figures[f"{what}_look_seconds"] = round(time.monotonic() - began, 3)
        figures[f"{what}_look_read"] = len(read)
        if any(each is None or each.faults for each in found.values()):
            raise RuntimeError("a bundle has faults")
    figures["read_per_second"] = round(len(found) / figures["first_look_seconds"])
    return figures


@contextmanager
def serving(home: Path, folder: Path) -> Generator[tuple[int, dict[str, Any], float]]:
    """Start a gateway over a folder; gives its process, what it says, and how long that took."""
    began = time.monotonic()
    line = [sys.executable, "-m", "astra_mcp", "serve", "--port", "0", "--json"]
    process = subprocess.Popen(
        [*line, "--environments", str(folder)],
        stdout=subprocess.PIPE,
        env={**os.environ, "ASTRA_MCP_HOME": str(home)},
    )
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        said = json.loads(process.stdout.readline())
        said["key"] = Path(said["control_key_file"]).read_text(encoding="ascii").strip()
        yield process.pid, said, time.monotonic() - began
    finally:
        process.terminate()
        process.wait()


async def use(said: dict[str, Any], names: Sequence[str], pid: int) -> dict[str, float]:
    """Create and close episodes; gives milliseconds of the gateway's processor for one, by what was used."""
    costs: dict[str, float] = {}
    async with GatewayClient(said["url"], said["key"]) as control:

        async def play(name: str, *, call: bool = False) -> None:
            source = {"kind": "environment", "name": name}
            opened = await control.create_episode(EpisodeRequest.model_validate({"source": source}))
            if call:
                [gold, *_] = await control.gold(name)
                agent = EpisodeClient(opened.mcp_url, control.http)
                await agent.call(gold.tool, gold.arguments, seq=0)
            await control.close_episode(opened.id)

        for name in [*names[:FEW]] * 5:
            await play(name)
        for what, played in {
            "used": ([*names[:FEW]] * EPISODES)[:EPISODES],
            "first": names[FEW : FEW + FRESH],
        }.items():
            before = cpu_seconds(pid, with_children=False)
            for name in played:
                await play(name)
            if played:
                spent = cpu_seconds(pid, with_children=False) - before
                costs[what] = round(spent / len(played) * 1e3, 3)
        for name in names[-CALLED:]:
            await play(name, call=True)
    return costs


def solve(url: str, home: Path, names: Sequence[str]) -> dict[str, Any]:
    """Let the oracle play some that are drawn; gives how many, and the least that it earned."""
    drawn = Random(0).sample(names, min(SOLVED, len(names)))  # noqa: S311 - no secret
    out = home / "solved.jsonl"
    line = [sys.executable, "-m", "astra_mcp", "rollout", "--agent", "oracle", "--gateway", url]
    settings = {**os.environ, "ASTRA_MCP_HOME": str(home)}
    done = [*line, "--out", str(out), *drawn]
    subprocess.run(done, env=settings, stdout=subprocess.DEVNULL, check=True)
    rewards = [t.reward.reward for t in read_trajectories(out) if t.reward is not None]
    return {"solved": len(rewards), "least_reward": min(rewards)}


async def change(said: dict[str, Any], folder: Path, name: str) -> dict[str, float]:
    """Add, change and remove a bundle; gives the seconds until the gateway serves it so."""
    figures: dict[str, float] = {}
    own, document = folder / "added", "environment.json"
    async with GatewayClient(said["url"], said["key"]) as control:

        async def served_as(title: str | None) -> float:
            began = time.monotonic()
            with anyio.fail_after(60):
                while await _title(control, "added") != title:  # noqa: ASYNC110 - it is another process
                    await anyio.sleep(_LOOK_SECONDS)
            return round(time.monotonic() - began, 2)

        shutil.copytree(folder / name, own)
        text = (own / document).read_text(encoding="utf-8")
        title = json.loads(text)["title"]
        (own / document).write_text(text.replace(f'"{name}"', '"added"'), encoding="utf-8")
        server = (own / "server.json").read_text(encoding="utf-8")
        (own / "server.json").write_text(server.replace(f"/{name}", "/added"), encoding="utf-8")
        figures["added_after_seconds"] = await served_as(title)
        text = (own / document).read_text(encoding="utf-8")
        other = text.replace(json.dumps(title, ensure_ascii=False), '"Changed"')
        (own / document).write_text(other, encoding="utf-8")
        figures["changed_after_seconds"] = await served_as("Changed")
        shutil.rmtree(own)
        figures["removed_after_seconds"] = await served_as(None)
    return figures


async def _title(control: GatewayClient, name: str) -> str | None:
    try:
        return (await control.environment(name)).title
    except RefusedError:
        return None


def measure(place: Path, count: int) -> dict[str, Any]:
    """Take all figures."""
    few, many = place / "few", place / "many"
    make_bundles(few, FEW)
    names = make_bundles(many, count)
    figures = look(many, place / "looks", names[FEW // 2])
    _age(many / names[FEW // 2] / "tools.py")
    with serving(place / "home-few", few) as (pid, said, took):
        figures["few_start_seconds"] = round(took, 2)
        baseline = anyio.run(use, said, names[:FEW], pid)["used"]
        figures["few_episode_cpu_ms"] = baseline
        figures["few_resident_mib"] = round(resident_bytes(pid) / MIB, 1)
    with serving(place / "home", many) as (pid, _, took):
        figures["first_start_seconds"] = round(took, 2)
    with serving(place / "home", many) as (pid, said, took):
        figures["later_start_seconds"] = round(took, 2)
        figures["resident_mib_at_start"] = round(resident_bytes(pid) / MIB, 1)
        costs = anyio.run(use, said, names, pid)
        figures["episode_cpu_ms"] = costs["used"]
        figures["first_use_episode_cpu_ms"] = costs.get("first")
        figures["episode_cpu_ratio"] = round(costs["used"] / baseline, 3)
        figures["resident_mib_after_use"] = round(resident_bytes(pid) / MIB, 1)
        figures |= solve(said["url"], place / "home", names)
        figures |= anyio.run(change, said, many, names[FEW // 2])
    return figures


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="how many bundles")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    circumstances = conditions(count=options.count, seed=0)
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as place:
        figures = measure(Path(place), options.count)
    for name, value in figures.items():
        print(f"{name}: {value}")
    figures["conditions"] = circumstances.finished()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
