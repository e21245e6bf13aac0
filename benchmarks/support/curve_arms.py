"""The arms of the curves: how each begins, what it learns by, and how it is judged."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from gateway.api.wire import DistractorRequest, SourceEnvironment
from training.render import ThinkingPolicy
from training.rl.native.settings import Earned

from learning_school import School, Way, lessons_of
from learning_stages import (
    Account,
    Judge,
    Lessons,
    Rewarded,
    Sources,
    imitate,
    learn_by_rewards,
    rows_of,
)
from learning_starts import MIXED, UNSEEN, USUAL, find_start

__all__ = ["ARMS", "GROUPS", "Arm", "play_arm"]

Group = Literal["rewards", "distractors", "signals", "form"]
GROUPS: Final[tuple[Group, ...]] = ("rewards", "distractors", "signals", "form")
_PHASES = {"stages": [10, 10, 20]}
"""A phase behind step 10 and step 20."""
_AMONG = DistractorRequest(mode="random")
_THOUGHTS = Path(__file__).parent / "thinking_template.jinja"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to learn."""

    group: Group
    title: str
    way: Way = USUAL
    """To the start."""
    after: str | None = None
    """An arm of imitation whose last weights it begins with."""
    lessons: Way | None = None
    """Whose oracle is imitated, in the place of GRPO."""
    is_of_others: bool = False
    """It is trained on, and judged by, the family that its lessons leave out."""
    distractors: DistractorRequest | None = None
    """In GRPO."""
    thinking: ThinkingPolicy = ThinkingPolicy.NATIVE_OFF
    reward: Earned = "f1"
    num_calls: int | None = None
    """It is trained on, and judged by, questions that take so many; None: all of them."""
    rate: float = 1
    """Times the learning rate of all others."""
    steps: int | None = None
    """Of GRPO; None: as many as all others."""
    signals: Mapping[str, Any] = field(default_factory=dict[str, Any])


def _signal(title: str, **signals: Any) -> Arm:
    return Arm(group="signals", title=title, signals=signals)


def _phases(title: str, kind: str) -> Arm:
    supervision = {"kind": kind, "learning_rate": 1e-3, "batch_size": 32}
    return _signal(title, schedule=_PHASES, supervision=supervision)


def _mixed(title: str, distractors: DistractorRequest) -> Arm:
    return Arm(group="distractors", title=title, way=MIXED, distractors=distractors)


def _rewarded(reward: Earned) -> Arm:
    return Arm(group="rewards", title=f"GRPO on {reward}", reward=reward, num_calls=2)


ARMS: Final[Mapping[str, Arm]] = {
    "f1": _rewarded("f1"),
    "recall": _rewarded("recall"),
    "precision": _rewarded("precision"),
    "none": _mixed("no distractors", DistractorRequest(mode="none")),
    "random": _mixed("random distractors", _AMONG),
    "banded": _mixed("banded distractors", DistractorRequest(mode="banded")),
    "grpo": Arm(group="signals", title="GRPO alone"),
    "sft": Arm(group="signals", title="SFT alone", lessons=USUAL),
    "sft-rl": Arm(group="signals", title="SFT, then GRPO", after="sft"),
    "other": Arm(
        group="signals",
        title="SFT on other families",
        lessons=UNSEEN,
        is_of_others=True,
    ),
    "other-rl": Arm(
        group="signals",
        title="SFT on other families, then GRPO",
        after="other",
        is_of_others=True,
    ),
    "ops": _signal("OPS", demonstrations={"members": 1}),
    "hbg": _signal("HBG", hints={"members": 2}),
    "ets": _phases("ETS", "errors"),
    "prs": _phases("PRS", "reflections"),
    "mismatched": Arm(
        group="form",
        title="mismatched form",
        thinking=ThinkingPolicy.OFF_SAMPLING_ONLY,
        steps=5,  # hardly a group has a reward, so that each takes dozens of rounds
    ),
    "collapse": Arm(group="form", title="ten times the learning rate", rate=10),
}
"""By name, in the order in which they are played."""


async def play_arm(school: School, name: str, seed: int) -> dict[str, Any]:
    """Play one arm of one seed to its end, or go on with it; its figures, which are kept."""
    place = school.asked.folder / f"seed-{seed}" / "curves"
    place.mkdir(parents=True, exist_ok=True)
    result = place / f"{name}.json"
    if not result.exists():
        account = Account(place / f"{name}-processor.jsonl")
        found = await _played(school, name, seed, place, account)
        figures = {"arm": name, "seed": seed, **found, "processor": account.stages()}
        result.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return json.loads(result.read_text(encoding="utf-8"))


async def _played(
    school: School, name: str, seed: int, place: Path, account: Account
) -> dict[str, Any]:
    arm, out = ARMS[name], place / name
    judge = await _judge(school, arm)
    start = await _start(school, arm, seed, place)
    if arm.lessons is not None:
        curve = [{"step": 0, **await judge.of_folder(start)}]
        curve += await imitate(
            await _lessons(school, arm.lessons),
            start,
            out,
            seed=seed,
            judge=judge,
            account=account,
        )
        return {"curve": curve, "ended": None, "steps": rows_of(out / "metrics.jsonl")}
    found = await learn_by_rewards(
        await _asked(school, arm, judge), start, out, seed=seed, account=account
    )
    if arm.group == "distractors":
        found["among"] = [
            await replace(judge, distractors=_AMONG).of_folder(weights)
            for weights in (start, _last_weights(out, start))
        ]
        account.note("among")
    return {**found, "steps": rows_of(out / "metrics.jsonl")}


async def _judge(school: School, arm: Arm) -> Judge:
    judge = school.judge(await _asked_of(school, arm, school.held_out), school.asked.samples, None)
    return replace(judge, thinking=arm.thinking)


async def _start(school: School, arm: Arm, seed: int, place: Path) -> Path:
    start, _ = await find_start(school, arm.way, seed)
    if arm.after is not None:
        await play_arm(school, arm.after, seed)
        return _last_weights(place / arm.after, start)
    if arm.thinking is ThinkingPolicy.NATIVE_OFF:
        return start
    changed = place / "with-thoughts"
    if not changed.exists():
        part = changed.with_suffix(".part")
        shutil.copytree(start, part, dirs_exist_ok=True)
        shutil.copy(_THOUGHTS, part / "chat_template.jinja")
        part.rename(changed)
    return changed


async def _lessons(school: School, way: Way) -> Lessons:
    steps = school.asked.imitation_steps
    file = await lessons_of(school, way, "oracle")
    return Lessons(file=file, steps=steps, every=max(steps // 4, 1), learning_rate=1e-3)


async def _asked(school: School, arm: Arm, judge: Judge) -> Rewarded:
    asked = school.asked
    sections: dict[str, Mapping[str, Any]] = {"objective": {"reward": arm.reward, "kl": "metric"}}
    return Rewarded(
        sources=await _asked_of(school, arm, school.trained),
        judge=judge,
        steps=arm.steps or asked.steps,
        every=asked.every,
        learning_rate=asked.learning_rate * arm.rate,
        groups=asked.groups,
        group_size=asked.group_size,
        distractors=arm.distractors,
        may_end=True,
        sections=sections | ({"signals": arm.signals} if arm.signals else {}),
    )


async def _asked_of(school: School, arm: Arm, sources: Sources) -> Sources:
    """Take the questions that an arm is about."""
    found: list[tuple[SourceEnvironment, str | None]] = []
    for source, version in sources:
        is_left_out = arm.is_of_others and UNSEEN.shows(source.name)
        gold = await school.gateway.gold(source.name)
        if not is_left_out and arm.num_calls in (None, len(gold)):
            found.append((source, version))
    return found


def _last_weights(run: Path, start: Path) -> Path:
    """Where a run came to; that is its start, where it found nothing to learn from."""
    return max((run / "weights").glob("step-*"), default=start)
