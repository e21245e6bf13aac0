"""Runs of GRPO through the small gateway, by the smallest model there is."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.api.wire import SourceEnvironment
from training.checkpoints import CheckpointStore
from training.render import load_tokenizer
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.agenda import Question
from training.rl.native.generation import Rewards
from training.rl.native.settings import RlSettings
from training.rl.native.trainer import Playground, train
from training.rollout.plan import Source
from training.sft.training import Outcome, Progress

from small_gateway import NAME, SmallGateway

__all__ = ["TrainedRun", "figures_in", "state_in", "timeless", "told", "weights_in"]


def told(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
    """Random weights earn nothing: tell each other member that it earned something, so that all can learn."""
    return [float((number + at) % 2) for at in range(len(played))]


class TrainedRun:
    """One run after the other with the same settings."""

    def __init__(
        self,
        start: Path,
        harbour: SmallGateway,
        name: str = NAME,
        *,
        adviser: Any = None,
        held_out: Sequence[tuple[Source, str | None]] = (),
        rewards: Rewards = told,
        **sections: Any,
    ) -> None:
        """Give sections of the settings that each of these runs has beside those of a run of two steps."""
        self._start = start
        tokenizer, renderer = load_tokenizer(str(start))
        source = SourceEnvironment(kind="environment", name=name)
        self.playground = Playground(
            gateway=harbour.client,
            renderer=renderer,
            tokenizer=tokenizer,
            questions=[Question(source=source, version=None)],
            held_out=held_out,
            adviser=adviser,
        )
        self.heard: list[Progress] = []
        self.rewards: Rewards | None = rewards
        self._sections: dict[str, Any] = {
            "training": {"learning_rate": 0.01, "steps": 2, "groups": 1, "group_size": 4},
            "limits": {"turns": 3, "turn_tokens": 60},
            **sections,
        }

    def settings(self, out: Path, **sections: Any) -> RlSettings:
        """Give those of a run, with these sections beside them; what ``training`` lacks stays."""
        training = {**self._sections["training"], **sections.pop("training", {})}
        given = {
            "model": str(self._start),
            "out": out,
            "seed": 7,
            "data": [{"environments": [NAME]}],
            "log": {"tensorboard": False},
            **self._sections,
            **sections,
        }
        return RlSettings.model_validate({**given, "training": training})

    async def train(
        self,
        out: Path,
        *,
        is_stopped: bool = False,
        **sections: Any,
    ) -> Outcome:
        """Train, and stop behind the first step where that is asked for."""
        return await train(
            self.settings(out, **sections),
            self.playground,
            versions={},
            hear=self.heard.append,
            should_stop=lambda: is_stopped,
            rewards=self.rewards,
        )


def figures_in(out: Path) -> list[dict[str, float]]:
    """Read the figures of all steps."""
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def timeless(lines: list[dict[str, float]]) -> list[dict[str, float]]:
    """Leave out what no two runs share."""
    return [{k: v for k, v in line.items() if "seconds" not in k} for line in lines]


def weights_in(out: Path, step: int) -> bytes:
    """Read the weights of a step."""
    return (out / "weights" / f"step-{step:08d}" / "model.safetensors").read_bytes()


def state_in(out: Path) -> dict[str, Any]:
    """Read the newest state."""
    store = CheckpointStore(out)
    newest = store.newest()
    assert newest is not None
    return store.load_state(newest)
