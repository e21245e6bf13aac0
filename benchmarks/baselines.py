"""What agents that understand nothing earn at environments, and by which calls; or what the oracle does.

    python -P benchmarks/baselines.py [--json FILE] [--seeds N] [--agent NAME]... [--folder FOLDER] [NAME]...

Each agent plays each environment N times through ``astra-mcp rollout`` and a gateway of its own: the bundled
ones, or those of a folder. Printed are the means over all episodes, and each tool that solved a sub-task: in
how many of its calls, which sub-tasks, and the first of the calls; of the oracle, the least that it earned.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from astra_mcp.trajectory import AssistantMessage, Trajectory, read_trajectories  # noqa: E402

from circumstances import conditions  # noqa: E402

PROGRAM = str(Path(sys.executable).with_name("astra-mcp"))
AGENTS = ("random", "probe", "echo", "explore", "enumerate")


@dataclass(slots=True)
class _Solving:
    """What one tool of an environment solved."""

    first: str
    """Arguments of the first such call."""
    calls: int = 0
    sub_tasks: set[int] = field(default_factory=set[int])


def main() -> None:
    """Let them play, print, and write the figures where asked to."""
    options = _options()
    circumstances = conditions(seeds=options.seeds)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        for agent in options.agent or AGENTS:
            played = _play(agent, options, Path(folder))
            figures[agent] = _figures(played)
            if agent == "oracle":
                least = min(row["reward"] for row in figures[agent]["environments"].values())
                print(f"oracle    {len(played)} episodes, least reward {least:g}")
            else:
                _print(agent, figures[agent])
    figures["conditions"] = circumstances.finished()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _play(agent: str, options: argparse.Namespace, folder: Path) -> list[Trajectory]:
    out = folder / f"{agent}.jsonl"
    line = [PROGRAM, "rollout", "--agent", agent, "--seeds", str(options.seeds), "--out", str(out)]
    # No setting from outside changes what is played.
    settings = {"ASTRA_MCP_HOME": str(folder / "home")}
    names: list[str] = options.environments
    if options.folder is not None:
        settings["ASTRA_MCP_ENVIRONMENTS"] = json.dumps([str(options.folder.resolve())])
        names = names or sorted(
            file.parent.name for file in options.folder.glob("*/environment.json")
        )
    # Only its exit code counts: 1 says that an episode failed, which would hide what it earned.
    subprocess.run([*line, *names], env=settings, stdout=subprocess.DEVNULL, check=True)
    return list(read_trajectories(out))


def _figures(played: list[Trajectory]) -> dict[str, Any]:
    by_environment: defaultdict[str, list[Trajectory]] = defaultdict(list)
    for each in played:
        by_environment[each.environment or ""].append(each)
    return {
        **_means(played),
        "environments": {
            name: {**_means(some), "solved_by": _solved_by(some)}
            for name, some in by_environment.items()
        },
    }


def _means(played: list[Trajectory]) -> dict[str, float]:
    rewards = [each.reward for each in played if each.reward is not None]
    return {
        "recall": round(fmean(reward.recall for reward in rewards), 4),
        "reward": round(fmean(reward.reward for reward in rewards), 4),
        "calls": round(fmean(reward.calls for reward in rewards), 1),
    }


def _solved_by(played: list[Trajectory]) -> dict[str, dict[str, Any]]:
    found: dict[str, _Solving] = {}
    for tool, arguments, solved in (call for each in played for call in _solving_calls(each)):
        solving = found.setdefault(tool, _Solving(arguments))
        solving.calls += 1
        solving.sub_tasks |= solved
    return {
        tool: {"calls": it.calls, "sub_tasks": sorted(it.sub_tasks), "first": it.first}
        for tool, it in found.items()
    }


def _solving_calls(played: Trajectory) -> Iterator[tuple[str, str, set[int]]]:
    messages = [m for m in played.messages if isinstance(m, AssistantMessage)]
    made = {c.id: c.function for m in messages for c in m.tool_calls or ()}
    for note in played.calls:
        if note.solved:
            call = made[note.tool_call_id]
            yield call.name, call.arguments, set(note.solved)


def _print(agent: str, figures: dict[str, Any]) -> None:
    means = "  ".join(f"{name} {figures[name]:g}" for name in ("recall", "reward", "calls"))
    print(f"{agent:10}{means}")
    for name, row in figures["environments"].items():
        if row["recall"]:
            print(f"    {name}: recall {row['recall']:g}, reward {row['reward']:g}")
        for tool, it in row["solved_by"].items():
            print(f"        {it['calls']} x {tool} solves {it['sub_tasks']}: {it['first']}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("environments", nargs="*", metavar="ENVIRONMENT")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--agent", action="append", choices=(*AGENTS, "oracle"))
    parser.add_argument("--folder", type=Path, help="play the environments in this folder")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
