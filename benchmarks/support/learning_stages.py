"""Stages of learning, each of which goes on where it was: imitation of trajectories, and then rewards."""

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.from_thread
import anyio.to_thread

from astra_mcp.errors import TrainingError
from astra_mcp.seeds import generator
from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest, SourceEnvironment
from training.evaluation.evaluating import evaluate
from training.evaluation.sampler import ModelSampler
from training.render import ThinkingPolicy, load_tokenizer
from training.rl.core.playing import PolicyTrajectory
from training.rl.core.policy import PolicyLimits
from training.rl.native.agenda import Question
from training.rl.native.settings import RlSettings
from training.rl.native.trainer import Playground
from training.rl.native.trainer import train as train_by_rewards
from training.sft.model import load_model
from training.sft.preparing import check_versions, prepare
from training.sft.settings import (
    CheckpointSettings,
    DataSet,
    LogSettings,
    ScheduleShape,
    SftSettings,
    TrainingSettings,
    ValidationSettings,
)
from training.sft.training import Progress
from training.sft.training import train as train_by_imitation

from process_accounts import cpu_seconds

__all__ = [
    "Account",
    "Judge",
    "Lessons",
    "Rewarded",
    "Sources",
    "imitate",
    "learn_by_rewards",
    "rows_of",
]

Sources = Sequence[tuple[SourceEnvironment, str | None]]
_CONCURRENCY = 64


class Account:
    """Processor seconds of one seed, over all processes below this one, kept in a file."""

    def __init__(self, file: Path) -> None:
        """Go on with what is written."""
        self._file = file
        self._began = _cpu()

    def note(self, stage: str) -> None:
        """Book what was used since the last note."""
        now = _cpu()
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"stage": stage, "seconds": round(now - self._began, 2)}) + "\n")
        self._began = now

    def stages(self) -> dict[str, float]:
        """Give the seconds of each stage, those of earlier processes among them."""
        found: dict[str, float] = {}
        for row in rows_of(self._file):
            found[row["stage"]] = round(found.get(row["stage"], 0.0) + row["seconds"], 2)
        return found


def _cpu() -> float:
    return cpu_seconds(os.getpid(), with_children=True)


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Read the lines of a file of JSON."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Plays the same environments with any model."""

    gateway: GatewayClient
    sources: Sources
    samples: int
    """Episodes of each source at T = 1."""
    seed: int
    limits: PolicyLimits
    distractors: DistractorRequest | None = None
    thinking: ThinkingPolicy = ThinkingPolicy.NATIVE_OFF

    async def __call__(self, model: Any, start: Path) -> dict[str, float]:
        """Give its figures; ``start`` has the tokenizer."""
        tokenizer, renderer = load_tokenizer(str(start), thinking=self.thinking)
        found = await evaluate(
            self.gateway,
            ModelSampler(model, tokenizer.end_ids),
            renderer,
            tokenizer,
            self.sources,
            samples=self.samples,
            root_seed=self.seed,
            limits=self.limits,
            concurrency=_CONCURRENCY,
            distractors=self.distractors,
        )
        return found.metrics()

    async def of_folder(self, weights: Path) -> dict[str, float]:
        """Judge saved weights."""
        return await self(load_model(str(weights), gradient_checkpointing=False).eval(), weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What is imitated, and how."""

    file: Path
    """Of trajectories."""
    steps: int
    every: int
    """Steps from one judgement to the next."""
    learning_rate: float
    is_constant: bool = False
    """The learning rate is; otherwise it falls to nothing."""


async def imitate(
    lessons: Lessons, start: Path, out: Path, *, seed: int, judge: Judge, account: Account
) -> list[dict[str, Any]]:
    """Train on trajectories; gives the judgements, in the order of steps."""
    settings = SftSettings(
        model=str(start),
        out=out,
        seed=seed,
        data=(DataSet(file=lessons.file),),
        training=TrainingSettings(
            epochs=1000,
            max_steps=lessons.steps,
            batch_size=64,
            micro_batch_size=16,
            learning_rate=lessons.learning_rate,
            schedule=ScheduleShape.CONSTANT if lessons.is_constant else ScheduleShape.COSINE,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        ),
        checkpoints=CheckpointSettings(every=lessons.every),
        validation=ValidationSettings(every=lessons.every),
        log=LogSettings(tensorboard=False),
    )
    tokenizer, renderer = load_tokenizer(str(start))
    prepared = prepare(settings, renderer, tokenizer, model=str(start), versions=check_versions())

    def validate(model: Any, step: int) -> Mapping[str, float]:
        del step
        return anyio.from_thread.run(judge, model, start)

    def hear(progress: Progress) -> None:
        if progress.step % lessons.every == 0:
            account.note(out.name)
            _tell(out, progress)

    await anyio.to_thread.run_sync(
        functools.partial(train_by_imitation, prepared, hear=hear, validate=validate)
    )
    return _judgements(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewarded:
    """What is learnt from rewards, and how."""

    sources: Sources
    judge: Judge
    steps: int
    every: int
    learning_rate: float
    groups: int
    group_size: int
    distractors: DistractorRequest | None = None
    is_permuted: bool = False
    """Members of a group get each other's rewards, so that there is nothing to be learnt from them."""
    may_end: bool = False
    """The run may find nothing more to learn from."""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Further settings of the run."""


async def learn_by_rewards(
    asked: Rewarded, start: Path, out: Path, *, seed: int, account: Account
) -> dict[str, Any]:
    """Train by GRPO; gives the judgements, and why the run ended early, where it did and may."""
    judge = asked.judge
    usual: dict[str, Any] = {
        "model": str(start),
        "out": out,
        "seed": seed,
        "data": [{"environments": [source.name for source, _ in asked.sources]}],
        "training": {
            "steps": asked.steps,
            "groups": asked.groups,
            "group_size": asked.group_size,
            "mini_batches": 2,
            "learning_rate": asked.learning_rate,
        },
        "limits": {
            "turns": judge.limits.turns,
            "turn_tokens": judge.limits.turn_tokens,
            "context_tokens": judge.limits.context_tokens,
        },
        "validation": {
            "every": asked.every,
            "samples": judge.samples,
            "distractors": judge.distractors,
        },
        "checkpoints": {"every": asked.every, "keep_weights": 1},
        "log": {"tensorboard": False},
    }
    for name, section in asked.sections.items():
        usual[name] = {**usual.get(name, {}), **section}
    settings = RlSettings.model_validate(usual)
    tokenizer, renderer = load_tokenizer(str(start), thinking=judge.thinking)
    playground = Playground(
        gateway=judge.gateway,
        renderer=renderer,
        tokenizer=tokenizer,
        questions=[
            Question(source=source, version=version, distractors=asked.distractors)
            for source, version in asked.sources
        ],
        held_out=judge.sources,
    )

    def permuted(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
        told = [one.reward for one in played if one.reward is not None]
        generator(seed, "permuted", number).shuffle(told)
        return told

    def hear(progress: Progress) -> None:
        account.note(out.name)
        if progress.step % asked.every == 0:
            _tell(out, progress)

    ended: str | None = None
    try:
        await train_by_rewards(
            settings,
            playground,
            versions=check_versions(),
            hear=hear,
            rewards=permuted if asked.is_permuted else None,
        )
    except TrainingError as error:
        # Without rewards that differ there is nothing to go on with: that is how a control may end.
        if not (asked.is_permuted or asked.may_end):
            raise
        ended = str(error)
    account.note(out.name)
    return {"curve": _judgements(out), "ended": ended}


def _judgements(out: Path) -> list[dict[str, Any]]:
    return [row for row in rows_of(out / "metrics.jsonl") if "greedy/reward" in row]


def _tell(out: Path, progress: Progress) -> None:
    shown = {k: round(v, 3) for k, v in progress.values.items() if k.endswith("y/reward")}
    shown |= {k: round(v, 3) for k, v in progress.values.items() if k.endswith("sampled/reward")}
    print(f"{out.parent.name}, {out.name}, step {progress.step}: {shown}", flush=True)
