"""How many environments a hacker without a model beats, who sees the tools and never a question.

    python -P benchmarks/attack.py [--families N] [--seed S] [--episodes K] [--json FILE]
    python -P benchmarks/attack.py --folder FOLDER [--episodes K] [--json FILE]

Plays K episodes of 24 calls with each question of each environment, and prints what earned. An answer that
came by the gold call's own arguments was *hit*: the caller guessed or walked to its record. One that came by
other arguments was *opened*: the tool tells it to who asks for something else. Exit code 1 where anything is
beaten.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from astra_mcp.environments.bundle import Bundle, GoldCall  # noqa: E402 - after the search path
from astra_mcp.environments.loading import load_bundle  # noqa: E402
from astra_mcp.errors import BundleError, DrawError, ToolCodeError  # noqa: E402
from astra_mcp.reward import score_episode  # noqa: E402
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox  # noqa: E402
from astra_mcp.synthesis.environments.building.attacking import Beaten, attack_bundle  # noqa: E402
from astra_mcp.synthesis.environments.families.catalog import find_families  # noqa: E402
from astra_mcp.synthesis.environments.families.generation import (  # noqa: E402
    Order,
    make_planned,
    plan,
)
from astra_mcp.types import JsonObject  # noqa: E402

from circumstances import conditions  # noqa: E402
from scripted_hacker import ScriptedHacker  # noqa: E402


@dataclass(frozen=True, slots=True)
class Beating:
    """An episode that earned."""

    name: str
    family: str | None
    question: str | None
    episode: int
    exploit: str
    calls: int
    solved: int
    sub_tasks: int
    reward: float
    how: str
    transcript: str


def family_bundles(count: int, seed: int) -> Iterator[Bundle]:
    """Make environments of all families by turns."""
    made = 0
    for planned in plan(Order(find_families(["all"]), 2 * count, seed)):
        if made == count:
            return
        try:
            yield make_planned(planned)
            made += 1
        except DrawError as error:
            print(f"not drawn: {planned.name}: {error}", file=sys.stderr)


def folder_bundles(folder: Path) -> Iterator[Bundle]:
    """Load all environments of a folder."""
    for place in sorted(folder.iterdir()):
        if (place / "environment.json").is_file():
            try:
                yield load_bundle(place)
            except BundleError as error:
                print(f"not loaded: {place.name}: {error}", file=sys.stderr)


async def attack(bundle: Bundle, sandbox: Sandbox, episodes: int) -> list[Beating]:
    """Play all episodes with each question."""
    found: list[Beating] = []
    for asked in bundle.asked:
        hacker = ScriptedHacker()
        for episode in range(episodes):
            beaten = await attack_bundle(hacker, asked, sandbox, episode)
            if beaten is not None:
                found.append(_beating(asked, episode, hacker.last_exploit, beaten))
    return found


def _beating(asked: Bundle, episode: int, exploit: str, beaten: Beaten) -> Beating:
    reward = score_episode(asked.job, beaten.solved, beaten.num_calls)
    sent = json.loads(beaten.arguments)
    golds = [gold for gold in asked.document.gold if gold.tool == beaten.tool]
    return Beating(
        name=asked.name,
        family=asked.document.provenance.family,
        question=asked.question_id,
        episode=episode,
        exploit=exploit,
        calls=beaten.num_calls,
        solved=len(beaten.solved),
        sub_tasks=len(asked.job),
        reward=0.0 if reward is None else round(reward.reward, 3),
        how="hit" if any(_is_of_record(gold, sent) for gold in golds) else "opened",
        transcript=beaten.transcript,
    )


def _is_of_record(gold: GoldCall, sent: JsonObject) -> bool:
    """Whether arguments are those that pick the record; what only shapes the result may differ."""
    return all(
        name in gold.modifying or sent.get(name) == value for name, value in gold.values.items()
    )


async def _attacked(bundles: Sequence[Bundle], episodes: int) -> list[Beating]:
    async with open_sandbox(SandboxLimits()) as sandbox:
        found: list[Beating] = []
        for bundle in bundles:
            try:
                found += await attack(bundle, sandbox, episodes)
            except ToolCodeError as error:
                print(f"does not run: {bundle.name}: {error}", file=sys.stderr)
        return found


def main() -> int:
    """Run, and print; exits with 1 where anything is beaten."""
    options = _options()
    circumstances = conditions(
        episodes=options.episodes, families=options.families, seed=options.seed
    )
    made = folder_bundles(options.folder) if options.folder else None
    bundles = [*(made or family_bundles(options.families, options.seed))]
    began = time.monotonic()
    beatings = anyio.run(_attacked, bundles, options.episodes)
    figures = _figures(bundles, beatings) | {"seconds": round(time.monotonic() - began, 1)}
    for one in beatings:
        print(
            f"{one.name} {one.question or ''} episode {one.episode}: {one.how} by {one.exploit}, "
            f"reward {one.reward} ({one.solved} of {one.sub_tasks}) after {one.calls} calls:\n"
            + "\n".join(f"  {line[:300]}" for line in one.transcript.splitlines()[-2:])
        )
    print(json.dumps(figures, ensure_ascii=False))
    if options.json is not None:
        written = {**figures, "beatings": [asdict(one) for one in beatings]}
        written["conditions"] = circumstances.finished()
        options.json.write_text(json.dumps(written, ensure_ascii=False, indent=2), encoding="utf-8")
    return int(bool(beatings))


def _figures(bundles: Sequence[Bundle], beatings: Sequence[Beating]) -> dict[str, Any]:
    return {
        "environments": len(bundles),
        "questions": sum(len(bundle.asked) for bundle in bundles),
        "beaten": len({one.name for one in beatings}),
        "opened": len({one.name for one in beatings if one.how == "opened"}),
        "hit": len({one.name for one in beatings if one.how == "hit"}),
        "questions_beaten": len({(one.name, one.question) for one in beatings}),
        "episodes_beaten": len(beatings),
        "greatest_reward": max((one.reward for one in beatings), default=0.0),
        "by_exploit": dict(Counter(one.exploit for one in beatings)),
        "by_family": dict(Counter(str(one.family) for one in beatings)),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="attack the environments of this folder")
    parser.add_argument("--families", type=int, default=50, help="or so many of families (50)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=11, help="with each question (11)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
