"""Whether rewards teach a tiny model to use tools: GRPO through the gateway, from a start often wrong.

    python -P benchmarks/learning.py [--seeds N] [--first-seed S] [--arms ARM,...] [--folder FOLDER]
        [--json FILE] [--picture FILE]

Makes environments of all micro families, which share one vocabulary of names: unverified ones to imitate,
and verified ones to learn from by rewards, to choose a start by, and to be judged by. For each seed a tiny
model with random weights imitates the oracle, and then for a while a teacher who errs in most of the calls:
that makes a model that has the form and is often wrong. Of its checkpoints the one is taken that comes
nearest to the middle of the window of starts, on the environments to choose by. From there GRPO goes on, and
every ten steps the held-out environments are played, greedily and at T = 1. No request that stands in the
held-out or choosing environments word for word is trained on.

Arms, each for every seed:
    grpo         as above
    permuted     the same with rewards permuted within each group: nothing can be learnt from them
    imitation    from the same start, the oracle's trajectories for as many processor seconds as GRPO took
    plain        GRPO from an early checkpoint of the oracle's pupil, who never met the erring teacher
    distractors  irrelevant tools while imitating, in GRPO and when judged
    unseen       one family is met when judged, and not before

What is in the folder is not made again, and a run that was stopped goes on. Processor seconds of a seed are
those of this process and all below it: training, playing, gateway and sandbox, judging included; without
making environments and the teachers' episodes, which all seeds share.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
import torch  # noqa: E402

from circumstances import conditions  # noqa: E402
from learning_data import open_playground  # noqa: E402
from learning_picture import draw_panels, reward_panel  # noqa: E402
from learning_school import (  # noqa: E402
    School,
    add_options,
    lessons_of,
    make_verified,
    open_school,
    read_options,
)
from learning_stages import (  # noqa: E402
    Account,
    Judge,
    Lessons,
    Rewarded,
    imitate,
    learn_by_rewards,
)
from learning_starts import DISTRACTED, PLAIN, UNSEEN, USUAL, find_start  # noqa: E402

_TITLES = {
    "grpo": "GRPO",
    "permuted": "GRPO, rewards permuted",
    "imitation": "Imitation, equal compute",
    "plain": "GRPO, start of the oracle alone",
    "distractors": "GRPO among distractors",
    "unseen": "GRPO, family never trained on",
}
ARMS = tuple(_TITLES)
_SAMPLES = 4
"""Episodes of each held-out environment at T = 1."""

_WAYS = {"plain": PLAIN, "distractors": DISTRACTED, "unseen": UNSEEN}
"""All other arms go the usual way."""


async def _play_arm(school: School, arm: str, seed: int) -> dict[str, Any]:
    """Play one arm of one seed to its end, or go on with it."""
    place, asked = school.asked.folder / f"seed-{seed}", school.asked
    result = place / f"{arm}.json"
    if result.exists():
        return json.loads(result.read_text(encoding="utf-8"))
    way = _WAYS.get(arm, USUAL)
    start, spent = await find_start(school, way, seed)
    judged = [
        each for each in school.held_out if way.without is None or not way.shows(each[0].name)
    ]
    judge = school.judge(judged, _SAMPLES, way.distractors)
    account = Account(place / f"{arm}-processor.jsonl")
    if arm == "imitation":
        found = await _imitation(school, seed, start, judge, account)
    else:
        rewarded = Rewarded(
            sources=[each for each in school.trained if way.shows(each[0].name)],
            judge=judge,
            steps=asked.steps,
            every=10,
            learning_rate=asked.learning_rate,
            groups=asked.groups,
            group_size=asked.group_size,
            distractors=way.distractors,
            is_permuted=arm == "permuted",
        )
        found = await learn_by_rewards(rewarded, start, place / arm, seed=seed, account=account)
    figures = {"arm": arm, "seed": seed, **_rises(found["curve"]), **found}
    figures["processor"] = spent | account.stages()
    figures["cpu_seconds"] = round(sum(figures["processor"].values()), 1)
    result.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return figures


async def _imitation(
    school: School, seed: int, start: Path, judge: Judge, account: Account
) -> dict[str, Any]:
    """Imitate the oracle from the same start, for as many processor seconds as GRPO took."""
    rewarded = await _play_arm(school, "grpo", seed)
    spent = rewarded["processor"]
    steps = round(spent["grpo"] / spent["whole-oracle"] * school.asked.oracle_steps / 10) * 10
    file = await lessons_of(school, USUAL, "oracle")
    lessons = Lessons(file=file, steps=steps, every=max(steps // 5, 1), learning_rate=1e-3)
    out = school.asked.folder / f"seed-{seed}" / "imitation"
    before = {"step": 0, **await judge.of_folder(start)}
    return {
        "curve": [
            before,
            *await imitate(lessons, start, out, seed=seed, judge=judge, account=account),
        ]
    }


def _rises(curve: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """From the first judgement to the last, whichever was best."""
    kinds = ("greedy", "sampled")
    ends = {
        f"{kind}_{name}": curve[at][f"{kind}/reward"]
        for name, at in (("start", 0), ("end", -1))
        for kind in kinds
    }
    return ends | {f"{kind}_rise": ends[f"{kind}_end"] - ends[f"{kind}_start"] for kind in kinds}


async def _run(asked: argparse.Namespace) -> dict[str, Any]:
    asked.folder.mkdir(parents=True, exist_ok=True)
    folders = make_verified(asked.folder, asked)
    async with open_playground(asked.folder / "home", folders.values()) as gateway:
        school = await open_school(asked, gateway.control, folders)
        seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
        runs = [await _play_arm(school, arm, seed) for seed in seeds for arm in asked.arms]
    return _figures(runs)


def _figures(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the flat figures together: the least rise of all seeds, and of the control the greatest."""
    figures: dict[str, Any] = {}
    learning = [run for run in runs if run["arm"] == "grpo"]
    if learning:
        for kind in ("sampled", "greedy"):
            figures[f"{kind}_rise_min"] = min(run[f"{kind}_rise"] for run in learning)
        figures["start_greedy_min"] = min(run["greedy_start"] for run in learning)
        figures["start_greedy_max"] = max(run["greedy_start"] for run in learning)
        figures["start_sampled_max"] = max(run["sampled_start"] for run in learning)
        figures["cpu_seconds_max"] = max(run["cpu_seconds"] for run in learning)
    permuted = [run for run in runs if run["arm"] == "permuted"]
    if permuted:
        figures["control_greedy_rise_max"] = max(run["greedy_rise"] for run in permuted)
        figures["control_sampled_rise_max"] = max(run["sampled_rise"] for run in permuted)
    return {**figures, "runs": [*runs]}


def _print(figures: Mapping[str, Any]) -> None:
    for run in figures["runs"]:
        rises = ", ".join(
            f"{kind} {run[f'{kind}_start']:.3f} to {run[f'{kind}_end']:.3f}"
            for kind in ("greedy", "sampled")
        )
        print(f"seed {run['seed']}, {run['arm']}: {rises}; {run['cpu_seconds']:.0f} processor s")
    for name, value in figures.items():
        if name != "runs":
            print(f"{name}: {value:.3f}")


def _picture(runs: Sequence[Mapping[str, Any]]) -> str:
    arms = dict.fromkeys(run["arm"] for run in runs)
    panels = [
        reward_panel(_TITLES[arm], [run for run in runs if run["arm"] == arm]) for arm in arms
    ]
    return draw_panels(panels, "Reward on held-out environments; full: greedy, dashed: T = 1.")


def main() -> int:
    """Run, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", default="grpo,permuted", help=f"of {', '.join(ARMS)}")
    parser.add_argument("--steps", type=int, default=60, help="of GRPO")
    parser.add_argument("--picture", type=Path, help="also draw the rewards over steps, as SVG")
    add_options(parser)
    asked = read_options(parser, ARMS)
    torch.set_num_threads(1)
    circumstances = conditions(
        torch=torch.__version__,
        **{
            name: value for name, value in vars(asked).items() if not isinstance(value, Path | None)
        },
    )
    figures = anyio.run(_run, asked)
    _print(figures)
    if asked.picture is not None:
        asked.picture.write_text(_picture(figures["runs"]), encoding="utf-8")
    if asked.json is not None:
        figures["conditions"] = circumstances.finished()
        asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
