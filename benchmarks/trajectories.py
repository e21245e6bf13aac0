"""How close many rollouts at once come to what the latency of their model allows, and whether TCS is right.

    python -P benchmarks/trajectories.py [--rollouts 200] [--latency 1] [--failure-rate 0.2] [--json FILE]

Plays so many tasks of emulated servers at once: a scripted model in another process that takes the latency
for each answer, a gateway in another one, where so many calls fail on purpose, and the loop of ``astra-mcp
rollout`` in this one. A task takes 6 to 14 answers of the model, one after another.

Wall time is from the first episode's request to the last trajectory. It is held against the larger of: the
longest chain of answers, one after another; and the latency of all of them, divided by the concurrency. Then
each trajectory's tool call status (TCS) is held against the gateway's own record of the episode. Exits with 1
where the ratio is above 1.2, or anything differs.
"""

import argparse
import gc
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from astra_mcp.call_record import EpisodeId, EpisodeStatus  # noqa: E402
from astra_mcp.llm.config import ModelConfig, Role  # noqa: E402
from astra_mcp.llm.model import open_model  # noqa: E402
from astra_mcp.llm.usage import Usage  # noqa: E402
from astra_mcp.trajectory import AssistantMessage, Trajectory, TrajectoryWriter  # noqa: E402
from astra_mcp.types import Origin  # noqa: E402
from gateway.api.client import GatewayClient  # noqa: E402
from gateway.api.wire import FailureRequest, SourceTask  # noqa: E402
from gateway.edge.keys import read_control_key  # noqa: E402
from gateway.episodes.record import read_record, record_path  # noqa: E402
from training.rewards.rules import call_status  # noqa: E402
from training.rollout.agents.model_agent import ModelAgent  # noqa: E402
from training.rollout.plan import plan_rollouts  # noqa: E402
from training.rollout.run import run_rollouts  # noqa: E402

from circumstances import conditions  # noqa: E402
from completions_process import open_completions_process  # noqa: E402
from emulated_calls import serving_gateway  # noqa: E402
from emulated_tasks import make_tasks  # noqa: E402
from process_accounts import cpu_seconds, resident_bytes  # noqa: E402
from trajectory_model import LATENCY  # noqa: E402

LIMIT = 1.2
"""What we aim at for the ratio of wall time to its bound."""
_SERVERS = 20
_MIB = 2**20


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    figures = anyio.run(_measure, options, backend_options={"use_uvloop": True})
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(figures["wall_to_bound"] > LIMIT or figures["faults"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rollouts", type=int, default=200)
    parser.add_argument(
        "--concurrency", type=int, help="episodes at once; all where it is not given"
    )
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of an answer")
    parser.add_argument("--failure-rate", type=float, default=0.2)
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    options.concurrency = options.concurrency or options.rollouts
    if options.rollouts < 1 or options.concurrency < 1 or options.latency <= 0:
        parser.error("--rollouts and --concurrency are at least 1, and --latency is above 0")
    return options


@dataclass(frozen=True, kw_only=True)
class _Played:
    """What a run came to."""

    trajectories: Sequence[Trajectory]
    wall: float
    own_cpu: float
    gateway_cpu: float
    model_cpu: float
    gateway_mib: float


async def _measure(options: argparse.Namespace) -> dict[str, Any]:
    circumstances = conditions(
        rollouts=options.rollouts,
        concurrency=options.concurrency,
        latency=options.latency,
        failure_rate=options.failure_rate,
    )
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        home = Path(folder)
        await make_tasks(home, options.rollouts, servers=_SERVERS)
        played = await _play(options, home)
        faults = [*_faults(played.trajectories, home, options.rollouts)]
    answers = [_num_answers(trajectory) for trajectory in played.trajectories]
    longest = max(answers, default=0) * options.latency
    shared = sum(answers) * options.latency / options.concurrency
    notes = [note for trajectory in played.trajectories for note in trajectory.calls]
    cpu = played.own_cpu + played.gateway_cpu + played.model_cpu
    return {
        "wall_seconds": round(played.wall, 2),
        "longest_chain_seconds": round(longest, 2),
        "latency_per_place_seconds": round(shared, 2),
        "wall_to_bound": round(played.wall / max(longest, shared), 3),
        "answers": sum(answers),
        "calls": len(notes),
        "injected": sum(note.injected is not None for note in notes),
        "tcs": round(fmean(map(_tcs, played.trajectories)), 4) if notes else None,
        "faults": len(faults),
        "first_faults": faults[:20],
        "rollout_cpu_seconds": round(played.own_cpu, 2),
        "rollout_cpu_ms_per_answer": round(played.own_cpu * 1e3 / max(1, sum(answers)), 2),
        "gateway_cpu_seconds": round(played.gateway_cpu, 2),
        "model_cpu_seconds": round(played.model_cpu, 2),
        "cpu_seconds_per_core": round(cpu / (os.cpu_count() or 1), 2),
        "rollout_peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "gateway_mib": round(played.gateway_mib),
        "conditions": circumstances.finished(),
    }


async def _play(options: argparse.Namespace, home: Path) -> _Played:
    os.environ[LATENCY] = str(options.latency)
    policy = ("--policy", "trajectory_model:answer_in_time")
    with serving_gateway(home) as served:
        async with open_completions_process(*policy) as model:
            config = ModelConfig(
                model="scripted", base_url=model.base_url, max_concurrency=options.concurrency
            )
            trajectories: list[Trajectory] = []
            async with (
                GatewayClient(served.url, read_control_key(home)) as gateway,
                open_model(Role.AGENT, config) as chat,
            ):
                tasks = await gateway.tasks(None)
                rollouts = plan_rollouts(
                    [(SourceTask(kind="task", id=task.id), None) for task in tasks],
                    num_episodes=1,
                    root_seed=0,
                    failures=FailureRequest(rate=options.failure_rate),
                )
                pids = (os.getpid(), served.pid, model.process.pid)
                before = [cpu_seconds(pid, with_children=True) for pid in pids]
                gc.freeze()  # as the command does once it is loaded
                gc.set_threshold(5_000)
                began = time.perf_counter()
                with TrajectoryWriter(home / "trajectories.jsonl") as writer:

                    def keep(_place: int, trajectory: Trajectory, _usage: Usage) -> None:
                        writer.write(trajectory)
                        trajectories.append(trajectory)

                    await run_rollouts(
                        gateway,
                        ModelAgent("scripted", chat),
                        rollouts,
                        concurrency=options.concurrency,
                        on_finished=keep,
                    )
                wall = time.perf_counter() - began
                after = [cpu_seconds(pid, with_children=True) for pid in pids]
                resident = resident_bytes(served.pid) / _MIB
    own, of_gateway, of_model = (b - a for a, b in zip(before, after, strict=True))
    return _Played(
        trajectories=trajectories,
        wall=wall,
        own_cpu=own - of_gateway - of_model,
        gateway_cpu=of_gateway,
        model_cpu=of_model,
        gateway_mib=resident,
    )


def _num_answers(trajectory: Trajectory) -> int:
    return sum(isinstance(message, AssistantMessage) for message in trajectory.messages)


def _tcs(trajectory: Trajectory) -> float:
    return fmean(assessment.value for assessment in call_status(trajectory))


def _faults(trajectories: Iterable[Trajectory], home: Path, num: int) -> Iterator[str]:
    """Hold each trajectory against the record of its episode."""
    episodes: set[str | None] = set()
    for trajectory in trajectories:
        episodes.add(trajectory.episode_id)
        name = trajectory.episode_id or "an episode that was not opened"
        if trajectory.status is not EpisodeStatus.CLOSED or trajectory.episode_id is None:
            yield f"{name}: {trajectory.status}, {trajectory.failure}"
            continue
        record = read_record(record_path(home / "records", EpisodeId(name)))
        calls = sorted(record.calls, key=lambda call: call.seq if call.seq is not None else -1)
        recorded = [
            float(
                call.origin is Origin.TOOL and call.result is not None and not call.result.is_error
            )
            for call in calls
        ]
        scored = [assessment.value for assessment in call_status(trajectory)]
        if scored != recorded:
            yield f"{name}: the calls succeeded {recorded} by the record, {scored} by the trajectory"
    if len(episodes) != num:
        yield f"{len(episodes)} episodes of {num} rollouts"


if __name__ == "__main__":
    main()
