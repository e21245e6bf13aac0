"""How close synthesis with a model comes to what its model's latency alone allows.

    python -P benchmarks/synthesis.py [--items 200] [--in-flight 64] [--latency 4] [--json FILE]

Against the completions server in a process of its own, where 5 % of requests fail and 1 % hang, a scripted
model plays families' generators through all stages. Wall time is held against the largest of: the time that
calls held their places, divided by the places; and all processor time, divided by the cores. A second
pass with another model that says the same, without latency, finds every verdict remembered: what its process
takes then, its sandboxes apart, is the pipeline's own processor time.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from astra_mcp.compose.settings import Settings  # noqa: E402
from astra_mcp.compose.synthesis.environments import run_synthesis  # noqa: E402
from astra_mcp.llm.config import ModelConfig, ModelsSettings  # noqa: E402
from astra_mcp.llm.usage import Budget  # noqa: E402
from astra_mcp.pipeline import YieldTable  # noqa: E402
from astra_mcp.synthesis.environments.building.tool import BuildAttempts  # noqa: E402
from astra_mcp.synthesis.environments.pipeline import Recipe  # noqa: E402
from astra_mcp.synthesis.environments.questions.source import make_source  # noqa: E402
from astra_mcp.synthesis.environments.questions.topology import Wanted  # noqa: E402

from circumstances import conditions  # noqa: E402
from completions_process import CompletionsProcess, open_completions_process  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402
from synthesis_model import source_rows  # noqa: E402

_FAULTS = ("--fault", "server_error=0.05", "--fault", "hang=0.01")
_TIMEOUT_SECONDS = 12.0
"""Three times the latency, as people set it who know their endpoint."""
_MIB = 1024


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    figures = anyio.run(_measure, options, backend_options={"use_uvloop": True})
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


async def _measure(options: argparse.Namespace) -> dict[str, Any]:
    circumstances = conditions(items=options.items, in_flight=options.in_flight)
    os.environ["SYNTHESIS_COUNT"] = str(options.items)
    with tempfile.TemporaryDirectory() as home:
        first = await _pass(options, Path(home), "first", options.latency, _FAULTS)
        again = await _pass(options, Path(home), "second", 0.0, ())
    cores = os.cpu_count() or 1
    bound = max(first.table.usage.seconds / options.in_flight, first.all_cpu / cores)
    return {
        "accepted": first.table.accepted,
        "failed": {row.stage: dict(row.failed) for row in first.table.stages if row.failed},
        "calls": first.table.usage.calls,
        "retries": first.table.usage.retries,
        "wall_seconds": round(first.wall, 1),
        "call_seconds_per_place": round(first.table.usage.seconds / options.in_flight, 1),
        "cpu_seconds_per_core": round(first.all_cpu / cores, 1),
        "wall_to_bound": round(first.wall / bound, 3),
        "peak_mib": round(first.peak_mib),
        "own_cpu_seconds_per_item": round(again.own_cpu / options.items, 3),
        "sandbox_and_acceptance_cpu_seconds_per_item": round(
            (first.all_cpu - again.own_cpu) / options.items, 3
        ),
        "conditions": circumstances.finished(),
    }


@dataclass(frozen=True)
class _Pass:
    table: YieldTable
    wall: float
    own_cpu: float
    all_cpu: float
    """With the sandboxes, and the server."""
    peak_mib: float


async def _pass(
    options: argparse.Namespace, home: Path, name: str, latency: float, faults: tuple[str, ...]
) -> _Pass:
    os.environ["SYNTHESIS_LATENCY"] = str(latency)
    policy = ("--policy", "synthesis_model:answer_in_time")
    async with open_completions_process(*policy, *faults) as server:
        own, everything = _cpu(server)
        began = time.monotonic()
        table = await _play(options, home, name, server.base_url)
        wall = time.monotonic() - began
        own_after, everything_after = _cpu(server)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB
        return _Pass(table, wall, own_after - own, everything_after - everything, peak)


def _cpu(server: CompletionsProcess) -> tuple[float, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = usage.ru_utime + usage.ru_stime
    of_server = cpu_seconds(server.process.pid, with_children=True)
    return own, own + children.ru_utime + children.ru_stime + of_server


async def _play(options: argparse.Namespace, home: Path, run: str, base_url: str) -> YieldTable:
    model = ModelConfig(
        model="scripted",
        base_url=base_url,
        revision=run,
        max_concurrency=options.in_flight,
        timeout_seconds=_TIMEOUT_SECONDS,
    )
    settings = Settings(home=home, models=ModelsSettings(generator=model, judge=model))
    return await run_synthesis(
        settings,
        run,
        [make_source(domain=str(row["domain"])) for row in source_rows("good", options.items)],
        Recipe(
            wanted=Wanted(),
            attempts=BuildAttempts(),
            num_judge_votes=0,
            concurrency=options.in_flight,
        ),
        budget=Budget(),
        folder=home / run,
        hear=lambda _: None,
    )


if __name__ == "__main__":
    main()
