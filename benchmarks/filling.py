"""How many groups teach in a step, with adaptive batch filling and without it, against simulated rollouts.

    python -P benchmarks/filling.py [--groups 8] [--steps 1000] [--seed 1] [--json FILE]

Each group is degenerate by chance. Without filling a step plays as many groups as a batch has and trains on
those that can teach something, so their number is binomial, and its variance is computed beside the one that
was seen. With filling it is the same in every step, and rounds of rollouts are what varies. Exits with 1
where a batch is not full.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE / "support"), *sys.path]

import anyio  # noqa: E402 - after the search path is right

from group_stream import Sizes, sizes_of_batches  # noqa: E402

SHARES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
_HEAD = ("degenerate", "filled: mean", "variance", "rounds", "plain: mean", "variance", "computed")


async def _measure(groups: int, steps: int, seed: int) -> dict[float, Sizes]:
    return {
        share: await sizes_of_batches(share, groups=groups, steps=steps, seed=seed)
        for share in SHARES
    }


def _line(share: float, found: Sizes) -> str:
    numbers = (
        found.filled_mean,
        found.filled_variance,
        found.filled_rounds,
        found.plain_mean,
        found.plain_variance,
        found.computed_variance,
    )
    return f"{share:>12.2f}" + "".join(f"{number:>14.3f}" for number in numbers)


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--groups", type=int, default=8, help="of a batch")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if min(options.groups, options.steps) < 1:
        parser.error("--groups and --steps must be at least 1")
    found = anyio.run(_measure, options.groups, options.steps, options.seed)
    print(f"{_HEAD[0]:>12}" + "".join(f"{name:>14}" for name in _HEAD[1:]))
    for share, sizes in found.items():
        print(_line(share, sizes))
    if options.json:
        figures = {
            f"{name}_{round(share * 100)}": round(value, 6)
            for share, sizes in found.items()
            for name, value in asdict(sizes).items()
        }
        told = {"groups": options.groups, "steps": options.steps, "seed": options.seed}
        options.json.write_text(json.dumps(figures | told, indent=2) + "\n", encoding="utf-8")
    full = (options.groups, 0)
    if any((sizes.filled_mean, sizes.filled_variance) != full for sizes in found.values()):
        sys.exit("not every batch was full")


if __name__ == "__main__":
    main()
