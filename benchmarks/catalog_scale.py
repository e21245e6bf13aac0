"""Thousands of bundles behind one gateway: how fast it starts, what it holds, what an episode costs.

    python -P benchmarks/catalog_scale.py [--count 10000] [--json FILE]

Makes its bundles itself: copies of the template of ``environments new`` under other names and with other
data. Looks are taken in this process, as every command takes them. Starts, memory and episodes are those of
``astra-mcp serve --json`` as a process of its own; its memory is its resident set, without the processes of
the sandbox. Episodes are created and closed one after the other, over as many environments as a folder of few
holds, each used before; then over some that nobody has used.
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
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402

from astra_mcp.environments.creation import create_bundle  # noqa: E402
from gateway.api.client import EpisodeClient, GatewayClient  # noqa: E402
from gateway.api.wire import EpisodeRequest  # noqa: E402
from registry.bundles.folder import BundleFolder  # noqa: E402

from circumstances import conditions  # noqa: E402
from process_accounts import cpu_seconds, resident_bytes  # noqa: E402

FEW = 18
FRESH = 200
EPISODES = 1800
CALLED = 100
MIB = 1 << 20
_LONG_AGO = 3600.0


def make_bundles(folder: Path, count: int) -> list[str]:
    """Write bundles that were last changed an hour ago; each has an author of its own."""
    folder.mkdir()
    model = create_bundle("model", folder)
    texts = {file.name: file.read_text(encoding="utf-8") for file in model.iterdir()}
    shutil.rmtree(model)
    names = [f"library-{number:05}" for number in range(count)]
    then = time.time() - _LONG_AGO
    for number, name in enumerate(names):
        (folder / name).mkdir()
        for file, text in texts.items():
            path = folder / name / file
            own = text.replace("Ida", f"Ida{number}")
            path.write_text(own.replace('"model"', f'"{name}"').replace("/model", f"/{name}"))
            os.utime(path, (then, then))
    return names


def look(folder: Path, home: Path) -> dict[str, Any]:
    """Time the looks of commands: the first one, one that finds nothing new, and one after a change."""
    figures: dict[str, Any] = {}
    for what in ("first", "later", "one_changed"):
        read: list[int] = []
        if what == "one_changed":
            (folder / "library-00007" / "tools.py").touch()
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


def measure(place: Path, count: int) -> dict[str, Any]:
    """Take all figures."""
    few, many = place / "few", place / "many"
    make_bundles(few, FEW)
    names = make_bundles(many, count)
    figures = look(many, place / "looks")
    then = time.time() - _LONG_AGO
    os.utime(many / "library-00007" / "tools.py", (then, then))
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
