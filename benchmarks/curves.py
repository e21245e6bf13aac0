"""The curves of both papers with a tiny model: rewards, distractors, signals, and the form of turns.

    python -P benchmarks/curves.py [--arms ARM,...] [--seeds N] [--first-seed S] [--folder FOLDER]
        [--json FILE] [--pictures FOLDER]

Begins where ``benchmarks/learning.py`` begins, with the same environments and starts, which are taken from
its folder where they are there. An arm's curve begins with its own start, judged before the first step.

Rewards (ASTRA sec. 4.2, figures 6 to 8):
    f1, recall, precision   what GRPO trains on, on questions of two calls
Distractors (ASTRA sec. 3.2.2); SFT has seen some, and each end is judged with and without them:
    none, random, banded    irrelevant tools in GRPO
Signals (the study of collapses, figures 2 and 5):
    grpo                    none of them
    sft, sft-rl             imitation of the oracle, and GRPO from there
    other, other-rl         imitation of families that are neither trained on nor judged by, then GRPO
    ops, hbg, ets, prs      GRPO with demonstrations, hints, errors, reflections; their texts are templates
Form (the study, figures 1, 6, 7 and 8):
    mismatched              sampled behind an empty thought that no training text has
    collapse                ten times the learning rate; alarms are written down and heeded by nobody

``grpo`` is what signals and form are held against; it is also the run whose form matches. What is in the
folder is not made again, and a run that was stopped goes on. With one seed, no spread is known.
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
from curve_arms import ARMS, play_arm  # noqa: E402
from curve_figures import PICTURES, picture_of, summary_of, table_of  # noqa: E402
from learning_data import open_playground  # noqa: E402
from learning_school import add_options, make_verified, open_school, read_options  # noqa: E402


async def _run(asked: argparse.Namespace) -> list[dict[str, Any]]:
    asked.folder.mkdir(parents=True, exist_ok=True)
    folders = make_verified(asked.folder, asked)
    async with open_playground(asked.folder / "home", folders.values()) as gateway:
        school = await open_school(asked, gateway.control, folders)
        seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
        return [await play_arm(school, arm, seed) for seed in seeds for arm in asked.arms]


def _draw(folder: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        drawn = picture_of(name, runs)
        if drawn is not None:
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")


def main() -> int:
    """Run, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--arms", default=",".join(ARMS), help="by default all")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40, help="of GRPO")
    parser.add_argument("--imitation-steps", type=int, default=100, help="of sft and other")
    parser.add_argument(
        "--every", type=int, default=10, help="steps from one judgement to the next"
    )
    parser.add_argument("--samples", type=int, default=2, help="of a held-out environment at T = 1")
    parser.add_argument("--pictures", type=Path, help="also draw them, as SVG in this folder")
    add_options(parser)
    asked = read_options(parser, ARMS)
    torch.set_num_threads(1)
    circumstances = conditions(
        torch=torch.__version__,
        **{
            name: value for name, value in vars(asked).items() if not isinstance(value, Path | None)
        },
    )
    runs = anyio.run(_run, asked)
    print(table_of(runs))
    if asked.pictures is not None:
        _draw(asked.pictures, runs)
    if asked.json is not None:
        figures = {**summary_of(runs), "runs": runs, "conditions": circumstances.finished()}
        asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
