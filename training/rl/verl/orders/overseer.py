"""The command's part between two steps: alarms over the figures, and phases of what the run itself played."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import anyio.to_thread

from astra_mcp.synthesis.asking import Asks
from gateway.api.client import GatewayClient
from training.render import Renderer, Tokenizer
from training.rl.core.playing import PolicyTrajectory, play_policy
from training.rl.core.policy import PolicyLimits, Sampled
from training.rl.verl.account import Account, Line
from training.rl.verl.orders.files import Orders
from training.rl.verl.plan import Plan
from training.signals.health.alarms import ALARMS, AlarmBoard, Heard
from training.signals.health.monitor import structure_figures
from training.signals.health.structure import Classifier
from training.signals.supervision.guidance import Guidance, Help
from training.signals.supervision.phase import Phases, gold_rollouts

__all__ = ["Overseer"]

_PHASES, _ALARMS = "phases", "alarms"


class Overseer:
    """Looks at each step of one run, and gives orders."""

    def __init__(
        self,
        plan: Plan,
        gateway: GatewayClient,
        text: tuple[Renderer, Tokenizer],
        limits: PolicyLimits,
        guidance: Guidance,
        *,
        adviser: Asks | None,
        hear_alarm: Heard,
    ) -> None:
        """Take the parts of the run.

        Args:
            plan: What is played.
            gateway: Plays gold.
            text: Of the policy.
            limits: Of each episode.
            guidance: Knows gold.
            adviser: Writes reflections, where a model does.
            hear_alarm: Told of each alarm that is raised.
        """
        self._plan = plan
        self._gateway = gateway
        self._text = text
        self._limits = limits
        self._guidance = guidance
        self._adviser = adviser
        self._hear = hear_alarm
        self._classifier = Classifier.of(text[0])
        settings = plan.settings
        known = [alarm for alarm in ALARMS if alarm.name not in settings.unseen_alarms]
        self._board = AlarmBoard(settings.alarms, known)
        self._phases = (
            Phases(settings.out, guidance, self._play_gold)
            if settings.signals.is_supervised
            else None
        )

    def begin_at(self, step: int, state: Mapping[str, Any]) -> None:
        """Go on behind a step; what the run left of later ones is removed.

        Args:
            step: Steps that are saved.
            state: As the checkpoint holds it.

        Raises:
            ConfigError: A file cannot be removed.
        """
        self._board.restore(state.get(_ALARMS, {}))
        if self._phases:
            self._phases.restore(state.get(_PHASES, ()))
            self._phases.begin_at(step)

    def look(self, lines: Sequence[Line]) -> dict[str, float]:
        """Give the figures of the form of what the policy wrote alone."""
        alone = [line.structures for line in lines if line.help is Help.NONE]
        return structure_figures(alone, self._classifier)

    async def decide(
        self, step: int, figures: Mapping[str, float]
    ) -> tuple[Orders, dict[str, float]]:
        """Say what is to be done behind a step, from 1, by its figures; gives further ones.

        Raises:
            ConfigError: What was played is missing, or what is kept cannot be written.
            ModelError: The model gave no reflection.
        """
        heeded = self._board.heed(step, figures, self._hear)
        found, lessons, is_phase = dict(heeded.figures), (), False
        if self._phases:
            await anyio.to_thread.run_sync(self._keep, self._phases, step)
            began = time.monotonic()
            gathered = await self._phases.due(step, heeded.holding, self._adviser)
            if gathered is not None:
                await anyio.to_thread.run_sync(self._phases.finish, gathered, step)
                lessons, is_phase = gathered.lessons, True
                found |= gathered.figures | {"seconds/supervision": time.monotonic() - began}
        orders = Orders(
            lessons=lessons,
            # A checkpoint of a step holds the phase behind it: what is saved is never between the two.
            is_saved=heeded.is_saved or is_phase,
            is_stopped=heeded.is_stopped,
            state=self._state(),
        )
        return orders, found

    def _keep(self, phases: Phases, step: int) -> None:
        phases.keep(step, Account.trajectories(self._plan.episodes, step))
        Account.forget_trajectories(self._plan.episodes, step)

    def _state(self) -> dict[str, Any]:
        phases = {_PHASES: [*self._phases.done]} if self._phases else {}
        return {_ALARMS: self._board.state(), **phases}

    async def _play_gold(self, numbers: Sequence[int], step: int) -> Sequence[PolicyTrajectory]:
        rollouts = gold_rollouts(self._plan.group(number, step) for number in numbers)
        return await play_policy(
            self._gateway,
            _Nobody(self._limits),
            *self._text,
            rollouts,
            temperature=1.0,
            limits=self._limits,
            guides=self._guidance.guides(rollouts),
            concurrency=self._plan.settings.limits.concurrency,
        )


class _Nobody:
    """The policy of episodes in which all turns are given."""

    def __init__(self, limits: PolicyLimits) -> None:
        self.limits = limits

    def generate(self, contexts: Sequence[Sequence[int]], **_: object) -> list[Sampled]:
        """Refuse: nobody is there to write.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"{len(contexts)} turns are asked for where gold is played")
