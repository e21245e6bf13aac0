"""What arms came to: a table, flat figures, and pictures of their steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from curve_arms import ARMS
from learning_picture import COLOURS, Line, Panel, draw_panels

__all__ = ["PICTURES", "alarms_of", "fall_of", "picture_of", "summary_of", "table_of"]

Run = Mapping[str, Any]
PICTURES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]]] = {
    "rewards": (
        ("f1", "recall", "precision"),
        ("rollout/turns", "rollout/calls", "greedy/reward"),
        "GRPO on F1, recall and precision (ASTRA, figures 6 to 8).",
    ),
    "distractors": (
        ("none", "random", "banded"),
        ("rollout/reward", "rollout/calls", "greedy/reward"),
        "GRPO among irrelevant tools.",
    ),
    "signals": (
        ("grpo", "sft", "sft-rl", "ops", "hbg", "ets", "prs"),
        ("rollout/reward", "greedy/reward", "kl"),
        "Signals of a supervisor (the study, figures 2 and 5); grpo is without any.",
    ),
    "form": (
        ("grpo", "mismatched", "collapse"),
        ("rollout/reward", "structure/text_polluted", "structure/collapsed"),
        "The form of turns (the study, figures 1 and 6 to 8); grpo is the matched run.",
    ),
}
"""Arms, what is drawn of them, and the words below."""
_TITLES: Final = {
    "rollout/turns": "Turns of an episode",
    "rollout/calls": "Calls of an episode",
    "rollout/reward": "Reward of rollouts",
    "greedy/reward": "Reward on held-out environments, greedy",
    "kl": "Divergence from the first model, cut at 20",
    "structure/text_polluted": "Share of turns that are polluted",
    "structure/collapsed": "Share of turns that are collapsed",
}
_CUT = 20.0
_FALLEN = 0.5


def picture_of(name: str, runs: Sequence[Run]) -> str | None:
    """Draw one of the pictures; None where no arm of it was played."""
    arms, figures, caption = PICTURES[name]
    played = [run for run in runs if run["arm"] in arms]
    if not played:
        return None
    return draw_panels([_panel(figure, arms, played) for figure in figures], caption)


def _panel(figure: str, arms: Sequence[str], runs: Sequence[Run]) -> Panel:
    lines = [
        Line(run["arm"], points, COLOURS[arms.index(run["arm"]) % len(COLOURS)])
        for run in runs
        if (points := [*_points(run, figure)])
    ]
    most = max((value for line in lines for _, value in line.points), default=0.0)
    return Panel(_TITLES[figure], lines, _top(most))


def _top(most: float) -> float:
    """Give the least of 1, 2, 3, 4, 5, 10, 20 ... that nothing is above."""
    return next(top for top in (1, 2, 3, 4, 5, 10, 20, 50, 100) if most <= top)


def _points(run: Run, figure: str) -> Iterator[tuple[float, float]]:
    return (
        (row["step"], min(row[figure], _CUT)) for row in run["steps"] if row.get(figure) is not None
    )


def alarms_of(run: Run) -> dict[str, int]:
    """Give the step at which each alarm was raised first."""
    found: dict[str, int] = {}
    for row in run["steps"]:
        for name, value in row.items():
            if name.startswith("alarms/") and value:
                found.setdefault(name.removeprefix("alarms/"), row["step"])
    return found


def fall_of(run: Run) -> int | None:
    """Give the step from which on the reward of rollouts stays below half of its best so far."""
    rewards = [
        (row["step"], row["rollout/reward"]) for row in run["steps"] if "rollout/reward" in row
    ]
    best, fell = 0.0, None
    for step, reward in rewards:
        best = max(best, reward)
        if reward >= _FALLEN * best:
            fell = None
        elif fell is None:
            fell = step
    return fell


def _row(run: Run) -> Iterator[str]:
    first, last = run["curve"][0], run["curve"][-1]
    yield run["arm"]
    yield str(run["seed"])
    for kind in ("greedy", "sampled"):
        yield f"{first[f'{kind}/reward']:.3f} to {last[f'{kind}/reward']:.3f}"
    yield f"{first['sampled/calls']:.2f} to {last['sampled/calls']:.2f}"
    yield f"{first['sampled/turns']:.2f} to {last['sampled/turns']:.2f}"
    states = run["steps"][-1]
    yield "/".join(
        f"{states[name]:.2f}" if (name := f"structure/{state}") in states else "-"
        for state in ("healthy_tool_call", "healthy_response", "text_polluted", "collapsed")
    )
    yield ", ".join(f"{name} {step}" for name, step in alarms_of(run).items()) or "none"
    among = run.get("among")
    told = " to ".join(f"{each['greedy/reward']:.3f}" for each in among) if among else ""
    yield told or (run.get("ended") or "")[:60]


def table_of(runs: Sequence[Run]) -> str:
    """Write a table in Markdown; the end of each row is what an arm alone has to say."""
    head = ("arm", "seed", "greedy", "T = 1", "calls", "turns", "states", "alarms", "more")
    rows = [head, tuple("---" for _ in head), *(tuple(_row(run)) for run in runs)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def summary_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Give flat figures: each arm's least rise over its seeds, and where it fell."""
    found: dict[str, Any] = {}
    for arm in ARMS:
        own = [run for run in runs if run["arm"] == arm]
        if not own:
            continue
        for kind in ("greedy", "sampled"):
            found[f"{arm}_{kind}_rise_min"] = min(
                run["curve"][-1][f"{kind}/reward"] - run["curve"][0][f"{kind}/reward"]
                for run in own
            )
    return found
