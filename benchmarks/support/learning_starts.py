"""The start of learning by rewards: a model that has the form and is often wrong, and the ways to it."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.api.wire import DistractorRequest
from training.tiny.start import save_start

from learning_school import School, Way, lessons_of
from learning_stages import Account, Lessons, imitate

__all__ = ["DISTRACTED", "MIXED", "PLAIN", "UNSEEN", "USUAL", "find_start"]

USUAL = Way("whole")
PLAIN = Way("whole", is_corrupted=False)
DISTRACTED = Way("distractors", distractors=DistractorRequest(mode="random"))
MIXED = Way("mixed", distractors=DistractorRequest(mode="random"), is_mixed=True)
UNSEEN = Way("unseen", without="micro-routes")
_GREEDY, _SAMPLED = (0.45, 0.60), 0.32
"""Within the window of starts (greedy .40 to .65, T = 1 at most .35), with room for other environments."""


def _distance(judged: Mapping[str, Any]) -> float:
    """How far a start is from the middle of the window."""
    least, most = _GREEDY
    above = max(judged["sampled/reward"] - _SAMPLED, 0)
    return abs(judged["greedy/reward"] - (least + most) / 2) + above


async def find_start(school: School, way: Way, seed: int) -> tuple[Path, dict[str, float]]:
    """Give the weights that GRPO begins with, and what they cost, stage by stage; what is there is kept."""
    place = school.asked.folder / f"seed-{seed}"
    teachers = ("oracle", "erring") if way.is_corrupted else ("oracle",)
    chosen = place / f"{way.name}-{teachers[-1]}-start.json"
    files = [await lessons_of(school, way, teacher) for teacher in teachers]
    if not chosen.exists():
        start = place / "start"
        if not start.exists():
            save_start(start, seed=seed)
        account = Account(place / f"{way.name}-processor.jsonl")
        choosing = [each for each in school.choosing if way.shows(each[0].name)]
        judge = school.judge(choosing, 1, None if way.is_mixed else way.distractors)
        runs = [place / f"{way.name}-{teacher}" for teacher in teachers]
        first, *then = (
            functools.partial(imitate, lessons, seed=seed, judge=judge, account=account)
            for lessons in (
                _by_oracle(files[0], school.asked.oracle_steps),
                *map(_by_erring, files[1:]),
            )
        )
        curve = await first(start, runs[0])
        for stage in then:
            curve = await stage(_weights(runs[0], school.asked.oracle_steps), runs[-1])
        best = min(curve, key=_distance)
        weights = _weights(runs[-1], best["step"])
        found = {"weights": str(weights), "choosing": best, "processor": account.stages()}
        chosen.write_text(json.dumps(found, indent=1), encoding="utf-8")
    found = json.loads(chosen.read_text(encoding="utf-8"))
    return Path(found["weights"]), found["processor"]


def _by_oracle(file: Path, steps: int) -> Lessons:
    return Lessons(file=file, steps=steps, every=25, learning_rate=6e-3)


def _by_erring(file: Path) -> Lessons:
    return Lessons(file=file, steps=60, every=10, learning_rate=1e-3, is_constant=True)


def _weights(run: Path, step: int) -> Path:
    return run / "weights" / f"step-{step:08d}"
